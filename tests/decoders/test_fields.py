"""Looking into JSON of unknown shape."""

import pytest

from abs_replay.decoders import fields
from abs_replay.exact_json import Json, Number


@pytest.mark.parametrize("text", ["[" * 201 + "]" * 201, '{"a":' * 201 + "1" + "}" * 201, "[" * 10**5])
def test_what_is_nested_too_deep_is_no_json(text: str) -> None:
    assert fields.fault(text)
    assert fields.fault(text) == fields.fault(text.encode())
    assert fields.parse_or_none(text) is None


@pytest.mark.parametrize(
    "text", ["[" * 200 + "]" * 200, "[" + "[]," * 300 + "1]", '{"a": "' + "[" * 300 + '"}']
)
def test_what_is_wide_or_says_so_in_words_is_not_nested(text: str) -> None:
    assert fields.fault(text) is None


def test_a_fault_in_bytes_names_the_byte() -> None:
    assert fields.fault(b'"\xff"') == "not UTF-8 at byte 1"


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (3, 3),
        (Number("12.0"), 12),
        (Number("1e999"), 0),
        (10**12, 0),
        (-1, 0),
        (True, 0),
        ("3", 0),
        (None, 0),
    ],
)
def test_a_count_is_a_number_that_a_store_can_keep(value: Json, count: int) -> None:
    assert fields.count(value) == count


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "a"}}, "a"),
        ({"error": "a"}, "a"),
        ([1, {"error": {"message": "a"}}], "a"),
        ({"message": "a", "detail": "b"}, "a"),
        ({"Message": "a"}, "a"),
        ({"detail": "a"}, "a"),
        ({"error": {"code": 1}}, '{"code":1}'),
        ({"error": None}, None),
        ([], None),
        ("a", None),
    ],
)
def test_an_errors_words_are_found_where_apis_put_them(body: object, words: str | None) -> None:
    assert fields.error_text(body) == words
