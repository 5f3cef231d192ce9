"""What a failed `blocking` evaluation makes inconclusive (SEMANTICS R5)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from abs_replay.alignment import Alignment
from abs_replay.alignment.compatibility import is_execution, is_tool_response
from abs_replay.spec import references
from abs_replay.spec.rules import AnyRule, Expected, VariableConsistency
from abs_replay.spec.session import Behavior, Evaluation, Session
from abs_replay.values import dataclass
from abs_replay.verdicts import Status, StepStatus, Verdict

INPUTS = ("query", "context", "response")  # the fields of a rule that refer to behaviors (E6)

type OfBehaviors = list[tuple[Verdict, ...]]


@dataclass(slots=True)
class Blocked:
    """What depends on a step whose blocking evaluation failed, with that evaluation's place."""

    variables: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    def by(self, rule: AnyRule) -> str | None:
        """Give the place that keeps a session evaluation from meaning anything."""
        if isinstance(rule, VariableConsistency):
            return self.variables.get(rule.variable)
        return self.ids.get(rule.behavior) if isinstance(rule, Expected) else None


def inconclusive(verdict: Verdict, at: str) -> Verdict:
    """Turn a failure into what it is worth after `at` failed; anything else stays."""
    if verdict.status is not Status.FAILED:
        return verdict
    reason = f"depends on a step that failed {at}: {verdict.reason}"
    return replace(verdict, status=Status.INCONCLUSIVE, score=None, reason=reason)


def block(session: Session, alignment: Alignment, verdicts: OfBehaviors) -> Blocked:
    """Make inconclusive, in place, the failures that depend on a failed blocking evaluation."""
    blocked = Blocked()
    if not any(v.blocking and v.status is Status.FAILED for of_behavior in verdicts for v in of_behavior):
        return blocked
    dependents = _Dependents(session.behaviors, alignment)
    for index in range(len(verdicts)):
        at = next((v.at for v in verdicts[index] if v.blocking and v.status is Status.FAILED), None)
        if at is None:
            continue
        reached = dependents.of(index)
        for other in reached:
            verdicts[other] = tuple(inconclusive(verdict, at) for verdict in verdicts[other])
        for behavior in (session.behaviors[n] for n in (index, *reached)):
            if behavior.id is not None:
                blocked.ids.setdefault(behavior.id, at)
            for variable in behavior.capture:
                blocked.variables.setdefault(variable, at)
    return blocked


class _Dependents:
    """Which behaviors depend on which, directly and through others."""

    def __init__(self, behaviors: Sequence[Behavior], alignment: Alignment) -> None:
        self._behaviors = behaviors
        self._alignment = alignment
        self._edges: dict[int, set[int]] = {}
        ids = {behavior.id: index for index, behavior in enumerate(behaviors) if behavior.id is not None}
        for index, behavior in enumerate(behaviors):
            for on in (*_named(behavior, ids), *self._captures_behind(index)):
                self._edges.setdefault(on, set()).add(index)
        for call, response in self._pairs():
            self._edges.setdefault(call, set()).add(response)

    def of(self, failed: int) -> list[int]:
        """Give what depends on a failed step, itself left out; a failed call takes its turn's rest along."""
        reached: set[int] = set()
        waiting = [*self._edges.get(failed, ()), *self._later_in_turn(failed)]
        while waiting:
            index = waiting.pop()
            if index != failed and index not in reached:
                reached.add(index)
                waiting += self._edges.get(index, ())
        return sorted(reached)

    def _later_in_turn(self, failed: int) -> Iterator[int]:
        if not is_execution(self._behaviors[failed]):
            return
        for index in range(failed + 1, len(self._behaviors)):
            actor = self._behaviors[index].actor
            if actor == "user" and self._alignment.places[index].status is not StepStatus.SKIPPED:
                return
            if actor == "assistant":
                yield index

    def _captures_behind(self, index: int) -> Iterator[int]:
        """Give the behaviors whose captures this one refers to: the nearest earlier of each name."""
        behavior = self._behaviors[index]
        of_evaluations = frozenset[str]().union(*(one.references for one in behavior.evaluations))
        of_fields = {name for value in behavior.written.values() for name in references.names(value)}
        of_fields |= behavior.references - of_evaluations
        for name in of_fields | of_evaluations:
            # Its own capture counts as earlier for its evaluations alone (V1).
            start = index if name not in of_fields else index - 1
            source = next((n for n in range(start, -1, -1) if _captures(self._behaviors[n], name)), None)
            if source is not None:
                yield source

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """Pair calls with their responses: by call id, else the n-th of a target with the n-th."""
        calls = [n for n, behavior in enumerate(self._behaviors) if is_execution(behavior)]
        responses = [n for n, behavior in enumerate(self._behaviors) if is_tool_response(behavior)]
        with_ids = {self._call_id(call): call for call in calls}
        counted: dict[str | None, int] = {}
        for response in responses:
            target = self._behaviors[response].target
            nth = counted.get(target, 0)
            counted[target] = nth + 1
            id_ = self._call_id(response)
            if id_ is not None and id_ in with_ids:
                yield with_ids[id_], response
                continue
            of_target = [call for call in calls if self._behaviors[call].target == target]
            if nth < len(of_target) and (id_ is None or self._call_id(of_target[nth]) is None):
                yield of_target[nth], response

    def _call_id(self, index: int) -> str | None:
        seen = self._alignment.step_of(index)
        return None if seen is None else seen.step.call_id


def _captures(behavior: Behavior, name: str) -> bool:
    return any(name == variable or name.startswith(f"{variable}.") for variable in behavior.capture)


def _named(behavior: Behavior, ids: Mapping[str, int]) -> Iterator[int]:
    """Give the behaviors that this one requires or that its evaluations' inputs name."""
    if behavior.requires is not None:
        yield ids[behavior.requires]
    for evaluation in _with_parts(behavior.evaluations):
        for written in (getattr(evaluation.rule, name, None) for name in INPUTS):
            id_ = written.partition(".")[0] if isinstance(written, str) else ""
            if id_ in ids:
                yield ids[id_]


def _with_parts(evaluations: Iterable[Evaluation]) -> Iterator[Evaluation]:
    for evaluation in evaluations:
        yield evaluation
        yield from _with_parts(evaluation.parts)
