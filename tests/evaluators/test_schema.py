"""`schema`: the whole of JSON Schema, on exact numbers, under the time limit (SEMANTICS E4)."""

import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing.exceptions import Unresolvable

from abs_replay.evaluators import schema_budget
from abs_replay.evaluators.schema import violations_of
from abs_replay.exact_json import loads
from abs_replay.predicates import Undecided, patterns
from abs_replay.verdicts import Verdict

NEWEST = "https://json-schema.org/draft/2020-12/schema"


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
        ('{"multipleOf": 0.00000001}', "12345678901234567890123456789.00000001", True),
        ('{"multipleOf": 0.00000001}', "12345678901234567890123456789.000000015", False),
        ('{"multipleOf": 1000}', "0.5", False),
        ('{"multipleOf": 1000}', "0", True),
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


@pytest.mark.parametrize(
    ("schema", "content", "said"),
    [
        ("false", "5", ["$: expected nothing here, observed 5"]),
        ("true", "5", []),
        (
            '{"properties": {"a": false, "b": true}}',
            '{"a": 1, "b": 2}',
            ["$.a: expected nothing here, observed 1"],
        ),
        ('{"pattern": "^A"}', '"bA"', ['$: expected pattern "^A", observed "bA"']),
        ('{"pattern": "^A"}', '"Ab"', []),
        ('{"pattern": "^A"}', "5", []),  # keywords for text say nothing of numbers
        ('{"multipleOf": 3}', '"4"', []),
        ('{"multipleOf": 3}', "4", ["$: expected multipleOf 3, observed 4"]),
        ('{"multipleOf": 0.5}', "true", []),
    ],
)
def test_a_keyword_speaks_of_its_own_kind_of_value(schema: str, content: str, said: list[str]) -> None:
    assert violations(schema, content) == said


@pytest.mark.parametrize(
    "schema",
    [
        '{"properties": {"a": false}}',
        '{"patternProperties": {"^a$": false}}',
        '{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": false}}',
    ],
)
def test_what_is_allowed_nowhere_is_told_with_its_path(schema: str) -> None:
    assert violations(schema, '{"a": 1}') == ["$.a: expected nothing here, observed 1"]
    inner = f'{{"items": {schema}}}'
    assert violations(inner, '[{}, {"a": 1}]') == ["$[1].a: expected nothing here, observed 1"]


@pytest.mark.parametrize("draft", [NEWEST, "http://json-schema.org/draft-07/schema#"])
def test_a_schema_that_names_its_draft_and_refers_to_itself_stays_exact(draft: str) -> None:
    properties = '{"n": {"type": "integer"}, "m": {"multipleOf": 0.01}, "next": {"$ref": "#"}}'
    schema = f'{{"$schema": "{draft}", "properties": {properties}}}'
    assert violations(schema, '{"next": {"next": {"n": 2.0, "m": 19.99}}}') == []
    assert violations(schema, '{"next": {"n": 2.5, "next": {"m": 19.999}}}') == [
        '$.next.n: expected type "integer", observed 2.5',
        "$.next.next.m: expected multipleOf 0.01, observed 19.999",
    ]


def test_a_part_may_name_a_draft_of_its_own() -> None:
    of_draft_4 = (
        '{"$id": "urn:four", "$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}'
    )
    schema = f'{{"$defs": {{"four": {of_draft_4}}}, "properties": {{"a": {{"$ref": "#/$defs/four"}}}}}}'
    assert violations(schema, '{"a": 1}') == []
    assert violations(schema, '{"a": 1.0}') == ['$.a: expected type "integer", observed 1.0']
    with pytest.raises(Undecided, match="unknown JSON Schema draft"):
        violations(schema.replace("draft-04", "draft-03"), '{"a": 1}')


def test_a_part_with_a_draft_of_its_own_asserts_formats_and_refers_to_its_own_definitions() -> None:
    inner = '"properties": {"on": {"$ref": "#/definitions/day"}}, "definitions": {"day": {"format": "date"}}'
    for draft in ("", '"$schema": "http://json-schema.org/draft-07/schema#", '):
        part = f'{{"$id": "urn:part", {draft}{inner}}}'
        # The document has another definition of that name.
        other = '"definitions": {"day": {"type": "null"}}'
        schema = f'{{{other}, "$defs": {{"part": {part}}}, "items": {{"$ref": "urn:part"}}}}'
        assert violations(schema, '[{"on": "2026-02-28"}]') == []
        assert violations(schema, '[{"on": "2026-02-30"}]') == [
            '$[0].on: expected format "date", observed "2026-02-30"'
        ]


@pytest.mark.parametrize(
    ("schema", "content", "valid"),
    [
        ('{"const": {"a": [1.0]}}', '{"a": [1]}', True),
        ('{"const": {"a": [1.0]}}', '{"a": [2]}', False),
        ('{"enum": [1, "a"]}', "1.0", True),
        ('{"enum": [1, "a"]}', "true", False),
        ('{"uniqueItems": true}', "[1, 1.0]", False),
        ('{"uniqueItems": false}', "[1, 1]", True),
        ('{"uniqueItems": true}', '"aa"', True),
        ('{"patternProperties": {"a": false}}', '["a"]', True),
        ('{"additionalProperties": false}', '["a"]', True),
        ('{"additionalProperties": {"type": "null"}}', '{"a": null}', True),
        ('{"additionalProperties": {"type": "null"}}', '{"a": 1}', False),
        ('{"properties": {"a": true}, "additionalProperties": false}', '{"a": 1}', True),
        ('{"properties": {"a": true}, "additionalProperties": false}', '{"a": 1, "b": 1}', False),
        ('{"unevaluatedProperties": false}', "[1]", True),
        ('{"unevaluatedProperties": false}', '{"a": 1}', False),
        (
            '{"dependentSchemas": {"a": {"properties": {"b": true}}}, "unevaluatedProperties": false}',
            '{"b": 1}',
            False,
        ),
        (
            '{"dependentSchemas": {"a": {"properties": {"a": true, "b": true}}}, '
            '"unevaluatedProperties": false}',
            '{"a": 1, "b": 1}',
            True,
        ),
        (
            '{"if": {"properties": {"a": {"const": 1}}}, "then": {"properties": {"b": true}}, '
            '"else": {"properties": {"c": true}}, "unevaluatedProperties": false}',
            '{"a": 1, "b": 1}',
            True,
        ),
        (
            '{"if": {"properties": {"a": {"const": 1}}}, "then": {"properties": {"b": true}}, '
            '"else": {"properties": {"c": true}}, "properties": {"a": true}, "unevaluatedProperties": false}',
            '{"a": 2, "b": 1}',
            False,
        ),
        # A part that does not fit has looked at nothing.
        (
            '{"anyOf": [{"required": ["z"], "properties": {"a": true}}, {"properties": {"b": true}}], '
            '"unevaluatedProperties": false}',
            '{"b": 1}',
            True,
        ),
        (
            '{"anyOf": [{"required": ["z"], "properties": {"a": true}}, {"properties": {"b": true}}], '
            '"unevaluatedProperties": false}',
            '{"a": 1, "b": 1}',
            False,
        ),
        ('{"unevaluatedItems": false}', '"a"', True),
        ('{"prefixItems": [true], "unevaluatedItems": false}', "[1]", True),
        ('{"prefixItems": [true], "unevaluatedItems": false}', "[1, 2]", False),
        ('{"$ref": "#/$defs/n", "$defs": {"n": {"items": true}}, "unevaluatedItems": false}', "[1, 2]", True),
        (
            '{"$schema": "https://json-schema.org/draft/2019-09/schema", "properties": {"next": '
            '{"$recursiveRef": "#", "unevaluatedProperties": false}}}',
            '{"next": {"next": {}}}',
            True,
        ),
        (
            '{"$schema": "https://json-schema.org/draft/2019-09/schema", "properties": {"next": '
            '{"$recursiveRef": "#", "unevaluatedProperties": false}}}',
            '{"next": {"other": 1}}',
            False,
        ),
    ],
)
def test_keywords_mean_what_the_standard_says(schema: str, content: str, valid: bool) -> None:
    assert (violations(schema, content) == []) is valid


UNEVALUATED: Sequence[Mapping[str, Any]] = [
    {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
    {
        "oneOf": [{"required": ["a"], "properties": {"a": True}}, {"properties": {"b": True}}],
        "unevaluatedProperties": False,
    },
    {
        "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
        "then": {"properties": {"b": True}},
        "else": {"properties": {"a": True, "c": True}},
        "unevaluatedProperties": False,
    },
    {"if": {"required": ["a"], "properties": {"a": True}}, "unevaluatedProperties": False},
    {"allOf": [{"additionalProperties": {"type": "integer"}}], "unevaluatedProperties": False},
    {"anyOf": [{"additionalProperties": {"type": "integer"}}, True], "unevaluatedProperties": False},
    {
        "anyOf": [{"properties": {"a": True}, "unevaluatedProperties": {"type": "integer"}}, True],
        "unevaluatedProperties": False,
    },
    {"unevaluatedProperties": {"type": "integer"}},
    {"unevaluatedProperties": {"type": "null"}},
    {
        "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"properties": {"a": True}}},
        "$ref": "#/$defs/x",
        "unevaluatedProperties": False,
    },
    {
        "$defs": {"x": {"$dynamicAnchor": "x", "properties": {"a": True}}},
        "$dynamicRef": "#x",
        "unevaluatedProperties": False,
    },
    {
        "$defs": {
            "p": {"$id": "urn:p", "$ref": "#/$defs/q", "$defs": {"q": {"properties": {"a": True}}}},
            "q": {"properties": {"b": True}},
        },
        "$ref": "urn:p",
        "unevaluatedProperties": False,
    },
    {"dependentSchemas": {"a": {"properties": {"a": True, "b": True}}}, "unevaluatedProperties": False},
    {"allOf": [{"prefixItems": [True]}], "unevaluatedItems": False},
    {"contains": {"type": "integer"}, "unevaluatedItems": False},
    {"anyOf": [{"unevaluatedItems": {"type": "integer"}}, True], "unevaluatedItems": False},
    {"unevaluatedItems": {"type": "integer"}},
    {"anyOf": [{"items": {"type": "integer"}}, True], "unevaluatedItems": False},
]
LOOKED_AT: Sequence[Any] = [
    *({}, {"a": 1}, {"b": 1}, {"c": 1}, {"a": 2, "b": 1}, {"a": 1, "b": "x"}, {"a": 1, "c": 1}, {"b": "x"}),
    *([], [1], ["x"], [1, "x"], ["x", 1], [1, 2], "words"),
]


@pytest.mark.parametrize("number", range(len(UNEVALUATED)))
def test_what_each_keyword_looks_at_is_left_to_none_other(number: int) -> None:
    schema = UNEVALUATED[number]
    standard = Draft202012Validator(schema)
    for content in LOOKED_AT:
        assert (violations_of(schema, content) == []) is standard.is_valid(content), content


@pytest.mark.parametrize(
    ("schema", "content", "said"),
    [
        (
            '{"properties": {"a": true}, "additionalProperties": {"type": "null"}}',
            '{"a": 1, "b": 1}',
            ['$.b: expected type "null", observed 1'],
        ),
        (
            '{"additionalProperties": false}',
            '{"a": 1, "b": 2}',
            ['$: additional properties that are not allowed: "a", "b"'],
        ),
        (
            '{"patternProperties": {"^x": true}, "additionalProperties": false}',
            '{"x": 1, "b": 2}',
            ['$: additional properties that are not allowed: "b" (no name matches "^x")'],
        ),
        (
            '{"unevaluatedProperties": false}',
            '{"a": 1, "b": 2}',
            ['$: unevaluated properties that are not allowed: "a", "b"'],
        ),
        ('{"const": 1}', "2", ["$: expected const 1, observed 2"]),
        ('{"enum": [1]}', "2", ["$: expected enum [1], observed 2"]),
        ('{"uniqueItems": true}', "[2, 2]", ["$: expected uniqueItems true, observed [2,2]"]),
    ],
)
def test_a_violation_says_what_was_expected_and_observed(schema: str, content: str, said: list[str]) -> None:
    assert violations(schema, content) == said


def test_a_verdict_tells_every_violation_once(judged_step: Callable[..., list[Verdict]]) -> None:
    rule = "{ type: schema, schema: { required: [id], properties: { n: { type: integer } } } }"
    (verdict,) = judged_step(rule, '{"n": 1.5}')
    assert (verdict.status, verdict.score, verdict.evidence) == ("failed", 0.0, (1,))
    assert verdict.reason == "$.n: expected type \"integer\", observed 1.5; $: 'id' is a required property"
    (verdict,) = judged_step(rule, '{"n": 1.0, "id": 1}')
    assert (verdict.status, verdict.score, verdict.evidence) == ("passed", 1.0, (1,))


def test_an_integer_is_whole_whatever_number_of_python_it_is() -> None:
    found = [list(violations_of({"type": "integer"}, value)) == [] for value in (2.0, 2.5, 2, True, "2")]
    assert found == [True, False, True, False, False]


def test_a_multiple_is_exact_for_the_numbers_of_python_too() -> None:
    assert list(violations_of({"multipleOf": 0.1}, 0.3)) == []
    assert list(violations_of({"multipleOf": 0.1}, 0.35)) != []


@pytest.mark.parametrize(
    ("schema", "content", "valid"),
    [
        # Below a list, in content and in a schema.
        ('{"items": {"patternProperties": {"^n": {"type": "null"}}}}', '[{"n1": null}, {"m": 1}]', True),
        ('{"items": {"patternProperties": {"^n": {"type": "null"}}}}', '[{"n1": null}, {"n": 1}]', False),
        ('{"anyOf": [{"patternProperties": {"^n": false}}, {"required": ["x"]}]}', '{"n": 1}', False),
        ('{"anyOf": [{"patternProperties": {"^n": false}}, {"required": ["x"]}]}', '{"n": 1, "x": 2}', True),
        # A name like the keyword's, and a value that only looks like a schema.
        (
            '{"properties": {"patternProperties": {"const": {"patternProperties": {"^n": false}}}}}',
            '{"patternProperties": {"patternProperties": {"^n": false}}}',
            True,
        ),
        ('{"patternProperties": {"a.b": false}}', '{"a.b": 1}', False),
        ('{"patternProperties": {"^a[.]b$": false}}', '{"axb": 1}', True),
        ('{"patternProperties": {"^zz": false}}', '{"a": 1}', True),
    ],
)
def test_pattern_properties_are_found_at_every_place_of_a_schema_and_nowhere_else(
    schema: str, content: str, valid: bool
) -> None:
    assert (violations(schema, content) == []) is valid


def test_numbers_beyond_reason_are_undecided_at_once() -> None:
    begin = time.process_time()
    with pytest.raises(Undecided):
        violations('{"multipleOf": 3}', "1e999999999")
    assert time.process_time() - begin < 5


def test_a_pattern_is_stopped_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "TIME_LIMIT", 0.05)
    slow, text = "(a|aa)+$", "a" * 60 + "b"
    itself: Any = {"$schema": NEWEST, "properties": {"p": {"pattern": slow}, "next": {"$ref": "#"}}}
    cases: list[tuple[Any, Any]] = [
        ({"pattern": slow}, text),
        ({"patternProperties": {slow: False}}, {text: 1}),
        ({"anyOf": [{"patternProperties": {slow: False}}]}, {text: 1}),
        (itself, {"next": {"p": text}}),
    ]
    for schema, content in cases:
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


def spelled_out(schema: Any, inside: str = "") -> Any:
    """Write `false` as `not: {}` where the library forgets to say which key it refuses."""
    if schema is False and inside in ("properties", "patternProperties"):
        return {"not": {}}
    if not isinstance(schema, dict):
        return schema
    names = inside not in ("properties", "patternProperties")
    return {key: spelled_out(value, key if names else inside) for key, value in schema.items()}


@settings(deadline=None)
@given(OBJECT_SCHEMAS, CONTENTS)
@example({"patternProperties": {"^a": False}, "properties": {"a": False}}, {"a": 1, "ab": 2})
@example({"patternProperties": {"^a": True}, "additionalProperties": False}, {"a": 1, "c": 2})
@example({"patternProperties": {".": {"properties": {"a": False}}}}, {"a": 1})
def test_pattern_properties_mean_what_the_standard_says(
    schema: dict[str, Any], content: dict[str, Any]
) -> None:
    standard = Draft202012Validator(spelled_out(schema))
    expected = sorted(error.json_path for error in standard.iter_errors(content))
    assert sorted(text.partition(": ")[0] for text in violations_of(schema, content)) == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from([1.0, 0.0, "", "1", Decimal("1.0")]),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from("ab"), v, max_size=2),
    max_leaves=5,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(VALUES, max_size=5))
@example([1, True, 0, False])
@example([{"a": 1, "b": [True]}, {"b": [True], "a": 1.0}])
@example([[1], [True]])
def test_items_are_unique_and_among_others_as_the_library_says(values: list[Any]) -> None:
    for schema in ({"uniqueItems": True}, {"items": {"enum": values[:2]}}, {"items": {"const": values[:1]}}):
        assert bool(violations_of(schema, values)) is not Draft202012Validator(schema).is_valid(values)


PARTS = st.sampled_from(
    [
        True,
        {"properties": {"a": True}},
        {"patternProperties": {"^b": {"type": "integer"}}},
        {"required": ["c"], "properties": {"c": True}},
        {"additionalProperties": {"type": "string"}},
        {"prefixItems": [True]},
        {"contains": {"type": "string"}},
        {"items": {"type": "integer"}},
        {"$ref": "#/$defs/part"},
        {"$dynamicRef": "#part"},
        {"if": {"required": ["a"]}, "then": {"properties": {"a": True}}, "else": {"properties": {"b": True}}},
        {"if": {"required": ["a"]}},
        {"dependentSchemas": {"a": {"properties": {"c": True}}}},
        {"not": {"required": ["ab"]}},
        {"unevaluatedProperties": {"type": "integer"}},
        {"unevaluatedItems": {"type": "integer"}},
    ]
)
COMBINING = st.sampled_from(["allOf", "anyOf", "oneOf"])
LEFT = st.sampled_from([True, False, {"type": "integer"}])
LISTS = st.lists(st.integers(0, 3) | st.text("a", max_size=2), max_size=3)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["allOf", "anyOf", "oneOf"]),
    st.lists(PARTS, min_size=1, max_size=3),
    LEFT,
    CONTENTS | LISTS,
)
@example("allOf", [{"if": {"required": ["a"]}}], False, {"a": 1})
@example("allOf", [{"dependentSchemas": {"a": {"properties": {"c": True}}}}], False, ["a"])
@example("allOf", [{"contains": {"type": "string"}}, {"prefixItems": [True]}], False, [1, "a", 2])
def test_what_no_keyword_looked_at_is_what_the_standard_says(
    keyword: str, parts: list[Any], left: Any, content: Any
) -> None:
    schema = {
        "$defs": {"part": {"$dynamicAnchor": "part", "properties": {"b": True}, "prefixItems": [True, True]}},
        keyword: parts,
        "unevaluatedProperties": left,
        "unevaluatedItems": left,
    }
    standard = Draft202012Validator(schema).is_valid(content)
    assert (violations_of(schema, content) == []) is standard


WITHIN = {"properties": {"a": {"$recursiveRef": "#", "unevaluatedProperties": False}}}


@pytest.mark.parametrize(
    ("schema", "content", "valid"),
    [
        ({"items": [True, True], "unevaluatedItems": False}, [1, 2], True),
        ({"items": [True, True], "unevaluatedItems": False}, [1, 2, 3], False),
        ({"items": [True], "additionalItems": True, "unevaluatedItems": False}, [1, 2], True),
        (WITHIN, {"a": {"a": {}}}, True),
        (WITHIN, {"a": {"b": 1}}, False),
    ],
)
def test_what_was_looked_at_is_known_in_2019_09_too(schema: Any, content: Any, valid: bool) -> None:
    schema = {"$schema": "https://json-schema.org/draft/2019-09/schema", **schema}
    assert (violations_of(schema, content) == []) is valid


def doubling(keyword: str, levels: int = 30, **more: Any) -> Any:
    twice = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {
        "$ref": "#/$defs/d0",
        "$defs": {**twice, f"d{levels}": {"properties": {"a": {"type": "string"}}}},
        **more,
    }


MANY = [{"a": n, "b": {"c": [n]}} for n in range(2_000)]
KEYS = {f"k{n}": n for n in range(2_000)}


@pytest.mark.parametrize(
    ("schema", "content"),
    [
        (doubling("allOf"), {"a": 5}),
        (doubling("anyOf"), {"a": 5}),
        (doubling("oneOf"), {"a": "x"}),
        (doubling("allOf", 10, unevaluatedProperties=False), {"a": "x"}),
        ({"allOf": [{"contains": {"const": -1}}] * 1_000}, MANY),
        ({"items": {"required": [f"r{n}" for n in range(3_000)]}}, MANY),
        ({"items": {"properties": {f"r{n}": True for n in range(3_000)}}}, MANY),
        ({"allOf": [{"type": "string"}] * 1_000}, MANY),
        ({"allOf": [False] * 1_000}, MANY),
        ({"items": {"const": list(range(2_000))}}, [list(range(2_000))] * 1_000),
        ({"patternProperties": {f"^{n}k": True for n in range(1_000)}}, KEYS),
    ],
)
def test_whatever_the_schema_it_ends_after_so_many_steps(
    schema: Any, content: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_budget, "STEPS", 5_000)
    begin = time.process_time()
    with pytest.raises(Undecided, match="the schema took longer than 5,000 steps"):
        violations_of(schema, content)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    ("schema", "content"),
    [
        ({"uniqueItems": True}, MANY),
        ({"items": {"enum": MANY}}, MANY),
        ({"patternProperties": {"^k": {"type": "integer"}}, "additionalProperties": False}, KEYS),
        ({"patternProperties": {"^k": True}, "unevaluatedProperties": False}, KEYS),
        ({"contains": {"type": "integer"}, "unevaluatedItems": False}, list(range(2_000))),
    ],
)
def test_what_is_compared_with_everything_is_compared_in_linear_time(
    schema: Any, content: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_budget, "STEPS", 10 * len(content))
    assert violations_of(schema, content) == []


def test_a_reason_shows_the_pattern_as_written() -> None:
    (text,) = violations('{"patternProperties": {"^x-": true}, "additionalProperties": false}', '{"a": 1}')
    assert "^x-" in text


def test_a_reference_into_a_part_is_followed_from_there() -> None:
    part = '"part": {"$id": "urn:part", "properties": {"on": {"$ref": "#/definitions/day"}}, '
    part += '"definitions": {"day": {"format": "date"}}}'
    other = '"definitions": {"day": {"type": "null"}}'
    schema = f'{{{other}, "$defs": {{{part}}}, "items": {{"$ref": "urn:part#/properties/on"}}}}'
    assert violations(schema, '["2026-02-30"]') == ['$[0]: expected format "date", observed "2026-02-30"']


def test_a_part_with_a_draft_of_its_own_may_refer_back() -> None:
    part = '"part": {"$id": "urn:part", "$schema": "http://json-schema.org/draft-07/schema#", '
    part += '"properties": {"on": {"$ref": "urn:root#/$defs/day"}}}'
    day = '"day": {"format": "date"}'
    schema = f'{{"$id": "urn:root", "$defs": {{{day}, {part}}}, "$ref": "urn:part"}}'
    assert violations(schema, '{"on": "2026-02-28"}') == []
    assert violations(schema, '{"on": "2026-02-30"}') == [
        '$.on: expected format "date", observed "2026-02-30"'
    ]


@pytest.fixture
def _short_waits() -> Iterator[None]:
    """Whoever connects all the same gets no answer, and must not wait for it for ever."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(0.2)
    yield
    socket.setdefaulttimeout(before)


@pytest.mark.usefixtures("_short_waits")
def test_nothing_is_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/order.json"
        with pytest.raises(Unresolvable, match=r"order\.json"):
            violations(f'{{"$ref": "{address}"}}', "{}")
        with pytest.raises(TimeoutError):
            listening.accept()
