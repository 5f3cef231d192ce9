"""Which evaluations traces can decide at all: what was not recorded can be neither passed nor failed.

Every trace is evaluated as it would be graded, with no answers; what is said of an evaluation is read off
its verdict. Only two things can not be: that nobody could have seen a tool call, and that what a session
expects was observed in none of its traces.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from abs_replay import exact_json
from abs_replay.errors import SpecError
from abs_replay.grading import Selection, Settings, resolve
from abs_replay.judgement import Question
from abs_replay.reports.labels import entry, words_of
from abs_replay.scoring import evaluated
from abs_replay.spec import rules
from abs_replay.spec.rules import Selector
from abs_replay.spec.session import UNSET, Behavior, Evaluation, Session
from abs_replay.spec.variables import Template
from abs_replay.trace import EXECUTION, Trace, Visibility
from abs_replay.verdicts import BehaviorResult, Run, Status, StepStatus, Verdict

type Refused = Mapping[str, str]  # by a question's digest: why nobody can answer it
type SeesTools = Callable[[Trace], bool]

MATCH = "match"  # in place of a type: whether a behavior has its step (SEMANTICS R2)
NO_TOOLS = "nothing that would show a tool call was recorded: no tool's or model's channel, and no call"
NO_STEPS = "the trace has no step that the user could see"
NO_STEP = "no step of any trace matches its behavior"


class Kind(StrEnum):
    """What is missing, in the order in which it is said: of one evaluation and trace only the first."""

    VARIABLE = "variable"
    NO_STEPS = "no_steps"
    NO_TOOLS = "no_tools"
    NO_JUDGE = "no_judge"
    ERROR = "error"
    NO_STEP = "no_step"
    NO_REFERENCE = "no_reference"


@dataclass(frozen=True, slots=True)
class Lack:
    """Why some traces can not decide an evaluation."""

    kind: Kind
    message: str
    traces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """One evaluation, or one behavior's match, over the traces that its session judges."""

    session: str
    at: str
    type: str
    label: str
    traces: int
    lacks: tuple[Lack, ...]

    @property
    def decidable(self) -> int:
        """How many of the traces can decide it."""
        return self.traces - sum(len(lack.traces) for lack in self.lacks)


type Key = tuple[str, str, str]  # session, at, type
type Found = tuple[Kind, str]


class _Ledger:
    """What was found of each evaluation, trace by trace."""

    def __init__(self) -> None:
        self.labels: dict[Key, str] = {}
        self.seen: defaultdict[Key, dict[str, Found | None]] = defaultdict(dict)

    def add(self, key: Key, label: str, trace: str, found: Found | None) -> None:
        self.labels[key] = label
        self.seen[key][trace] = found

    def checked(self) -> Iterator[Checked]:
        for key, found in self.seen.items():
            lacks: defaultdict[Found, list[str]] = defaultdict(list)
            for trace, lack in found.items():
                if lack and (lack[0] not in _OF_ALL or _alike(found)):
                    lacks[lack].append(trace)
            made = (Lack(kind, message, tuple(traces)) for (kind, message), traces in lacks.items())
            yield Checked(*key, self.labels[key], len(found), tuple(sorted(made, key=_order)))


_OF_ALL = (Kind.NO_STEP, Kind.NO_REFERENCE)  # in some traces that is a failure, and no lack of evidence


def _alike(found: dict[str, Found | None]) -> bool:
    """Whether no trace at all has the step."""
    without = (*_OF_ALL, Kind.NO_STEPS, Kind.NO_TOOLS)
    return all(lack is not None and lack[0] in without for lack in found.values())


def _order(lack: Lack) -> int:
    return list(Kind).index(lack.kind)


def check(
    selection: Selection,
    settings: Settings,
    sees_tools: SeesTools,
    refusals: Callable[[Sequence[Question]], Refused],
) -> tuple[Checked, ...]:
    """Check every evaluation over the traces that its session judges, in the sessions' order.

    A trace whose variables have no values decides nothing: then the place of the problem stands for all.
    """
    ledger = _Ledger()
    known: dict[tuple[str, str], Session | SpecError] = {}
    runs: list[tuple[Trace, Session, Run]] = []
    for trace, template in selection.chosen:
        key = template.name, exact_json.dumps([trace.bindings, trace.vars])
        session = known[key] = known[key] if key in known else _resolved(template, trace, settings)
        if isinstance(session, Session):
            runs.append((trace, session, evaluated(trace, session, {}, settings.policy)))
            continue
        for (at, type_), message in _without_values(template, session).items():
            found = Kind.VARIABLE, message
            ledger.add((template.name, at, type_), type_ or "the whole session", trace.id, found)
    open_ = {question.digest: question for _, _, run in runs for question in run.questions}
    refused = refusals(tuple(open_.values())) if open_ else {}
    for trace, session, run in runs:
        _note(ledger, session, trace, run, sees_tools(trace), refused)
    return tuple(ledger.checked())


def _resolved(template: Template, trace: Trace, settings: Settings) -> Session | SpecError:
    try:
        return resolve(template, trace, settings)
    except SpecError as error:
        return error


def _without_values(template: Template, error: SpecError) -> dict[tuple[str, str], str]:
    """What is said of each evaluation, by place and type, or of what else has a variable without a value."""
    types = dict(_types(template))
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for problem in error.problems:
        inner = _EVALUATION.match(problem.path)
        at = inner[0] if inner and inner[0] in types else problem.path
        found[at, types.get(at, "")].append(problem.message)
    return {place: "; ".join(dict.fromkeys(messages)) for place, messages in found.items()}


_EVALUATION = re.compile(r".*?\bevaluations\[\d+\]")


def _types(template: Template) -> Iterator[tuple[str, str]]:
    """The type of each evaluation by its place, as written."""
    for placed in template.behaviors:
        written = placed.value.get("evaluations")
        for nth, evaluation in enumerate(written if isinstance(written, list) else ()):
            if isinstance(evaluation, dict):
                yield placed.problem(("evaluations", nth), "").path, str(evaluation.get("type", ""))
    for placed in template.evaluations:
        yield placed.problem((), "").path, str(placed.value.get("type", ""))


def sees_calls(traces: Sequence[Trace], roles: Callable[[Trace], frozenset[str]]) -> SeesTools:
    """Say whether a tool call would have been seen: by a channel that carries them, or since some trace of
    the same recording has one. `roles` are those of the channels that a trace's recording has."""
    calls = {
        trace.recording
        for trace in traces
        if any(_shows_tools(step.actor, step.action) for step in trace.steps)
    }
    return lambda trace: trace.recording in calls or bool(roles(trace) & {"tool", "llm"})


def _note(ledger: _Ledger, session: Session, trace: Trace, run: Run, tools: bool, refused: Refused) -> None:
    words = words_of(session)
    visible = any(step.visibility is not Visibility.INTERNAL for step in trace.steps)

    def note(at: str, type_: str, label: str, about_tools: bool, found: Found | None) -> None:
        if not visible:
            found = Kind.NO_STEPS, NO_STEPS
        elif about_tools and not tools:
            found = Kind.NO_TOOLS, NO_TOOLS
        ledger.add((session.name, at, type_), label, trace.id, found)

    for behavior, step in zip(session.behaviors, run.steps, strict=True):
        about_tools = _shows_tools(behavior.actor, behavior.action)
        if about_tools or behavior.matches_when:
            note(behavior.at, MATCH, _words(behavior), about_tools, _of_match(step, run, refused))
        for evaluation, verdict in zip(behavior.evaluations, step.evaluations, strict=True):
            found = _of_verdict(evaluation, verdict, run, refused, step)
            note(evaluation.at, evaluation.type, words.get(evaluation.at, ""), about_tools, found)
    for evaluation, verdict in zip(session.evaluations, run.chain_evaluations, strict=True):
        found = _of_verdict(evaluation, verdict, run, refused)
        note(
            evaluation.at,
            evaluation.type,
            words.get(evaluation.at, ""),
            _selects_calls(evaluation, session),
            found,
        )


def _words(behavior: Behavior) -> str:
    content = None if behavior.content is UNSET else behavior.content
    return entry(behavior.actor, behavior.action, behavior.target, content)


def _of_match(step: BehaviorResult, run: Run, refused: Refused) -> Found | None:
    if step.status is not StepStatus.ERROR:
        return None
    if run.questions:  # which may decide it
        return _unanswered(run, step.at, refused)
    return Kind.ERROR, step.near or "it could not be decided which step matches"


def _of_verdict(
    evaluation: Evaluation, verdict: Verdict, run: Run, refused: Refused, step: BehaviorResult | None = None
) -> Found | None:
    if verdict.status is Status.PENDING:
        return _unanswered(run, verdict.at, refused)
    if verdict.status in (Status.ERROR, Status.NOT_EVALUABLE):
        return Kind.ERROR, verdict.reason
    if step is not None and step.status in (StepStatus.UNMATCHED, StepStatus.MISSING):
        return Kind.NO_STEP, NO_STEP
    if verdict.status is Status.FAILED and isinstance(evaluation.rule, rules.Judged):
        return Kind.NO_REFERENCE, verdict.reason  # with no answers, nothing else fails it (SEMANTICS E6)
    return None


def _unanswered(run: Run, at: str, refused: Refused) -> Found | None:
    """Why nobody can answer what an evaluation, or a part of it, waits for: its own question, or which steps
    match."""
    own = [question for question in run.questions if question.at == at or question.at.startswith(f"{at}.")]
    why = next((refused[each.digest] for each in own or run.questions if each.digest in refused), None)
    return None if why is None else (Kind.NO_JUDGE, why)


# -- tools --


def _shows_tools(actor: str | None, action: str | None) -> bool:
    return actor == "tool" or (action in EXECUTION and actor != "system")


def _selects_calls(evaluation: Evaluation, session: Session) -> bool:
    """Whether a session's evaluation is about tools: by its selectors, or the behavior that it names."""
    rule = evaluation.rule
    named = isinstance(rule, rules.Expected) and any(
        behavior.id == rule.behavior and _shows_tools(behavior.actor, behavior.action)
        for behavior in session.behaviors
    )
    return (
        named
        or any(_shows_tools(each.actor, each.action) for each in _selectors(rule))
        or any(_selects_calls(part, session) for part in evaluation.parts)
    )


def _selectors(rule: rules.AnyRule) -> Sequence[Selector]:
    match rule:
        case rules.Sequence():
            return rule.order
        case rules.Eventually() | rules.Never() | rules.Count():
            return (rule.match,)
        case rules.Within():
            return rule.after, rule.match
        case rules.Expected(after=Selector() as after):
            return (after,)
    return ()
