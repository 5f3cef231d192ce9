"""Cassettes lose nothing, read well, and say what is wrong with them."""

import gc
import json
import re
import string
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.cassette.bodies import body_document, read_body
from abs_replay.errors import CassetteError
from abs_replay.exchange import (
    Body,
    Channel,
    Chunk,
    Exchange,
    Mark,
    Message,
    Outcome,
    Recording,
    Request,
    Response,
    Role,
    Upstream,
    WebSocket,
)

LLM = Channel(Role.LLM, "openai")


def in_pieces(data: bytes, cuts: list[int], times: list[float]) -> Body:
    ends = [*sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    return Body(data, tuple(Chunk(end, time) for end, time in zip(ends, times, strict=False)))


TIMES = st.floats(0, 1e7, allow_nan=False)
TEXTS = st.text(max_size=40)
LATIN1 = st.text(st.characters(max_codepoint=255), max_size=20)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
JSON_TEXTS = st.builds(
    lambda value, separators, ascii_only, indent, around: (
        around + json.dumps(value, separators=separators, ensure_ascii=ascii_only, indent=indent) + around
    ),
    JSON_VALUES,
    st.sampled_from([(",", ":"), (", ", ": "), None]),
    st.booleans(),
    st.sampled_from([None, None, 2, 4]),
    st.sampled_from(["", "\n", " "]),
)
LINES = st.sampled_from(
    [
        "data: [DONE]",
        "data: {}",
        'data: {"a":1.50}   ',
        "event: x",
        ": ping",
        "",
        "data:",
        "id: 7",
        "retry: 9",
    ]
)
STREAMS = st.builds(
    lambda lines, eol: eol.join(lines), st.lists(LINES, max_size=12), st.sampled_from(["\n", "\r\n"])
)
DATA = st.one_of(
    st.binary(max_size=60),
    TEXTS.map(lambda text: text.encode("utf-8", "replace")),
    JSON_TEXTS.map(lambda text: text.encode("utf-8", "replace")),
    STREAMS.map(str.encode),
    st.sampled_from([b'{"a":1,"a":2}', b'{"n":1e-7,"m":0.10}', b'["\\ud800"]', b"[" * 3000 + b"]" * 3000]),
)
BODIES = st.builds(
    lambda body, size: replace(body, size=size),
    st.builds(in_pieces, DATA, st.lists(st.integers(0, 60), max_size=4), st.lists(TIMES, max_size=5)),
    st.none() | st.integers(0, 10**9),
)
HEADERS = st.lists(st.tuples(LATIN1, LATIN1), max_size=3).map(tuple)
URLS = st.builds("http://h:{}/{}".format, st.integers(1, 65535), st.sampled_from(["", "v1", "a%20b?c"]))
CHANNELS = st.builds(Channel, st.sampled_from(Role), TEXTS)
REQUESTS = st.builds(
    Request,
    method=TEXTS,
    target=TEXTS,
    headers=HEADERS,
    body=BODIES,
    http_version=TEXTS,
    scheme=TEXTS,
    host=TEXTS,
)
RESPONSES = st.builds(
    Response,
    status=st.integers(100, 599),
    headers=HEADERS,
    body=BODIES,
    reason=TEXTS,
    http_version=TEXTS,
    trailers=HEADERS,
)
MESSAGES = st.builds(Message, st.booleans(), DATA, st.booleans(), TIMES, st.none() | st.integers(0, 10**9))
SOCKETS = st.builds(
    WebSocket,
    st.lists(MESSAGES, max_size=4).map(tuple),
    st.none() | st.integers(0, 5000),
    TEXTS,
    st.none() | st.booleans(),
)
EXCHANGES = st.builds(
    Exchange,
    id=TEXTS,
    channel=CHANNELS,
    started_at=st.floats(0, 1e11),
    request=REQUESTS,
    response=st.none() | RESPONSES,
    outcome=st.sampled_from(Outcome),
    error=st.none() | TEXTS,
    ended_ms=st.none() | TIMES,
    redacted=st.booleans(),
    websocket=st.none() | SOCKETS,
)
RECORDINGS = st.builds(
    Recording,
    id=TEXTS,
    name=TEXTS,
    started_at=st.floats(0, 1e11),
    ended_at=st.none() | st.floats(0, 1e11),
    session=st.none() | TEXTS,
    tags=st.dictionaries(TEXTS, TEXTS, max_size=2),
    upstreams=st.lists(
        st.builds(Upstream, CHANNELS, URLS), max_size=2, unique_by=lambda upstream: upstream.channel
    ).map(tuple),
    marks=st.lists(st.builds(Mark, st.floats(0, 1e11), st.none() | TEXTS), max_size=2).map(tuple),
)
CASSETTES = st.builds(Cassette, RECORDINGS, st.lists(EXCHANGES, max_size=2).map(tuple))


def exchange(request: bytes = b"", response: bytes = b"") -> Exchange:
    whole = (Chunk(len(response), 3.5),) if response else ()
    return Exchange(
        "x1",
        LLM,
        1764512761.25,
        Request("POST", "/v1/chat/completions", (("content-type", "application/json"),), Body(request)),
        Response(200, (), Body(response, whole)),
    )


def answered(body: Body) -> Exchange:
    return replace(exchange(), response=Response(200, (), body))


def cassette(*exchanges: Exchange) -> Cassette:
    upstreams = (Upstream(LLM, "https://api.openai.com/v1"),)
    return Cassette(Recording("r1", "refund", 1764512761.0, upstreams=upstreams), exchanges)


def shown(data: bytes, chunks: tuple[Chunk, ...] = ()) -> Any:
    """The document of a response body."""
    written = dumps(cassette(answered(Body(data, chunks))))
    return json.loads(written)["exchanges"][0]["response"]["body"]


def edited(path: list[Any], value: Any) -> str:
    """A good cassette's text with one place changed (or taken out, where the value is `...`)."""
    document = json.loads(dumps(cassette(exchange(b'{"a":1}', b'{"b":2}'))))
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return json.dumps(document)


@settings(max_examples=150, deadline=None)
@given(CASSETTES)
def test_nothing_is_lost_and_the_text_is_always_the_same(original: Cassette) -> None:
    text = dumps(original)
    again = loads(text.encode().decode())
    assert again == original
    assert dumps(again) == text


@settings(max_examples=200, deadline=None)
@given(BODIES)
def test_any_body_in_any_chunks_comes_back(body: Body) -> None:
    original = cassette(answered(body))
    assert loads(dumps(original)) == original


@given(st.text(string.printable, max_size=20))
def test_a_text_that_looks_like_our_own_marks_comes_back(text: str) -> None:
    for data in (f'[NaN,"{text}"]', json.dumps([f'[NaN,"{text}"]', 1e-7]), json.dumps({"NaN": [text, 0.5]})):
        original = cassette(exchange(data.encode()))
        assert loads(dumps(original)) == original


@pytest.mark.parametrize(
    ("data", "style"),
    [
        (b'{"a":1}', None),
        (b'{"a": 1, "b": 2}', "spaced"),
        ('{"a":"ü"}'.encode(), None),
        (b'{"a":"\\u00fc"}', "compact ascii"),
        (b'{\n  "a": 1\n}', "indent 2"),
        (b'{"a":"\\u003cb\\u003e"}', "compact html"),
        (b'{"cost":4.5e-7,"n":0.10}', None),
    ],
)
def test_json_stands_as_json_with_its_style(data: bytes, style: str | None) -> None:
    document = shown(data)
    assert document["json"] == json.loads(data)
    assert document.get("style") == style


@pytest.mark.parametrize(
    "data", [b'{"a":1,"a":2}', b'{"a" :1}', b"[1 ,2]", b'{"a":-0}', b"[1e99999999999999999999]"]
)
def test_json_that_can_not_be_written_back_stands_as_text(data: bytes) -> None:
    assert shown(data) == {"text": data.decode()}


def test_numbers_stand_as_they_were_written() -> None:
    assert '{"cost": 4.5e-7, "n": 0.10}' in dumps(cassette(exchange(b'{"cost":4.5e-7,"n":0.10}')))


def test_a_stream_is_a_list_of_events_one_a_line() -> None:
    events = [b'data: {"delta":"Hel"}\n\n', b'data: {"delta":"lo"}\n\n', b"data: [DONE]\n\n"]
    data = b"".join(events)
    ends = (len(events[0]), len(events[0] + events[1]), len(data))
    chunks = tuple(Chunk(end, at) for end, at in zip(ends, (1.0, 2.5, 2.5), strict=True))
    document = shown(data, chunks)
    assert document["events"] == [{"data": {"delta": "Hel"}}, {"data": {"delta": "lo"}}, {"data": "[DONE]"}]
    assert document["event_chunks"] == "1@1 1@2.5 1@2.5"
    text = dumps(cassette(answered(Body(data, chunks))))
    assert '            {"data": {"delta": "Hel"}},\n' in text


def test_chunks_that_split_an_event_are_counted_in_bytes() -> None:
    data = b"data: 1\n\ndata: 2\n\n"
    assert shown(data, (Chunk(4, 1.0), Chunk(18, 2.0)))["chunks"] == "4@1 14@2"


def test_padding_after_the_data_of_an_event_does_not_hide_its_json() -> None:
    assert shown(b'data: {"a":1}   \n\n')["events"] == [{"data": {"a": 1}, "pad": 3}]


def test_lines_stand_as_lines_and_binary_as_base64() -> None:
    assert shown(b"one\ntwo\n") == {"text": ["one", "two", ""]}
    assert shown(b"\x1f\x8b\xff") == {"base64": "H4v/"}


def test_the_header_says_what_was_recorded() -> None:
    document = json.loads(dumps(cassette()))
    assert document["abs_cassette"] == 1
    assert document["channels"] == {"llm:openai": "https://api.openai.com/v1"}
    assert document["started"] == "2025-11-30T14:26:01Z"


def test_what_a_terminal_would_obey_is_escaped() -> None:
    text = dumps(cassette(exchange("\u202e\x9b[2J".encode())))
    assert "\\u202e\\u009b[2J" in text


def test_a_body_edited_by_hand_keeps_its_one_chunk() -> None:
    text = dumps(cassette(exchange(response=b'{"answer":"yes"}'))).replace('"yes"', '"no, sorry"')
    response = loads(text).exchanges[0].response
    assert response is not None
    assert response.body == Body(b'{"answer":"no, sorry"}', (Chunk(22, 3.5),))


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["abs_cassette"], 6, "c.json: cassette format 6 is newer than 5"),
        (["abs_cassette"], True, "abs_cassette: expected a whole number"),
        (["name"], ..., "c.json: name: missing"),
        (["exchanges"], {}, "exchanges: expected a list"),
        (["exchanges", 0], 5, "exchanges[0]: expected an object"),
        (["exchanges", 0, "request", "method"], ..., "exchanges[0].request.method: missing"),
        (["exchanges", 0, "request", "methud"], "GET", "exchanges[0].request.methud: unknown key"),
        (
            ["exchanges", 0, "response", "status"],
            "200",
            "exchanges[0].response.status: expected a whole number",
        ),
        (["exchanges", 0, "outcome"], "lost", "exchanges[0].outcome: expected one of complete"),
        (["exchanges", 0, "channel"], "model", "exchanges[0].channel: 'model' is no channel"),
        (["exchanges", 0, "started"], "noon", "exchanges[0].started: expected a time"),
        (["exchanges", 0, "request", "headers"], ["x"], "exchanges[0].request.headers[0]: expected"),
        (["exchanges", 0, "request", "body"], {}, "exchanges[0].request.body: expected exactly one of"),
        (["exchanges", 0, "request", "body"], {"base64": "?"}, "exchanges[0].request.body: base64:"),
        (["exchanges", 0, "request", "body"], {"events": [1]}, "body: events: expected a list of objects"),
        (["exchanges", 0, "request", "body"], {"text": "", "chunks": "x"}, "body: chunks: expected counts"),
        (["exchanges", 0, "request", "body"], {"json": 1, "style": "odd"}, "body: style: expected one of"),
        (["exchanges", 0, "ended_ms"], "1", "exchanges[0].ended_ms: expected a number"),
        (["tags"], {"k": 1}, "tags.k: expected text"),
        (["tags"], {"a\nb\x1b[2J": 1}, "tags.a\\nb\\u001b[2J: expected text"),
        (["exchanges", 0, "request", "body"], {"text": "", "at": 10**400}, "body: at: expected a number"),
        (
            ["exchanges", 0, "request", "body"],
            {"text": "", "chunks": "1@inf"},
            "body: chunks: expected counts",
        ),
        (["exchanges", 0, "request", "body"], {"base64": "ä"}, "body: base64:"),
        (
            ["exchanges", 0, "request", "body"],
            {"events": [{"data": {}, "pad": 10**9}]},
            "body: pad: expected",
        ),
        (["exchanges", 0, "request", "headers"], [[1, 2]], "exchanges[0].request.headers[0]: expected"),
        (["exchanges", 0, "request", "body"], {"json": 1, "style": []}, "body: style: expected one of"),
        (
            ["exchanges", 0, "request", "body"],
            {"json": 1, "styel": ""},
            "body: styel: unknown key; known are",
        ),
        (
            ["exchanges", 0, "request", "body"],
            {"text": "", "size": -1},
            "body: size: expected a whole number",
        ),
        (
            ["exchanges", 0, "request", "body"],
            {"text": "", "at": 1, "chunks": ""},
            "body: expected one of at,",
        ),
        (
            ["exchanges", 0, "request", "body"],
            {"events": [{"dta": 1}]},
            "body: events[0]: expected data, event",
        ),
        (["exchanges", 0, "request", "body"], {"events": [{"id": 7}]}, "body: events[0].id: expected text"),
        (
            ["exchanges", 0, "request", "body"],
            {"events": [{"raw": "", "id": ""}]},
            "body: events[0]: expected",
        ),
        (["exchanges", 0, "response", "status"], 99999, "response.status: expected three digits"),
        (["exchanges", 0, "request", "body"], {"json": 1, "before": 2}, "before, after: expected text"),
        (["exchanges", 0, "request", "body"], {"text": [1]}, "text: expected text"),
        (["exchanges", 0, "request", "body"], {"base64": 1}, "base64: expected text"),
        (
            ["exchanges", 0, "request", "body"],
            {"events": [], "event_chunks": "1@2"},
            "event_chunks: counts 1 events, not the 0",
        ),
        (["exchanges", 0, "request", "body"], {"text": "a", "at": "now"}, "at: expected a number"),
        (["exchanges", 0, "request", "body"], {"text": "a", "at": 10**400}, "at: expected a number"),
        (["abs_cassette"], 0, "abs_cassette: there is no format 0"),
        (["exchanges", 0, "ended_ms"], 10**400, "ended_ms: expected a number"),
        (["exchanges", 0, "ended_ms"], "3", "ended_ms: expected a number"),
        (["channels"], {"llm": "http://[::1"}, "channels.llm: 'http://[::1' is no URL"),
        (["channels"], {"llm": "http://h:123456"}, "channels.llm: 'http://h:123456' is no URL"),
    ],
)
def test_what_is_wrong_is_said_with_its_path(path: list[Any], value: Any, said: str) -> None:
    with pytest.raises(CassetteError) as error:
        loads(edited(path, value), "c.json")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "nothing",
        '{"abs_cassette": 1',
        "[" * 100_000,
        '{"a": NaN}',
        "[1e99999999999999999999]",
    ],
)
def test_what_is_no_cassette_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(CassetteError, match=r"^c\.json: [^\n]+$"):
        loads(text, "c.json")


def test_a_key_that_stands_twice_is_refused_before_one_of_them_is_lost() -> None:
    text = edited(["name"], "x").replace('"name": "x"', '"name": "x", "name": "y"')
    with pytest.raises(CassetteError, match='"name" stands twice in one object'):
        loads(text)


def test_an_unresolved_merge_conflict_is_called_one_with_its_line() -> None:
    lines = dumps(cassette(exchange())).split("\n")
    text = "\n".join([*lines[:5], "<<<<<<< HEAD", *lines[5:7], "=======", *lines[7:], ">>>>>>> theirs"])
    with pytest.raises(CassetteError, match=r"^c\.json: line 6: an unresolved merge conflict$"):
        loads(text, "c.json")


def test_a_byte_order_mark_does_not_matter() -> None:
    text = dumps(cassette(exchange()))
    assert loads("\ufeff" + text) == loads(text)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


RICH = cassette(
    exchange(b'{"a":1}', b'data: {"b":2}  \n\ndata: x\n\n'),
    answered(in_pieces(b'data: {"b":2}  \n\ndata: x\n\n', [17], [1.0, 2.0])),
    replace(answered(in_pieces(b"\xff", [], [1.0])), ended_ms=1.0, outcome=Outcome.TIMED_OUT, error="e"),
)
ODD = JSON_VALUES | st.sampled_from(
    [10**400, -1, True, "1@nan", "1@1 1@1", "ä", "5.5e400Z", 1e300, [[[]]], {"raw": 1}]
)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_whatever_is_changed_by_hand_is_read_or_refused_in_one_line(data: st.DataObject) -> None:
    document = json.loads(dumps(RICH))
    path = data.draw(st.sampled_from([place for place in places(document) if place]))
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = data.draw(ODD)
    said = ""
    try:
        loads(json.dumps(document))
    except CassetteError as error:
        said = str(error)
    assert "\n" not in said


@given(st.text(max_size=200))
def test_no_text_makes_reading_fail_in_another_way(text: str) -> None:
    with pytest.raises(CassetteError):
        loads(text)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was_found(enabled: bool) -> None:
    found = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        loads(edited(["name"], "x"))
        assert gc.isenabled() is enabled
    finally:
        gc.enable() if found else gc.disable()


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"data: a\nhello\n\n", "raw"), (b"data: a\n\nev", "rest"), (b"id: 1\nid: 2\n\n", "raw")],
)
def test_what_is_no_plain_event_keeps_its_text(data: bytes, kind: str) -> None:
    document = body_document(Body(data))
    assert kind in document["events"][-1]
    assert read_body(document).data == data


def test_times_that_no_date_can_hold_stay_numbers() -> None:
    recording = Recording("r", "n", -1.5, 1e300)
    text = dumps(Cassette(recording, ()))
    assert (json.loads(text)["started"], json.loads(text)["ended"]) == (-1.5, 1e300)
    assert loads(text).recording == recording


def test_marks_stand_before_the_exchanges_and_only_where_there_are_some() -> None:
    recording = Recording("r", "n", 1764512761.0, marks=(Mark(1764512761.25, "lamp"), Mark(1764512762.0)))
    text = dumps(Cassette(recording, ()))
    assert json.loads(text)["marks"] == [
        {"at": "2025-11-30T14:26:01.25Z", "name": "lamp"},
        {"at": "2025-11-30T14:26:02Z"},
    ]
    assert list(json.loads(text))[-2:] == ["marks", "exchanges"]
    assert loads(text).recording == recording
    assert "marks" not in json.loads(dumps(Cassette(replace(recording, marks=()), ())))


@pytest.mark.parametrize(
    ("mark", "wrong"),
    [
        ("lamp", "marks[0]: expected an object"),
        ({"name": "lamp"}, "marks[0].at: missing"),
        ({"at": 1, "name": 3}, "marks[0].name: expected text"),
        ({"at": 1, "nane": "x"}, "marks[0].nane: unknown key; known are at, name"),
    ],
)
def test_a_mark_that_is_none_is_refused_with_its_place(mark: object, wrong: str) -> None:
    document = {"abs_cassette": 1, "name": "n", "marks": [mark], "exchanges": []}
    with pytest.raises(CassetteError) as caught:
        loads(json.dumps(document))
    assert str(caught.value) == f"cassette: {wrong}"


# -- WebSockets


TOLD = Message(True, b'{"type":"response.create"}', True, 1.0)


def with_socket(*messages: Message) -> Cassette:
    return cassette(replace(exchange(), websocket=WebSocket(messages, 1000, "bye", True)))


@settings(max_examples=200)
@given(SOCKETS)
def test_any_messages_come_back_as_they_were(socket: WebSocket) -> None:
    there = cassette(replace(exchange(), websocket=socket))

    assert loads(dumps(there)) == there


def test_messages_read_well() -> None:
    picture = Message(False, b"\x89PNG", False, 3.5)
    broken = Message(False, "naïve".encode()[:3], True, 4.0, size=6)

    lines = dumps(with_socket(TOLD, picture, broken)).splitlines()

    start = lines.index('      "websocket": {')
    assert lines[start + 1 : start + 9] == [
        '        "messages": [',
        '          {"from": "client", "json": {"type": "response.create"}, "at": 1.0},',
        '          {"from": "server", "base64": "iVBORw==", "at": 3.5},',
        '          {"from": "server", "base64": "bmHD", "size": 6, "at": 4.0, "is_text": true}',
        "        ],",
        '        "close_code": 1000,',
        '        "close_reason": "bye",',
        '        "closed_by": "client"',
    ]


def test_only_a_cassette_with_a_websocket_is_of_the_second_format() -> None:
    text = dumps(with_socket(TOLD))
    assert json.loads(text)["abs_cassette"] == 2
    assert loads(text) == with_socket(TOLD)
    assert json.loads(dumps(cassette(exchange())))["abs_cassette"] == 1


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"from": "me", "text": ""}, "websocket.messages[0].from: expected client or server"),
        ({"from": "client"}, "websocket.messages[0]: expected exactly one of json, events, text, base64"),
        ({"from": "client", "text": "ab", "chunks": "1@2 1@3"}, "a message comes at one time: expected `at`"),
        ([], "websocket.messages[0]: expected an object"),
        ({"from": "client", "text": "", "mask": 1}, "mask: unknown key; known are"),
    ],
)
def test_a_wrong_message_is_refused_with_its_place(message: Any, said: str) -> None:
    document = json.loads(dumps(with_socket()))
    document["exchanges"][0]["websocket"]["messages"] = [message]

    with pytest.raises(CassetteError, match=re.escape(said)):
        loads(json.dumps(document))
