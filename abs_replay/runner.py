"""Play the user's part of a session against an agent, and keep what was said as exchanges.

Everything with `actor: user` is sent, each time with the whole conversation so far; everything else is
what the agent should do in response. The trace is derived from the exchanges as it is from recordings:
there is one way from bytes to a trace. A run ends where the agent gives no answer; what was not sent
then is missing (SEMANTICS A2), and `RunOutcome.problem` says why.
"""

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from abs_replay import decoders
from abs_replay.agents.agent import Agent, Message
from abs_replay.alignment import align
from abs_replay.alignment.compatibility import is_execution
from abs_replay.assembly import assemble
from abs_replay.decoders.events import Call
from abs_replay.exact_json import Json, dumps, loads
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Role
from abs_replay.predicates import arguments_of, fits
from abs_replay.redact import DEFAULT, Redactor, Rules
from abs_replay.spec.references import as_text
from abs_replay.spec.session import Behavior, Session, Unset
from abs_replay.trace import BROKE_OFF, Trace
from abs_replay.verdicts import StepStatus

if TYPE_CHECKING:
    from abs_replay.store import Store

SCOPE_HEADER = "x-abs-session"  # keeps runs apart that go on side by side, in recording and replay
MOST_ROUNDS = 100  # requests for one line of the user: an agent that calls tools for ever is stopped


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What was sent and received, and the trace of it; `problem` says why the run ended early."""

    exchanges: tuple[Exchange, ...]
    trace: Trace
    problem: str | None = None


def run(
    session: Session,
    agent: Agent,
    *,
    bindings: Mapping[str, Json] | None = None,
    variables: Mapping[str, Json] | None = None,
    rules: Rules = DEFAULT,
) -> RunOutcome:
    """Play one session, resolved for one row of its data (`bindings`).

    What is kept is redacted by `rules`, as recordings are: secrets in the data and in what was said are
    placeholders.
    A line of the user without `content` is sent as the empty text; `spec.plan` refuses it first.
    """
    redactor = Redactor(rules)
    # First the data: what is a secret there is then known wherever it is said.
    kept_bindings, kept_variables = (_redacted(values or {}, redactor) for values in (bindings, variables))
    play = _Play(session, agent, redactor)
    play.all()
    trace = replace(play.trace(), session=session.name, bindings=kept_bindings, vars=kept_variables)
    return RunOutcome(tuple(play.exchanges), trace, play.problem)


def broken_off(outcome: RunOutcome, why: str) -> RunOutcome:
    """The outcome with why it broke off in its trace, for whoever judges that later."""
    trace = replace(outcome.trace, tags={**outcome.trace.tags, BROKE_OFF: why})
    return replace(outcome, trace=trace)


def _redacted(values: Mapping[str, Json], redactor: Redactor) -> Mapping[str, Json]:
    """Take the secrets out of values, as out of a JSON body that holds them."""
    body = Body(dumps(values).encode("utf-8", "surrogatepass"))
    request = Request("POST", "/", (("content-type", "application/json"),), body)
    kept = redactor.redact(Exchange("", Channel(Role.AGENT, "data"), 0.0, request)).request.body.data
    found: Mapping[str, Json] = loads(kept.decode("utf-8", "surrogatepass"))
    return found


def keep(
    store: "Store", recording: Recording, outcomes: Sequence[RunOutcome], version: str | None = None
) -> None:
    """Keep what was played under a recording that has begun, as if it had been recorded.

    `version` is what traces are derived by where a configuration says more than the decoders (`derivation`);
    runs are told apart by their own header, whatever it says.
    """
    store.append(recording.id, [exchange for outcome in outcomes for exchange in outcome.exchanges])
    store.end(recording.id, time.time())
    (derivation,) = store.derivations(recording.id)
    traces = [
        replace(outcome.trace, recording=recording.id, tags={**recording.tags, **outcome.trace.tags})
        for outcome in outcomes
    ]
    store.save_traces(recording.id, traces, derivation.exchange_digest, version or decoders.version())
    for trace in traces:  # a note stays when traces are derived again
        if trace.broke_off is not None:
            store.note(trace.id, recording.id, {BROKE_OFF: trace.broke_off})


class _Play:
    """One conversation in progress."""

    def __init__(self, session: Session, agent: Agent, redactor: Redactor) -> None:
        self.exchanges: list[Exchange] = []
        self.problem: str | None = None
        self._session, self._agent, self._redactor = session, agent, redactor
        self._headers = {SCOPE_HEADER: uuid.uuid4().hex}
        self._messages: list[Message] = []
        self._results = _Results(session)

    def all(self) -> None:
        for index, behavior in enumerate(self._session.behaviors):
            if self.problem is None and behavior.actor == "user" and not self._skipped(index):
                self._messages.append({"role": "user", "content": _words(behavior.content)})
                self._converse(index)

    def trace(self) -> Trace:
        traces = assemble(self.exchanges)
        return traces[0] if traces else Trace(f"t-{uuid.uuid4().hex[:12]}", ())

    def _skipped(self, index: int) -> bool:
        """Whether this line requires what was skipped, as the conversation stands (SEMANTICS A9).

        Where only a judge could tell, the line is sent.
        """
        if self._session.behaviors[index].requires is None:
            return False
        so_far = align(self.trace(), self._session)
        return so_far.places[index].status is StepStatus.SKIPPED

    def _converse(self, index: int) -> None:
        """Go on until the agent has words for the user, running the calls that it leaves to us."""
        for _ in range(MOST_ROUNDS):
            reply = self._agent.send(self._messages, self._headers)
            self.exchanges.append(self._redactor.redact(reply.exchange))
            if reply.message is None:
                self.problem = reply.problem
                return
            self._messages.append(reply.message)
            if not reply.calls or not self._answer(reply.calls, index):
                return
        self.problem = f"{self._agent.url}: called tools {MOST_ROUNDS} times and had no answer for the user"

    def _answer(self, calls: Sequence[Call], index: int) -> bool:
        """Add the results of an agent's calls; False where the session has none."""
        for call in calls:
            result = self._results.take(call, index)
            if result is None:
                self.problem = (
                    f"{self._agent.url}: called {call.name!r}, and the session has no `tool responds` left "
                    f"to answer it: add one, or run the tool in the agent"
                )
                return False
            self._messages.append(
                {"role": "tool", "tool_call_id": call.call_id, "content": _words(result.content)}
            )
        return True


class _Results:
    """The session's `tool responds` behaviors, each the result of one call that the agent leaves to us."""

    def __init__(self, session: Session) -> None:
        self._behaviors = session.behaviors
        self._aliases = session.aliases
        self._calls = _calls_of_responses(session.behaviors)
        self._used: set[int] = set()

    def take(self, call: Call, index: int) -> Behavior | None:
        """Choose the result of a call made in the turn that begins at `index`.

        One whose call in the session has these arguments goes before others, then one of this turn,
        then the first: calls made side by side may come in any order.
        """
        end = next(
            (i for i in range(index + 1, len(self._behaviors)) if self._begins_turn(i)), len(self._behaviors)
        )
        free = [i for i in self._calls if i not in self._used and self._names(self._behaviors[i], call.name)]
        if not free:
            return None
        chosen = min(free, key=lambda i: (not self._asked(i, call), not index < i < end, i))
        self._used.add(chosen)
        return self._behaviors[chosen]

    def _begins_turn(self, index: int) -> bool:
        return self._behaviors[index].actor == "user" and self._behaviors[index].requires is None

    def _names(self, behavior: Behavior, name: str) -> bool:
        target = behavior.target
        return target is None or target == name or name in self._aliases.get(target, ())

    def _asked(self, index: int, call: Call) -> bool:
        asked = self._calls[index]
        observed = arguments_of(call.arguments)
        if asked is None or (asked.with_ is None and asked.with_only is None):
            return True
        if asked.with_only is not None:
            return fits(asked.with_only, observed, strict=True)
        return fits(asked.with_ or {}, observed)


def _calls_of_responses(behaviors: Sequence[Behavior]) -> dict[int, Behavior | None]:
    """Pair the n-th response with the n-th call of the same target (SEMANTICS R5)."""
    calls: dict[str | None, list[Behavior]] = {}
    for behavior in behaviors:
        if behavior.actor == "assistant" and is_execution(behavior):
            calls.setdefault(behavior.target, []).append(behavior)
    pairs: dict[int, Behavior | None] = {}
    for index, behavior in enumerate(behaviors):
        if behavior.actor == "tool" and behavior.action == "responds":
            waiting = calls.get(behavior.target, [])
            pairs[index] = waiting.pop(0) if waiting else None
    return pairs


def _words(content: Json | Unset) -> str:
    """Write content as a message's text: structure as compact JSON (SEMANTICS V1), absent as none."""
    if isinstance(content, Unset) or content is None:
        return ""
    return as_text(content)
