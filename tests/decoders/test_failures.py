"""An answer that can not be read says what is wrong with its bytes."""

import gzip
import zlib
from collections.abc import Callable

import pytest

from abs_replay.decoders import content, decode
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role

JSON = (("content-type", "application/json"),)
GZIP = ("content-encoding", "gzip")
WHOLE = b'{"choices": [{"message": {"role": "assistant", "content": "hello"}}], "message": {"content": "a"}}'
ASKED = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
EVENTS = (("content-type", "text/event-stream"), GZIP)


def answered(
    data: bytes, path: str, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> Exchange:
    role = Role.AGENT if path == "/chat" else Role.LLM
    response = Response(status, headers or (*JSON, GZIP), Body(data))
    return Exchange("x", Channel(role, str(role)), 0.0, Request("POST", path, JSON, Body(ASKED)), response)


def told(exchange: Exchange) -> str | None:
    turn = decode(exchange).turn
    assert turn is not None
    return turn.error


PATHS = ("/v1/chat/completions", "/v1/messages", "/api/chat", "/v2/chat", "/chat")


@pytest.mark.parametrize("path", PATHS)
def test_a_cut_gzip_body_is_told_to_be_cut(path: str) -> None:
    assert (told(answered(gzip.compress(WHOLE)[:40], path)) or "").startswith(
        "the answer can not be read: gzip ends early; "
    )


@pytest.mark.parametrize("path", PATHS)
def test_a_bomb_is_told_to_be_too_large(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "LARGEST", 50)
    content.unpacked.cache_clear()
    assert (told(answered(gzip.compress(WHOLE + path.encode()), path)) or "").startswith(
        "the answer can not be read: content-encoding gzip: unpacks to too much"
    )


def test_zlib_data_under_the_name_of_gzip_is_unpacked() -> None:
    assert told(answered(zlib.compress(WHOLE), "/v1/chat/completions")) is None


@pytest.mark.parametrize("make", [lambda: b"x\x9c" + b"\xff" * 40, lambda: b"\x1f\x8b" + b"\xff" * 40])
def test_a_broken_body_is_told_to_be_broken(make: Callable[[], bytes]) -> None:
    error = told(answered(make(), "/v1/chat/completions"))
    assert (error or "").startswith("the answer can not be read: content-encoding gzip: ")


def test_an_error_whose_body_can_not_be_read_says_so() -> None:
    error = told(answered(b"\x1f\x8b" + b"\xff" * 40, "/v1/chat/completions", 500))
    assert (error or "").startswith("HTTP 500: its body can not be read: content-encoding gzip: ")


def test_a_stream_that_can_not_be_read_to_its_end_says_why() -> None:
    events = b'data: {"choices": [{"delta": {"content": "one"}}]}\n\n' * 50
    error = told(answered(gzip.compress(events)[:60], "/v1/chat/completions", headers=EVENTS))
    assert (error or "").startswith("the stream ended before its last event: gzip ends early; ")
