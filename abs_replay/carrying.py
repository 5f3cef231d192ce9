"""Which verdicts are those of last time: computed anew, or from kept answers, and equal all the same."""

from collections.abc import Iterable
from dataclasses import replace

from abs_replay import comparison
from abs_replay.store import LastRun, Store, named
from abs_replay.verdicts import Report, Run, Status, Verdict


def with_carried(report: Report, store: Store) -> Report:
    """Mark the verdicts that equal those of the last grading of the same session and trace.

    One that a judge was asked for now is never carried over, whatever the answer was; nor is an error, since
    nothing was decided that could be.
    """
    if not store.path.exists():
        return report
    last = store.last_runs({(run.session, run.trace) for run in report.runs})
    carried = frozenset(
        (run.session, run.trace, at)
        for run in report.runs
        if (run.session, run.trace) in last
        for at in _carried(last[run.session, run.trace], run)
    )
    return replace(report, carried=carried)


def _carried(before: LastRun, after: Run) -> Iterable[str]:
    """The places of what is carried over.

    Where no rule that is gone from its place is at another one now, each verdict belongs to that of its
    place, and `comparison` would say the same in ten times the time.
    """
    old, new = before.outcomes(), dict(named(after))
    moved = {key[3] for key in new if key not in old} & {key[3] for key in old if key not in new}
    if moved:
        others = {verdict.at for verdict in after.verdicts if not _can_be(verdict)}
        return [at for at in comparison.carried(before.as_run(), after) if at not in others]
    return [
        verdict.at
        for key, verdict in new.items()
        if key[3] and key in old and old[key] == (verdict.status, verdict.score) and _can_be(verdict)
    ]


def _can_be(verdict: Verdict) -> bool:
    return verdict.status is not Status.ERROR and not verdict.asked
