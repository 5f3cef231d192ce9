"""What flipped, as Markdown for a comment on a pull request: the verdict, the counts, and the flips, folded.

What comes from a trace or a document stands in a code span or is escaped, and what has no room in a
comment is left out from the end, as in `markdown`.
"""

import html
from collections.abc import Iterable, Iterator, Sequence

from abs_replay.comparison import Comparison, Direction, Flip
from abs_replay.reports.cells import escaped
from abs_replay.reports.flips import (
    MOST_OF_A_RULE,
    by_cause,
    caused,
    counted,
    grouped,
    named,
    noise_floor,
    rate,
    stable,
    tested,
    unstable,
    what_did_not_flip,
)
from abs_replay.reports.markdown_text import (
    LARGEST,
    LONGEST_NAME,
    LONGEST_REASON,
    Room,
    code,
    folded,
)
from abs_replay.reports.table import EVALUATIONS
from abs_replay.reports.totals import plural


def render(
    comparison: Comparison, failures: Sequence[str] = (), gated: bool = False, most: int = LARGEST
) -> str:
    """Write it for a comment; `failures` are the gates that do not hold, if it was `gated`."""
    room = Room(most - 500)  # the last line has its place
    room.add(
        _verdict(comparison, failures, gated), "", *(f"- {code(line, LONGEST_REASON)}" for line in failures)
    )
    room.add("", *_counts(comparison), "")
    room.add(f"Sessions passed: {rate(comparison.rate_before)} → {rate(comparison.rate_after)}", "")
    room.add(*(f"- {line.strip()}" for line in by_cause(comparison)))
    room.add(*(f"\n{line}" for line in noise_floor(comparison.floor)))
    left_out = _rules(comparison, stable(comparison), "", room)
    left_out += _rules(comparison, unstable(comparison), "unstable · ", room)
    for name, listed in what_did_not_flip(comparison):
        lines = [f"- {code(heading)}: {summary}" for heading, summary in counted(listed).items()]
        left_out += folded(f"{name}: {plural(len(listed), 'evaluation')}", lines, room)
    if left_out:
        room.lines.append(f"\n{plural(left_out, 'more line')} had no room here; `--format json` has all.")
    return "\n".join(room.lines) + "\n"


def _verdict(comparison: Comparison, failures: Sequence[str], gated: bool) -> str:
    worse = sum(flip.direction is Direction.REGRESSION for flip in comparison.flips)
    flipped = (
        f"{len(comparison.flips)} of {plural(comparison.same + len(comparison.flips), 'evaluation')} flipped"
    )
    told = f"{flipped}, {worse} to the worse · {code(comparison.before)} → {code(comparison.after)}"
    if not gated:
        return f"**{'❌' if comparison.regressions else '✅'} {flipped}**, {told.partition(', ')[2]}"
    return f"**❌ FAILED** · {told}" if failures else f"**✅ PASSED** · {told}"


def _counts(comparison: Comparison) -> Iterator[str]:
    yield "| | worse | better | otherwise | same | not comparable |"
    yield "|---|---:|---:|---:|---:|---:|"
    others = (comparison.same, len(comparison.incomparable))
    yield _row("evaluations", comparison.flips, *map(str, others))
    yield _row("matches", comparison.matches)
    yield _row("sessions", comparison.results)


def _row(name: str, flips: Iterable[Flip], same: str = "", incomparable: str = "") -> str:
    directions = [flip.direction for flip in flips]
    counts = [str(directions.count(direction) or "–") for direction in Direction]
    return f"| {name} | {' | '.join([*counts, same, incomparable])} |"


def _rules(comparison: Comparison, flips: Sequence[Flip], before: str, room: Room) -> int:
    """Fold each rule's flips; give how many lines had no room."""
    tallies = {tally.place: tally for tally in comparison.tallies}
    left_out = 0
    for place, found in grouped(flips).items():
        tally = tallies.get(place)
        lines = [line for flip in found[:MOST_OF_A_RULE] for line in _flip(flip)]
        lines += [f"- and {more} more"] if (more := len(found) - MOST_OF_A_RULE) > 0 else []
        lines += [f"- {tested(tally, comparison.floor)}"] if tally and tally.judged else []
        left_out += folded(f"{before}{_summary(found)}", lines, room)
    return left_out


def _summary(flips: Sequence[Flip]) -> str:
    """HTML, where nothing is Markdown any more."""
    after = flips[0].after
    directions = [flip.direction for flip in flips]
    counts = ((directions.count(direction), name) for direction, name in NAMES.items())
    what = " · ".join(part for part in (after.session, after.at, named(after)) if part)
    told = ", ".join(f"{count} {name}" for count, name in counts if count)
    symbol = "❌ " if Direction.REGRESSION in directions else ""
    return f"{symbol}<code>{html.escape(escaped(what[: 2 * LONGEST_NAME]))}</code>: {told}"


NAMES = {Direction.REGRESSION: "worse", Direction.IMPROVEMENT: "better", Direction.CHANGE: "otherwise"}


def _flip(flip: Flip) -> Iterator[str]:
    sides = (("before", flip.before), ("after", flip.after))
    went = " → ".join(" ".join(EVALUATIONS[check.status][:2]) for _, check in sides)
    reasons = (f"<br>{side}: {code(check.reason, LONGEST_REASON)}" for side, check in sides if check.reason)
    yield f"- {code(flip.after.trace)}: {went}{caused(flip)}{''.join(reasons)}"
