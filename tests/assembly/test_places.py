"""A place that a decoder names is found in the bytes."""

import gzip
import json
import struct
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.assembly.places import Bytes, locate
from abs_replay.decoders import sse
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role


def answer(data: bytes, kind: str = "application/json", **headers: str) -> Exchange:
    named = (("content-type", kind), *((name.replace("_", "-"), value) for name, value in headers.items()))
    request = Request("POST", "/", (), Body(b'{"messages": [1, {"a": "\xc3\xa9"}], "n": 2}'))
    return Exchange("x", Channel(Role.LLM, "llm"), 0.0, request, Response(200, named, Body(data)))


def shown(exchange: Exchange, at: str, data: bytes | None = None) -> bytes:
    found = locate(exchange, at)
    assert found is not None
    body = data or (exchange.request if found.side == "request" else exchange.response).body.data  # type: ignore[union-attr]
    return body[found.start : found.end]


@pytest.mark.parametrize(
    ("at", "wanted"),
    [
        ("request.messages[1]", b'{"a": "\xc3\xa9"}'),
        ("request.messages[1].a", b'"\xc3\xa9"'),
        ("request.messages[0-1]", b'1, {"a": "\xc3\xa9"}'),
        ("request.n", b"2"),
        ("request.messages[1].gone", b'{"a": "\xc3\xa9"}'),
        ("request", b'{"messages": [1, {"a": "\xc3\xa9"}], "n": 2}'),
        ("tool:Order MCP request.n", b"2"),
        ("tool:Orders GET /response", b'{"messages": [1, {"a": "\xc3\xa9"}], "n": 2}'),
    ],
)
def test_a_path_leads_to_its_bytes_or_as_far_as_it_leads(at: str, wanted: bytes) -> None:
    assert shown(answer(b""), at) == wanted


def test_no_body_has_no_bytes() -> None:
    assert locate(answer(b""), "response.x") is None


STREAM = (
    b': hi\r\n\r\nevent: a\r\ndata: {"\xc3\xa9": 1}\r\n\r\nid: 7\r\n\r\ndata: 2\r\ndata: 3\r\n\r\ndata: end'
)


@pytest.mark.parametrize("data", [STREAM, STREAM.replace(b"\r\n", b"\n")])
def test_events_are_counted_as_the_decoders_count_them(data: bytes) -> None:
    exchange = answer(data, "text/event-stream")
    assert len(sse.events(data.decode())) == 3
    assert shown(exchange, "response.events[0]").startswith(b"event: a")
    assert shown(exchange, "response.events[1-2]").startswith(b"data: 2")
    assert shown(exchange, "response.events[1-2]").endswith(b"data: end")
    assert shown(exchange, "response.events[9]") == data


def test_lines_and_items_are_events() -> None:
    lines = answer(b'{"a": 1}\n\n{"b": "\xc3\xa9"}\n{"c": 3}\n', "application/x-ndjson")
    assert shown(lines, "response.events[1]") == b'{"b": "\xc3\xa9"}'
    items = answer(b'[{"a": 1}\n,\n{"b": 2},{"c"')
    assert shown(items, "response.events[0-1]") == b'{"a": 1}\n,\n{"b": 2}'


def test_frames_are_events() -> None:
    frames = [struct.pack("!III", 16 + len(body), 0, 0) + body + b"crc!" for body in (b"one", b"three")]
    exchange = answer(b"".join(frames), "application/vnd.amazon.eventstream")
    assert shown(exchange, "response.events[1]") == frames[1]


def test_packed_bytes_are_found_in_what_they_unpack_to() -> None:
    plain = b'{"a": {"b": [1, 2]}}'
    exchange = answer(gzip.compress(plain), content_encoding="gzip")
    assert locate(exchange, "response.a.b[1]") == Bytes("response", 16, 17, unpacked=True)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('abcé"', min_size=1), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from("abc"), values, max_size=3), st.booleans(), st.sampled_from([None, 1]))
def test_every_place_of_any_json_is_found(
    value: Mapping[str, object], ascii_: bool, indent: int | None
) -> None:
    data = json.dumps(value, ensure_ascii=ascii_, indent=indent).encode("utf-8", "surrogatepass")
    if b"\xed" in data:  # half a pair, which UTF-8 can not say
        return
    exchange = answer(data)
    for key, inner in value.items():
        assert json.loads(shown(exchange, f"response.{key}")) == inner
        for index, item in enumerate(inner if isinstance(inner, list) else ()):
            assert json.loads(shown(exchange, f"response.{key}[{index}]")) == item


@given(st.binary(max_size=60), st.sampled_from(["", ".a", "[0]", ".events[0]", ".events[1-3]", ".a.b[2]"]))
def test_no_bytes_make_it_raise(data: bytes, path: str) -> None:
    found = locate(answer(data), f"response{path}")
    assert found is None or 0 <= found.start <= found.end <= max(len(data), found.end)


def test_frames_end_where_a_length_can_be_none() -> None:
    frame = struct.pack("!III", 19, 0, 0) + b"onecrc!"
    exchange = answer(frame + bytes(12), "application/vnd.amazon.eventstream")
    assert shown(exchange, "response.events[0]") == frame
    assert shown(exchange, "response.events[1]") == frame + bytes(12)


def test_members_are_found_up_to_the_broken_one() -> None:
    exchange = answer(b'{"a": 1, "b": oops, "c": 3}')
    assert shown(exchange, "response.a") == b"1"
    for behind in ("b", "c"):
        assert shown(exchange, f"response.{behind}") == b'{"a": 1, "b": oops, "c": 3}'
