"""`abs learn`: two recordings of one agent, the rules they teach, and a replay that then misses nothing."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
import yaml
from click.testing import CliRunner

from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.cli.learn import command
from abs_replay.cli.rule_writing import add
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role
from abs_replay.player import Player
from abs_replay.server import ReplayServer
from abs_replay.spec.configuration import load

ABS = [sys.executable, "-c", "from abs_replay.cli import main; main()"]

# An agent that puts a nonce, the time, a random user and a sentence of the day into what it asks.
AGENT = """
import json, os, random, time, urllib.request
url = os.environ["OPENAI_BASE_URL"] + f"/chat/completions?nonce={random.randrange(16**8):08x}"
tip = ("be kind to animals.", "never argue about refunds.", "water your plants!")[int(os.environ["RUN"])]
messages = [{"role": "system", "content": f"You help with orders.\\nTip of the day: {tip}"}]
who = f"user-{random.randrange(16**12):012x}"
for words in ("Where is order 1001?", "And order 1002?"):
    messages.append({"role": "user", "content": words})
    body = {"model": "m", "messages": messages, "metadata": {"user_id": who, "sent_at": time.time()}}
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        messages.append(json.load(answer)["choices"][0]["message"])
print(messages[-1]["content"])
"""


@contextmanager
def model() -> Iterator[tuple[str, list[bytes]]]:
    """A model that says something else each time it is asked, and what it was asked."""
    asked: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["content-length"])))
            message = {"role": "assistant", "content": f"It is on its way, answer {len(asked)}."}
            data = json.dumps({"object": "chat.completion", "choices": [{"message": message}]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def abs_(*arguments: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | environ
    return subprocess.run(
        [*ABS, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env=environment,
        check=False,
    )


@pytest.mark.processes
def test_after_the_learned_rules_an_agent_that_never_asks_the_same_twice_is_replayed(tmp_path: Path) -> None:
    agent = [sys.executable, "-c", AGENT]
    with model() as (url, asked):
        record = ["record", "--llm", f"openai={url}", "--port", "0", "--name"]
        for run, name in enumerate("ab"):
            told = abs_(*record, name, "--", *agent, folder=tmp_path, RUN=str(run))
            assert told.returncode == 0, told.stderr
        before = len(asked)
        learned = abs_("learn", "a", "b", "--write", folder=tmp_path)
        assert learned.returncode == 0, learned.stdout + learned.stderr
        ignore = yaml.safe_load((tmp_path / "abs.config.yaml").read_text(encoding="utf-8"))["match"]["ignore"]
        places = sorted(rule.get("query") or rule["json"] for rule in ignore)
        values = ["$.messages[0].content", "$.metadata.sent_at", "$.metadata.user_id"]
        assert places == [*values, "nonce"]
        assert [rule.get("pattern") for rule in ignore if "pattern" in rule] == [r"Tip of the day: [^\n]*"]
        replayed = abs_("replay", "--recording", "a", "--", *agent, folder=tmp_path, RUN="2")
        assert replayed.returncode == 0, replayed.stderr
        assert "2 exchanges used, 0 unused, 0 missed" in replayed.stderr
        assert replayed.stdout == "It is on its way, answer 2.\n"
        assert len(asked) == before == 4


# -- what is printed, and what is written


def cassette(path: Path, nonce: str, words: str = "hello there") -> Path:
    asked = {"model": "m", "messages": [{"role": "user", "content": words}], "nonce": nonce}
    request = Request("POST", "/v1/chat/completions", (), Body(json.dumps(asked).encode()))
    answer = {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Hi"}}]}
    response = Response(200, (("content-type", "application/json"),), Body(json.dumps(answer).encode()))
    exchange = Exchange("x", Channel(Role.LLM, "openai"), 0.0, request, response)
    path.write_text(dumps(Cassette(Recording("r", "r", 0.0), (exchange,))), encoding="utf-8")
    return path


def learn(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(command, [*map(str, arguments)], standalone_mode=False)
    assert result.exception is None, result.output
    return result.return_value, result.output


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_rules_are_printed_with_their_evidence_ready_to_be_pasted(tmp_path: Path) -> None:
    status, told = learn(cassette(tmp_path / "a.json", "a1b2c3"), cassette(tmp_path / "b.json", "x9y8z7"))
    assert status == 0
    assert "    - {json: $.nonce, channel: 'llm:openai'}" in told
    assert '"a1b2c3" / "x9y8z7"' in told
    assert "1 pair, 1 of them match with the rules" in told
    assert not (tmp_path / "abs.config.yaml").exists()


def test_with_the_written_rules_the_requests_of_the_other_recording_find_their_answers(
    tmp_path: Path,
) -> None:
    paths = cassette(tmp_path / "a.json", "a1b2c3"), cassette(tmp_path / "b.json", "x9y8z7")
    assert learn(*paths, "--write")[0] == 0
    recorded, asked = (loads(path.read_text(encoding="utf-8")) for path in paths)
    player = Player(recorded, ignore=load(tmp_path / "abs.config.yaml").match.ignore)
    with ReplayServer(player) as server:
        (url,) = server.addresses().values()
        for exchange in asked.exchanges:
            request = exchange.request
            answer = httpx.request(request.method, f"{url}{request.target}", content=request.body.data)
            assert answer.status_code == 200
    assert (player.summary().missed, player.summary().unused) == (0, ())


def test_what_still_misses_is_said_and_is_the_exit_status(tmp_path: Path) -> None:
    other = cassette(tmp_path / "b.json", "x9y8z7", "something else")
    status, told = learn(cassette(tmp_path / "a.json", "a1b2c3"), other)
    assert status == 1
    assert "$.messages[0].content on llm:openai: 1 pair, the user's words, or taken from them" in told
    assert "1 request of B would miss still:" in told


def test_json_says_all_that_text_says(tmp_path: Path) -> None:
    paths = cassette(tmp_path / "a.json", "a1b2c3"), cassette(tmp_path / "b.json", "x9y8z7", "something else")
    status, told = learn(*paths, "--format", "json")
    found = json.loads(told)
    assert status == 1
    assert found["rules"][0]["rule"] == {"json": "$.nonce", "channel": "llm:openai"}
    assert found["not_proposed"][0]["where"] == "$.messages[0].content"
    assert (found["pairs"], found["would_miss"], found["without_partner"]) == (1, [0], [])


def test_a_recording_that_is_not_there_is_a_user_error(tmp_path: Path) -> None:
    there = cassette(tmp_path / "a.json", "a1b2c3")
    result = abs_("learn", str(there), "no.json", folder=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1


RULES = [{"json": "$.a", "channel": "llm:openai"}, {"query": "n", "pattern": r"it's \d+: [^\n]*"}]


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# only a remark\n",
        "aliases: {}  # none",
        "match:\n  mode: loose  # for now\n\n# about judges\njudge: {model: m}\n",
        "match:\n    ignore:  # what not\n    - query: m  # a nonce\n    - {json: $.b}\n    mode: strict\n",
        "match:\n  ignore:\n    - json: $.b\n      channel: llm\n  # the end of match\n# the end\n",
    ],
)
def test_rules_are_added_and_every_line_stays(before: str, tmp_path: Path) -> None:
    path = tmp_path / "abs.config.yaml"
    path.write_text(before, encoding="utf-8")
    old = load(path)
    assert add(path, RULES)
    new = load(path)
    assert new.match.ignore[:-2] == old.match.ignore
    assert new.match.ignore[-1].pattern == RULES[1]["pattern"]
    assert new.match.mode == old.match.mode
    after = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in after if line in before.splitlines()] == before.splitlines()


@pytest.mark.parametrize(
    "before",
    [
        "match: {ignore: [{query: m}]}\n",
        "{}\n",
        "match:\n  ignore: []\n",
        "match:\n",
        "a: 1\n...\n",
        "a: [\n",
    ],
)
def test_a_layout_that_leaves_no_sure_place_is_left_as_it_is(before: str, tmp_path: Path) -> None:
    path = tmp_path / "abs.config.yaml"
    path.write_text(before, encoding="utf-8")
    assert not add(path, RULES)
    assert path.read_text(encoding="utf-8") == before
