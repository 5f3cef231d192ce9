"""Judges over Anthropic's own Messages API: its OpenAI-compatible endpoint ignores `response_format`.

Form of the reply: `output_config.format` holds current models to the schema; older ones and some gateways
do not know it and get a tool that they must call, which the newest models refuse. What an endpoint
refuses with a 400 is left out from then on; so is `temperature`.
https://platform.claude.com/docs/en/build-with-claude/structured-outputs
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from abs_replay.exact_json import Json, dumps, loads
from abs_replay.judges.calling import Arrived, Said, Turn
from abs_replay.judges.model_engine import ModelEngine, Parameters, endpoint, key_headers, parameters_of
from abs_replay.judges.posting import Poster
from abs_replay.judges.reply_form import NAME, SCHEMA
from abs_replay.judges.settings import EngineSettings, Unconfigured

BASE_URL: Final = "https://api.anthropic.com"
MODEL: Final = "claude-haiku-5-5"
VERSION: Final = "2023-06-01"

# How the form is asked for, from the strictest down; each with the key that a 400 names when it is refused.
_FORMS: Final[tuple[tuple[str, Mapping[str, Json]], ...]] = (
    ("output_config", {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    (
        "tool_choice",
        {
            "tools": [{"name": NAME, "description": "Report the judgement.", "input_schema": SCHEMA}],
            "tool_choice": {"type": "tool", "name": NAME},
        },
    ),
    ("", {}),
)
_CUT: Final = ("max_tokens", "model_context_window_exceeded")


def open_engine(settings: EngineSettings) -> ModelEngine:
    """Open the engine; raises `Unconfigured` without a key."""
    if settings.base_url is None and not settings.api_key:
        raise Unconfigured("the judge anthropic needs a key: set ANTHROPIC_API_KEY, or give --judge-api-key")
    model, parameters = settings.model or MODEL, parameters_of("anthropic", settings.options)
    return ModelEngine("anthropic", model, Messages(model, settings, parameters), settings, parameters)


class Messages:
    """The wire: POST /v1/messages."""

    def __init__(self, model: str, settings: EngineSettings, parameters: Parameters) -> None:
        self._model, self._parameters = model, parameters
        self._form = 0
        self._warm = parameters.temperature is None
        self.where = endpoint(settings.base_url or BASE_URL)
        headers = {"anthropic-version": VERSION, **key_headers(settings, "x-api-key")}
        url = f"{self.where.removesuffix('/v1')}/v1/messages"  # some say the address with, some without
        self._poster = Poster(url, headers, settings.timeout)

    def body(self, system: str, turns: Sequence[Turn]) -> dict[str, Json]:
        body: dict[str, Json] = {
            "model": self._model,
            "max_tokens": self._parameters.max_tokens,
            "system": system,
            "messages": [{"role": turn.role, "content": turn.text} for turn in turns],
        }
        if not self._warm:
            body["temperature"] = self._parameters.temperature
        return {**body, **_FORMS[self._form][1]}

    async def send(self, body: Mapping[str, Json]) -> Arrived:
        return await self._poster.post(body)

    def said(self, text: str) -> Said:
        value: Any = loads(text)
        try:
            blocks, reason = list(value["content"]), value.get("stop_reason")
            called = [block["input"] for block in blocks if block.get("type") == "tool_use"]
            words = "".join(block["text"] for block in blocks if block.get("type") == "text")
            usage = value.get("usage") or {}
            spent = sum(int(usage.get(name) or 0) for name in _INPUT)
            made = int(usage.get("output_tokens") or 0)
        except (AttributeError, KeyError, TypeError):
            raise ValueError("no message") from None
        said = dumps(called[0]) if called else words
        common = (value.get("model"), reason, spent, made)
        if reason == "refusal":
            return Said(said, "refused", "the model refused", *common)
        if reason in _CUT:
            return Said(said, "cut_off", "the output limit came before the answer's end", *common)
        return Said(said, "read", None, *common)

    def yields(self, problem: str, body: Mapping[str, Json]) -> bool:
        words = problem.lower()
        if "temperature" in words and "temperature" in body:
            self._warm = True
            return True
        for at, (key, _) in enumerate(_FORMS[:-1]):
            if key in words and key in body:
                self._form = max(self._form, at + 1)
                return True
        return False

    async def close(self) -> None:
        await self._poster.close()


_INPUT: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
