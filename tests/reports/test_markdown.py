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
from abs_replay.reports.markdown import LARGEST, code, length, with_fence
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

    text = render("markdown", report)

    shown = text.count("- ❌")
    assert LARGEST - 2000 < length(text) <= LARGEST
    headings = text.count("###")
    # What is left out: checks, headings without their checks, and the folded list of each session.
    assert f"{30 * 40 - shown + (30 - headings) + 30 * 40} more lines had no room here" in text
    assert text.count("<details>") == text.count("</details>")


def test_folded_details_are_closed_where_they_are_cut() -> None:
    passed = tuple(Run(f"S{n} " + "x" * 150, None, "t", Result.PASSED, ()) for n in range(2000))

    text = render("markdown", Report(passed))

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


def test_what_flipped_stands_below_in_a_fence_that_it_can_not_end() -> None:
    text = with_fence(render("markdown", saved("passed")), "a → b: 1 flipped\n````\n<b>\n" + "x" * 70_000)

    fences = [token for token in GFM.parse(text) if token.type == "fence"]
    assert [token.content for token in fences] == ["a → b: 1 flipped\n````\n<b>\n"]
    assert length(text) <= LARGEST
