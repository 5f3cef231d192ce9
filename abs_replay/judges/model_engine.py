"""The engine of every judge that is a model: one prompt and one reading, whatever the vendor's wire."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Final
from urllib.parse import urlsplit

from abs_replay.errors import UsageError
from abs_replay.exact_json import Json, dumps
from abs_replay.judgement import Question, Usage
from abs_replay.judges.asking_once import MAX_ATTEMPTS, ask_once
from abs_replay.judges.calling import Caller, Wire
from abs_replay.judges.engine import Sample
from abs_replay.judges.fence import new_name
from abs_replay.judges.prices import cost_of
from abs_replay.judges.prompt import PROMPT_VERSION, criteria_of, render
from abs_replay.judges.settings import EngineSettings, Unconfigured, sendable_key

# Room for the thoughts of a reasoning model, which count as output: with little of it the answer is cut off.
MAX_TOKENS: Final = 8192
LETTERS_A_TOKEN: Final = (
    4  # of English; other scripts take more tokens, so an estimate is a lower bound there
)
_REPLY_TOKENS: Final = (60, 120)  # what a reply takes, and what each criterion adds


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a reply depends on besides the model. A `temperature` of None is the model's own."""

    temperature: float | None = 0.0
    max_tokens: int = MAX_TOKENS
    max_attempts: int = MAX_ATTEMPTS  # replies that are asked for before a vote is given up


@dataclass
class ModelEngine:
    """An `Engine` over a wire; opened by the modules of the vendors."""

    name: str
    model: str
    wire: Wire
    settings: EngineSettings
    parameters: Parameters
    _caller: Caller = field(init=False)

    def __post_init__(self) -> None:
        self._caller = Caller(self.wire, self.settings.timeout, self._cost)

    @property
    def shown(self) -> str:
        return f"{self.name} {self.model}"

    @property
    def fingerprint(self) -> str:
        """The parameters are those that are asked for. An endpoint that refuses one of them always does, so
        what is left of them is a matter of endpoint and model, which are named."""
        parts: Json = {
            "engine": self.name,
            "endpoint": self.wire.where,
            "model": self.model,
            "temperature": self.parameters.temperature,
            "max_tokens": self.parameters.max_tokens,
            "prompt": PROMPT_VERSION,
        }
        digest = hashlib.sha256(dumps(parts).encode(errors="surrogatepass")).hexdigest()[:12]
        return f"{self.name} {self.model} at {self.wire.where} #{digest}"

    def refuses(self, question: Question) -> str | None:
        if question.type == "custom" and not (criteria_of(question) or question.prompt):
            return (
                f"{self.shown} can not decide a `custom` evaluation without words: give it `criteria`, or "
                "name the judge that knows it with `adapter`"
            )
        return None

    def estimate(self, question: Question) -> Usage:
        prompt = render(question, new_name())
        asked = ceil((len(prompt.system) + len(prompt.user)) / LETTERS_A_TOKEN)
        once, each = _REPLY_TOKENS
        answered = once + each * prompt.count
        return Usage(1, asked, answered, self._cost(self.model, asked, answered))

    async def sample(self, question: Question, number: int) -> Sample:
        return await ask_once(self._caller, question, self.parameters.max_attempts)

    async def close(self) -> None:
        await self.wire.close()

    def _cost(self, model: str | None, input_tokens: int, output_tokens: int) -> float | None:
        """By the model that answered, else by the one that was asked, of which it may be a snapshot."""
        cost = cost_of(model or self.model, input_tokens, output_tokens, self.settings.price)
        return cost if cost is not None else cost_of(self.model, input_tokens, output_tokens)


def endpoint(url: str) -> str:
    """Give an address without what may be secret in it: user, password, query."""
    parts = urlsplit(url)
    host = f"{parts.hostname}:{parts.port}" if parts.port else f"{parts.hostname}"
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


def key_headers(settings: EngineSettings, usual: str, before: str = "") -> dict[str, str]:
    """Give the header of the key, the one that is named or the `usual`; none without a key.

    Raises `Unconfigured` for what no header can hold: a quote of a word processor, a line's end within.
    """
    key = sendable_key(settings.api_key or "", "the judge's key")
    name = settings.api_key_header or usual
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):  # a token of RFC 9110
        raise Unconfigured(f"--judge-api-key-header: `{name}` can not be the name of a header")
    if name.lower() == usual.lower():
        name, key = usual, f"{before}{key}" if key else ""
    return {name: key} if key else {}


# -- what the configuration says of an engine, besides what all have --

_KNOWN: Final = ("max_attempts", "max_tokens", "temperature")


def parameters_of(engine: str, options: Mapping[str, Json]) -> Parameters:
    """Read the parameters; raises `UsageError` with the key that is wrong."""
    for name in options:
        if name not in _KNOWN:
            raise UsageError(f"judge {engine}: unknown option `{name}`; known: {', '.join(_KNOWN)}")
    return Parameters(
        _temperature(engine, options.get("temperature", 0)),
        _count(engine, options, "max_tokens", MAX_TOKENS),
        _count(engine, options, "max_attempts", MAX_ATTEMPTS),
    )


def _temperature(engine: str, value: Json) -> float | None:
    if value is None:
        return None
    try:
        number = float(str(value)) if not isinstance(value, bool) else -1.0
    except ValueError:
        number = -1.0
    if not 0 <= number <= 2:
        raise UsageError(
            f"judge {engine}: `temperature` must be a number from 0 to 2, or null, not {dumps(value)}"
        )
    return number


def _count(engine: str, options: Mapping[str, Json], name: str, default: int) -> int:
    value = options.get(name, default)
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise UsageError(f"judge {engine}: `{name}` must be a whole number from 1, not {dumps(value)}")
    return int(text)
