"""The table: the layout of the seed, straight at every width, harmless to the terminal."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len

from abs_replay.reports import Screen, render
from abs_replay.reports.table import display
from abs_replay.verdicts import BehaviorResult, Report, Result, Run, Status, StepStatus, Verdict


def passed(at: str, kind: str, label: str) -> Verdict:
    return Verdict(at, kind, Status.PASSED, "as expected", score=1.0, label=label)


def failed(at: str, kind: str, label: str, reason: str, children: tuple[Verdict, ...] = ()) -> Verdict:
    return Verdict(at, kind, Status.FAILED, reason, score=0.0, label=label, children=children)


SEED = Run(
    session="Order status requires order number",
    file="order-status.abs.yaml",
    trace="t-0001",
    agent="http://localhost:8080/chat",
    result=Result.PASSED,
    steps=(
        BehaviorResult("behaviors[0]", "user", "says", StepStatus.SENT, content="Where is my order?", step=1),
        BehaviorResult(
            "behaviors[1]", "assistant", "asks", StepStatus.MATCHED, content="order number", step=2
        ),
        BehaviorResult("behaviors[2]", "user", "says", StepStatus.SENT, content="12345", step=3),
        BehaviorResult("behaviors[3]", "assistant", "calls", StepStatus.MATCHED, target="Order MCP", step=4),
        BehaviorResult(
            "behaviors[4]",
            "assistant",
            "informs",
            StepStatus.MATCHED,
            content="on the way",
            step=6,
            evaluations=(passed("behaviors[4].evaluations[0]", "contains", 'contains "on the way"'),),
        ),
    ),
    chain_evaluations=(
        passed("evaluations[0]", "sequence", "sequence: asks → calls → informs"),
        passed("evaluations[1]", "variable_consistency", "variable_consistency: orderId"),
        passed("evaluations[2]", "never", "never: hands_off"),
    ),
)

WIDE = Run(
    session="注文の状況 — 👩‍👩‍👧 asks, and the name of this session is a good deal longer than a table",
    file="order.abs.yaml",
    trace="t-0002",
    result=Result.FAILED,
    bindings={"cases.city": "東京", "n": 2},
    steps=(
        BehaviorResult(
            "behaviors[0]",
            "user",
            "says",
            StepStatus.SENT,
            content="注文はどこですか？" * 12,
            step=1,
            differs=True,
        ),
        BehaviorResult(
            "behaviors[1]",
            "assistant",
            "calls",
            StepStatus.UNMATCHED,
            target="Order MCP",
            near="step 2 came closest: orderId is 1, expected 12345",
        ),
        BehaviorResult("behaviors[2]", "tool", "responds", StepStatus.SKIPPED, content={"status": "shipped"}),
        BehaviorResult(
            "behaviors[3]",
            "assistant",
            "informs",
            StepStatus.MATCHED,
            step=4,
            evaluations=(
                failed(
                    "behaviors[3].evaluations[0]",
                    "all_of",
                    "all_of",
                    "1 of 2 failed",
                    children=(
                        passed("behaviors[3].evaluations[0].evaluations[0]", "regex", "regex /^é/"),
                        failed(
                            "behaviors[3].evaluations[0].evaluations[1]",
                            "contains",
                            'contains "発送済み"',
                            "expected 発送済み, observed ⏳ " + "まだ準備中です。 " * 9 + "x" * 120,
                        ),
                    ),
                ),
                Verdict("behaviors[3].evaluations[1]", "llm_judge", Status.ERROR, "no judge is configured"),
                Verdict(
                    "behaviors[3].evaluations[2]", "schema", Status.INCONCLUSIVE, "depends on behaviors[1]"
                ),
                Verdict(
                    "behaviors[3].evaluations[3]", "custom", Status.NOT_EVALUABLE, "no state was recorded"
                ),
                Verdict("behaviors[3].evaluations[4]", "contains", Status.SKIPPED, "when is false"),
            ),
        ),
    ),
    extra=(5,),
    extra_labels=('assistant informs "Anything else? 🙂"',),
)


def lines(text: str) -> list[str]:
    return text.splitlines()


def boxed(text: str) -> list[str]:
    return [line for line in lines(text) if line[0] in "┌│├└"]


def test_a_passed_run_looks_like_the_seed(golden: Callable[[str, str], None]) -> None:
    golden("reports/passed.txt", render("table", Report((SEED,))))


def test_several_runs_end_with_totals(golden: Callable[[str, str], None]) -> None:
    report = Report(
        (SEED, WIDE),
        grading="g-1",
        ungraded_sessions=("Opening hours",),
        carried=frozenset({(SEED.session, SEED.trace, "evaluations[0]")}),
    )

    golden("reports/several.txt", render("table", report))


@pytest.mark.parametrize("width", [40, 41, 47, 59, 60, 61, 80, 99, 120, 400])
def test_every_line_of_a_box_is_equally_wide(width: int) -> None:
    for run in (SEED, WIDE):
        widths = {cell_len(line) for line in boxed(display(Report((run,)), Screen(width)))}

        assert len(widths) == 1
        assert widths.pop() <= width


def test_a_table_at_40_columns(golden: Callable[[str, str], None]) -> None:
    golden("reports/narrow.txt", display(Report((WIDE,)), Screen(40)))


def test_colours_come_only_where_a_screen_shows_them_and_change_no_text() -> None:
    report = Report((SEED, WIDE))

    coloured = display(report, Screen(100, colour=True))

    assert "\x1b" not in render("table", report)
    assert re.sub("\x1b\\[[0-9]+m", "", coloured) == display(report, Screen(100))
    assert "\x1b[32m" in coloured
    assert "\x1b[31m" in coloured


def test_contents_can_not_steer_the_terminal() -> None:
    nasty = 'a\x1b[2J\nb\r\tc\x9b\u202egnp.exe\u2028\ud83d"'
    verdict = failed("behaviors[0].evaluations[0]", "contains", f"contains {nasty}", f"observed {nasty}")
    step = BehaviorResult("behaviors[0]", nasty, nasty, StepStatus.UNMATCHED, nasty, nasty, nasty, near=nasty)
    run = Run(
        nasty,
        None,
        nasty,
        Result.FAILED,
        (replace(step, evaluations=(verdict,)),),
        extra=(1,),
        bindings={nasty: nasty},
        extra_labels=(nasty,),
    )

    text = render("table", Report((run, run), grading=nasty, ungraded_sessions=(nasty,)))

    assert all(line.isprintable() for line in text.split("\n"))
    assert "\\x1b[2J\\nb\\r\\tc\\x9b\\u202egnp.exe\\u2028\\ud83d" in text


def test_many_runs_show_passed_ones_on_one_line_and_the_others_whole() -> None:
    runs = tuple(replace(SEED, trace=f"t-{n}") for n in range(20))

    text = render("table", Report((*runs, WIDE)))

    assert len(lines(text)) < 80
    assert (
        "✅ PASSED  Order status requires order number · t-7 · 5/5 matched · 4/4 evaluations passed" in text
    )
    assert "21 graded · 20 passed · 1 failed" in text
    assert "no judge is configured" in text


def test_a_reason_of_a_megabyte_takes_a_dozen_lines() -> None:
    verdict = failed("evaluations[0]", "never", "never: hands_off", "x y " * 250_000)
    run = replace(SEED, result=Result.FAILED, chain_evaluations=(verdict,))

    assert len(lines(render("table", Report((run,))))) < 40
