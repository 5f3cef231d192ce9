"""Event streams: every line ending, comments, joined data, and what the end of a body cuts off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.decoders.sse import Event, events, is_stream

datas = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_ending_ends_a_line(end: str) -> None:
    text = end.join(["event: a", "data: 1", "", ": comment", "data: 2", "data:3", "id: 7", "", ""])
    assert events(text) == (Event("1", "a"), Event("2\n3", id="7"))


def test_an_event_that_the_end_of_the_body_cuts_off_counts() -> None:
    assert events("data: 1\n\ndata: 2") == (Event("1"), Event("2"))


def test_an_event_without_data_is_none_and_one_with_empty_data_is() -> None:
    assert events("event: ping\n\nid: 1\ndata:\n\n") == (Event("", id="1"),)


def test_one_blank_after_the_colon_is_no_part_of_the_data() -> None:
    assert [event.data for event in events("data:  two\n\ndata:none\n\ndata\n\n")] == [" two", "none", ""]


def test_a_line_named_error_is_an_event_of_that_name() -> None:
    assert events('error: {"code":500}\n\n') == (Event('{"code":500}', "error"),)


@given(st.lists(st.lists(datas, min_size=1, max_size=3), max_size=5), st.sampled_from(["\n", "\r\n", "\r"]))
def test_what_is_written_is_read(wanted: list[list[str]], end: str) -> None:
    text = "".join("".join(f"data: {line}{end}" for line in lines) + end for lines in wanted)
    assert [event.data for event in events(text)] == ["\n".join(lines) for lines in wanted]


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("", "data: 1\n\n", True),
        ("application/json", ": ping\n\n", True),
        ("text/event-stream", '{"error": 1}', False),
        ("text/event-stream", "", True),
        ("application/json", "\n\n  [1]", False),
        ("text/plain", "database is down", False),
    ],
)
def test_a_stream_is_known_by_its_first_line_before_its_type(kind: str, text: str, wanted: bool) -> None:
    assert is_stream(kind, text) is wanted
