"""YAML 1.2 and JSON as documents (SEMANTICS D1, D6): what is read, what is refused, at which line."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.errors import Problem
from abs_replay.exact_json import Number, dumps
from abs_replay.spec.yaml_nodes import LARGEST, MOST_VALUES, read


def _values(text: str | bytes) -> list[Any]:
    parsed = read(text if isinstance(text, bytes) else text.encode(), "f")
    assert parsed.problems == ()
    return [document.value for document in parsed.documents]


def _problem(text: str | bytes) -> Problem:
    (problem,) = read(text if isinstance(text, bytes) else text.encode(), "f").problems
    return problem


@pytest.mark.parametrize(
    "text",
    ["no", "on", "yes", "off", "y", "2026-03-01", "12:30:15", "1_000", "0b1", "nUll", "tRue", "1e", "0o8"],
)
def test_what_is_plain_text_in_yaml_1_2_stays_text(text: str) -> None:
    assert _values(f"{text}: [{text}]") == [{text: [text]}]


@pytest.mark.parametrize(
    ("text", "written"),
    [("7", "7"), ("-07", "-7"), ("+5", "5"), ("0o17", "15"), ("0xfF", "255"), ("2.50", "2.50"), (".5", "0.5"),
     ("+1.", "1.0"), ("-01.5e+3", "-1.5e+3"), ("1e400", "1e400"), ("123456789012345678901234567890", None)],
)  # fmt: skip
def test_numbers_are_exact_and_written_as_they_came_where_json_can(text: str, written: str | None) -> None:
    (value,) = _values(f"a: {text}")
    assert dumps(value["a"]) == (written or text)


@pytest.mark.parametrize("text", ["~", "null", "Null", "NULL", ""])
def test_null_has_five_forms(text: str) -> None:
    assert _values(f"a: {text}") == [{"a": None}]


def test_core_tags_give_their_type() -> None:
    text = '[!!str 1, ! 2, !!int "3", !!float 4.0, !!null "", !!bool "true", !!seq [], !!map {}]'
    assert _values(text) == [["1", "2", 3, Decimal(4), None, True, [], {}]]


@pytest.mark.parametrize(
    ("text", "line", "path"),
    [
        ("a: 1\nb: .inf", 2, "b"),
        ("a: -.INF", 1, "a"),
        ("a: [0, .nan]", 1, "a[1]"),
        ("a: 1\nb: 2\na: 3", 3, "a"),
        ("a: 1\n'a': 3", 2, "a"),
        ("a: &x { b: 1 }\nc:\n  <<: *x", 3, "c.<<"),
        ("a:\n  1: one", 2, "a.1"),
        ("a:\n  ? [b]\n  : one", 2, "a."),
        ("a:\n  ~: one", 2, "a.~"),
        ("a: !!python/object/apply:os.getcwd []", 1, "a"),
        ("a: !thing { b: 1 }", 1, "a"),
        ("a: !!binary aGk=", 1, "a"),
        ("a: !!timestamp 2020-01-01", 1, "a"),
        ("a: !!int x", 1, "a"),
        ("a: " + "9" * 5000, 1, "a"),
        ("a: 1e99999999999999999999", 1, "a"),
        ("a: 0\n---\n---\nb: 1\nb: 2", 5, "document[1].b"),
    ],
)
def test_what_json_does_not_have_is_refused_at_its_place(text: str, line: int, path: str) -> None:
    problem = _problem(text)
    assert (problem.line, problem.path) == (line, path)


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("a: [", 2, "YAML"),
        ("a: b\n\tc: d", 2, "tab"),
        ("a: b: c", 1, "YAML"),
        ("a: 1\n%X\n---\n", 2, "YAML"),
        (b"a: 1\nb: \xff", 2, "UTF-8"),
        ("a: 1".encode("utf-16"), 1, "UTF-16"),
        ("a: 1\nb: \x07", 2, "control"),
        ("a: " + "[" * 200, 1, "deep"),
        ("a: " + "[" * 50_000, 1, "nesting"),
        ("a:\n" + "".join(f"{'  ' * i}- \n" for i in range(200)), 101, "deep"),
        ("a: 1\nb: *nowhere", 2, "anchor"),
        ("a: 1\nb: &x [*x]", 2, "anchor"),
        ('a: 1\nb: "\\ud83d"', 2, "escape"),
        (b"#" * (LARGEST + 1), None, "MiB"),
    ],
)
def test_a_file_that_is_no_yaml_is_one_problem_without_a_path(
    text: str | bytes, line: int | None, word: str
) -> None:
    problem = _problem(text)
    assert (problem.line, problem.path) == (line, "")
    assert word in problem.message


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    layers = "".join(f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 9)}]\n" for i in range(9))
    assert "aliases" in _problem(f"a0: &a0 [lol]\n{layers}").message


def test_aliases_stand_for_keys_values_and_collections() -> None:
    assert _values("a: &x k\n*x : &y [1]\nb: *y") == [{"a": "k", "k": [1], "b": [1]}]


def test_anchors_end_with_their_document() -> None:
    assert "anchor" in _problem("a: &x 1\n---\nb: *x").message


def test_documents_are_separated_where_yaml_says_so() -> None:
    assert _values("---\n# nothing\n---\na: |\n  x\n  ---\n...\n---\nb: 1\n---\n") == [
        {"a": "x\n---\n"},
        {"b": 1},
    ]


def test_a_byte_order_mark_and_either_line_end_are_no_part_of_the_text() -> None:
    assert _values(b"\xef\xbb\xbfa: |\r\n  x\r\n  y\r\nb: 1\r\n") == [{"a": "x\ny\n", "b": 1}]


def test_lines_are_those_of_keys_and_of_dashes() -> None:
    text = "# c\na:\n  - # here\n    b: 1\n  -\n\n    - c\n  - &x\n    d: 2\n  - {e: 1,\n     f: 2}\n"
    (document,) = read(text.encode(), "f").documents
    paths = [("a",), ("a", 0), ("a", 0, "b"), ("a", 1), ("a", 1, 0), ("a", 2), ("a", 2, "d"), ("a", 3, "f")]
    assert [document.line(path) for path in paths] == [2, 3, 4, 5, 7, 8, 9, 11]


def test_the_line_of_what_is_not_there_is_that_of_what_should_hold_it() -> None:
    (document,) = read(b"a:\n  - b: 1\n", "f").documents
    assert document.line(("a", 0, "c", 3)) == 2


def test_an_escaped_surrogate_pair_is_one_character_in_double_quotes_only() -> None:
    pair = "\\ud83d\\uDCE6"
    text = f'{{a: "{pair}{pair}", b: \'{pair}\', c: "\\\\ud83d\\\\uDCE6"}}'
    assert _values(text) == [{"a": "📦📦", "b": pair, "c": pair}]


def test_line_ends_of_yaml_1_1_are_letters() -> None:
    assert _values('a: "x\u2028y\u0085z"\nb: p\u2029q') == [{"a": "x\u2028y\u0085z", "b": "p\u2029q"}]


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
# PyYAML writes YAML 1.1, to which these end lines.
_TEXT_1_1 = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x85\u2028\u2029"), max_size=20
)
_NOISE = st.text("ab:-[]{}&*!|>'\"%#?,\n\t 1.~", max_size=60).map(str.encode)


def _json(text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    floats = st.floats(allow_nan=False, allow_infinity=False)
    return st.dictionaries(
        text,
        st.recursive(
            st.none() | st.booleans() | st.integers() | text | floats,
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
            max_leaves=12,
        ),
        max_size=4,
    )


@given(value=_json(_TEXT), ascii_=st.booleans(), indent=st.sampled_from([None, 2, "\t"]))
@settings(max_examples=100, deadline=None)
def test_json_loads_as_json_does(value: Any, ascii_: bool, indent: int | str | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_, indent=indent)
    assert _values(text) == [json.loads(text, parse_float=Number)]


@given(value=_json(_TEXT_1_1), style=st.sampled_from(['"', "'"]), flow=st.sampled_from([True, False]))
@settings(max_examples=100, deadline=None)
def test_what_is_dumped_as_yaml_loads_the_same(value: Any, style: str, flow: bool) -> None:
    # In quotes and with tags, as PyYAML leaves some texts plain that are numbers in YAML 1.2 (0E0).
    text = yaml.dump(
        value, Dumper=yaml.SafeDumper, default_style=style, default_flow_style=flow, allow_unicode=True
    )
    assert _values(text) == [json.loads(json.dumps(value), parse_float=Number)]


@given(data=st.binary(max_size=60) | _NOISE)
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    parsed = read(data, "f")
    assert all(problem.message and problem.line for problem in parsed.problems)


def test_reading_builds_no_objects_even_with_a_loader_that_could(tmp_path: Path) -> None:
    target = tmp_path / "made"
    assert _problem(f"!!python/object/apply:pathlib.Path.touch [{target}]").line == 1
    assert not target.exists()


def test_more_values_than_a_person_writes_are_refused_where_they_begin() -> None:
    text = "a:\n" + "- x\n" * (MOST_VALUES + 5)
    (problem,) = read(text.encode(), "f").problems
    assert problem.line is not None
    assert abs(problem.line - MOST_VALUES) < 5
    assert "split the file" in problem.message


@pytest.mark.parametrize("number", ["0x" + "f" * 5000, "0o" + "7" * 6000, "9" * 5000])
def test_a_number_that_could_not_be_written_is_too_large(number: str) -> None:
    (problem,) = read(f"a: {number}\n".encode(), "f").problems
    assert "too large" in problem.message


def test_the_dash_of_an_item_is_found_over_blank_lines_and_comments() -> None:
    (document,) = read(b"a:\n  - # why\n\n  # b - \n    c: d\n", "f").documents
    assert document.line(("a", 0)) == 2
    assert document.line(("a", "c")) == 1
