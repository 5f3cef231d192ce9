"""The panel asks what nobody has answered, keeps every answer as it comes, and stops where it should."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pytest

from abs_replay.errors import JudgeError, UsageError
from abs_replay.exchange import Recording
from abs_replay.judgement import Judging, Question, Usage
from abs_replay.judges import keeping
from abs_replay.judges.engine import Attempt, Sample, Stopped
from abs_replay.judges.panel import Estimate, Panel, Terms
from abs_replay.store import Store

ONE = Usage(1, 100, 10, 0.25)


@dataclass(slots=True)
class Counting:
    """An engine whose answers a function makes; `asked` are the (digest, vote) that it was asked."""

    say: Callable[[Question, int], Sample | Exception] = lambda question, number: sample(0.9)
    fingerprint: str = "f1"
    name: str = "counting"
    shown: str = "counting m-1"
    wait: float = 0.0
    price: float | None = 0.25
    asked: list[tuple[str, int]] = field(default_factory=list)
    under_way: int = 0
    most: int = 0
    closed: bool = False

    def refuses(self, question: Question) -> str | None:
        return "it has no eyes" if question.type == "vision" else None

    def estimate(self, question: Question) -> Usage:
        return Usage(1, 100, 10, self.price)

    async def sample(self, question: Question, number: int) -> Sample:
        self.asked.append((question.digest, number))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(self.wait)
        self.under_way -= 1
        said = self.say(question, number)
        if isinstance(said, Exception):
            raise said
        return said

    async def close(self) -> None:
        self.closed = True


def sample(score: float | None, error: str | None = None, settled: bool = True, reason: str = "so") -> Sample:
    attempt = Attempt("read" if error is None else "failed", "sent", "reply", usage=ONE, duration_ms=5.0)
    return Sample(score, reason, error, settled, (attempt,))


def always(engine: Counting) -> Callable[[Question], Counting]:
    return lambda _: engine


def questions(count: int, type_: str = "llm_judge") -> list[Question]:
    return [Question(f"d{n}", "evaluations[0]", type_, f"Kind {n}?", {"steps": []}) for n in range(count)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.duckdb")


def rows(store: Store, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(store.path, read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_what_was_answered_once_is_not_asked_again(store: Store) -> None:
    first, second = Counting(), Counting()
    with Panel(lambda _: first, store=store) as panel:
        before = panel.ask(questions(3))
    with Panel(lambda _: second, store=store) as again:
        after = again.ask(questions(4))

    assert second.asked == [("d3", 0)]
    assert [before["d0"].cached, after["d0"].cached, after["d3"].cached] == [False, True, False]
    assert (after["d0"].score, after["d0"].judge, after["d0"].usage) == (0.9, "counting m-1", Usage())
    assert again.judging == Judging(1, 3, 0, {"counting m-1": ONE})
    assert first.closed


def test_another_fingerprint_or_no_cache_asks_anew_and_keeps_both(store: Store) -> None:
    for engine, terms in (
        (Counting(), Terms()),
        (Counting(fingerprint="f2"), Terms()),
        (Counting(), Terms(use_kept=False)),
    ):
        with Panel(always(engine), terms, store) as panel:
            panel.ask(questions(1))
        assert len(engine.asked) == 1
    assert rows(store, "SELECT judge FROM answers") == [("f1",), ("f2",), ("f1",)]


@pytest.mark.parametrize(
    ("scores", "decides"),
    [((0.9, 0.2, 0.8), 0.8), ((0.9, 0.2), 0.2), ((0.1, 0.2, 0.9, 0.8), 0.2), ((0.9, None, 0.7), 0.7)],
)
def test_the_lower_median_of_the_votes_decides(scores: tuple[float | None, ...], decides: float) -> None:
    engine = Counting(lambda _, number: sample(scores[number], None if scores[number] is not None else "no"))
    with Panel(lambda _: engine, Terms(votes=len(scores))) as panel:
        answer = panel.ask(questions(1))["d0"]
    assert (answer.score, answer.error) == (decides, None)
    assert answer.scores == tuple(score for score in scores if score is not None)
    assert (answer.usage.calls, answer.duration_ms) == (len(scores), 5.0 * len(scores))


def test_more_votes_ask_only_what_is_missing(store: Store) -> None:
    with Panel(lambda _: Counting(), store=store) as panel:
        panel.ask(questions(2))
    more = Counting(lambda _, number: sample(0.1 * number))
    with Panel(lambda _: more, Terms(votes=3), store) as panel:
        answer = panel.ask(questions(1))["d0"]
    assert more.asked == [("d0", 1), ("d0", 2)]
    assert (answer.score, answer.cached) == (0.2, False)


def test_too_few_votes_with_a_score_are_an_error() -> None:
    engine = Counting(lambda _, number: sample(0.9) if number else sample(None, "unreadable", False))
    with Panel(lambda _: engine, Terms(votes=2)) as panel:
        answer = panel.ask(questions(1))["d0"]
    assert (answer.score, answer.error) == (None, "unreadable")


def test_an_error_that_settles_something_is_an_answer_and_another_is_asked_again(store: Store) -> None:
    told = {"d0": sample(None, "can not be told"), "d1": sample(None, "timed out", settled=False)}
    engines = [Counting(lambda question, _: told[question.digest]) for _ in range(2)]
    for engine in engines:
        with Panel(always(engine), store=store) as panel:
            found = panel.ask(questions(2))
        assert [found[digest].error for digest in told] == ["can not be told", "timed out"]
    assert engines[1].asked == [("d1", 0)]
    assert rows(store, "SELECT question, outcome, cost FROM attempts ORDER BY rowid")[-1] == (
        "d1",
        "failed",
        0.25,
    )


def test_as_many_are_asked_at_once_as_was_said() -> None:
    engine = Counting(wait=0.01)
    with Panel(lambda _: engine, Terms(concurrency=4)) as panel:
        panel.ask(questions(20))
    assert (engine.most, len(engine.asked)) == (4, 20)


def test_all_rounds_and_the_end_are_of_one_loop_as_connections_need() -> None:
    loops = set()

    class Connected(Counting):
        async def sample(self, question: Question, number: int) -> Sample:
            loops.add(asyncio.get_running_loop())
            return await Counting.sample(self, question, number)

        async def close(self) -> None:
            loops.add(asyncio.get_running_loop())

    engine = Connected()
    with Panel(always(engine)) as panel:
        panel.ask(questions(1))
        panel.ask(questions(2)[1:])
    assert (len(loops), len(engine.asked)) == (1, 2)
    assert panel.judging.asked == 2


def test_nothing_is_asked_that_would_cost_too_much() -> None:
    engine = Counting(wait=0.001)
    with Panel(lambda _: engine, Terms(max_cost=1.0, concurrency=8)) as panel:
        found = panel.ask(questions(10))
    assert len(engine.asked) == 4
    assert found["d9"].error == "--max-cost reached: it was not asked"
    assert panel.judging == Judging(4, 0, 6, {"counting m-1": Usage(4, 400, 40, 1.0)})


def test_a_limit_needs_a_price() -> None:
    engine = Counting(price=None)
    with (
        Panel(lambda _: engine, Terms(max_cost=1.0)) as panel,
        pytest.raises(UsageError, match="the price of counting m-1 is not known"),
    ):
        panel.ask(questions(1))
    assert engine.asked == []


def test_what_no_question_survives_stops_that_engine_and_is_said_once(store: Store) -> None:
    wrong = Counting(lambda *_: JudgeError("the key is wrong: set OPENAI_API_KEY"), "f2", wait=0.001)
    fine = Counting()
    with Panel(
        lambda question: wrong if question.digest < "d6" else fine, Terms(concurrency=2), store
    ) as panel:
        found = panel.ask(questions(8))
    assert len(wrong.asked) <= 2
    assert {found[f"d{n}"].error for n in range(6)} == {"the key is wrong: set OPENAI_API_KEY"}
    assert [found[digest].score for digest in ("d6", "d7")] == [0.9, 0.9]
    assert panel.problems == ("the key is wrong: set OPENAI_API_KEY",)
    assert panel.judging == Judging(2, 0, 6, {"counting m-1": ONE + ONE})


def test_what_was_tried_until_an_engine_stopped_is_kept_and_counted(store: Store) -> None:
    tried = Attempt("failed", "sent", "", "connection refused", usage=Usage(1, 0, 0, 0.0))
    gone = Counting(lambda *_: Stopped("it can not be reached", (tried, tried)))
    with Panel(always(gone), Terms(concurrency=1), store) as panel:
        found = panel.ask(questions(3))
    assert {one.error for one in found.values()} == {"it can not be reached"}
    assert panel.judging == Judging(0, 0, 3, {"counting m-1": Usage(2, 0, 0, 0.0)})
    assert rows(store, "SELECT question, problem FROM attempts") == [("d0", "connection refused")] * 2
    assert rows(store, "SELECT question, settled, error FROM answers") == [
        ("d0", False, "it can not be reached")
    ]
    assert panel.kept == 0


def test_what_an_engine_can_not_decide_is_not_asked() -> None:
    engine = Counting()
    with Panel(lambda _: engine) as panel:
        answer = panel.ask(questions(1, "vision"))["d0"]
    assert (answer.error, engine.asked, panel.judging.unanswered) == ("it has no eyes", [], 1)


def test_a_fault_of_an_engine_loses_no_answer(store: Store) -> None:
    engine = Counting(lambda question, _: ZeroDivisionError() if question.digest == "d5" else sample(0.5))
    with Panel(lambda _: engine, Terms(concurrency=1), store) as panel, pytest.raises(ZeroDivisionError):
        panel.ask(questions(9))
    assert rows(store, "SELECT question FROM answers") == [(f"d{n}",) for n in range(5)]


def test_ctrl_c_loses_no_answer(store: Store) -> None:
    def interrupted(question: Question, _: int) -> Sample:
        if question.digest == "d20":
            os.kill(os.getpid(), signal.SIGINT)
        return sample(0.5)

    engine = Counting(interrupted, wait=0.001)
    with Panel(always(engine), Terms(concurrency=2), store) as panel, pytest.raises(KeyboardInterrupt):
        panel.ask(questions(1000))
    assert 20 <= panel.kept == len(rows(store, "SELECT * FROM answers")) < 40


HOLDER = """
import sys, time
from pathlib import Path
from abs_replay.store import opening
with opening.writing(Path(sys.argv[1]), 5.0):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.processes
def test_answers_that_a_held_store_can_not_take_lie_beside_it_and_count(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(keeping, "AT_END_S", 0.1)
    store.begin(Recording("r-1", "demo", 1.0))
    command = [sys.executable, "-c", HOLDER, str(store.path)]

    def held(question: Question, _: int) -> Sample:
        if question.digest == "d2":
            holders.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            assert holders[0].stdout is not None
            assert holders[0].stdout.readline() == "held\n"
        return sample(0.9)

    holders: list[subprocess.Popen[str]] = []
    again = Counting()
    with Panel(always(Counting(held)), Terms(concurrency=1), store) as panel:
        panel.ask(questions(3))
    with holders[0]:
        holders[0].kill()

    assert panel.kept == 3
    assert re.search(
        r"answers of judges \(\d\) are in store\.duckdb\.\w+\.answers\.json", capsys.readouterr().err
    )
    assert len(list(store.path.parent.glob("*.answers.json"))) == 1
    with Panel(always(again), store=store) as other:
        assert [one.cached for one in other.ask(questions(4)).values()] == [True, True, True, False]
    assert again.asked == [("d3", 0)]
    assert len(rows(store, "SELECT * FROM answers")) == 4
    assert list(store.path.parent.glob("*.answers.json")) == []


def test_secrets_are_not_kept(store: Store) -> None:
    attempt = Attempt("read", "key sk-1 sent", '{"reason": "sk-1"}')
    engine = Counting(lambda *_: Sample(1.0, "says sk-1", attempts=(attempt,), details={"said": "sk-1"}))
    asked = Question("d", "evaluations[0]", "llm_judge", "Is sk-1 kept?", {"steps": [{"content": "sk-1"}]})
    with Panel(lambda _: engine, store=store, clean=lambda text: text.replace("sk-1", "<key>")) as panel:
        assert panel.ask([asked])["d"].reason == "says <key>"
    kept = [rows(store, f"SELECT * FROM {table}") for table in ("questions", "answers", "attempts")]
    assert "sk-1" not in repr(kept)
    assert repr(kept).count("<key>") == 6


def test_what_can_not_be_cleaned_is_withheld_and_stops_nothing(store: Store) -> None:
    engine = Counting(lambda *_: Sample(1.0, "so", details={"raw": 5}))
    with Panel(lambda _: engine, store=store, clean=lambda _: "(withheld: it took too long)") as panel:
        assert panel.ask(questions(1))["d0"].score == 1.0
    withheld = ('{"withheld":"(withheld: it took too long)"}',)
    assert rows(store, "SELECT evidence FROM questions") == [withheld]
    assert rows(store, "SELECT details FROM answers") == [withheld]


def test_an_estimate_leaves_out_what_is_kept_and_sends_nothing(store: Store) -> None:
    with Panel(lambda _: Counting(), store=store) as panel:
        panel.ask(questions(2))
    engine = Counting()
    with Panel(lambda _: engine, Terms(votes=2), store) as panel:
        assert panel.known(questions(3)) == {}
        found = panel.estimate([*questions(3), Question("e", "evaluations[1]", "vision", None, {})])
    assert found == Estimate({"counting m-1": (3, Usage(4, 400, 40, 1.0))}, {"it has no eyes": 1})
    assert engine.asked == []


KILLED = """
import os, signal, sys
from pathlib import Path
from abs_replay.judges.panel import Panel, Terms
from abs_replay.store import Store
sys.path.insert(0, sys.argv[2])
from test_panel import Counting, questions, sample

def killed(question, number):
    if panel.kept > 20:
        os.kill(os.getpid(), signal.SIGKILL)
    return sample(0.9)

panel = Panel(lambda _: Counting(killed, wait=0.02), Terms(concurrency=4), Store(Path(sys.argv[1])))
panel.ask(questions(1000))
"""


@pytest.fixture
def killed(store: Store) -> Store:
    """A store that a grading of 1,000 questions was asked into, and killed."""
    command = [sys.executable, "-c", KILLED, str(store.path), str(Path(__file__).parent)]
    assert subprocess.run(command, timeout=60, check=False).returncode == -signal.SIGKILL
    return store


@pytest.mark.processes
def test_a_killed_grading_asks_none_of_the_answered_ones_again(killed: Store) -> None:
    kept = {question for (question,) in rows(killed, "SELECT question FROM answers")}
    engine = Counting()
    with Panel(lambda _: engine, Terms(concurrency=32), killed) as panel:
        found = panel.ask(questions(1000))
    assert 20 < len(kept) < 1000
    assert {digest for digest, _ in engine.asked} == found.keys() - kept
    assert len(rows(killed, "SELECT * FROM answers")) == 1000
