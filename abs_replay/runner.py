"""Play the user's part of a session against an agent, and keep what was said as exchanges.

Everything with `actor: user` is sent, each time with the whole conversation so far; everything else is
what the agent should do in response. The trace is derived from the exchanges as it is from recordings:
there is one way from bytes to a trace. A run ends where the agent gives no answer; what was not sent
then is missing (SEMANTICS A2), and `RunOutcome.problem` says why.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from abs_replay.agents.agent import Agent, Message
from abs_replay.alignment import align
from abs_replay.alignment.compatibility import is_execution
from abs_replay.assembly import assemble
from abs_replay.decoders.events import Call
from abs_replay.errors import Problem, SpecError
from abs_replay.exact_json import Json, dumps, loads
from abs_replay.exchange import Body, Channel, Exchange, Request, Role
from abs_replay.predicates import arguments_of, fits
from abs_replay.redact import Redactor
from abs_replay.spec.datasets import read_rows
from abs_replay.spec.references import as_text
from abs_replay.spec.session import Behavior, Session, Unset
from abs_replay.spec.sources import PREFIX
from abs_replay.spec.variables import Template
from abs_replay.trace import Trace
from abs_replay.verdicts import StepStatus

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
) -> RunOutcome:
    """Play one session, resolved for one row of its data (`bindings`).

    What is kept is redacted, as recordings are: secrets in the data and in what was said are placeholders.
    Raises `SpecError` before anything is sent where a line of the user has no words.
    """
    check(session)
    redactor = Redactor()
    # First the data: what is a secret there is then known wherever it is said.
    kept_bindings, kept_variables = (_redacted(values or {}, redactor) for values in (bindings, variables))
    play = _Play(session, agent, redactor)
    play.all()
    trace = replace(play.trace(), session=session.name, bindings=kept_bindings, vars=kept_variables)
    return RunOutcome(tuple(play.exchanges), trace, play.problem)


def _redacted(values: Mapping[str, Json], redactor: Redactor) -> Mapping[str, Json]:
    """Take the secrets out of values, as out of a JSON body that holds them."""
    body = Body(dumps(values).encode("utf-8", "surrogatepass"))
    request = Request("POST", "/", (("content-type", "application/json"),), body)
    kept = redactor.redact(Exchange("", Channel(Role.AGENT, "data"), 0.0, request)).request.body.data
    found: Mapping[str, Json] = loads(kept.decode("utf-8", "surrogatepass"))
    return found


def check(session: Session) -> None:
    """Refuse a session whose user says nothing that could be sent; raises `SpecError`."""
    problems = [
        Problem(
            "has no content, so that nothing can be sent: say what the user says", session.file, path=each.at
        )
        for each in session.behaviors
        if each.actor == "user" and isinstance(each.content, Unset)
    ]
    if problems:
        raise SpecError(problems)


def rows(template: Template, filters: Sequence[str] = ()) -> dict[int | None, Mapping[str, Json]]:
    """Give the dataset rows to run a session with, by number from 0; without a dataset one empty row, None.

    The path counts from the session's file, and must lead to a file in that folder or in the working
    directory. A filter is `COLUMN:VALUE`, and a row needs all of them. Raises `SpecError`, `UsageError`.
    """
    dataset = template.dataset
    found: dict[int | None, Mapping[str, Json]] = {None: {}}
    if dataset and dataset.path is not None:
        found = dict(enumerate(read_rows(_inside(template, Path(template.file).parent / dataset.path))))
    for text in filters:
        column, _, value = text.partition(":")
        column = column.removeprefix(f"{dataset.id}.") if dataset else column
        found = {n: row for n, row in found.items() if column in row and as_text(row[column]) == value}
    return found


def _inside(template: Template, path: Path) -> Path:
    """Refuse a path out of what the user named: a document is data, and may be somebody else's."""
    folders = (Path(template.file).parent, Path.cwd())
    if any(path.resolve().is_relative_to(folder.resolve()) for folder in folders):
        return path
    message = f"{path}: lies outside of the session's folder and of the working directory"
    raise SpecError([template.document.problem(("dataset", "path"), message)])


def variables_used(
    template: Template, variables: Mapping[str, Json], environment: Mapping[str, str]
) -> dict[str, Json]:
    """Give the values from outside that a session refers to, as its trace keeps them (SEMANTICS V5)."""
    parts = [name.split(".") for name in template.references()]
    heads = {".".join(part[:end]) for part in parts for end in range(1, len(part) + 1)}
    of_environment = {k.removeprefix(PREFIX): v for k, v in environment.items() if k.startswith(PREFIX)}
    values = {**of_environment, **variables}
    return {name: values[name] for name in sorted(heads & values.keys())}


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
