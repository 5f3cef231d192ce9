"""One rating by a service: a raw score on a scale of its own, and why, read whole or not at all.

A reply's text is JSON with `score` and `reason`, and maybe a `status`; the modules of services bring what
they say into that form. A raw score beside its scale is unreadable, never clamped.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from abs_replay.exact_json import Json, Number, loads
from abs_replay.judgement import Question, Usage, digest_of
from abs_replay.judges.calling import Arrived, Caller, Contact, Said, Trouble, Turn
from abs_replay.judges.engine import Attempt, Sample
from abs_replay.judges.refusals import Origins
from abs_replay.judges.reply import Unreadable


@dataclass(frozen=True, slots=True)
class Scale:
    """Raw scores from the worst to the best, which may be the lower; `whole` where nothing lies between."""

    worst: float
    best: float
    whole: bool = False

    def of(self, raw: float) -> float:
        """Give the score from 0 to 1; raises `Unreadable` for a raw score that the scale does not have."""
        low, high = sorted((self.worst, self.best))
        if not low <= raw <= high or (self.whole and raw != int(raw)):
            raise Unreadable(f"the score {raw:g} is none of the scale from {self.worst:g} to {self.best:g}")
        return (raw - self.worst) / (self.best - self.worst)


FRACTION = Scale(0, 1)
ONE_TO_FIVE = Scale(1, 5)
YES_OR_NO = Scale(0, 1, whole=True)


@dataclass(frozen=True, slots=True)
class Rating:
    """What a reply says. Without a raw score the service says that it can not be told."""

    raw: float | None
    reason: str
    more: Mapping[str, Json]


async def rate(
    caller: Caller, metric: str, scale: Scale, system: str = "", turns: Sequence[Turn] = (), tries: int = 2
) -> Sample:
    """Ask until a rating can be read, at most so often; raises `Stopped` as `Caller.call` does."""
    attempts: list[Attempt] = []
    problem = ""
    for _ in range(tries):
        try:
            said = await caller.call(system, turns, attempts)
        except Trouble as trouble:
            return Sample(None, "", f"the judge gave no answer: {trouble}", False, tuple(attempts))
        try:
            return _sample(_read(said), metric, scale, attempts)
        except Unreadable as unreadable:
            problem = str(unreadable)
            if said.outcome == "read":
                attempts[-1] = replace(attempts[-1], outcome="unreadable", problem=problem)
    error = f"no answer could be read in {tries} replies; the last: {problem}"
    return Sample(None, "", error, False, tuple(attempts))


def _sample(rating: Rating, metric: str, scale: Scale, attempts: Sequence[Attempt]) -> Sample:
    details: dict[str, Json] = {"metric": metric, "raw_score": rating.raw}
    details |= {"scale": [scale.worst, scale.best], **rating.more}
    if rating.raw is None:
        error = f"the judge can not tell: {rating.reason or 'it does not say why'}"
        return Sample(None, rating.reason, error, True, tuple(attempts), details)
    return Sample(scale.of(rating.raw), rating.reason, None, True, tuple(attempts), details)


def _read(said: Said) -> Rating:
    if said.outcome != "read":
        raise Unreadable(said.problem or said.outcome)
    try:
        value: Any = loads(said.text)
    except (ValueError, RecursionError):
        raise Unreadable("the answer is no JSON") from None
    if not isinstance(value, Mapping):
        raise Unreadable("the answer is no JSON object")
    reason = value.get("reason")
    if reason is not None and not isinstance(reason, str):
        raise Unreadable("`reason` is no text")
    more = {key: each for key, each in value.items() if key not in ("score", "reason", "status")}
    return Rating(_raw(value), reason or "", more)


def _raw(value: Mapping[str, Json]) -> float | None:
    """The raw score, None where the rating was skipped; raises `Unreadable` where it is neither."""
    status, score = value.get("status", "completed"), value.get("score")
    if status not in ("completed", "skipped"):
        raise Unreadable("`status` is neither completed nor skipped")
    if status == "skipped":
        if score is not None:
            raise Unreadable("there is a score, and yet `status` is skipped")
        return None
    if isinstance(score, bool) or not isinstance(score, int | Number):
        raise Unreadable("`score` is missing" if score is None else "`score` is no number")
    return float(score)


# -- services that take no prompt


class Service(Protocol):
    """A service behind one address; see `calling.Wire`. The text of `said` is in the form of a rating."""

    @property
    def where(self) -> str: ...

    async def send(self, body: Mapping[str, Json]) -> Arrived: ...

    def said(self, text: str) -> Said: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Put:
    """How a question is put to a service."""

    metric: str
    body: Mapping[str, Json]
    scale: Scale


@dataclass(frozen=True, slots=True)
class _Fixed:
    """A wire for one body."""

    service: Service
    fixed: Mapping[str, Json]

    @property
    def where(self) -> str:
        return self.service.where

    @property
    def origins(self) -> Origins:
        found: Origins = getattr(self.service, "origins", Origins())
        return found

    def body(self, system: str, turns: Sequence[Turn]) -> dict[str, Json]:
        return dict(self.fixed)

    async def send(self, body: Mapping[str, Json]) -> Arrived:
        return await self.service.send(body)

    def said(self, text: str) -> Said:
        return self.service.said(text)

    def yields(self, problem: str, body: Mapping[str, Json]) -> bool:
        return False

    async def close(self) -> None:
        await self.service.close()


@dataclass
class ServiceEngine:
    """An `Engine` over a service that rates; `put` says how a question is put to it, or why not at all.

    `parts` is what an answer depends on besides name, address and question.
    """

    name: str
    shown: str
    service: Service
    timeout: float
    put: Callable[[Question], Put | str]
    parts: Mapping[str, Json]
    _contact: Contact = field(default_factory=Contact)

    @property
    def fingerprint(self) -> str:
        return named(self.name, self.shown, self.service.where, self.parts)

    def refuses(self, question: Question) -> str | None:
        put = self.put(question)
        return put if isinstance(put, str) else None

    def estimate(self, question: Question) -> Usage:
        return Usage(1, 0, 0, None)  # services charge by other things than tokens

    async def sample(self, question: Question, number: int) -> Sample:
        put = self.put(question)
        if isinstance(put, str):
            return Sample(None, "", put)
        caller = Caller(_Fixed(self.service, put.body), self.timeout, lambda *_: None, self._contact)
        return await rate(caller, put.metric, put.scale)

    async def close(self) -> None:
        await self.service.close()


def named(name: str, shown: str, where: str, parts: Mapping[str, Json]) -> str:
    """A fingerprint: readable, and told apart by a digest of all parts."""
    digest = digest_of({"engine": name, "shown": shown, "where": where, **parts})[:12]
    return f"{shown} at {where} #{digest}"
