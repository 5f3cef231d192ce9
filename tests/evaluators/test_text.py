"""`exact_match`, `contains`, `regex` (SEMANTICS E1 to E3)."""

from collections.abc import Callable

import pytest

from abs_replay.exact_json import Json, loads
from abs_replay.predicates import patterns
from abs_replay.verdicts import Verdict

type JudgedStep = Callable[..., list[Verdict]]


@pytest.mark.parametrize(
    ("value", "content", "status"),
    [
        ("'12345'", "12345", "passed"),
        ("12345", "12345", "failed"),
        ("{ a: 1, b: 2.0 }", '{"b": 2, "a": 1}', "passed"),
        ("{ a: 1 }", loads('{"a": 1.0}'), "passed"),
        ("null", None, "passed"),
        ("''", None, "failed"),
        ("true", 1, "failed"),
    ],
)
def test_exact_match_is_json_equality(
    judged_step: JudgedStep, value: str, content: Json, status: str
) -> None:
    # A number or a structure in the words of an assistant is what a decoder may find there.
    (verdict,) = judged_step(f"{{ type: exact_match, value: {value} }}", content)
    assert verdict.status == status


def test_a_reason_quotes_expected_and_observed(judged_step: JudgedStep) -> None:
    rules = """
        { type: exact_match, value: Delivered }
        { type: contains, value: delivered }
        { type: regex, pattern: '^delivered' }
    """
    for verdict in judged_step(rules, "Shipped on Friday"):
        assert verdict.status == "failed"
        assert "elivered" in verdict.reason
        assert '"Shipped on Friday"' in verdict.reason
        assert (verdict.score, verdict.evidence) == (0.0, (1,))


@pytest.mark.parametrize(
    ("rule", "content", "reason"),
    [
        ("type: exact_match, value: { a: 1 }", '{"a": 1.0}', 'equals {"a":1}'),
        ("type: exact_match, value: { a: 1 }", '{"a": 2}', 'expected {"a":1}, observed "{"a": 2}"'),
        ("type: contains, value: BE", "To be", 'contains "BE"'),
        ("type: contains, value: BE, case_sensitive: true", "To BE", 'contains "BE"'),
        (
            "type: contains, value: BE, case_sensitive: true",
            "To be",
            'expected to contain "BE" in this case, observed "To be"',
        ),
        ("type: contains, value: '\"b\":1'", {"b": 1}, 'contains ""b":1"'),
        ("type: regex, pattern: '\\d$'", {"b": 1}, 'expected to match "\\d$", observed "{"b":1}"'),
        ("type: regex, pattern: '\\d'", {"b": 1}, 'matches "\\d"'),
    ],
)
def test_a_verdict_says_what_was_compared(
    judged_step: JudgedStep, rule: str, content: Json, reason: str
) -> None:
    (verdict,) = judged_step(f"{{ {rule} }}", content)
    failed = reason.startswith("expected")
    assert (verdict.status, verdict.score) == (("failed", 0.0) if failed else ("passed", 1.0))
    assert (verdict.reason, verdict.evidence) == (reason, (1,))


def test_long_content_is_shortened_in_a_reason(judged_step: JudgedStep) -> None:
    (verdict,) = judged_step("{ type: contains, value: needle }", "hay " * 1000)
    assert len(verdict.reason) < 200


def test_null_content_is_searched_as_the_empty_text(judged_step: JudgedStep) -> None:
    verdicts = judged_step("{ type: contains, value: 'null' }\n{ type: regex, pattern: '^$' }", None)
    assert [verdict.status for verdict in verdicts] == ["failed", "passed"]


def test_a_search_over_the_time_limit_is_an_error(
    judged_step: JudgedStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "TIME_LIMIT", 0.05)
    (verdict,) = judged_step("{ type: regex, pattern: '(a|aa)+$' }", "a" * 60 + "b")
    assert verdict.status == "error"
    assert verdict.score is None
    assert "took longer" in verdict.reason
