"""The language of `when` (SEMANTICS C6)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.exact_json import Number, dumps
from abs_replay.spec.conditions import ConditionError, Undecidable, holds, names, parse
from abs_replay.spec.session import Condition

VALUES: dict[str, Any] = {
    "n": 7,
    "t": "gold",
    "b": True,
    "l": [1, "x", None],
    "o": {"gold": 1},
    "z": None,
    "q": "' == '",
}


def _holds(text: str, **values: Any) -> bool:
    return holds(Condition(text, parse(text), VALUES | values))


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "{{b}}",
        "({{b}})",
        "{{ n }} == 7.0",
        "{{n}} != '7'",
        "'{{n}}' == '7'",
        "{{z}} == null",
        "true != 1",
        "{{n}} > -1 and {{n}} <= 7e0 and {{n}} >= 7 and {{n}} < 7.5",
        "'a' < 'b' and \"B\" < 'a'",
        "1.0 in {{l}} and not true in {{l}} and null in {{l}}",
        "'gold' in {{o}}",
        "'old' in {{t}} and '' in {{t}}",
        "{{t}} in ['silver', \"gold\"]",
        "[1, [2.0]] == [1.0, [2]]",
        '{"a": {{n}}} == {"a": 7}',
        "{} == {} and [] == []",
        "not false == true or false",
        "true or false and false",
        "(1 < 2) == true",
        "{{q}} == '\\' == \\''",
        '"\\u00e9\\n" == "é\\n"',
        '\'say "hi"\' == "say \\"hi\\""',
        "'\\{{n}}' != '7'",
    ],
)
def test_it_holds(text: str) -> None:
    assert _holds(text)


@pytest.mark.parametrize(
    "text",
    ["false", "not {{b}}", "{{n}} == {{t}}", "{{q}} == 'x'", "'{{q}}' == ''", "2 in {{l}}", "not not false"],
)
def test_it_does_not_hold(text: str) -> None:
    assert not _holds(text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{{t}}", '"gold"'),
        ("7", "no boolean"),
        ("not {{n}}", "negates"),
        ("{{n}} and true", "`and`"),
        ("false or {{z}}", "`or`"),
        ("{{n}} > {{t}}", "order"),
        ("true > false", "order"),
        ("[1] < [2]", "order"),
        ("{{t}} in {{n}}", "look for"),
        ("1 in {{t}}", "look for"),
        ("1 in {{o}}", "look for"),
        ("{{nothing}} == 1", "no value"),
    ],
)
def test_what_has_no_answer_is_undecidable(text: str, word: str) -> None:
    with pytest.raises(Undecidable) as raised:
        _holds(text)
    assert word in raised.value.reason


def test_values_too_deep_to_compare_are_undecidable() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(Undecidable, match="deep"):
        _holds("[{{v}}] == {{w}}", v=deep, w=[[deep]])


def test_and_and_or_stop_at_the_first_side_that_decides() -> None:
    assert _holds("true or {{n}}")
    assert not _holds("false and {{nothing}}")


@pytest.mark.parametrize(
    "text",
    ["", " ", "{{a}} ==", "== 1", "1 < 2 < 3", "1 == 1 == true", "(true", "true)", "[1", "[1,]", "{'a' 1}",
     "{a: 1}", "a == 1", "{{a b}}", "{{a!}} == 1", "len('a') == 1", "'a'.x == 'b'", "{{a}}.b == 1",
     "1 not in [1]", "True", "1.", "01", "+1", "1_0", "'a", '"a', "'\\x'", "'a\nb'", "'\\ud800'",
     "x'a'", "true and", "not",
     "a & b", "1;2", "(" * 60 + "true" + ")" * 60, "not " * 60 + "true", "[" * 60 + "]" * 60, "9" * 5000,
     "1e99999999999999999999"],
)  # fmt: skip
def test_what_is_not_in_the_language_is_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        parse(text)


def test_the_references_of_a_condition_are_those_in_its_texts_too() -> None:
    assert sorted(names(parse("not ({{a.b}} in [{{ c }}, 'x{{d}}'] or {\"k\": {{e}}} == 1)"))) == [
        "a.b",
        "c",
        "d",
        "e",
    ]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just(Number("1.50")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
_PIECES = ["{{v}}", "{{w}}", "true", "null", "1", "'a'", "==", "!=", "<", ">=", "in", "and", "or", "not"]
_TEXTS = st.lists(st.sampled_from([*_PIECES, *"()[],{}:é\\"]), max_size=12).map(" ".join)


@given(text=_TEXTS | st.text(max_size=20), v=_VALUES, w=_VALUES)
@settings(max_examples=300, deadline=None)
def test_any_condition_is_refused_undecidable_or_a_boolean(text: str, v: Any, w: Any) -> None:
    try:
        result = _holds(text, v=v, w=w)
    except (ConditionError, Undecidable) as error:
        result = bool(str(error))
    assert result in (True, False)


@given(v=_VALUES, w=_VALUES)
@settings(max_examples=100, deadline=None)
def test_a_value_is_never_read_as_part_of_the_condition(v: Any, w: Any) -> None:
    assert _holds("{{v}} == {{w}}", v=v, w=w) == (not _holds("{{v}} != {{w}}", v=v, w=w))
    assert _holds("{{v}} in [{{v}}] and {{v}} == {{v}}", v=v)
    assert _holds("'{{v}}' == {{w}}", v=v, w=v if isinstance(v, str) else dumps(v))


@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20))
@settings(max_examples=100, deadline=None)
def test_a_text_in_either_quotes_is_that_text(text: str) -> None:
    body = text.replace("\\", "\\\\").replace("{{", "{ {")
    single, double = body.replace("'", "\\'"), body.replace('"', '\\"')
    assert _holds(f"'{single}' == {{{{v}}}} and \"{double}\" == {{{{v}}}}", v=text.replace("{{", "{ {"))
