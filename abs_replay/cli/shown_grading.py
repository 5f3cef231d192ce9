"""A grading for `abs show`: where it comes from, and its report."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from abs_replay.cli.gradings import commit_of, provenance_json

if TYPE_CHECKING:
    from abs_replay.exact_json import Json
    from abs_replay.reports import Screen
    from abs_replay.verdicts import Grading


def as_text(grading: "Grading", screen: "Screen | None") -> str:
    """Its facts, then its report as it was printed."""
    from abs_replay.reports import render
    from abs_replay.reports.cells import escaped

    facts = [f"grading {grading.id}: {grading.report.result.value}"]
    facts += [f"  {name}: {value}" for name, value in _facts(grading)]
    return "".join(f"{escaped(line)}\n" for line in facts) + "\n" + render("table", grading.report, screen)


def _facts(grading: "Grading") -> Iterator[tuple[str, str]]:
    from abs_replay.cli.columns import moment

    made_by = grading.provenance
    yield "made", moment(grading.made_at) + (f" by {made_by.who}" if made_by.who else "")
    for file, digest in grading.files.items():
        yield "graded with", f"{file} (sha256 {digest[:12]})"
    if made_by.commit:
        differed = ", from which the files differed" if made_by.dirty else ""
        yield "commit", commit_of(made_by).rstrip("+") + differed
    if made_by.version:
        yield "abs-replay", made_by.version
    if made_by.command:
        yield "command", made_by.command
    for judge, fingerprint in made_by.judges.items():
        votes = f", {made_by.votes} votes" if (made_by.votes or 1) > 1 else ""
        yield "judge", f"{judge} ({fingerprint}{votes})"
    for gate in made_by.refused:
        yield "refused by", gate


def as_json(grading: "Grading") -> dict[str, "Json"]:
    """Its report, with where it comes from as `provenance`."""
    from abs_replay.reports import json_report

    made = {"made_at": grading.made_at, **provenance_json(grading.provenance, grading.files)}
    return {**json_report.as_json(grading.report), "provenance": made}
