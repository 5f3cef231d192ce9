"""`--baseline` of `abs grade`, and the gates that replace the condition of SEMANTICS R3 (DESIGN §7)."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from abs_replay.cli.gates import gates_of
from abs_replay.cli.grade_options import Options, store_of, store_to_keep_in
from abs_replay.cli.saying import say
from abs_replay.errors import UsageError
from abs_replay.values import dataclass
from abs_replay.verdicts import Result

if TYPE_CHECKING:
    from abs_replay.comparison import Comparison
    from abs_replay.comparison.gates import Gates
    from abs_replay.grading import Selection
    from abs_replay.store import Store
    from abs_replay.verdicts import Grading, Report

NOTHING_BEFORE = "nothing to compare with, and not every session passed"
NO_PLACE = ("junit", "github")  # formats that can not show what flipped


def refuse_mixed(options: Options) -> None:
    """Raise `UsageError` for a baseline or gates that what else was said leaves without a meaning."""
    gates = _gates(options)
    if options.dry_run and (options.baseline or gates):
        flag = "--baseline could be compared with" if options.baseline else "a gate could be held against"
        raise UsageError(f"--dry-run judges nothing that {flag}: leave one out")
    compares = gates is not None and gates.compare
    if compares and not options.baseline:
        flag = "--margin" if options.fail_on is None else "--fail-on"
        raise UsageError(f"{flag} compares: say with what, as in --baseline last")
    if options.baseline and options.format_ in NO_PLACE and not compares:
        raise UsageError(f"--format {options.format_} has no place for what --baseline finds: use abs diff")
    if options.traces and options.baseline == "last" and not options.store:
        raise UsageError("--baseline last looks into a store: name it with --store, or give a saved report")


def _gates(options: Options) -> "Gates | None":
    said = options.fail_on, options.min_pass_rate, options.bound, options.margin
    return None if all(one is None for one in said) else gates_of(*said)  # most gradings compare nothing


def baseline_of(options: Options, selection: "Selection") -> "Grading | None":
    """What `--baseline` names; None without it, and where nothing comparable was graded yet."""
    if options.baseline is None:
        return None
    from abs_replay.cli.diff import find_grading

    if options.baseline != "last":
        return find_grading(options.baseline, options.store)
    store = store_of(options)
    sessions = {template.name for _, template in selection.chosen}
    traces = {trace.id for trace, _ in selection.chosen}
    found = _last_accepted(store, sessions, traces) if store.path.exists() else None
    if found is None:
        say("warning: nothing to compare with, no grading of these sessions in the store stands")
        return None
    say(f"--baseline last is {found}")
    return store.grading(found)


def _last_accepted(store: "Store", sessions: Collection[str], traces: Collection[str]) -> str | None:
    """The last grading that no gate refused: else a gate that is tried again would find the regression in
    its own last run, and open."""
    found = store.last_comparable(sessions, traces, accepted=True)
    newest = store.last_comparable(sessions, traces)
    if newest != found:
        say(f"{newest} was refused by its gate, and is no baseline: --baseline {newest} accepts it")
    return found


def compared(options: Options, baseline: "Grading | None", grading: "Grading") -> "Comparison | None":
    if baseline is None:
        return None
    from abs_replay.cli.diff import compare_kept

    return compare_kept(baseline, grading, store_to_keep_in(options))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a grading comes to. `failures` are the gates that do not hold, None where there were none."""

    status: int
    failures: Sequence[str] | None = None
    refused: Sequence[str] = ()  # the same, and that of a gate that found nothing to compare with

    def told(self, report: "Report") -> None:
        """Say what the exit status has from gates, which the report does not show."""
        for line in self.failures or ():
            say(f"failed: {line}")
        if self.failures is not None and not self.failures and report.result is not Result.PASSED:
            say(f"the gates hold: the exit status is 0, though the report is {report.result.value}")


def outcome_of(options: Options, report: "Report", comparison: "Comparison | None") -> Outcome:
    """By the gates; without any, and where there is nothing to compare with, every session has to pass."""
    gates = _gates(options)
    passed = report.result is Result.PASSED
    if gates is None:
        return Outcome(0 if passed else 1)
    if gates.compare and comparison is None:
        return Outcome(0) if passed else Outcome(1, refused=(NOTHING_BEFORE,))
    from abs_replay.comparison.gates import failures
    from abs_replay.comparison.tallies import rate_of

    rate = rate_of(report.runs) if comparison is None else comparison.rate_after
    failed = failures(gates, rate, comparison)
    return Outcome(1 if failed else 0, failed, failed)
