"""One call of a vendor's API: what is sent, what comes back, how it fails, and what is tried again.

A vendor's module writes a body, sends it, and says what a reply is. Here is what they share: each call is
an `Attempt`; rate limits, errors of the service and time-outs are tried again within their budgets, after
as long as the service says; a feature that an endpoint refuses is left out from then on.
"""

import asyncio
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Protocol

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type
from tenacity.wait import wait_exponential_jitter

from abs_replay.errors import JudgeError
from abs_replay.exact_json import Json, dumps
from abs_replay.judgement import Usage
from abs_replay.judges.engine import Attempt, Outcome, Stopped
from abs_replay.judges.refusals import Origins, advice, problem_of
from abs_replay.judges.waiting import asked_to_wait

type Kind = Literal["told to wait", "limited", "away", "unreachable", "timed out"]

# How often a call is tried again, by what stopped it. A limit passes, and where many calls wait for few
# places each may wait often; a service that does not come back within half a minute will not within two; one
# that nobody ever heard of is not up, or is somewhere else; what timed out once takes as long, and as much,
# each time.
BUDGET: Final[Mapping[Kind, int]] = {
    "told to wait": 40,
    "limited": 10,
    "away": 5,
    "unreachable": 2,
    "timed out": 1,
}
LONGEST_WAIT: Final = 120.0  # seconds; who asks for more asks to come back another day
_BACKOFF: Final = wait_exponential_jitter(initial=0.5, max=20, jitter=0.5)


@dataclass(frozen=True, slots=True)
class Turn:
    """A message after the instructions."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Arrived:
    """A response, whatever its status."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """What a vendor's reply says: the model's text, or in which way it is none."""

    text: str
    outcome: Outcome = "read"
    problem: str | None = None
    model: str | None = None
    finish_reason: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0


class Trouble(Exception):
    """A call without a reply. `wait` is what the service asked for, in seconds."""

    def __init__(self, problem: str, kind: Kind | None = None, wait: float | None = None) -> None:
        super().__init__(problem)
        self.kind, self.wait = kind, wait


class TriableTrouble(Trouble):
    """One that may pass."""


class Wire(Protocol):
    """A vendor's API, with its model and parameters."""

    @property
    def where(self) -> str:
        """The endpoint, for people; without secrets."""
        ...

    def body(self, system: str, turns: Sequence[Turn]) -> dict[str, Json]: ...

    async def send(self, body: Mapping[str, Json]) -> Arrived:
        """Send a body; raises `ConnectionError` where there is no response."""
        ...

    def said(self, text: str) -> Said:
        """Read a response of status 200; raises `ValueError` where it is none of this API."""
        ...

    def yields(self, problem: str, body: Mapping[str, Json]) -> bool:
        """Leave out from now on what a 400 refuses of a body; false where it refuses something else."""
        ...

    async def close(self) -> None: ...


@dataclass(slots=True)
class Contact:
    """When there was last any response of a service, whoever asked; None before the first."""

    heard: float | None = None


@dataclass
class Caller:
    """Calls one wire."""

    wire: Wire
    timeout: float
    cost: Callable[[str | None, int, int], float | None]
    contact: Contact = field(default_factory=Contact)

    @property
    def origins(self) -> Origins:
        found: Origins = getattr(self.wire, "origins", Origins())
        return found

    async def call(self, system: str, turns: Sequence[Turn], attempts: list[Attempt]) -> Said:
        """Call until there is a reply; every try is added to `attempts`, the reply's own by the caller.

        Raises `Trouble` where there is none, and `Stopped` where no other call would fare better.
        """
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(TriableTrouble), wait=_wait, stop=_Budget(), reraise=True
        )
        begun = time.monotonic()
        try:
            said: Said = await retrying(self._adapted, system, turns, attempts)
        except TriableTrouble as trouble:
            if trouble.kind in ("away", "unreachable") and (self.contact.heard or 0.0) < begun:
                raise Stopped(self._gone(trouble), tuple(attempts)) from None
            raise
        except JudgeError as error:
            raise Stopped(str(error), tuple(attempts)) from None
        return said

    def _gone(self, trouble: Trouble) -> str:
        """Nobody heard of it for as long as a call tried: the next question would find the same."""
        judge = f"the judge at {self.wire.where}"
        if self.contact.heard is None:
            return (
                f"{judge} can not be reached: {trouble}; is it running, and is {self.origins.address} right?"
            )
        return f"{judge} does not answer any more: {trouble}; what it said before counts"

    async def _adapted(self, system: str, turns: Sequence[Turn], attempts: list[Attempt]) -> Said:
        """Call, and again for each feature that the endpoint turns out to refuse."""
        while True:
            body = self.wire.body(system, turns)
            arrived = await self._arrived(body, attempts)
            if arrived.status == 200:
                return self._said(body, arrived, attempts)
            if arrived.status == 400 and "content_filter" in arrived.text:  # Azure, of what it is to read
                attempts[-1] = replace(attempts[-1], outcome="refused")
                return Said("", "refused", problem_of(arrived.status, arrived.text))
            if arrived.status not in (400, 422) or not self.wire.yields(arrived.text, body):
                raise self._trouble(arrived)

    async def _arrived(self, body: Mapping[str, Json], attempts: list[Attempt]) -> Arrived:
        started, at = time.monotonic(), time.time()
        problem, arrived = None, Arrived(0, {}, "")
        trouble: TriableTrouble | None = None
        try:
            async with asyncio.timeout(self.timeout):
                arrived = await self.wire.send(body)
        except TimeoutError:
            trouble = TriableTrouble(f"no reply within {self.timeout:g} s", "timed out")
        except ConnectionError as error:
            trouble = TriableTrouble(str(error), "unreachable" if self.contact.heard is None else "away")
        problem = str(trouble) if trouble else problem_of(arrived.status, arrived.text)
        if trouble is None:
            self.contact.heard = time.monotonic()
        spent = Usage(calls=1)
        duration = (time.monotonic() - started) * 1000
        attempts.append(
            Attempt("failed", written(body), arrived.text, problem, usage=spent, duration_ms=duration, at=at)
        )
        if trouble:
            raise trouble
        return arrived

    def _said(self, body: Mapping[str, Json], arrived: Arrived, attempts: list[Attempt]) -> Said:
        """Read the reply, and make its attempt one that has a reply."""
        try:
            said = self.wire.said(arrived.text)
        except (ValueError, RecursionError):
            raise TriableTrouble(f"{self.wire.where} answered what is none of its API", "away") from None
        before = attempts[-1]
        # Many servers count nothing: what that cost is not known, and not nothing.
        counted = said.input_tokens or said.output_tokens
        cost = self.cost(said.model, said.input_tokens, said.output_tokens) if counted else None
        attempts[-1] = Attempt(
            said.outcome,
            before.sent,
            before.reply,
            said.problem,
            said.model,
            said.finish_reason,
            Usage(1, said.input_tokens, said.output_tokens, cost),
            before.duration_ms,
            before.at,
        )
        return said

    def _trouble(self, arrived: Arrived) -> Exception:
        """Say what an error status means."""
        status, problem = arrived.status, problem_of(arrived.status, arrived.text)
        what_to_do = advice(status, arrived.text, self.origins)
        if what_to_do:
            return JudgeError(f"the judge at {self.wire.where} refuses: {problem}; {what_to_do}")
        if status == 429 or status in (408, 409, 425) or status >= 500:
            wait = asked_to_wait(arrived.headers, arrived.text)
            if (wait is not None and wait > LONGEST_WAIT) or arrived.headers.get("x-should-retry") == "false":
                return Trouble(f"{problem}; it asks to wait {wait:g} s" if wait else problem)
            limit: Kind = "limited" if wait is None else "told to wait"
            return TriableTrouble(problem, limit if status in (429, 529) else "away", wait)
        return Trouble(problem)


def written(body: Mapping[str, Json]) -> str:
    """Write a body as it goes: what `dumps` writes, ten times as fast where every number is a plain one."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    except TypeError:
        return dumps(body)


class _Budget:
    """When to stop: each kind of trouble has its own number of tries."""

    def __init__(self) -> None:
        self._left = dict(BUDGET)

    def __call__(self, state: RetryCallState) -> bool:
        trouble = state.outcome.exception() if state.outcome else None
        if not isinstance(trouble, TriableTrouble) or trouble.kind is None:
            return True
        self._left[trouble.kind] -= 1
        return self._left[trouble.kind] < 0


def _wait(state: RetryCallState) -> float:
    """As long as the service says, and a little more, so that not all come back at once; else ever longer."""
    trouble = state.outcome.exception() if state.outcome else None
    if isinstance(trouble, TriableTrouble) and trouble.wait is not None:
        return trouble.wait * (1 + random.random() / 10)
    return float(_BACKOFF(state))
