"""`--baseline` of `abs grade`, and the gates that replace the condition of SEMANTICS R3 (DESIGN §7)."""

from collections.abc import Sequence
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
    from abs_replay.verdicts import Grading, Report

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
    found = store.last_comparable(sessions, traces) if store.path.exists() else None
    if found is None:
        say("warning: nothing to compare with, this is the first grading of these sessions in the store")
        return None
    say(f"--baseline last is {found}")
    kept, gates = store.grading(found), _gates(options)
    if gates is not None and gates.compare and kept.report.result is not Result.PASSED:
        say(
            f"warning: {found} did not pass itself, and what it failed counts as no regression, be it the "
            "last run of this very gate: name the grading to hold to with --baseline ID"
        )
    return kept


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

    def told(self, report: "Report") -> None:
        """Say what the exit status has from gates, which the report does not show."""
        for line in self.failures or ():
            say(f"failed: {line}")
        if self.failures is not None and not self.failures and report.result is not Result.PASSED:
            say(f"the gates hold: the exit status is 0, though the report is {report.result.value}")


def outcome_of(options: Options, report: "Report", comparison: "Comparison | None") -> Outcome:
    """By the gates; without any, and where there is nothing to compare with, every session has to pass."""
    gates = _gates(options)
    if gates is None or (gates.compare and comparison is None):
        return Outcome(0 if report.result is Result.PASSED else 1)
    from abs_replay.comparison.gates import failures
    from abs_replay.comparison.tallies import rate_of

    rate = rate_of(report.runs) if comparison is None else comparison.rate_after
    failed = failures(gates, rate, comparison)
    return Outcome(1 if failed else 0, failed)
