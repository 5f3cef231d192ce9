"""Questions to the four services, and what their engines are opened with, on one local server."""

import asyncio
from collections.abc import Mapping
from typing import Any

from abs_replay.exact_json import Json
from abs_replay.judgement import Question
from abs_replay.judges import open_engine
from abs_replay.judges.engine import Engine, Sample
from abs_replay.judges.settings import EngineSettings


def settings(name: str, url: str, environment: Mapping[str, str] = {}, **more: Any) -> EngineSettings:
    of: dict[str, dict[str, str]] = {
        "azure": {
            "AZURE_OPENAI_ENDPOINT": url,
            "AZURE_OPENAI_API_KEY": "azure-key",
            "AZURE_OPENAI_DEPLOYMENT": "judge",
            "AZURE_AI_PROJECT_ENDPOINT": f"{url}/api/projects/demo",
        },
        "aws": {
            "AWS_REGION": "eu-west-1",
            "BEDROCK_EVALUATOR_MODEL_ID": "eu.anthropic.claude-haiku-4-5-20251001-v1:0",
            "AWS_BEARER_TOKEN_BEDROCK": "bedrock-key",
        },
        "google": {"GOOGLE_CLOUD_PROJECT": "demo", "GOOGLE_CLOUD_LOCATION": "europe-west4"},
        "aievaluator": {"AIEVALUATOR_API_KEY": "aie-key", "AIEVALUATOR_ENGINE_URL": url},
    }
    given: dict[str, Any] = {"timeout": 10.0, **more}
    if name in ("aws", "google"):
        given.setdefault("base_url", url)
    if name == "google":
        given.setdefault("api_key", "google-token")
    return EngineSettings(environment={**of[name], **environment}, **given)


def asked(
    type_: str = "llm_judge",
    words: str = "The blue cup.",
    criteria: str | None = None,
    **more: Any,
) -> Question:
    """A question about an assistant's words, after a call and its result."""
    steps: list[Json] = [
        {"seq": 1, "actor": "user", "action": "says", "content": "Which cup?"},
        {"seq": 2, "actor": "assistant", "action": "calls", "target": "shop", "arguments": {"thing": "cup"}},
        {"seq": 3, "actor": "tool", "action": "responds", "target": "shop", "content": "blue cups only"},
        {"seq": 4, "actor": "assistant", "action": "responds", "content": words},
    ]
    return Question("d", "evaluations[0]", type_, criteria, {"steps": steps, "step": 4, **more})


def custom(id_: str, words: str = "The blue cup.", **keys: Any) -> Question:
    return asked("custom", words, custom={"id": id_, **keys})


def sampled(engine: Engine, *questions: Question) -> list[Sample]:
    async def run() -> list[Sample]:
        try:
            return [await engine.sample(each, 0) for each in questions]
        finally:
            await engine.close()

    return asyncio.run(run())


def outcomes(sample: Sample) -> list[str]:
    return [attempt.outcome for attempt in sample.attempts]


def opened(name: str, url: str, environment: Mapping[str, str] = {}, **more: Any) -> Engine:
    """The engine of a service at an address."""
    return open_engine(name, settings(name, url, environment, **more))
