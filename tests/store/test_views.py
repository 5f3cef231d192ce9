"""What the documented views say of a store: the same as every other command does."""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from abs_replay.exchange import Body, Channel, Exchange, Mark, Recording, Request, Response, Role
from abs_replay.judgement import AskedAt, Question, Usage
from abs_replay.labels import Label
from abs_replay.store import KeptAnswer, Note, Store, querying, views
from abs_replay.testing import step, trace
from abs_replay.trace import Trace
from abs_replay.trace import Usage as Tokens
from abs_replay.verdicts import Grading, Judged, Report, Result, Run, Status, Verdict

AT = "evaluations[0]"
CHAT = Exchange(
    "e-1",
    Channel(Role.AGENT, "agent"),
    1_700_000_000.25,
    Request("POST", "/chat", (("accept", "*/*"),), Body('{"a": "ü"}'.encode())),
    Response(200, (), Body(b"\xff\xfe")),
    ended_ms=20.0,
)
TOLD = replace(
    trace(
        step("user", "says", 'Where is "4711"?'),
        step("assistant", "calls", target="look", arguments={"order": "4711"}),
        step("tool", "responds", {"at": "home"}, target="look"),
        step("assistant", "calls", target="close"),
        step(content="It is at home.", internal=True),
        id="t-1",
        session="Orders",
        tags={"ticket": "42", "name": "old"},
    ),
    started_at=1_700_000_000.25,
    recording="r-1",
)


def judged(status: Status, question: str, judge: str, score: float, **more: Any) -> Verdict:
    kept = Judged(question, f"f-{judge}", (score,), usage=Usage(1, 10, 2, 0.5))
    return Verdict(
        *(AT, "llm_judge", status, f"{judge} says {score}", score, 0.5),
        judge=judge,
        fingerprint=f"{question}.d.1",
        label="is friendly",
        judged=kept,
        **more,
    )


def graded(id_: str, made_at: float, *runs: tuple[str, tuple[Verdict, ...]]) -> Grading:
    all_runs = tuple(Run("Orders", None, name, Result.FAILED, (), found) for name, found in runs)
    return Grading(id_, made_at, Report(all_runs, id_))


def composed(part: Verdict) -> Verdict:
    return Verdict(
        "evaluations[1]", "all_of", part.status, "", children=(replace(part, at="evaluations[1].a"),)
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("views") / "store.duckdb")
    store.begin(Recording("r-1", "monday", 1_700_000_000.0, session="Orders", tags={"a": "b"}))
    store.append("r-1", [CHAT])
    steps = [replace(TOLD.steps[0], at_ms=0.0), *TOLD.steps[1:4]]
    steps += [replace(TOLD.steps[4], at_ms=30.0, duration_ms=5.0, model="m-1", usage=Tokens(7, 3))]
    store.save_traces("r-1", (replace(TOLD, steps=tuple(steps)), Trace("t-2", (), "Orders")), "d", "1")
    store.note("t-1", "r-1", {"name": "lost parcel"})
    first = judged(Status.PASSED, "q-1", "ann", 0.9)
    store.save_grading(
        graded(
            "g-1",
            100,
            ("t-1", (first, composed(first))),
            ("t-2", (judged(Status.FAILED, "q-2", "ann", 0.1),)),
        )
    )
    second = judged(Status.FAILED, "q-1", "bob", 0.2)
    store.save_grading(graded("g-2", 200, ("t-1", (second,))))
    store.save_grading(graded("g-3", 300, ("t-1", (replace(second, reason="again"),))))
    asked = Question("q-1", AT, "llm_judge", "is friendly", {}, places=(AskedAt("Orders", "t-1", AT),))
    attempt = {"model": "m-9", "calls": 1, "input_tokens": 10, "output_tokens": 2, "cost": 0.25}
    store.keep_answers(
        [asked],
        [KeptAnswer("q-1", "f-bob", 0, 0.2, "", shown="bob", grading="g-2", attempts=(attempt, attempt))],
    )
    said = Label("l-1", 400, "eve", "Orders", "t-1", AT, "pass", None, "q-1", "q-1.d.1", "g-3")
    store.add_labels(
        [
            replace(said, id="l-0", made_at=399, verdict="fail"),
            said,
            replace(said, id="l-2", trace="t-2", verdict="fail", question="q-old", note="rude"),
            replace(said, id="l-3", at="evaluations[1].a", who="max", verdict="unsure"),
        ]
    )
    return store


type Ask = Callable[[str], tuple[tuple[Any, ...], ...]]


@pytest.fixture(scope="module")
def ask(store: Store) -> Iterator[Ask]:
    copy = shutil.copy(store.path, store.path.with_name("copy.duckdb"))  # nobody else gets into an open one
    with Store(copy).shut_in() as connection:
        yield lambda sql: querying.run(connection, sql, 20).rows


def test_every_view_has_the_columns_that_are_described_and_each_says_what_it_means(ask: Ask) -> None:
    described = views.described()
    assert {view.name for view in described} >= {
        *("traces", "steps", "exchanges", "verdicts", "current_verdicts", "flips"),
        *("judge_agreement", "judge_cost", "gradings", "labels"),
    }
    for view in described:
        assert [row[0] for row in ask(f"DESCRIBE {view.name}")] == [column.name for column in view.columns]
        assert all(column.about and column.type for column in view.columns)
        assert not re.search(r"NULL", " ".join(column.type for column in view.columns))


def test_a_trace_has_its_counts_and_the_tags_that_were_added_to_it(ask: Ask) -> None:
    columns = "name, tags->>'ticket', started_at::VARCHAR, duration_ms, steps, user_turns, tool_calls, tools"
    found = ask(f"SELECT {columns}, models, input_tokens, recording_name FROM traces ORDER BY id")

    assert found == (
        (
            "lost parcel",
            "42",
            "2023-11-14 22:13:20.25",
            35.0,
            5,
            1,
            2,
            ["close", "look"],
            ["m-1"],
            7,
            "monday",
        ),
        (None, None, None, None, 0, 0, 0, [], [], None, "monday"),
    )


def test_a_steps_text_is_what_was_said_and_its_json_can_be_looked_into(ask: Ask) -> None:
    found = ask(
        "SELECT text, content->>'at', arguments->>'order', visibility, session FROM steps ORDER BY seq"
    )

    assert found[0] == ('Where is "4711"?', None, None, "user", "Orders")
    assert found[1][:3] == (None, None, "4711")
    assert found[2][:2] == ('{"at":"home"}', "home")
    assert found[4][3] == "internal"


def test_an_exchange_has_its_texts_where_they_are_some(ask: Ask) -> None:
    found = ask("SELECT id, role, request_text->>'a', response_text, request_bytes FROM exchanges")

    assert found == (("e-1", "agent", "ü", None, 11),)


def test_verdicts_are_those_of_reports_and_parts_have_a_view_of_their_own(ask: Ask) -> None:
    assert ask("SELECT grading, count(*) FROM verdicts GROUP BY ALL ORDER BY ALL") == (
        ("g-1", 3),
        ("g-2", 1),
        ("g-3", 1),
    )
    assert ask('SELECT "at", part_of, judge FROM verdict_parts') == (
        ("evaluations[1].a", "evaluations[1]", "ann"),
    )


def test_what_stands_is_the_last_grading_of_each_trace_and_nothing_that_was_taken_out_since(ask: Ask) -> None:
    found = ask('SELECT trace, "at", grading, status FROM current_verdicts ORDER BY ALL')

    assert found == (("t-1", AT, "g-3", "failed"), ("t-2", AT, "g-1", "failed"))


def test_a_flip_is_between_one_grading_and_the_one_before_of_the_same_run(ask: Ask) -> None:
    columns = "direction, before, after, status_before, status_after, judge_changed, question_changed"
    found = ask(f"SELECT trace, {columns} FROM flips")

    assert found == (("t-1", "regression", "g-1", "g-2", "passed", "failed", True, False),)


def test_a_label_stands_beside_the_last_verdict_of_each_judge_and_knows_when_it_is_stale(ask: Ask) -> None:
    columns = 'trace, "at", who, human, judge, status, agrees, stale, current, grading'
    found = ask(f'SELECT {columns} FROM judge_agreement ORDER BY trace, "at", judge')

    assert found == (
        ("t-1", AT, "eve", "pass", "ann", "passed", True, False, False, "g-1"),
        ("t-1", AT, "eve", "pass", "bob", "failed", False, False, True, "g-3"),
        ("t-1", "evaluations[1].a", "max", "unsure", "ann", "passed", None, False, False, "g-1"),
        ("t-2", AT, "eve", "fail", "ann", "failed", True, True, True, "g-1"),
    )


def test_labels_are_all_there_and_the_last_word_of_each_person_is_current(ask: Ask) -> None:
    found = ask("SELECT id, verdict, current FROM labels ORDER BY id")

    assert found == (
        ("l-0", "fail", False),
        ("l-1", "pass", True),
        ("l-2", "fail", True),
        ("l-3", "unsure", True),
    )


def test_cost_counts_every_attempt(ask: Ask) -> None:
    columns = "grading, judge, model, questions, attempts, calls, input_tokens, cost"

    assert ask(f"SELECT {columns} FROM judge_cost") == (("g-2", "bob", "m-9", 1, 2, 2, 20, 0.5),)


def test_labels_come_back_as_they_were_kept_and_each_once(store: Store) -> None:
    kept = store.labels()

    assert [label.id for label in kept] == ["l-0", "l-1", "l-2", "l-3"]
    assert store.add_labels(kept) == 0
    assert store.labels() == kept


def test_what_is_spooled_while_someone_holds_the_store_is_there_too(tmp_path: Path) -> None:
    from abs_replay.store import Spool

    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r-1", "monday", 1.0))
    store.append("r-1", [CHAT])
    Spool(store.path).append("r-1", [replace(CHAT, id="e-2")])

    assert store.ask("SELECT id FROM exchanges ORDER BY id").rows == (("e-1",), ("e-2",))


def test_a_condition_says_of_each_trace_whether_it_holds(store: Store) -> None:
    condition = "tool_calls > 1 AND id IN (SELECT trace FROM steps WHERE text LIKE '%4711%') -- lost"

    assert store.traces_where(condition) == {("r-1", "t-1"): True, ("r-1", "t-2"): False}
    assert querying.where([TOLD, Trace("t-9", ())], "session = 'Orders'") == {
        ("r-1", "t-1"): True,
        ("", "t-9"): False,
    }


def test_notes_and_the_annotated_trace_agree_on_its_tags(store: Store, ask: Ask) -> None:
    assert store.notes("trace")["r-1", "t-1"] == Note({"name": "lost parcel"})
    ((tags,),) = ask("SELECT tags FROM traces WHERE id = 't-1'")
    assert duckdb.execute(
        "SELECT ?::JSON = ?::JSON", [tags, '{"ticket":"42","name":"lost parcel"}']
    ).fetchall()
    assert dict(store.trace("t-1").tags) == {"ticket": "42", "name": "lost parcel"}


def test_a_recording_that_began_in_the_spool_and_its_marks_can_be_asked_for(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r-1", "first", 10.0))
    store.spool.begin(Recording("r-2", "second", 20.0))
    store.spool.append("r-2", [Mark(21.0, "refund")])
    assert store.ask("SELECT name FROM recordings ORDER BY name").rows == (("first",), ("second",))
