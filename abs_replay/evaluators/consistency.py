"""`variable_consistency`: one variable, one value, wherever it was observed (SEMANTICS C5).

Each behavior is asked for its places: references to the variable in `with` and `content`, and its
captures. A place that was observed gives the observed value and the value its reference resolved
to; `{{v.a}}` is compared with its own kind only. All must be equal.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from abs_replay.alignment import Seen
from abs_replay.alignment.compatibility import is_call, is_execution, names_of
from abs_replay.evaluators.context import Context, failed, observed_in, passed
from abs_replay.evaluators.holding import fit, holds, in_nfc
from abs_replay.exact_json import Json, equal
from abs_replay.predicates import Undecided, as_text, shown, structured
from abs_replay.spec import references
from abs_replay.spec.references import Part, Reference
from abs_replay.spec.rules import VariableConsistency
from abs_replay.spec.session import Behavior, Evaluation
from abs_replay.verdicts import StepStatus, Verdict


class _Value(NamedTuple):
    """A value of the variable, or of the part of it that `name` says. `is_text`: it was read in content."""

    name: str
    value: Json
    at: str
    seq: int
    is_text: bool = False


class _NotHeld(Exception):
    """A step was observed without what its behavior captured there."""

    def __init__(self, reason: str, seq: int) -> None:
        super().__init__(reason)
        self.seq = seq


def variable_consistency(evaluation: Evaluation, context: Context) -> Verdict:
    rule = evaluation.rule
    assert isinstance(rule, VariableConsistency)
    try:
        values = list(_values(rule.variable, context))
    except _NotHeld as absent:
        return failed(evaluation, str(absent), absent.seq)
    seqs = tuple(dict.fromkeys(value.seq for value in values))
    if not values:
        return failed(evaluation, f"expected to observe `{rule.variable}` somewhere, observed it nowhere")
    first: dict[str, list[_Value]] = {}
    for value in values:
        of_name = first.setdefault(value.name, [])
        other = next((one for one in of_name if not _same(one, value)), None)
        if other is not None:
            where = f"{shown(other.value)} at {other.at}, {shown(value.value)} at {value.at}"
            return failed(evaluation, f"expected one value of `{value.name}`, observed {where}", *seqs)
        if not any(one.is_text is value.is_text and equal(one.value, value.value) for one in of_name):
            of_name.append(value)
    return passed(
        evaluation, f"`{rule.variable}` is {shown(values[0].value)} wherever it was observed", *seqs
    )


def _same(left: _Value, right: _Value) -> bool:
    if left.is_text or right.is_text:
        return in_nfc(as_text(left.value)) == in_nfc(as_text(right.value))
    return equal(left.value, right.value)


def _values(variable: str, context: Context) -> Iterator[_Value]:
    for index, behavior in enumerate(context.session.behaviors):
        place = context.alignment.places[index]
        if not _concerns(variable, behavior) or place.status is StepStatus.SKIPPED:
            continue
        if place.status is StepStatus.ERROR:
            raise Undecided(place.trouble or f"it could not be decided what {behavior.at} matched")
        seen = context.alignment.step_of(index)
        call = seen if seen is not None or not is_execution(behavior) else _stand_in(index, context)
        if call is not None:
            yield from _in_arguments(variable, behavior, call)
        if seen is not None:
            yield from _in_content(variable, behavior, seen)
            yield from _captured(variable, behavior, seen)


def _concerns(variable: str, behavior: Behavior) -> bool:
    return variable in behavior.capture or any(_is_part(variable, name) for name in behavior.references)


def _is_part(variable: str, name: str) -> bool:
    return name == variable or name.startswith(f"{variable}.")


def _stand_in(index: int, context: Context) -> Seen | None:
    """Find the untaken call of the turn that would match but for its arguments."""
    behavior, place = context.session.behaviors[index], context.alignment.places[index]
    names = None if behavior.target is None else names_of(behavior.target, context.session.aliases)
    for position in place.turn:
        seen = context.steps[position]
        right_kind = seen.behavior is None and seen.actor == behavior.actor and is_call(seen.step)
        if right_kind and (names is None or seen.target in names):
            return seen
    return None


# -- places --


class _Field(NamedTuple):
    """A field of a behavior as written, beside the step that it is compared with."""

    variable: str
    behavior: Behavior
    seq: int
    is_content: bool

    def walk(self, written: Json, observed: Json, path: str) -> Iterator[_Value]:
        """Go through what was written and what was observed side by side; give the values at references."""
        if isinstance(written, Mapping) and isinstance(observed, Mapping):
            for key, item in written.items():
                if key in observed:
                    yield from self.walk(item, observed[key], f"{path}.{key}")
        elif isinstance(written, list | tuple) and isinstance(observed, list | tuple):
            for number, (item, found) in enumerate(zip(written, observed, strict=False)):
                yield from self.walk(item, found, f"{path}[{number}]")
        elif isinstance(written, str):
            parts = references.parse(written)
            names = [part.name for part in parts if isinstance(part, Reference)]
            for name in dict.fromkeys(name for name in names if _is_part(self.variable, name)):
                yield from self._compared(name, parts, observed, f"{self.behavior.at}.{path}")

    def _compared(self, name: str, parts: Sequence[Part], observed: Json, at: str) -> Iterator[_Value]:
        """Give what stands at a reference, and what the reference resolved to."""
        resolved = self.behavior.values.get(name)
        if len(parts) == 1:
            is_text = self.is_content and isinstance(observed, str)
            yield _Value(name, observed, at, self.seq, is_text)
        else:
            fitted = fit(parts, observed) if isinstance(observed, str) else None
            place = observed if fitted is None else fitted[name]
            if holds(place, resolved):
                place = resolved
            elif fitted is None:
                return
            yield _Value(name, place, at, self.seq, self.is_content)
        yield _Value(name, resolved, f"{at} as written", self.seq)


def _in_arguments(variable: str, behavior: Behavior, seen: Seen) -> Iterator[_Value]:
    field = _Field(variable, behavior, seen.step.seq, is_content=False)
    for name in ("with", "with_only"):
        if name in behavior.written:
            yield from field.walk(behavior.written[name], observed_in(seen.step), name)


def _in_content(variable: str, behavior: Behavior, seen: Seen) -> Iterator[_Value]:
    if "content" in behavior.written:
        written, observed = behavior.written["content"], seen.step.content
        field = _Field(variable, behavior, seen.step.seq, is_content=True)
        yield from field.walk(
            written, observed if isinstance(written, str) else structured(observed), "content"
        )


def _captured(variable: str, behavior: Behavior, seen: Seen) -> Iterator[_Value]:
    if variable not in behavior.capture:
        return
    literal, content = behavior.capture[variable], observed_in(seen.step)
    at, seq = f"{behavior.at}.capture.{variable}", seen.step.seq
    if not holds(content, literal):
        reason = f"expected the captured {shown(literal)} at {at}, observed {shown(content)} in step {seq}"
        raise _NotHeld(reason, seq)
    yield _Value(variable, literal, at, seq)
