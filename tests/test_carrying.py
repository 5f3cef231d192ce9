"""What is carried over in bulk is what comparing run by run would say."""

from dataclasses import replace
from pathlib import Path

import pytest

from abs_replay import comparison
from abs_replay.carrying import with_carried
from abs_replay.judgement import Usage
from abs_replay.store import Store
from abs_replay.verdicts import (
    BehaviorResult,
    Grading,
    Judged,
    Report,
    Result,
    Run,
    Status,
    StepStatus,
    Verdict,
)


def verdict(at: str, fingerprint: str = "q.d.1", status: Status = Status.PASSED) -> Verdict:
    return Verdict(at, "contains", status, "", 1.0, fingerprint=fingerprint)


def behavior(number: int, content: str, *fingerprints: str) -> BehaviorResult:
    at = f"behaviors[{number}]"
    found = tuple(verdict(f"{at}.evaluations[{n}]", name) for n, name in enumerate(fingerprints))
    return BehaviorResult(
        at, "assistant", "informs", StepStatus.MATCHED, content={"v": [content, None]}, evaluations=found
    )


def run(*steps: BehaviorResult, chain: tuple[Verdict, ...] = ()) -> Run:
    return Run("S", None, "t", Result.PASSED, steps, chain)


BEFORE = run(
    behavior(0, "hi", "a", "b"), behavior(1, "bye", "c"), chain=(verdict("evaluations[0]"), verdict("x", ""))
)


@pytest.mark.parametrize(
    "after",
    [
        BEFORE,
        run(behavior(0, "hi", "a", "edited"), behavior(1, "bye", "c")),
        run(behavior(0, "hi", "b", "a"), behavior(1, "bye", "c")),
        run(behavior(0, "new", "n"), behavior(1, "hi", "a", "b"), behavior(2, "bye", "c")),
        run(behavior(0, "other words", "a", "b")),
        run(behavior(0, "bye", "c"), behavior(1, "hi", "a")),
        run(chain=(verdict("evaluations[1]"), verdict("x", ""))),
        run(chain=(verdict("evaluations[0]", status=Status.FAILED),)),
    ],
)
def test_moved_and_edited_evaluations_are_paired_as_in_a_comparison(tmp_path: Path, after: Run) -> None:
    store = Store(tmp_path / "store.duckdb")
    store.save_grading(Grading("g-1", 1.0, Report((BEFORE,))))

    found = with_carried(Report((after,)), store).carried

    assert found == {("S", "t", at) for at in comparison.carried(BEFORE, after)}


def test_the_last_grading_counts_that_judged_the_trace_by_the_session(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    other = run(chain=(verdict("evaluations[0]", "newer"),))
    for id_, at, report in (
        ("g-2", 2.0, Report((other,))),
        ("g-1", 1.0, Report((BEFORE,))),
        ("g-3", 3.0, Report((replace(BEFORE, trace="u"), replace(BEFORE, session="T")))),
    ):
        store.save_grading(Grading(id_, at, report))

    assert with_carried(Report((other,)), store).carried == {("S", "t", "evaluations[0]")}
    assert with_carried(Report((replace(other, trace="never"),)), store).carried == frozenset()


def test_what_was_asked_now_is_not_carried_over(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    store.save_grading(Grading("g-1", 1.0, Report((BEFORE,))))
    asked = replace(verdict("part"), judged=Judged("d", usage=Usage(1)))
    one = replace(BEFORE.chain_evaluations[0], children=(asked,))

    assert with_carried(Report((run(chain=(one,)),)), store).carried == frozenset()


def test_what_nobody_decided_is_not_carried_over(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    error = Verdict("evaluations[0]", "llm_judge", Status.ERROR, "no judge configured", fingerprint="q.d.1")
    before = run(chain=(error, replace(error, at="evaluations[1]", fingerprint="q.d.2")))
    store.save_grading(Grading("g-1", 1.0, Report((before,))))

    assert with_carried(Report((before,)), store).carried == frozenset()
    moved = run(chain=(replace(error, fingerprint="q.d.2"), replace(error, at="evaluations[1]")))
    assert with_carried(Report((moved,)), store).carried == frozenset()
