"""Graded again, only what changed is asked (DESIGN §7): an engine that counts, a store in between."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from abs_replay.carrying import with_carried
from abs_replay.grading import Settings, grade, keep, select_given
from abs_replay.judgement import Question, Usage
from abs_replay.judges.engine import Attempt, Sample
from abs_replay.judges.panel import Panel
from abs_replay.reports.totals import decided
from abs_replay.spec.loader import load
from abs_replay.store import Store
from abs_replay.testing import step, trace
from abs_replay.trace import Trace
from abs_replay.verdicts import Report, Status, Verdict

DOCUMENT = """
session: Order
abs_version: "0.2"
behaviors:
  - { actor: user, action: says, content: Where is my order? }
  - actor: assistant
    action: asks
    evaluations:
      - { type: llm_judge, criteria: Polite, threshold: 0.5 }
      - { type: contains, value: number }
  - { actor: user, action: says }
  - id: answer
    actor: assistant
    action: informs
    evaluations:
      - { type: contains, value: way, blocking: true }
      - { type: llm_judge, criteria: Short, threshold: 0.5 }
evaluations:
  - { type: llm_judge, criteria: Solved, threshold: 0.5 }
"""
ASKED = trace(
    step("user", "says", "Where is my order?"),
    step(content="What is its number, please?"),
    step("user", "says", "12"),
    step(content="It is on its way."),
    id="t-1",
    session="Order",
)


@dataclass(slots=True)
class Counting:
    """Says 0.8 to everything; `asked` are the criteria."""

    fingerprint: str = "f1"
    name: str = "counting"
    shown: str = "counting m-1"
    asked: list[str] = field(default_factory=list)

    def refuses(self, question: Question) -> str | None:
        return None

    def estimate(self, question: Question) -> Usage:
        return Usage(1)

    async def sample(self, question: Question, number: int) -> Sample:
        self.asked.append(question.criteria or "")
        return Sample(0.8, "so", attempts=(Attempt("read", "", "", usage=Usage(1, 10, 1, 0.5)),))

    async def close(self) -> None:
        pass


type Regrade = Callable[..., tuple[list[str], Report]]


def graded(
    folder: Path, document: str = DOCUMENT, observed: Trace = ASKED, engine: Counting | None = None
) -> tuple[list[str], Report]:
    """Grade with the store of the folder; gives what was asked, sorted, and the report."""
    engine, store = engine or Counting(), Store(folder / "store.duckdb")
    file = folder / "order.abs.yaml"
    file.write_text(document, encoding="utf-8")
    templates = load([file]).sessions
    selection = select_given([observed], templates)
    with Panel(lambda _: engine, store=store) as panel:
        report = Report(grade(selection, Settings(judge=panel)), judging=panel.judging)
    kept = keep(with_carried(report, store), store, templates, datetime.now(UTC))
    return sorted(engine.asked), kept.report


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graded")
    asked, report = graded(folder)
    assert asked == ["Polite", "Short", "Solved"]
    assert (decided(report).asked, report.result) == (3, "passed")
    return folder


@pytest.fixture
def again(once: Path, tmp_path: Path) -> Regrade:
    """Grade again what was graded once."""
    shutil.copy(once / "store.duckdb", tmp_path)
    return lambda *arguments, **named: graded(tmp_path, *arguments, **named)


def test_unchanged_nothing_is_asked_and_all_is_carried_over(again: Regrade) -> None:
    asked, report = again()
    counts = decided(report)
    assert (asked, counts.carried, counts.anew, counts.asked) == ([], 5, 0, 0)
    assert all(verdict.cached for verdict in report.runs[0].verdicts if verdict.judge)
    assert report.judging is not None
    assert (report.judging.kept, report.judging.usage.calls) == (3, 0)


def test_a_changed_threshold_asks_nothing_and_decides_anew(again: Regrade) -> None:
    asked, report = again(
        DOCUMENT.replace("criteria: Short, threshold: 0.5", "criteria: Short, threshold: 0.9")
    )
    short = by_criteria(report, "Short")
    assert (asked, short.status, decided(report).carried) == ([], Status.FAILED, 4)


def test_a_changed_criterion_asks_its_own_question_alone(again: Regrade) -> None:
    asked, report = again(DOCUMENT.replace("Short", "Brief"))
    assert asked == ["Brief"]
    assert (decided(report).asked, decided(report).carried) == (1, 4)


def test_a_changed_step_asks_what_looks_at_it(again: Regrade) -> None:
    last = replace(ASKED.steps[-1], content="It is under way.")
    asked, report = again(observed=replace(ASKED, steps=(*ASKED.steps[:-1], last)))
    assert asked == ["Short", "Solved"]
    assert by_criteria(report, "Polite").cached


@pytest.mark.parametrize(
    ("old", "new", "asks"),
    [
        ("action: asks", "action: clarifies", ["Polite", "Short", "Solved"]),
        ("action: informs", "action: confirms", ["Short", "Solved"]),
        ("id: answer", "id: reply", []),
        ("value: number", "value: its number", []),
        ("content: Where is my order?", "content: Where is it?", []),
    ],
)
def test_an_edited_behavior_asks_what_sees_it(again: Regrade, old: str, new: str, asks: list[str]) -> None:
    asked, _ = again(DOCUMENT.replace(old, new))
    assert asked == asks


def test_blocking_is_worked_out_anew_and_asks_nothing(again: Regrade) -> None:
    depends = DOCUMENT.replace("value: number }", "value: number, blocking: true }").replace(
        "criteria: Short, threshold: 0.5", "criteria: Short, threshold: 0.9, context: ask"
    )
    depends = depends.replace(
        "  - actor: assistant\n    action: asks", "  - id: ask\n    actor: assistant\n    action: asks"
    )
    statuses = []
    for document in (depends, depends.replace("value: number", "value: weight"), depends):
        asked, report = again(document)
        statuses.append((asked, by_criteria(report, "Short").status))
    assert statuses == [(["Short"], Status.FAILED), ([], Status.INCONCLUSIVE), ([], Status.FAILED)]


def test_another_judge_is_asked_everything(again: Regrade) -> None:
    asked, report = again(engine=Counting("f2", shown="counting m-2"))
    assert asked == ["Polite", "Short", "Solved"]
    assert {verdict.judged.judge for verdict in report.runs[0].verdicts if verdict.judged} == {"f2"}


def by_criteria(report: Report, criteria: str) -> Verdict:
    (found,) = (verdict for verdict in report.runs[0].verdicts if criteria in verdict.label)
    return found
