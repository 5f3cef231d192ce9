"""`schema`: the whole of JSON Schema, on exact numbers, under the time limit (SEMANTICS E4)."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from abs_replay.evaluators.schema import violations_of
from abs_replay.exact_json import loads
from abs_replay.predicates import Undecided


def violations(schema: str, content: str) -> list[str]:
    return sorted(violations_of(loads(schema), loads(content)))


def test_every_violation_is_told_with_its_path() -> None:
    schema = (
        '{"properties": {"sku": {"type": "string"}, "lines": {"items": {"minimum": 1}}}, "required": ["id"]}'
    )
    assert violations(schema, '{"sku": 5, "lines": [1, 0]}') == [
        "$.lines[1]: expected minimum 1, observed 0",
        '$.sku: expected type "string", observed 5',
        "$: 'id' is a required property",
    ]


@pytest.mark.parametrize(
    ("schema", "content", "valid"),
    [
        ('{"multipleOf": 0.01}', "19.99", True),
        ('{"multipleOf": 0.01}', "19.999", False),
        ('{"multipleOf": 3}', "100000000000000000000000000000000000000000000000001", False),
        ('{"type": "integer"}', "1.0", True),
        ('{"type": "integer"}', "1.5", False),
        ('{"type": "integer"}', "true", False),
        ('{"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}', "1.0", False),
        ('{"const": 2.50}', "2.5", True),
        ('{"format": "date"}', '"2026-02-30"', False),
        ('{"format": "date-time"}', '"2026-02-28T10:00:00Z"', True),
        ('{"$defs": {"n": {"type": "null"}}, "$ref": "#/$defs/n"}', "null", True),
    ],
)
def test_numbers_are_exact_and_formats_asserted(schema: str, content: str, valid: bool) -> None:
    assert (violations(schema, content) == []) is valid


def test_numbers_beyond_reason_are_undecided_at_once() -> None:
    begin = time.perf_counter()
    with pytest.raises(Undecided):
        violations('{"multipleOf": 3}', "1e999999999")
    assert time.perf_counter() - begin < 5


def test_a_pattern_is_stopped_wherever_it_stands() -> None:
    slow, text = "(a|aa)+$", "a" * 60 + "b"
    for schema in ({"pattern": slow}, {"patternProperties": {slow: False}}):
        content: Any = text if "pattern" in schema else {text: 1}
        with pytest.raises(Undecided, match="took longer"):
            list(violations_of(schema, content))


PATTERNS = st.sampled_from(["^a", "b$", ".", "^$", "c|d"])
INNER = st.sampled_from([True, False, {"type": "integer"}, {"properties": {"a": False}}])
OBJECT_SCHEMAS = st.fixed_dictionaries(
    {"patternProperties": st.dictionaries(PATTERNS, INNER, min_size=1, max_size=3)},
    optional={
        "properties": st.dictionaries(st.sampled_from(["a", "patternProperties"]), INNER, max_size=2),
        "additionalProperties": INNER,
        "unevaluatedProperties": st.booleans(),
    },
)
CONTENTS = st.dictionaries(
    st.sampled_from(["a", "ab", "b", "c", "patternProperties", "x.y"]), st.integers(0, 3) | st.text("a")
)


@settings(deadline=None)
@given(OBJECT_SCHEMAS, CONTENTS)
def test_pattern_properties_mean_what_the_standard_says(
    schema: dict[str, Any], content: dict[str, Any]
) -> None:
    expected = sorted(error.json_path for error in Draft202012Validator(schema).iter_errors(content))
    assert sorted(text.partition(": ")[0] for text in violations_of(schema, content)) == expected


def test_a_reason_shows_the_pattern_as_written() -> None:
    (text,) = violations('{"patternProperties": {"^x-": true}, "additionalProperties": false}', '{"a": 1}')
    assert "^x-" in text


def test_nothing_is_fetched() -> None:
    with pytest.raises(Exception, match=r"example\.org"):
        violations('{"$ref": "https://example.org/order.json"}', "{}")
