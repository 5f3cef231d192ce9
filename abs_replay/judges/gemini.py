"""Judges over Gemini's own generateContent.

The OpenAI-compatible endpoint could give structured output too, but it does not say why a prompt was
blocked (`promptFeedback`), refuses fields that the package sends, and has no safety settings: a judge of
violence must be shown what it judges. `responseJsonSchema` takes the schema as it is.
https://ai.google.dev/gemini-api/docs/structured-output
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from abs_replay.exact_json import Json, loads
from abs_replay.judges.calling import Arrived, Said, Turn
from abs_replay.judges.model_engine import ModelEngine, Parameters, endpoint, key_headers, parameters_of
from abs_replay.judges.posting import Poster
from abs_replay.judges.reply_form import SCHEMA
from abs_replay.judges.settings import EngineSettings, Unconfigured

BASE_URL: Final = "https://generativelanguage.googleapis.com/v1beta"
MODEL: Final = "gemini-3.5-flash-lite"

_HARMS: Final = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
_OPEN: Final[Json] = [{"category": f"HARM_CATEGORY_{harm}", "threshold": "BLOCK_NONE"} for harm in _HARMS]
_ROLES: Final = {"user": "user", "assistant": "model"}
# Why a candidate ended, where it is none of the model's own end: https://ai.google.dev/api/generate-content
_ENDED: Final = ("STOP", "FINISH_REASON_UNSPECIFIED", None)
_GARBLED: Final = ("MALFORMED_RESPONSE", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER")


def open_engine(settings: EngineSettings) -> ModelEngine:
    """Open the engine; raises `Unconfigured` without a key."""
    if settings.base_url is None and not settings.api_key:
        raise Unconfigured("the judge gemini needs a key: set GEMINI_API_KEY, or give --judge-api-key")
    model, parameters = settings.model or MODEL, parameters_of("gemini", settings.options)
    return ModelEngine("gemini", model, GenerateContent(model, settings, parameters), settings, parameters)


class GenerateContent:
    """The wire: POST /models/MODEL:generateContent."""

    def __init__(self, model: str, settings: EngineSettings, parameters: Parameters) -> None:
        self._parameters = parameters
        self._with_schema = True
        self._warm = parameters.temperature is None
        self.where = endpoint(settings.base_url or BASE_URL)
        headers = key_headers(settings, "x-goog-api-key")
        url = f"{self.where}/models/{model.removeprefix('models/')}:generateContent"
        self._poster = Poster(url, headers, settings.timeout)

    def body(self, system: str, turns: Sequence[Turn]) -> dict[str, Json]:
        config: dict[str, Json] = {
            "maxOutputTokens": self._parameters.max_tokens,
            "responseMimeType": "application/json",
        }
        if not self._warm:
            config["temperature"] = self._parameters.temperature
        if self._with_schema:
            config["responseJsonSchema"] = SCHEMA
        return {
            "systemInstruction": {"parts": [{"text": system}]},
            "contents": [{"role": _ROLES[turn.role], "parts": [{"text": turn.text}]} for turn in turns],
            "generationConfig": config,
            "safetySettings": _OPEN,
        }

    async def send(self, body: Mapping[str, Json]) -> Arrived:
        return await self._poster.post(body)

    def said(self, text: str) -> Said:
        value: Any = loads(text)
        try:
            usage = value.get("usageMetadata") or {}
            spent = int(usage.get("promptTokenCount") or 0)
            made = sum(int(usage.get(name) or 0) for name in ("candidatesTokenCount", "thoughtsTokenCount"))
            blocked = (value.get("promptFeedback") or {}).get("blockReason")
            candidate = {} if blocked else value["candidates"][0]
            parts = (candidate.get("content") or {}).get("parts") or []
            said = "".join(part.get("text", "") for part in parts if not part.get("thought"))
        except (AttributeError, IndexError, KeyError, TypeError):
            raise ValueError("no candidate") from None
        reason = candidate.get("finishReason")
        common = (value.get("modelVersion"), blocked or reason, spent, made)
        if blocked:
            return Said("", "refused", f"the prompt was blocked: {blocked}", *common)
        if reason == "MAX_TOKENS":
            return Said(said, "cut_off", "the output limit came before the answer's end", *common)
        if reason in _GARBLED:
            return Said(said, "unreadable", f"the answer ended with {reason}", *common)
        if reason not in _ENDED:
            return Said("", "refused", f"the answer was withheld: {reason}", *common)
        return Said(said, "read", None, *common)

    def yields(self, problem: str, body: Mapping[str, Json]) -> bool:
        words = problem.lower().replace("_", "")
        config: Any = body["generationConfig"]
        if "temperature" in words and "temperature" in config:
            self._warm = True
            return True
        if "responsejsonschema" in words and "responseJsonSchema" in config:
            self._with_schema = False
            return True
        return False

    async def close(self) -> None:
        await self._poster.close()
