"""What was observed in one conversation: an ordered list of steps (FORMATS, trace file)."""

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from abs_replay.exact_json import Json
from abs_replay.values import dataclass

# The actors of the ABS vocabulary; another one would match no behavior and fail silently.
ACTORS = ("user", "assistant", "tool", "system", "human", "external")
# Verbs that match each other (SEMANTICS A3), and those of a format's other steps, which match themselves.
COMMUNICATION: Final = (
    *("says", "asks", "responds", "informs", "greets"),
    *("clarifies", "confirms", "rejects", "suggests", "shows"),
)
EXECUTION: Final = ("calls", "submits", "retrieves", "stores", "updates")
ACTIONS: Final = (*COMMUNICATION, *EXECUTION, "hands_off", "enters", "completes", "fails")

NAME: Final = "name"  # the tag that a conversation is called by
_ENCODER = json.JSONEncoder(default=str)  # made once, and not for every trace

BROKE_OFF: Final = "broke_off"  # the tag that says why one was not carried out to its end


class Visibility(StrEnum):
    """Whether the user could see a step; internal steps take no part in aligning (SEMANTICS A13)."""

    USER = "user"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Source:
    """The exchange that shows a step, and the place in it (`response.choices[0].message`)."""

    exchange: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the model's own answer counts them.

    Of those that went in, `cached_tokens` were read from the vendor's cache; of those that came out,
    `reasoning_tokens` were thought and not said. They are 0 where the vendor does not tell.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One observed entry. Times are ms after the trace's start. Absent content is null (A6).

    `retries` counts the attempts before this that failed, or were lost. `segment` stands on the first
    step that a history shows which does not go on from the one before: `compacted` where it was
    summed up or cut, `rewritten` where it was changed, `separate` where it shares nothing and only an
    id ties it to this conversation.
    """

    seq: int
    actor: str
    action: str
    target: str | None = None
    content: Json = None
    arguments: Json = None
    call_id: str | None = None
    at_ms: float | None = None
    duration_ms: float | None = None
    visibility: Visibility = Visibility.USER
    parallel_group: str | None = None
    sources: tuple[Source, ...] = ()
    model: str | None = None
    usage: Usage | None = None
    error: str | None = None
    retries: int = 0
    segment: str | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """Where a conversation left another: after which step (its `seq`), None before the first."""

    trace: str
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """A conversation as observed; `session` names the session it plays, `bindings` its data row.

    An earlier message that was edited, or an answer asked for again, makes a trace of its own: it
    begins with the steps that both share, and `branch_of` says where it left.
    """

    id: str
    steps: tuple[Step, ...]
    session: str | None = None
    recording: str | None = None
    started_at: float | None = None
    bindings: Mapping[str, Json] = field(default_factory=dict)
    vars: Mapping[str, Json] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    agent_version: str | None = None
    branch_of: Branch | None = None

    @property
    def name(self) -> str | None:
        """What the conversation is called, by a mark or by whoever annotated it."""
        return self.tags.get(NAME)

    @property
    def broke_off(self) -> str | None:
        """Why whoever played the user gave up before the session's end; None where nobody did."""
        return self.tags.get(BROKE_OFF)

    @property
    def digest(self) -> str:
        """Names what was observed, as far as judging sees it: not when, by which exchange or model."""
        steps = [
            (
                step.seq,
                step.actor,
                step.action,
                step.target,
                step.content,
                step.arguments,
                step.call_id,
                step.visibility,
                step.parallel_group,
                step.error,
            )
            for step in self.steps
        ]
        # By the encoder in C, since all that matters is that equal traces give equal text.
        return hashlib.sha256(_ENCODER.encode(steps).encode()).hexdigest()[:32]

    @property
    def said(self) -> tuple[str, ...]:
        """Names for each turn all that the user has said up to it, as words are compared (SEMANTICS A2): two
        conversations in which a name is the same were the same until then, as far as the user goes."""
        so_far, names = hashlib.sha256(), list[str]()
        for step in self.steps:
            if step.actor == "user" and step.content is not None:
                words = _normal(step.content).encode(errors="surrogatepass")
                so_far.update(b"%d:" % len(words) + words)
                names.append(so_far.hexdigest()[:16])
        return tuple(names)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that answered, in the order in which they first did."""
        return tuple(dict.fromkeys(step.model for step in self.steps if step.model))

    @property
    def usage(self) -> Usage | None:
        """The tokens of all steps together; None where none were counted."""
        counted = [step.usage for step in self.steps if step.usage]
        return sum(counted, Usage()) if counted else None


def _normal(content: Json) -> str:
    if isinstance(content, str):
        return unicodedata.normalize("NFC", content).strip()
    return _ENCODER.encode(content)
