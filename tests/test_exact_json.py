"""JSON without loss: what is read is written again, and one notion of equality."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.exact_json import DuplicateKey, Number, dumps, equal, loads

decimals = st.decimals(allow_nan=False, allow_infinity=False).map(str).map(Number)
scalars = st.none() | st.booleans() | st.integers() | decimals
values = st.recursive(
    scalars | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@pytest.mark.parametrize("text", ["-0", "[-0,0,-0.0]", "1e3", "1.50", "12345678901234567890123", "1E+2"])
def test_numbers_are_written_as_they_came(text: str) -> None:
    assert dumps(loads(text)) == text
    assert dumps(loads(text.encode())) == text


@given(values)
def test_what_was_written_reads_as_equal(value: Any) -> None:
    assert equal(loads(dumps(value)), value)
    assert dumps(json.loads(dumps(value), parse_float=Number)) == dumps(value)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("1", "1.0", True),
        ("-0", "0", True),
        ("1", "true", False),
        ("0", "null", False),
        ('"1"', "1", False),
        ("[1,2]", "[1]", False),
        ('{"a":1,"b":[]}', '{"b":[],"a":1.0}', True),
        ('{"a":null}', "{}", False),
        ("[]", "{}", False),
        ('""', "[]", False),
        ("9007199254740993", "9007199254740992.0", False),
    ],
)
def test_equality_is_that_of_json_values(left: str, right: str, same: bool) -> None:
    assert equal(loads(left), loads(right)) is same
    assert equal(loads(right), loads(left)) is same


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e99999999999999999999", "9" * 5000, "[1,]", ""])
def test_what_can_not_be_kept_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(text)


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "}")])
def test_values_are_written_and_compared_as_deep_as_they_can_be_read(begin: str, end: str) -> None:
    text = begin * 600 + "1" + end * 600
    assert dumps(loads(text)) == text
    assert equal(loads(text), loads(text))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"a":1,"a":1}', 1),
        ('{"a":{"b":"}{\\"","c":1},\n"x":[{"b":-0,\n"\\u0062" :2}]}', 3),
        ('{"a:":1,\n"a":{"a":1}, "b":":",\n"a":2}', 3),
    ],
)
def test_strict_refuses_a_key_twice_and_tells_its_line(text: str, line: int) -> None:
    assert loads(text)
    with pytest.raises(DuplicateKey) as raised:
        loads(text, strict=True)
    assert raised.value.line == line


def test_strict_reads_what_has_each_key_once_as_ever() -> None:
    text = '{"a":{"a":[-0,1.50]},"b":{"a":""}}'
    assert dumps(loads(text, strict=True)) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [("[NaN]", "NaN is no JSON number"), (f"[{'9' * 5000}]", "a number is too large"), ("[", "Expecting")],
)
def test_what_is_no_json_is_refused_in_words(text: str, said: str) -> None:
    for strict in (False, True):
        with pytest.raises(ValueError, match=said):
            loads(text, strict=strict)
