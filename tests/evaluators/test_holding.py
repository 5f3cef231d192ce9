"""Whether a text holds a value, and templates fitted to texts (SEMANTICS C5)."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.evaluators import holding
from abs_replay.evaluators.holding import fit, holds
from abs_replay.exact_json import loads
from abs_replay.predicates import Undecided
from abs_replay.spec.references import parse


@pytest.mark.parametrize(
    ("content", "value", "held"),
    [
        ("Refund R-5512 is done.", "R-5512", True),
        ("Refund R-5512 is done.", "R-55", False),
        ("R-55", "R-55", True),
        ("x7", "7", False),
        ("7 and 77", "7", True),
        ("77 7 77", "7", True),
        ("a--", "-", True),
        ({"q": 'say "hello'}, 'say "hell', False),
        ({"q": 'say "hello"'}, 'say "hello', True),
        ("order_77", "77", False),
        ("Zimmer 7ü", "7", False),
        ("订单12345已发货", "12345", True),
        ("ご注文番号は12345です", "12345", True),
        ("หมายเลข12345ครับ", "12345", True),
        ("주문 12345를", "12345", False),
        ("cafe\u0301 7", "caf\u00e9", True),
        ("It costs 2.50 euro", loads("2.50"), True),
        ("It costs 2.5 euro", loads("2.50"), False),
        ("true enough", True, True),
        ("no value", None, False),
        ({"id": "A-1", "n": 2}, {"x": "A-1", "y": [2]}, True),
        ({"id": "A-1"}, {"x": "A-1", "y": 2}, False),
        ({"q": 'say "hi"'}, 'say "hi"', True),
        (None, "x", False),
        (None, None, True),
        ({"a": None}, None, True),
        ("", None, False),
        ("anything", {}, True),
    ],
)
def test_a_value_stands_between_what_is_no_word(content: Any, value: Any, held: bool) -> None:
    assert holds(content, value) is held


@given(st.text(), st.from_regex(r"[A-Z]-[0-9]{1,5}", fullmatch=True), st.text())
def test_between_blanks_every_value_is_held(before: str, value: str, after: str) -> None:
    assert holds(f"{before} {value} {after}", value)


@pytest.mark.parametrize(
    ("template", "text", "found"),
    [
        ("From {{a}} to {{b}}.", "From Oslo to Rome.", {"a": "Oslo", "b": "Rome"}),
        ("{{a}} and {{ a }}", "1 and 1", {"a": "1"}),
        ("{{a}} and {{a}}", "1 and 2", None),
        ("{{a}} {{b}}", "x y z", {"a": "x", "b": "y z"}),
        ("Shelf {{a}}.", "Shelf 7, I think.", {"a": "7, I think"}),
        ("Shelf {{a}}.", "It is 7.", None),
        ("{{a}}\nend", "two\nlines\nend", {"a": "two\nlines"}),
        ("(caf\u00e9) {{a}}", "(cafe\u0301) 7", {"a": "7"}),
    ],
)
def test_a_template_is_fitted_to_the_whole_text(template: str, text: str, found: Any) -> None:
    assert fit(parse(template), text) == found


@settings(deadline=None)
@given(st.text("ab ", max_size=6), st.text("ab ", max_size=6))
def test_a_text_made_from_a_template_fits_it(first: str, second: str) -> None:
    parts = parse("<{{x}}> is {{y}} {{x}}")
    assert fit(parts, f"<{first}> is {second} {first}") is not None


def test_fitting_ends_at_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "TIME_LIMIT", 0.05)
    template = "".join(f"{{{{v{n}}}}}a" for n in range(30))
    begin = time.process_time()
    with pytest.raises(Undecided, match="took longer"):
        fit(parse(template + "!"), "a" * 4000)
    assert time.process_time() - begin < 10
