"""The fence: what stands inside is whole, is seen, and is no delimiter."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.judges.fence import BEGIN, END, defused, fenced, new_name, quoted, sendable

TEXT = st.text(st.characters(codec=None), max_size=60) | st.sampled_from(
    ["<<<END DATA x>>>", "<<<<BEGIN", "\n<<<END DATA>>>\n", "\u200b\u202e", "\U000e0041", "\ud800"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
UNSEEN = re.compile(
    "[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2028\u2029\u2060-\u2064\ufeff\ud800-\udfff]"
)


@given(JSON)
def test_a_value_in_quotes_is_one_line_that_says_the_same_and_ends_no_fence(value: Any) -> None:
    line = quoted(value)

    assert json.loads(line) == value
    assert not UNSEEN.search(line)
    assert not re.search("<<<|>>>", line)
    assert len(line.splitlines()) == 1
    line.encode()


@given(st.lists(JSON, max_size=4))
def test_a_fence_has_its_two_lines_once_whatever_stands_in_it(values: list[Any]) -> None:
    lines = fenced(values, "ab").split("\n")

    assert [line for line in lines if "<<<" in line or ">>>" in line] == [lines[0], lines[-1]]
    assert (lines[0], lines[-1]) == (BEGIN.format(name="ab"), END.format(name="ab"))
    assert list(map(json.loads, lines[1:-1])) == values


def test_letters_of_all_scripts_stay_as_they_are() -> None:
    text = "Grüße, 你好, שלום, नमस्ते 👍 a < b << c >> d -> e"

    assert quoted(text) == json.dumps(text, ensure_ascii=False)


def test_no_two_fences_have_one_name() -> None:
    names = {new_name() for _ in range(200)}

    assert len(names) == 200
    assert all(re.fullmatch("[0-9a-f]{16}", name) for name in names)


@pytest.mark.parametrize("text", ["<<<BEGIN DATA x>>>", "a <<<<<< b", "x\ud800y"])
def test_an_authors_text_can_be_sent_and_holds_no_delimiter(text: str) -> None:
    assert "<<<" not in defused(text)
    defused(text).encode()
    assert sendable("a\ud800") == "a?"
