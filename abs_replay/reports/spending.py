"""What judging took, in words for people."""

from collections.abc import Iterator

from abs_replay.judgement import Judging, Usage
from abs_replay.reports.totals import Decided, decided, plural
from abs_replay.verdicts import Report


def facts(report: Report) -> Iterator[tuple[str, str]]:
    """How the verdicts came about, and what the judges took: each with the name of its line."""
    counts = decided(report)
    asked = f", {counts.asked} asked of a judge" if counts.asked else ""
    if counts.carried:
        yield (
            "Carried over",
            f"{counts.carried} of {counts.total} verdicts as last time, {counts.anew} decided anew{asked}",
        )
    if counts.undecided:
        yield "Not decided", f"{counts.undecided} of {plural(counts.total, 'verdict')}{_why(counts)}"
    if report.judging is not None and counted(report.judging):
        yield "Judge", counted(report.judging)
        for name, usage in report.judging.models.items():
            yield "Spent", f"{name}: {spent(usage)}"


def _why(counts: Decided) -> str:
    """The most frequent reason, and for how many there were others."""
    reason, count = next(iter(counts.not_decided.items()))
    others = counts.undecided - count
    return f", {count} of them: {reason}" if others else f": {reason}"


def counted(judging: Judging) -> str:
    """How many questions there were, and what became of them."""
    parts = [
        f"{plural(judging.asked, 'question')} asked" if judging.asked else "",
        f"{judging.kept} answered by kept answers" if judging.kept else "",
        f"{judging.unanswered} not asked" if judging.unanswered else "",
    ]
    return ", ".join(part for part in parts if part)


def spent(usage: Usage) -> str:
    """Calls, tokens and US dollars."""
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    return f"{plural(usage.calls, 'call')}, {tokens}, {dollars(usage.cost)}"


def dollars(cost: float | None) -> str:
    """An amount to a hundredth of a cent, as more matters to nobody."""
    return "price not known" if cost is None else f"${cost:,.4f}" if cost < 1 else f"${cost:,.2f}"
