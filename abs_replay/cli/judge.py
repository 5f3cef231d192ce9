"""The judge that a command line names: `--judge-answers FILE`, or nobody."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from abs_replay.judgement import Judge

answers_option = click.option(
    "--judge-answers",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Answers for judged evaluations, recorded in a JSON file (abs grade --dry-run --format json).",
)


def judge_of(answers: Path | None) -> "Judge | None":
    """Make the judge; None where none was named, and judged evaluations are errors then."""
    if answers is None:
        return None
    from abs_replay.judges import open_judge

    return open_judge("recorded", {"answers": str(answers)})
