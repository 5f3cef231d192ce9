"""Flips for a pull request: Markdown that nothing in it can break, and commands at lines of files."""

import re
from dataclasses import replace
from typing import Any

import pytest

from abs_replay.comparison import Comparison, compare
from abs_replay.reports import flips_github, flips_json, flips_markdown
from abs_replay.reports.markdown_text import LARGEST, length
from abs_replay.verdicts import Run, Status
from tests.comparison.made import RULE, E, F, P, grading, run, verdict

NASTY = "</code></summary>`@all` <img src=x> |\n::error::x\x1b[2J\u202e"


def nasty(status: Status, **more: Any) -> Run:
    made = replace(verdict(status, fingerprint=more.pop("fingerprint", "q.d.1")), reason=NASTY, label=NASTY)
    return replace(run(made, trace=NASTY, session=NASTY), lines={RULE: 7}, **more)


def one_of_each() -> Comparison:
    """A regression, an unstable one, and one that is not decided any more."""
    judged: dict[str, Any] = {"judge": "j"}
    before = [run(verdict(P, at=f"at[{nth}]", **judged), trace=f"t-{nth}") for nth in range(3)]
    after = [
        run(verdict(F, at="at[0]", judge="k"), trace="t-0"),
        run(verdict(F, at="at[1]", **judged), trace="t-1"),
        run(verdict(E, at="at[2]"), trace="t-2"),
    ]
    return compare(grading("a", *before), grading("b", *after))


def test_in_markdown_nothing_of_a_trace_or_document_is_markup() -> None:
    text = flips_markdown.render(compare(grading(NASTY, nasty(P)), grading("b", nasty(F))), (NASTY,), True)
    outside = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", text)
    assert "<img" not in outside
    assert "@all" not in re.sub(r"<code>.*?</code>", "", outside)
    assert "&lt;/code&gt;&lt;/summary&gt;" in text
    assert all(line.isprintable() for line in text.split("\n"))
    assert text.count("<details>") == text.count("</details>") > 0


def test_markdown_sets_unstable_and_incomparable_ones_apart() -> None:
    text = flips_markdown.render(one_of_each())
    assert text.startswith("**❌ 2 of 2 evaluations flipped**, 2 to the worse · `a` → `b`\n")
    assert "<summary>❌ <code>S · at[0] · llm_judge</code>: 1 worse</summary>" in text
    assert "<summary>unstable · ❌ <code>S · at[1] · llm_judge</code>: 1 worse</summary>" in text
    assert (
        "<summary>Not comparable: 1 evaluation</summary>\n\n- `S · at[2] · llm_judge`: 1 error after" in text
    )
    assert "1 worse, 0 better of 1 judged both times: too few flips to test" in text


def test_a_comment_is_never_longer_than_it_may_be() -> None:
    before, after = (
        [run(replace(verdict(status), reason="🙂" * 900), trace=f"t-{nth}") for nth in range(300)]
        for status in (P, F)
    )
    text = flips_markdown.render(compare(grading("a", *before), grading("b", *after)), ["x" * 900] * 9, True)
    assert length(text) <= LARGEST
    assert "had no room here; `--format json` has all." in text


@pytest.mark.parametrize("same", [[P], [P, P]])
def test_where_nothing_flipped_markdown_says_that_it_is_fine(same: list[Status]) -> None:
    made = grading("a", *(run(verdict(status), trace=f"t-{nth}") for nth, status in enumerate(same)))
    assert flips_markdown.render(compare(made, made)).startswith("**✅ 0 of ")


def test_each_rule_that_got_worse_is_an_error_at_its_line() -> None:
    found = compare(grading("a", nasty(P)), grading("b", nasty(F, fingerprint="r.d.1", file="s.abs.yaml")))
    first, summary = flips_github.render(found, environment={}).splitlines()
    assert first.startswith("::error file=s.abs.yaml,line=7,title=")
    assert "[the rule was edited]" in first
    assert summary == "abs: 1 evaluation flipped, 1 to the worse, 0 not decided any more, 0 the same"
    assert "\x1b" not in first


def test_what_may_be_the_judges_doing_is_a_warning_and_a_gate_an_error() -> None:
    lines = flips_github.render(one_of_each(), ["--margin 0.1: no"], environment={}).splitlines()
    assert [line.partition(" ")[0] for line in lines] == [
        "::error",
        "::error",
        "::warning",
        "::warning",
        "abs:",
    ]
    assert lines[0] == "::error title=abs::--margin 0.1: no"
    assert "error after" in lines[3]


def test_json_lists_incomparable_pairs_apart_with_why() -> None:
    found: Any = flips_json.as_json(one_of_each())
    assert [(each["at"], each["why"]) for each in found["incomparable"]] == [("at[2]", "error after")]
    assert (found["flipped"], found["unstable"], found["same"]) == (2, 1, 0)
    assert [(each["at"], each["causes"]) for each in found["flips"] if each["type"] == "llm_judge"] == [
        ("at[0]", ["judge"]),
        ("at[1]", ["noise"]),
    ]
