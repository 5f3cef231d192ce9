"""What traces can decide, for people: each reason once with all that it keeps from it, then the rest."""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from abs_replay.cli.saying import harmless
from abs_replay.reports import PAPER, Screen
from abs_replay.reports.cells import cut, wrapped
from abs_replay.reports.totals import plural

if TYPE_CHECKING:
    from abs_replay.sufficiency import Checked, Lack

MOST = 50  # checks below one heading; JSON has them all
WHAT = (
    "A check is an evaluation, or whether a step matches a behavior that is about tools or has matches_when."
)


def written(found: "Sequence[Checked]", ungraded: Sequence[str]) -> str:
    """Write what can not be decided and why, and what can."""
    width = (Screen.of(sys.stdout) or PAPER).width
    lacking: defaultdict[str, list[tuple[Checked, Lack]]] = defaultdict(list)
    for each in found:
        for lack in each.lacks:
            lacking[lack.message].append((each, lack))
    lines: list[str] = []
    for message, checks in lacking.items():
        heading = f"{plural(len(checks), 'check')} can not be decided: {message}"
        lines += [*wrapped(harmless(heading), width), *_listed(map(_lacking, checks), len(checks), width), ""]
    able = [each for each in found if not each.lacks]
    if able:
        heading = f"{plural(len(able), 'check')} can be decided on every trace:"
        lines += [heading, *_listed(map(_named, able), len(able), width), ""]
    lines += [harmless(f"{name}: no trace plays this session") for name in ungraded]
    lines.append(f"{len(able)} of {plural(len(found), 'check')} can be decided on every trace. {WHAT}")
    return "\n".join(lines) + "\n"


def _listed(names: Iterator[str], count: int, width: int) -> Iterator[str]:
    for _, name in zip(range(MOST), names, strict=False):
        yield cut(harmless(f"  {name}"), width)
    if count > MOST:
        yield f"  .. and {count - MOST} more: --format json lists them"


def _lacking(found: "tuple[Checked, Lack]") -> str:
    each, lack = found
    return f"{_named(each)}: {len(lack.traces)} of {plural(each.traces, 'trace')}"


def _named(each: "Checked") -> str:
    return " · ".join(filter(None, (each.session, each.at, each.label or each.type)))
