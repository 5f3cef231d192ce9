"""Rules and steps in a few words, as a table shows them: `contains "on the way"`.

A verdict knows its rule's type and place; `labelled` adds the words while session and trace are
at hand, so that a report can be shown without them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from abs_replay import exact_json
from abs_replay.exact_json import Json
from abs_replay.spec import rules
from abs_replay.spec.rules import AnyRule, Selector
from abs_replay.spec.session import Evaluation, Session
from abs_replay.trace import Step, Trace
from abs_replay.verdicts import BehaviorResult, Run, Verdict

type Words = Mapping[str, str]  # a label by the place of its evaluation


def labelled(
    run: Run,
    session: Session,
    trace: Trace,
    words: Words | None = None,
    lines: Mapping[str, int] | None = None,
) -> Run:
    """Give the run with `Verdict.label` of every verdict and `Run.extra_labels` filled in, and what its trace
    is: all at once, since a copy of a run takes as long as a verdict.

    Who has many traces of one session gives `words_of(session)` along, and may give `Run.lines`.
    """
    words = words_of(session) if words is None else words
    return run.told(
        steps=tuple([_step(step, words) for step in run.steps]),
        chain_evaluations=_named(run.chain_evaluations, words),
        extra_labels=_extra_labels(run, trace) if run.extra else (),
        trace_digest=trace.digest,
        said=trace.said,
        lines=run.lines if lines is None else lines,
    )


def _step(step: BehaviorResult, words: Words) -> BehaviorResult:
    return step.having(_named(step.evaluations, words)) if step.evaluations else step


def _extra_labels(run: Run, trace: Trace) -> tuple[str, ...]:
    observed = {step.seq: step for step in trace.steps}
    return tuple([entry_of(observed[seq]) for seq in run.extra])


def words_of(session: Session) -> Words:
    """Give the label of every evaluation of a session."""
    of_behaviors = (evaluation for behavior in session.behaviors for evaluation in behavior.evaluations)
    return dict(_labels_of((*of_behaviors, *session.evaluations)))


def _labels_of(evaluations: Iterable[Evaluation]) -> Iterable[tuple[str, str]]:
    for evaluation in evaluations:
        # An invalid rule lacks what made it so.
        yield evaluation.at, label(evaluation.rule) if evaluation.invalid is None else evaluation.rule.type
        yield from _labels_of(evaluation.parts)


def _named(verdicts: Sequence[Verdict], words: Words) -> tuple[Verdict, ...]:
    return tuple(
        [
            verdict.labelled(
                words.get(verdict.at, verdict.label),
                _named(verdict.children, words) if verdict.children else (),
            )
            for verdict in verdicts
        ]
    )


def label(rule: AnyRule) -> str:
    """Say what a rule asks for, in one line."""
    written = WORDS.get(type(rule))
    return written(rule) if written else rule.type


def quoted(value: Json) -> str:
    """Text in quotation marks, anything else as compact JSON."""
    return f'"{value}"' if isinstance(value, str) else exact_json.dumps(value)


def entry(actor: str, action: str, target: str | None, content: Json) -> str:
    """One line for an entry of a session or trace: `user says "Hi"`, `assistant calls Order MCP`."""
    words = [actor, action, *([target] if target else ())]
    return " ".join([*words, *([quoted(content)] if content is not None else ())])


def entry_of(step: Step) -> str:
    """One line for an observed step."""
    return entry(step.actor, step.action, step.target, step.content)


def selector(chosen: Selector) -> str:
    """A selector in few words: an assistant's action stands alone, as in `asks → calls → informs`."""
    actor = None if chosen.actor == "assistant" and chosen.action else chosen.actor
    return " ".join(part for part in (actor, chosen.action, chosen.target) if part)


def _contains(rule: rules.Contains) -> str:
    return f"contains {quoted(rule.value)}" + (" (case-sensitive)" if rule.case_sensitive else "")


def _tool_call(rule: rules.ToolCall) -> str:
    arguments = rule.with_ if rule.with_ is not None else rule.with_only
    parts = [rule.target, exact_json.dumps(arguments) if arguments is not None else None]
    return " ".join(["tool_call", *(part for part in parts if part)])


def _judged(rule: rules.Judged) -> str:
    return f"{rule.type} {quoted(rule.criteria)}" if rule.criteria else rule.type


def _count(rule: rules.Count) -> str:
    bounds = [
        f"{name} {value}" for name, value in (("min", rule.min), ("max", rule.max)) if value is not None
    ]
    return f"count: {selector(rule.match)}, {', '.join(bounds)}"


def _within(rule: rules.Within) -> str:
    every = "every " if rule.every else ""
    steps = "step" if rule.max_steps == 1 else "steps"
    return f"within {rule.max_steps} {steps} after {every}{selector(rule.after)}: {selector(rule.match)}"


def _expected(rule: rules.Expected) -> str:
    return f"expected: {rule.behavior}" + (f" after {selector(rule.after)}" if rule.after else "")


WORDS: dict[type[AnyRule], Callable[..., str]] = {
    rules.ExactMatch: lambda rule: f"exact_match {quoted(rule.value)}",
    rules.Contains: _contains,
    rules.Regex: lambda rule: f"regex /{rule.pattern}/",
    rules.ToolCall: _tool_call,
    rules.Judged: _judged,
    rules.TextMetric: lambda rule: f"{rule.type} against {quoted(rule.ground_truth)}",
    rules.Custom: lambda rule: f"custom: {rule.id}",
    rules.Sequence: lambda rule: "sequence: " + " → ".join(selector(one) for one in rule.order),
    rules.Eventually: lambda rule: f"eventually: {selector(rule.match)}",
    rules.Never: lambda rule: f"never: {selector(rule.match)}",
    rules.Count: _count,
    rules.Within: _within,
    rules.VariableConsistency: lambda rule: f"variable_consistency: {rule.variable}",
    rules.Expected: _expected,
}
