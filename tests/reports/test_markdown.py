"""Markdown for pull requests: the verdict first, nothing that GitHub would link or run, a bounded size."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from abs_replay import exact_json
from abs_replay.reports import PAPER, render
from abs_replay.reports.cells import escaped
from abs_replay.reports.json_report import from_json
from abs_replay.reports.markdown import MOST_CHECKS
from abs_replay.reports.markdown_text import LARGEST, code, length
from abs_replay.verdicts import Report, Result, Run, Status, Verdict

FIXTURES = Path(__file__).parent.parent.parent / "fixtures/reports"
GFM = MarkdownIt("commonmark", {"html": True}).enable("table")


def saved(name: str) -> Report:
    return from_json(exact_json.loads((FIXTURES / f"{name}.json").read_bytes()))


def failing(*reasons: str, session: str = "S") -> Run:
    verdicts = [Verdict(f"evaluations[{n}]", "never", Status.FAILED, why) for n, why in enumerate(reasons)]
    return Run(session, None, "t", Result.FAILED, (), tuple(verdicts))


@pytest.mark.parametrize("name", ["passed", "mixed"])
def test_a_saved_report_as_markdown(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"reports/{name}.md", render("markdown", saved(name)))


def test_the_verdict_is_the_first_line_and_the_counts_follow() -> None:
    lines = render("markdown", saved("mixed")).splitlines()

    assert lines[0] == "**❌ FAILED** · 5 of 10 sessions passed"
    assert lines[2].startswith("| | passed | failed |")


@given(st.text(alphabet="`| \\a<@#\n*_[](:", max_size=30))
def test_any_text_stands_whole_in_one_code_span(text: str) -> None:
    tokens = GFM.parseInline(code(text))[0].children or []

    if text.strip(" "):
        assert [token.type for token in tokens] == ["code_inline"]
        assert tokens[0].content == escaped(text)


NASTY = "@octocat #1 GH-2 https://x.test <img src=x> | a | `b` ``c`` :tada: **d** [e](f)\n\n- g"


def test_contents_never_leave_their_code_spans() -> None:
    verdict = Verdict(NASTY, NASTY, Status.FAILED, NASTY, label=NASTY)
    run = Run(NASTY, NASTY, NASTY, Result.FAILED, (), (verdict,), extra=(1,), extra_labels=(NASTY,))
    fine = replace(run, result=Result.PASSED, chain_evaluations=())
    report = Report((run, fine), grading=NASTY, ungraded_sessions=(NASTY,))

    tokens = GFM.parse(render("markdown", report))

    inline = [child for token in tokens for child in token.children or []]
    html = [token.content for token in [*tokens, *inline] if token.type.startswith("html")]
    assert not any("octocat" in child.content for child in inline if child.type == "text")
    assert {child.type for child in inline} == {
        "text",
        "code_inline",
        "strong_open",
        "strong_close",
        "html_inline",
    }
    assert not any("<img" in text for text in html)
    assert all("<code>" in text for text in html if "octocat" in text)


def test_a_long_report_is_shortened_and_says_by_how_much() -> None:
    reasons = [f"expected 🙂, observed {'🙃' * 400} {n}" for n in range(40)]
    report = Report(tuple(failing(*reasons, session=f"S{n}") for n in range(30)))

    text = render("markdown", report, replace(PAPER, detail=2))

    shown = text.count("- ❌")
    assert LARGEST - 2000 < length(text) <= LARGEST
    headings = text.count("###")
    # What is left out: checks, headings without their checks, and the folded list of each session.
    assert f"{30 * 40 - shown + (30 - headings) + 30 * 40} more lines had no room here" in text
    assert text.count("<details>") == text.count("</details>")


def test_folded_details_are_closed_where_they_are_cut() -> None:
    passed = tuple(Run(f"S{n} " + "x" * 150, None, "t", Result.PASSED, ()) for n in range(2000))

    text = render("markdown", Report(passed), replace(PAPER, detail=2))

    assert length(text) <= LARGEST
    assert text.count("<details>") == text.count("</details>") == 1
    assert "more lines had no room here" in text


def test_detail_says_how_much_is_shown() -> None:
    report = saved("mixed")

    counts, problems, whole = (render("markdown", report, replace(PAPER, detail=n)) for n in range(3))

    assert "###" not in counts
    assert "### ❌" in problems
    assert "All of" not in problems
    assert "All of" in whole
    assert "sessions passed</summary>" not in render("markdown", report, replace(PAPER, failed=True))


def graded(trace: int, status: Status, reason: str) -> Run:
    verdicts = (
        Verdict("evaluations[0]", "contains", status, reason, label="contains 🙂"),
        Verdict("evaluations[1]", "llm_judge", Status.ERROR if trace % 7 == 0 else Status.PASSED, "no judge"),
    )
    result = Result.FAILED if status is Status.FAILED else Result.ERROR if trace % 7 == 0 else Result.PASSED
    return Run("Cups", "cups.abs.yaml", f"t-{trace}", result, (), verdicts)


def test_many_runs_are_told_by_what_is_not_fine_in_them_the_failed_first() -> None:
    runs = [graded(n, Status.FAILED if n < 25 else Status.PASSED, f"no cup in {n // 20}") for n in range(60)]

    text = render("markdown", Report(tuple(runs)))

    assert len(text.splitlines()) < 70
    checks = [line for line in text.splitlines() if line.startswith(("- ❌ `contains", "- ❗ error"))]
    assert checks == [
        "- ❌ `contains 🙂` at `evaluations[0]` of `Cups`: 25 of 60: `t-0`, `t-1`, `t-2`, `t-3`, `t-4` "
        "and 20 more<br>`no cup in 0` (20 times, and 1 other reason)",
        "- ❗ error: `llm_judge` at `evaluations[1]` of `Cups`: 9 of 60: `t-0`, `t-7`, `t-14`, `t-21`, "
        "`t-28` and 4 more<br>`no judge`",
    ]
    assert "<summary>30 sessions did not pass</summary>" in text
    assert "\n✅ 30 sessions passed\n" in text


@pytest.mark.parametrize("many", ["failing", "each its own"])
def test_a_comment_holds_ten_thousand_traces(many: str) -> None:
    long = "🙃" * 900
    runs = [graded(n, Status.FAILED, f"expected 🙂, observed {n} {long}") for n in range(10_000)]
    if many == "each its own":
        runs = [replace(run, session=f"{long}{nth}", trace=f"{long}{nth}") for nth, run in enumerate(runs)]

    text = render("markdown", Report(tuple(runs)))

    assert length(text) < 60_000
    assert text.count("<details>") == text.count("</details>")
    if many == "each its own":
        assert f"and {10_000 + 1429 - MOST_CHECKS} more checks" in text or "had no room here" in text


def test_half_a_letter_has_a_length_too() -> None:
    assert [length(text) for text in ("a", "\U0001f600", "\ud83d")] == [1, 2, 1]
