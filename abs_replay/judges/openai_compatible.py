"""Judges on any endpoint that speaks OpenAI's chat completions: OpenAI, Azure, gateways, vLLM, Ollama.

Over the `openai` package, whose own retries are off: here each call is kept. Endpoints differ in what they
refuse with a 400: strict schemas, JSON mode, `temperature` (reasoning models), the name of the limit. What
one refuses is left out from then on.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from abs_replay.exact_json import Json, loads
from abs_replay.judges.calling import Arrived, Said, Turn
from abs_replay.judges.model_engine import ModelEngine, Parameters, endpoint, key_headers, parameters_of
from abs_replay.judges.reply_form import NAME, SCHEMA
from abs_replay.judges.settings import EngineSettings, Unconfigured

if TYPE_CHECKING:
    from openai import AsyncOpenAI

BASE_URL: Final = "https://api.openai.com/v1"
MODEL: Final = "gpt-6-luna"  # cheap, and what OpenAI names as the successor of gpt-4o-mini and gpt-4.1-mini

_FORMATS: Final[tuple[Json, ...]] = (
    {"type": "json_schema", "json_schema": {"name": NAME, "strict": True, "schema": SCHEMA}},
    {"type": "json_object"},
    None,
)
_LIMITS: Final = ("max_completion_tokens", "max_tokens", None)


def open_engine(settings: EngineSettings) -> ModelEngine:
    """Open the engine; raises `Unconfigured` without a key for OpenAI, or a model of another endpoint."""
    # OPENAI_BASE_URL is not read: where agents are recorded it leads into the recorder.
    if settings.base_url is None and not settings.api_key:
        raise Unconfigured("the judge openai needs a key: set OPENAI_API_KEY, or give --judge-api-key")
    if settings.base_url is not None and settings.model is None:
        raise Unconfigured(f"name the model of {endpoint(settings.base_url)} with --judge-model")
    model, parameters = settings.model or MODEL, parameters_of("openai", settings.options)
    return ModelEngine("openai", model, ChatCompletions(model, settings, parameters), settings, parameters)


class ChatCompletions:
    """The wire: POST /chat/completions (https://platform.openai.com/docs/api-reference/chat)."""

    forms: Sequence[Json] = _FORMATS

    def __init__(self, model: str, settings: EngineSettings, parameters: Parameters) -> None:
        self._model, self._settings, self._parameters = model, settings, parameters
        self._client: AsyncOpenAI | None = None
        self._format = self._limit = 0  # how far down `_FORMATS` and `_LIMITS` the endpoint sent us
        self._warm = parameters.temperature is None
        self._headers = key_headers(settings, "Authorization", "Bearer ")
        self.where = endpoint(settings.base_url or BASE_URL)

    def body(self, system: str, turns: Sequence[Turn]) -> dict[str, Json]:
        messages: list[Json] = [{"role": "system", "content": system}]
        messages += [{"role": turn.role, "content": turn.text} for turn in turns]
        body: dict[str, Json] = {"model": self._model, "messages": messages}
        if not self._warm:
            body["temperature"] = self._parameters.temperature
        if (limit := _LIMITS[self._limit]) is not None:
            body[limit] = self._parameters.max_tokens
        if (form := self.forms[self._format]) is not None:
            body["response_format"] = form
        return body

    async def send(self, body: Mapping[str, Json]) -> Arrived:
        import openai

        try:
            # Not `chat.completions.create`: it looks through the whole schema each time, for 5 ms.
            text = await self._opened().post(
                "/chat/completions", cast_to=str, body=body, options={"headers": self._own_headers()}
            )
        except openai.APITimeoutError:
            raise TimeoutError from None
        except openai.APIConnectionError as error:
            raise ConnectionError(str(error.__cause__ or error)) from None
        except openai.APIStatusError as error:
            words = self._settings.hide(error.response.text)
            return Arrived(error.status_code, error.response.headers, words)
        return Arrived(200, {}, self._settings.hide(text))

    def said(self, text: str) -> Said:
        value: Any = loads(text)
        try:
            choice = value["choices"][0]
            message, finish = choice["message"], choice.get("finish_reason")
            refusal, said = message.get("refusal"), message.get("content")
            usage = value.get("usage") or {}
            spent, made = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
        except (AttributeError, IndexError, KeyError, TypeError):
            raise ValueError("no chat completion") from None
        common = (value.get("model"), finish, spent, made)
        if refusal:
            return Said("", "refused", f"the model refused: {refusal}", *common)
        if finish == "content_filter":
            return Said("", "refused", "a content filter withheld the answer", *common)
        if finish == "length":
            return Said(_text(said), "cut_off", "the output limit came before the answer's end", *common)
        return Said(_text(said), "read", None, *common)

    def yields(self, problem: str, body: Mapping[str, Json]) -> bool:
        words = problem.lower()
        # By what this body had: another call may have learnt the same meanwhile.
        if "temperature" in words and "temperature" in body:
            self._warm = True
            return True
        for limit, at in (("max_completion_tokens", 0), ("max_tokens", 1)):
            if limit in words and limit in body:
                self._limit = max(self._limit, at + 1)
                return True
        if "response_format" in body and any(word in words for word in ("response_format", "json_schema")):
            self._format = max(self._format, self.forms.index(body["response_format"]) + 1)
            return True
        return False

    def _own_headers(self) -> dict[str, Any]:
        """Give the headers of the key; the package would send its own beside one that is named."""
        import openai

        return {"Authorization": openai.omit, **self._headers}

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _opened(self) -> "AsyncOpenAI":
        if self._client is None:
            import openai

            self._client = openai.AsyncOpenAI(
                api_key="none",  # the package wants one, and the header of the real one is ours
                base_url=self._settings.base_url or BASE_URL,
                timeout=self._settings.timeout,
                max_retries=0,
            )
        return self._client


def _text(content: Any) -> str:
    """Give a message's words; some endpoints send a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
