"""An exchange is shown as it was on the wire, and controls no terminal."""

import gzip

from abs_replay.cli.wire import wire
from abs_replay.exchange import (
    Body,
    Channel,
    Chunk,
    Exchange,
    Message,
    Outcome,
    Request,
    Response,
    Role,
    WebSocket,
)

LLM = Channel(Role.LLM, "openai")


def test_request_and_response_are_shown_whole() -> None:
    request = Request(
        "POST", "/v1?x=1", (("A", "b"),), Body(b'{"a":\n1}', (Chunk(8, 0.5),)), scheme="https", host="h"
    )
    body = Body(b"data: 1\r\n\r\ndata: 2\r\n\r\n", (Chunk(11, 5.0), Chunk(22, 9.5)))
    response = Response(200, (("Content-Type", "text/event-stream"),), body, "OK", trailers=(("T", "1"),))
    lines = wire(Exchange("e1", LLM, 1.0, request, response, ended_ms=9.6, redacted=True)).splitlines()

    assert lines[1:] == [
        "* complete in 10 ms, redacted",
        "* not decoded: no decoder claims POST /v1 on llm:openai",
        "> POST https://h/v1?x=1 HTTP/1.1",
        "> A: b",
        "* 8 bytes in 1 chunk (bytes@ms: 8@0.5)",
        ">",
        '> {"a":',
        "> 1}",
        "< HTTP/1.1 200 OK",
        "< Content-Type: text/event-stream",
        "* 22 bytes in 2 chunks (bytes@ms: 11@5 11@9.5)",
        "<",
        "< data: 1",
        "<",
        "< data: 2",
        "<",
        "< T: 1",
    ]


def test_a_failure_says_why_nothing_came() -> None:
    refused = Exchange(
        "e1", LLM, 1.0, Request("GET", "/"), outcome=Outcome.REFUSED, error="connection refused"
    )

    lines = wire(refused).splitlines()

    assert lines[1:] == [
        "* refused",
        "* error: connection refused",
        "* not decoded: no decoder claims GET / on llm:openai: it has no body",
        "> GET / HTTP/1.1",
        "* no body",
        "* no response",
    ]


def test_a_compressed_body_is_unpacked_and_both_sizes_are_said() -> None:
    packed = gzip.compress(b"hello" * 100)
    response = Response(200, (("content-encoding", "gzip"),), Body(packed))
    shown = wire(Exchange("e1", LLM, 1.0, Request("GET", "/"), response))

    assert f"* {len(packed)} bytes, unpacked to 500 B" in shown
    assert f"< {'hello' * 100}\n" in shown


def test_bytes_that_are_no_text_are_shown_in_hexadecimal() -> None:
    shown = wire(Exchange("e1", LLM, 1.0, Request("POST", "/", body=Body(bytes(range(256))))))

    assert "> 00 01 02 " in shown
    assert " 3f .. and 192 bytes more\n" in shown


def test_a_cut_body_says_so() -> None:
    shown = wire(Exchange("e1", LLM, 1.0, Request("POST", "/", body=Body(b"abc", size=1000))))

    assert "* kept cut at 3 of 1000 bytes" in shown


def test_only_the_first_chunks_are_listed() -> None:
    body = Body(b"x" * 100, tuple(Chunk(nth + 1, float(nth)) for nth in range(100)))
    shown = wire(Exchange("e1", LLM, 1.0, Request("POST", "/", body=body)))

    assert "in 100 chunks (bytes@ms: 1@0 1@1 1@2 1@3 1@4 1@5 1@6 1@7 .. 1@99)" in shown


def test_control_characters_are_escaped_everywhere() -> None:
    evil = "\x1b]0;owned\x07\r"
    request = Request(evil, evil, ((evil, evil),), Body(evil.encode()), evil, evil, evil)
    response = Response(200, ((evil, evil),), Body(evil.encode()), evil, evil, ((evil, evil),))
    shown = wire(Exchange(evil, Channel(Role.LLM, evil), 1.0, request, response, error=evil))

    assert {character for character in shown if not character.isprintable()} == {"\n"}


def test_an_exchange_says_how_it_was_read_and_that_its_stream_was_cut_short() -> None:
    request = Request("POST", "/v1/chat/completions", body=Body(b'{"messages": [{"role": "user"}]}'))
    event = b'data: {"choices": [{"index": 0, "delta": {"content": "x"}}]}\n\n'
    whole, cut = (Response(200, (), Body(body)) for body in (event + b"data: [DONE]\n\n", event))

    assert "* decoded as openai_chat" in wire(Exchange("e1", LLM, 1.0, request, whole)).splitlines()
    assert "* decoded as openai_chat, a stream that ended before its last event" in wire(
        Exchange("e1", LLM, 1.0, request, cut)
    )


def test_messages_of_a_websocket_are_shown_with_side_and_time() -> None:
    messages = (
        Message(True, b'{"type": "hello"}\x1b', True, 12.0),
        Message(False, bytes(range(80)), False, 12345.6),
        Message(False, "na\N{LATIN SMALL LETTER I WITH DIAERESIS}ve".encode()[:3], True, 12346.0, size=6),
        Message(False, b"x" * 2001, True, 12347.0),
    )
    socket = WebSocket(messages, 1000, "bye", True)
    shown = wire(Exchange("e1", LLM, 1.0, Request("GET", "/"), Response(101), websocket=socket)).splitlines()
    start = shown.index("* WebSocket with 4 messages; the client closed with 1000: bye")

    assert shown[start + 1] == '>  +0.012  {"type": "hello"}\\x1b'
    assert shown[start + 2].startswith("< +12.346  80 bytes: 00 01 02")
    assert shown[start + 2].endswith("3f .. and 16 bytes more")
    assert shown[start + 3] == "< +12.346  na\ufffd (cut: it had 6 B)"
    assert shown[start + 4] == f"< +12.347  {'x' * 2000}… (2 kB; --format json has it whole)"


def test_a_websocket_that_nobody_closed_says_so() -> None:
    shown = wire(Exchange("e1", LLM, 1.0, Request("GET", "/"), Response(101), websocket=WebSocket()))

    assert shown.endswith("* WebSocket with 0 messages; nobody closed\n")
