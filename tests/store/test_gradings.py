"""Gradings come back from the store equal, and nothing is overwritten."""

from dataclasses import fields, replace
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from abs_replay import exact_json
from abs_replay.errors import StoreError
from abs_replay.judgement import AskedAt, Judging, Question, Usage
from abs_replay.store import GradingSummary, Store
from abs_replay.verdicts import (
    BehaviorResult,
    Grading,
    Judged,
    Provenance,
    Report,
    Result,
    Run,
    Status,
    StepStatus,
    Verdict,
)

CONTENT = exact_json.loads('{"total": 1.10, "list": [1, null], "half": "\\ud83d"}')
PART = Verdict("behaviors[0].evaluations[0].evaluations[0]", "contains", Status.FAILED, "not in it", 0.0)
VERDICT = Verdict(
    at="behaviors[0].evaluations[0]",
    type="any_of",
    status=Status.INCONCLUSIVE,
    reason="one of\ntwo",
    score=0.1,
    threshold=0.7,
    blocking=True,
    evidence=(2, 3),
    children=(PART, replace(PART, children=(PART,)), PART),
    judge="openai/gpt",
    cached=True,
    duration_ms=0.25,
    fingerprint="f1",
    label="any of two",
    judged=Judged("d1", "f2", (0.1, 0.9, 0.1), True, Usage(3, 900, 40, 0.0125)),
)
BEHAVIOR = BehaviorResult(
    at="behaviors[0]",
    actor="assistant",
    action="responds",
    status=StepStatus.MATCHED,
    id="reply",
    target="Order MCP",
    content=CONTENT,
    step=2,
    differs=True,
    near="step 3: not the words",
    evaluations=(VERDICT, PART),
)
ASKED_AT = AskedAt("Refund — approved", "t-1", "evaluations[0]")
QUESTION = Question(
    "d1", "evaluations[0]", "llm_judge", "kind?", {"steps": [CONTENT]}, "adapter", "v1", (ASKED_AT,)
)
RUN = Run(
    session="Refund — approved",
    file="refund.abs.yaml",
    trace="t-1",
    result=Result.FAILED,
    steps=(replace(BEHAVIOR, at="behaviors[1]", evaluations=()), BEHAVIOR),
    chain_evaluations=(replace(PART, at="evaluations[0]"), VERDICT),
    extra=(5, 6),
    agent="http://agent",
    row=3,
    bindings={"cases.total": CONTENT},
    questions=(QUESTION,),
    extra_labels=("assistant responds", "tool ‘responds’ \ud83d\n"),
    require_match=False,
    strict_user=True,
    problem="the agent was gone",
    lines={"behaviors[0]": 4},
    trace_digest="cd" * 16,
    said=("ab", "ef"),
)
REPORT = Report(
    runs=(RUN, replace(RUN, trace="t-2", result=Result.PASSED)),
    grading="g-1",
    warnings=({"file": "a.yaml", "line": 3},),
    ungraded_sessions=("Other",),
    carried=frozenset({("Refund — approved", "t-1", "behaviors[0].evaluations[0]")}),
    judging=Judging(3, 4, 1, {"openai gpt": Usage(3, 900, 40, 0.0125), "aws": Usage(1, 2, 3, None)}),
)
MADE_BY = Provenance(
    "ann", "12ab", True, "0.1", "abs grade refund.abs.yaml", {"openai gpt": "f2"}, 3, ("it fell",)
)
GRADING = Grading("g-1", 12.5, REPORT, {"refund.abs.yaml": "ab" * 32}, MADE_BY)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.duckdb")


@pytest.mark.parametrize(
    "value", [VERDICT, BEHAVIOR, RUN, REPORT, GRADING, QUESTION, MADE_BY, REPORT.judging]
)
def test_the_example_fills_every_field(value: Verdict) -> None:
    assert [each.name for each in fields(value) if getattr(value, each.name) == each.default] == []


def test_a_grading_comes_back_equal(store: Store) -> None:
    store.save_grading(GRADING)

    assert store.grading("g-1") == GRADING
    assert store.grading("g-1").report.runs[0].lines == RUN.lines


verdicts = st.recursive(
    st.builds(
        Verdict,
        st.text(st.characters(codec="utf-8"), max_size=5),
        st.just("contains"),
        st.sampled_from(Status),
        st.text(st.characters(codec="utf-8"), max_size=5),
        score=st.none() | st.floats(0, 1),
        evidence=st.lists(st.integers(0, 9), max_size=3).map(tuple),
    ),
    lambda parts: st.builds(replace, st.just(VERDICT), children=st.lists(parts, max_size=3).map(tuple)),
    max_leaves=6,
)
places = st.lists(verdicts, max_size=3).map(tuple)
runs = st.builds(
    replace,
    st.just(RUN),
    trace=st.sampled_from(["t-1", "t-2"]),
    steps=st.lists(st.builds(replace, st.just(BEHAVIOR), evaluations=places), max_size=3).map(tuple),
    chain_evaluations=places,
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(runs, max_size=3).map(tuple), min_size=1, max_size=3))
def test_any_gradings_come_back_equal(
    tmp_path_factory: pytest.TempPathFactory, several: list[tuple[Run, ...]]
) -> None:
    store = Store(tmp_path_factory.mktemp("store") / "store.duckdb")
    made = [Grading(f"g-{nth}", float(nth), Report(each)) for nth, each in enumerate(several)]
    for grading in made:
        store.save_grading(grading)

    assert [store.grading(grading.id) for grading in made] == made


def test_gradings_are_summed_up_by_results_and_top_level_verdicts(store: Store) -> None:
    store.save_grading(GRADING)
    store.save_grading(Grading("g-2", 13.0, Report(())))

    assert store.gradings() == (
        GradingSummary(
            "g-1",
            12.5,
            Result.FAILED,
            {Result.FAILED: 1, Result.PASSED: 1},
            {Status.FAILED: 4, Status.INCONCLUSIVE: 4},
            carried=2,
            files=GRADING.files,
            made_by=MADE_BY,
            judging=REPORT.judging,
        ),
        GradingSummary("g-2", 13.0, Result.PASSED, {}, {}),
    )


def test_a_grading_is_named_by_id_beginning_or_place(store: Store) -> None:
    for id_ in ("g-10", "g-20"):
        store.save_grading(replace(GRADING, id=id_))

    assert [store.grading(ref).id for ref in ("g-10", "g-2", "last", "last~1")] == [
        "g-10",
        "g-20",
        "g-20",
        "g-10",
    ]


def test_nothing_is_overwritten(store: Store) -> None:
    store.save_grading(GRADING)

    with pytest.raises(StoreError, match=r"grading g-1 is already in .*: give it another id"):
        store.save_grading(replace(GRADING, made_at=99.0))
    assert store.grading("g-1") == GRADING


def test_every_verdict_is_a_row_with_its_provenance(store: Store) -> None:
    store.save_grading(GRADING)

    with duckdb.connect(store.path, read_only=True) as connection:
        rows = connection.execute(
            'SELECT grading, trace, session, "at", type, fingerprint, status, score, threshold, reason,'
            " evidence, duration_ms, judge, carried FROM verdicts WHERE type = 'any_of' ORDER BY run, verdict"
        ).fetchall()
    expected = ("any_of", "f1", "inconclusive", 0.1, 0.7, "one of\ntwo", [2, 3], 0.25, "openai/gpt")
    at = ("Refund — approved", "behaviors[0].evaluations[0]")
    assert rows == [
        *[("g-1", "t-1", *at, *expected, True)] * 2,
        *[("g-1", "t-2", *at, *expected, False)] * 2,
    ]
