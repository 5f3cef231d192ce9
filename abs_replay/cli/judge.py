"""The judge that a command line names: `--judge-answers FILE`, or nobody."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from abs_replay.errors import Problem
    from abs_replay.judgement import Judge

answers_option = click.option(
    "--judge-answers",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Answers for judged evaluations, as abs grade --dry-run --format json asks them; repeatable.",
)


def judge_of(answers: Sequence[Path]) -> "Judge | None":
    """Make the judge; None where none was named, and judged evaluations are errors then."""
    if not answers:
        return None
    from abs_replay.judges import open_judge

    return open_judge("recorded", {"answers": [str(path) for path in answers]})


def unused_of(judge: "Judge | None") -> "tuple[Problem, ...]":
    """Warn of answers that were to no question."""
    if judge is None:
        return ()
    from abs_replay.judges.recorded import RecordedJudge

    return judge.unused() if isinstance(judge, RecordedJudge) else ()
