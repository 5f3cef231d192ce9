"""An edited rubric over 5,000 stored conversations whose flips are known, and `abs diff` of both gradings.

Fails unless exactly the planted flips are found, each by its cause. The other figures are CPU seconds of one
process; memory is what comparing takes beyond both gradings.
"""

import tempfile
import time
import tracemalloc
from pathlib import Path

from abs_replay.comparison import Comparison, Direction, compare
from abs_replay.grading import Settings, grade, select_given
from abs_replay.reports import flips, flips_json, flips_markdown
from abs_replay.spec.loader import load
from abs_replay.store import Store
from abs_replay.verdicts import Grading, Report
from fixtures.gradings import month

COUNT = 5000


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store.duckdb")
        for nth, later in enumerate((False, True)):
            started = time.process_time()
            store.save_grading(_graded(Path(folder), nth, later))
            print(f"month: grading {COUNT} and keeping it  {time.process_time() - started:.1f} s")
        started = time.process_time()
        gradings = store.grading("g-0"), store.grading("g-1")
        print(f"month: reading both back  {time.process_time() - started:.1f} s")
    _shown(_compared(*gradings))


def _graded(folder: Path, nth: int, later: bool) -> Grading:
    document = folder / "rubric.abs.yaml"
    document.write_text(month.RUBRIC % (month.AFTER if later else month.BEFORE), encoding="utf-8")
    selection = select_given(month.conversations(COUNT, later), load([document]).sessions)
    runs = grade(selection, Settings(judge=month.Judge(later)))
    return Grading(f"g-{nth}", nth, Report(runs))


def _compared(before: Grading, after: Grading) -> Comparison:
    started = time.process_time()
    compared = compare(before, after)
    print(f"month: comparing  {time.process_time() - started:.2f} s")
    tracemalloc.start()
    compare(before, after)
    print(f"month: comparing takes at most  {tracemalloc.get_traced_memory()[1] / 2**20:.0f} MiB")
    tracemalloc.stop()
    found = [
        ((flip.after.trace, flip.after.at), (flip.causes, flip.direction is Direction.REGRESSION))
        for flip in compared.flips
    ]
    planted = month.planted(COUNT)
    if sorted(found) != sorted(planted.items()):
        raise SystemExit(f"month: {len(set(found) ^ set(planted.items()))} flips are not as planted")
    print(f"month: all {len(planted)} planted flips found, each by its cause, and no other")
    return compared


def _shown(compared: Comparison) -> None:
    for name, write in (
        ("table, with tests and intervals", flips.render),
        ("Markdown", flips_markdown.render),
        ("JSON", flips_json.as_json),
    ):
        started = time.process_time()
        write(compared)
        print(f"month: as {name}  {time.process_time() - started:.2f} s")
