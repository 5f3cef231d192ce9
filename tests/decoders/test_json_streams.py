"""Values that follow each other in one body, and names of bytes inside JSON."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.decoders import json_streams, media
from abs_replay.decoders.answered import attributed
from abs_replay.decoders.events import Call, Message

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(max_size=3), values, max_size=3)


@settings(max_examples=50)
@given(st.lists(objects, max_size=4), st.sampled_from([None, 1]), st.data())
def test_an_array_cut_off_anywhere_gives_the_items_that_are_whole(
    many: list[Any], indent: int | None, data: st.DataObject
) -> None:
    text = json.dumps(many, indent=indent)
    assert json_streams.values(text) == many
    cut = data.draw(st.integers(1, len(text)))
    found = json_streams.values(text[:cut])
    assert found == many[: len(found)]


@settings(max_examples=30)
@given(st.lists(objects, min_size=2, max_size=4), st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_lines_are_values_and_what_is_none_is_told(many: list[Any], end: str) -> None:
    text = end.join(json.dumps(one) for one in many)
    assert json_streams.values(text) == many
    assert json_streams.values(f'{text}{end}{{"cut": [') == [*many, None]


def test_one_object_may_stand_on_many_lines() -> None:
    assert json_streams.values('\n{\n "a": 1\n}\n') == [{"a": 1}]
    assert json_streams.values("") == []


@given(st.binary(max_size=20))
def test_equal_bytes_have_one_name(data: bytes) -> None:
    plain, url = base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()
    assert media.named(plain) == media.named(url) == media.named(url.rstrip("=")) == media.name(data)
    assert media.named("no base64!")["bytes"] == 10


@pytest.mark.parametrize(
    ("call_id", "name", "wanted"),
    [
        ("2", None, ("2", "g")),
        (None, "g", ("2", "g")),
        (None, None, ("1", "f")),
        (None, "other", ("1", "f")),
        ("9", "g", ("9", "g")),
        ("9", None, ("9", None)),
    ],
)
def test_a_result_gets_the_call_that_it_answers(
    call_id: str | None, name: str | None, wanted: tuple[str | None, str | None]
) -> None:
    asked = Message("assistant", calls=(Call("f", {}, "1"), Call("g", {}, "2")))
    found = attributed([asked, Message("tool", "x", (), call_id, name)])[1]
    assert (found.call_id, found.name) == wanted


def test_each_call_is_answered_once_and_only_by_what_follows_it() -> None:
    asked, result = Message("assistant", calls=(Call("f"), Call("f"))), Message("tool", "x")
    found = attributed([result, asked, result, result, result])
    assert [message.name for message in found] == [None, None, "f", "f", None]


def test_other_line_ends_of_unicode_end_no_line() -> None:
    text = '{"a": "\u2028\x85\x0c"}'.replace("\x0c", "")
    assert json_streams.values(f"{text}\r\n{text}") == [{"a": "\u2028\x85"}] * 2
