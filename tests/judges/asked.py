"""Questions, engines, and a server that says what it is told to."""

import asyncio
import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from abs_replay.judgement import Question
from abs_replay.judges import open_engine
from abs_replay.judges.engine import Sample
from abs_replay.judges.model_engine import ModelEngine
from abs_replay.judges.settings import EngineSettings

PATHS = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta"}


def question(criteria: str | None, words: Any = "The blue cup.", **more: Any) -> Question:
    """Ask about an assistant's words, step 2 of a conversation."""
    asked = {"seq": 1, "actor": "user", "action": "says", "content": "Which cup?"}
    said = {"seq": 2, "actor": "assistant", "action": "responds", "content": words}
    evidence = {"steps": [asked, said], "step": 2}
    fields = {"type": "llm_judge", "evidence": evidence, **more}
    return Question("d", "evaluations[0]", criteria=criteria, **fields)


class Opened:
    """Engines on local servers, each opened once: to make a client loads all certificates of the machine."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self._engines: dict[str, ModelEngine] = {}

    def __call__(self, vendor: str, url: str, **more: Any) -> ModelEngine:
        settings: dict[str, Any] = {"base_url": f"{url}{PATHS[vendor]}", "api_key": "k", "model": "judge"}
        given = {**settings, "timeout": 10, **more}
        key = f"{vendor} {given}"
        if key not in self._engines:
            engine = open_engine(vendor, EngineSettings(**given))
            assert isinstance(engine, ModelEngine)
            self._engines[key] = engine
        return self._engines[key]

    def close(self) -> None:
        for engine in self._engines.values():
            self.runner.run(engine.close())
        self._engines.clear()
        self.runner.close()
        self.runner = asyncio.Runner()


opened = Opened()


def sampled(engine: ModelEngine, *questions: Question) -> list[Sample]:
    """Ask one after the other."""

    async def run() -> list[Sample]:
        return [await engine.sample(each, 0) for each in questions]

    return opened.runner.run(run())


def outcomes(sample: Sample) -> list[str]:
    return [attempt.outcome for attempt in sample.attempts]


class Canned(ThreadingHTTPServer):
    """Gives one response after the other, the last one for good; keeps what was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.responses, self.asked = list[Mapping[str, Any]](), list[tuple[Mapping[str, str], Any]]()

    def giving(self, *responses: Mapping[str, Any]) -> "Canned":
        """The server, which will give these from now on."""
        self.responses[:], self.asked[:] = responses, []
        return self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Canned

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((headers, json.loads(body)))
        responses = self.server.responses
        canned = responses.pop(0) if len(responses) > 1 else responses[0]
        data = (canned["text"] if "text" in canned else json.dumps(canned["json"])).encode()
        self.send_response(canned.get("status", 200))
        for name, value in {"content-type": "application/json", **canned.get("headers", {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing on stderr."""
