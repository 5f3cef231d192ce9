"""Which session judges which trace, with which values; what is carried over and what is kept."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from abs_replay.carrying import with_carried
from abs_replay.errors import SpecError, UsageError
from abs_replay.grading import (
    Settings,
    grade,
    keep,
    left_out_of,
    namesakes_of,
    new_id,
    select_given,
    select_stored,
)
from abs_replay.scoring import Policy
from abs_replay.spec.loader import load
from abs_replay.spec.variables import Template
from abs_replay.store import Store
from abs_replay.trace import Step, Trace
from abs_replay.verdicts import Report, Result, Run, Status

HOURS = """
session: Opening hours
abs_version: "0.2"
behaviors:
  - { actor: user, action: says, content: "When do you open in {{cases.city}}?" }
  - { actor: assistant, action: informs, evaluations: [{ type: contains, value: "{{hour}}" }] }
"""
FEE = """
session: Entrance fee
abs_version: "0.2"
behaviors:
  - { actor: user, action: says, content: What does it cost? }
  - actor: assistant
    action: informs
    evaluations: [{ type: contains, value: free }, { type: regex, pattern: Sunday }]
"""

type Loads = Callable[..., tuple[Template, ...]]


@pytest.fixture
def sessions(tmp_path: Path) -> Loads:
    def loaded(*texts: str) -> tuple[Template, ...]:
        paths = [tmp_path / f"session{nth}.abs.yaml" for nth, _ in enumerate(texts)]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        return load(paths).sessions

    return loaded


def trace(
    id_: str = "t", session: str | None = "Entrance fee", answer: str = "It is free on Sunday."
) -> Trace:
    steps = (Step(1, "user", "says", content="?"), Step(2, "assistant", "responds", content=answer))
    return Trace(id_, steps, session)


def names(chosen: tuple[tuple[Trace, Template], ...]) -> list[tuple[str, str]]:
    return [(judged.id, session.name) for judged, session in chosen]


def test_the_name_kept_with_a_trace_says_which_session_judges_it(sessions: Loads) -> None:
    traces = [trace("t-1"), trace("t-2", "Opening hours"), trace("t-3")]

    selection = select_given(traces, sessions(HOURS, FEE))

    assert names(selection.chosen) == [
        ("t-1", "Entrance fee"),
        ("t-2", "Opening hours"),
        ("t-3", "Entrance fee"),
    ]
    assert selection.ungraded == ()


def test_a_session_that_no_trace_names_is_listed_and_not_graded(sessions: Loads) -> None:
    assert select_given([trace()], sessions(HOURS, FEE)).ungraded == ("Opening hours",)


def test_the_only_session_judges_a_nameless_trace_of_a_file(sessions: Loads) -> None:
    assert names(select_given([trace(session=None)], sessions(FEE)).chosen) == [("t", "Entrance fee")]


def test_session_for_wins_over_names(sessions: Loads) -> None:
    traces = [trace("t-1", "Opening hours"), trace("t-2", "Parking"), trace("t-3", None)]
    both = sessions(HOURS, FEE)

    for select in (select_given, select_stored):
        selection = select(traces, both, "Entrance fee")
        assert {name for _, name in names(selection.chosen)} == {"Entrance fee"}
        assert len(selection.chosen) == 3


def test_session_for_a_session_that_is_not_given_names_the_nearest(sessions: Loads) -> None:
    with pytest.raises(UsageError, match=r'"Entrance fees".* is it "Entrance fee"'):
        select_given([trace()], sessions(HOURS, FEE), "Entrance fees")


def test_a_trace_of_a_file_that_no_session_is_for_is_wrong_usage(sessions: Loads) -> None:
    with pytest.raises(UsageError, match=r'trace t is of session "Parking".*--session-for'):
        select_given([trace(session="Parking")], sessions(FEE))
    with pytest.raises(UsageError, match=r"trace t names no session, and several are given.*--session-for"):
        select_given([trace(session=None)], sessions(FEE, HOURS))


def test_stored_traces_of_other_sessions_and_nameless_ones_are_left_out_and_counted(sessions: Loads) -> None:
    traces = [trace("t-1"), trace("t-2", "Parking"), trace("t-3", "Parking"), trace("t-4", None)]

    selection = select_stored(traces, sessions(FEE))

    assert names(selection.chosen) == [("t-1", "Entrance fee")]
    assert left_out_of(selection) == "2 traces of other sessions and 1 trace that names no session"


def test_a_stored_trace_that_is_called_like_a_session_is_judged_by_it_unless_it_names_one(
    sessions: Loads,
) -> None:
    called = {"name": "Entrance fee"}
    traces = [replace(trace("t-1", None), tags=called), replace(trace("t-2", "Parking"), tags=called)]

    selection = select_stored(traces, sessions(FEE))

    assert names(selection.chosen) == [("t-1", "Entrance fee")]
    assert left_out_of(selection) == "1 trace of other sessions"


def test_traces_of_one_name_are_said_to_be_several(sessions: Loads) -> None:
    def told(*ids: str) -> str:
        return namesakes_of(select_given([trace(id_) for id_ in ids], sessions(FEE)))

    assert told("t", "u") == ""
    assert told("t", "u", "t") == "2 traces are called t"
    assert (
        told("t", "u", "v", "t", "u", "v", "u") == "2 traces are called t, and several each of 2 other names"
    )


def test_where_nothing_stored_is_selected_the_error_says_how_many_and_what_to_do(sessions: Loads) -> None:
    told = r'"Entrance fee": 2 traces that name no session; --session-for.*import --session.*TRACE --name'
    with pytest.raises(UsageError, match=told):
        select_stored([trace(session=None), trace(session=None)], sessions(FEE))
    with pytest.raises(UsageError, match="no trace"):
        select_stored([], sessions(FEE))


def test_two_sessions_of_one_name_are_refused_where_a_trace_names_them(sessions: Loads) -> None:
    twins = sessions(FEE, FEE, HOURS)

    with pytest.raises(UsageError, match=r"two sessions .*session0.* and .*session1"):
        select_given([trace()], twins)
    assert select_given([trace(session="Opening hours")], twins).ungraded == ("Entrance fee",)


def test_a_traces_bindings_are_the_row_and_its_vars_rank_below_var(sessions: Loads) -> None:
    rome = replace(
        trace("t-1", "Opening hours", "At nine."), bindings={"cases.city": "Rome"}, vars={"hour": "nine"}
    )
    oslo = replace(rome, id="t-2", bindings={"cases.city": "Oslo"})
    selection = select_given([rome, oslo], sessions(HOURS))

    recorded = grade(selection, Settings(environment={"ABS_VAR_hour": "eight"}))
    given = grade(selection, Settings(variables={"hour": "ten"}))

    assert [run.steps[0].content for run in recorded] == [
        f"When do you open in {city}?" for city in ("Rome", "Oslo")
    ]
    assert [run.result for run in recorded] == [Result.PASSED, Result.PASSED]
    assert [run.result for run in given] == [Result.FAILED, Result.FAILED]
    assert [dict(run.bindings) for run in recorded] == [{"cases.city": "Rome"}, {"cases.city": "Oslo"}]


def test_a_reference_without_a_source_stops_before_anything_is_judged(sessions: Loads) -> None:
    selection = select_given([trace(f"t-{nth}", "Opening hours") for nth in range(3)], sessions(HOURS))

    with pytest.raises(SpecError) as error:
        grade(selection, Settings())

    assert [problem.line for problem in error.value.problems] == [5, 6]


def test_runs_name_their_rules_in_words(sessions: Loads) -> None:
    (run,) = grade(select_given([trace()], sessions(FEE)), Settings())

    assert [verdict.label for verdict in run.verdicts] == ['contains "free"', "regex /Sunday/"]


def test_ids_of_gradings_sort_by_time() -> None:
    begin = datetime(2026, 1, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    ids = [new_id(begin + timedelta(microseconds=nth)) for nth in range(5)]

    assert ids == sorted(ids)
    assert len({new_id(begin) for _ in range(100)}) == 100
    assert all(id_.startswith("g-2026") for id_ in ids)


def kept(store: Store, templates: tuple[Template, ...], *traces: Trace) -> Report:
    report = Report(grade(select_given(traces, templates), Settings()))
    return keep(with_carried(report, store), store, templates, datetime.now(UTC)).report


def test_verdicts_equal_to_the_last_gradings_of_their_trace_are_carried_over(
    sessions: Loads, tmp_path: Path
) -> None:
    store = Store(tmp_path / "store.duckdb")

    first = kept(store, sessions(FEE), trace("t-1"))
    kept(store, sessions(FEE), trace("t-2"))
    edited = kept(
        store, sessions(FEE.replace("pattern: Sunday", "pattern: Monday")), trace("t-1"), trace("t-3")
    )

    assert first.carried == frozenset()
    assert edited.carried == {("Entrance fee", "t-1", "behaviors[1].evaluations[0]")}
    assert statuses(edited.runs[0]) == [Status.PASSED, Status.FAILED]


def statuses(run: Run) -> list[Status]:
    return [verdict.status for verdict in run.verdicts]


def test_a_grading_is_kept_with_the_digests_of_its_session_files(sessions: Loads, tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")

    report = kept(store, sessions(FEE), trace())

    found = store.grading("last")
    assert found.id == report.grading
    assert found.report.runs == report.runs
    assert list(found.files) == [str(tmp_path / "session0.abs.yaml")]


def test_traces_with_the_same_data_share_one_resolved_session(sessions: Loads) -> None:
    traces = [trace(f"t-{nth}") for nth in range(2000)]

    runs = grade(select_given(traces, sessions(FEE)), Settings())

    assert len(runs) == 2000
    assert {run.result for run in runs} == {Result.PASSED}


def test_a_run_knows_the_lines_of_its_places_and_what_counted(sessions: Loads) -> None:
    policy = Policy(require_match=False, strict_user=True)

    (run,) = grade(select_given([trace()], sessions(FEE)), Settings(policy=policy))

    assert run.lines == {
        "behaviors[0]": 5,
        "behaviors[1]": 6,
        "behaviors[1].evaluations[0]": 8,
        "behaviors[1].evaluations[1]": 8,
    }
    assert (run.require_match, run.strict_user) == (False, True)
