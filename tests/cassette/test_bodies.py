"""A body is shown as it reads best, and read back to the byte."""

from typing import Any

import pytest

from abs_replay.cassette.bodies import body_document, read_body
from abs_replay.exchange import Body


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (['{"a":1}', '{"b":2}'], [{"a": 1}, {"b": 2}]),
        # Of a stream in one style, what is written otherwise stays text.
        (['{"a":1}', '{"a":  1}', '{"b":2}'], [{"a": 1}, '{"a":  1}', {"b": 2}]),
        (['{"a":1}', '{"a":', "[DONE]"], [{"a": 1}, '{"a":', "[DONE]"]),
    ],
)
def test_the_data_of_an_event_is_shown_as_json_where_it_is_written_back(
    lines: list[str], shown: list[Any]
) -> None:
    data = "".join(f"data: {line}\n\n" for line in lines).encode()
    document = body_document(Body(data))
    assert [event["data"] for event in document["events"]] == shown
    assert read_body(document).data == data
