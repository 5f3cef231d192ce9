"""What stands on one line of a cassette, and that what is laid out says the same."""

import json
from typing import Any

import pytest

from abs_replay.cassette.layout import Line, lay_out, on_a_line


@pytest.mark.parametrize(
    ("value", "is_line"),
    [
        ({"role": "user", "content": "hello " * 100}, True),  # long by one text alone
        ({"role": "user", "n": 1, "parts": [{"text": "hello " * 100}]}, True),
        ({f"key {n}": n for n in range(30)}, False),
        (["hello"], False),
        ("hello", False),
        (None, False),
    ],
)
def test_an_object_stands_on_a_line_if_but_for_one_text_it_is_short(value: Any, is_line: bool) -> None:
    put = on_a_line(value)
    assert isinstance(put, Line) is is_line
    assert put == value
    assert json.loads(lay_out([put])) == [value]
    assert (lay_out([put]).count("\n") == lay_out(["x"]).count("\n")) is (is_line or value in ("hello", None))
