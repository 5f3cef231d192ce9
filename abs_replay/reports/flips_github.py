"""What got worse, as GitHub workflow commands: each rule at its line of the session's file.

A flip that asking again could undo is a warning, and so is what can not be decided any more; a gate that does
not hold is an error of its own.
"""

import os
from collections.abc import Iterator, Mapping, Sequence

from abs_replay.comparison import Comparison, Direction
from abs_replay.comparison.pairing import Check
from abs_replay.reports.cells import escaped
from abs_replay.reports.flips import named
from abs_replay.reports.github import LONGEST_REASON, LONGEST_TITLE, MOST_TRACES, annotation
from abs_replay.reports.totals import plural

type Worse = tuple[Check, str]  # the later check, and why it is worse


def render(
    comparison: Comparison, failures: Sequence[str] = (), environment: Mapping[str, str] = os.environ
) -> str:
    """Write an annotation for each rule that something got worse by, and a summary."""
    flips = [flip for flip in comparison.matches + comparison.flips if flip.direction is Direction.REGRESSION]
    lost = [(pair.after, pair.why) for pair in comparison.incomparable if pair.regressed and pair.after]
    errors = [(flip.after, "; ".join(flip.causes)) for flip in flips if not flip.unstable]
    warnings = [(flip.after, "; ".join(flip.causes)) for flip in flips if flip.unstable] + lost
    lines = [annotation("error", None, None, "abs", escaped(failure), environment) for failure in failures]
    lines += _annotations("error", errors, environment)
    lines += _annotations("warning", warnings, environment)
    return "".join(f"{line}\n" for line in [*lines, _summary(comparison, len(lost))])


def _annotations(command: str, worse: Sequence[Worse], environment: Mapping[str, str]) -> Iterator[str]:
    rules: dict[tuple[str, str, str], list[Worse]] = {}
    for check, why in worse:
        rules.setdefault((check.session, check.at, check.type), []).append((check, why))
    for found in rules.values():
        check = found[0][0]
        title = escaped(f"{check.session}: {named(check)}")[:LONGEST_TITLE]
        message = "\n".join(_message(found))
        yield annotation(command, check.run.file, check.run.lines.get(check.at), title, message, environment)


def _message(found: Sequence[Worse]) -> Iterator[str]:
    for check, why in found[:MOST_TRACES]:
        told = f" [{why}]" if why else ""
        yield f"{escaped(check.reason[:LONGEST_REASON])} ({escaped(check.trace)}){told}"
    if len(found) > MOST_TRACES:
        yield f"and in {plural(len(found) - MOST_TRACES, 'more trace')}"


def _summary(comparison: Comparison, lost: int) -> str:
    """Numbers alone: a text out of a trace could be taken for a command."""
    worse = sum(flip.direction is Direction.REGRESSION for flip in comparison.flips)
    flipped = f"{plural(len(comparison.flips), 'evaluation')} flipped, {worse} to the worse"
    return f"abs: {flipped}, {lost} not decided any more, {comparison.same} the same"
