"""Plain HTTP calls: where an author finds their fields, and what is no call."""

import pytest

from abs_replay.decoders import decode
from abs_replay.exact_json import Json
from abs_replay.exchange import Body, Channel, Exchange, Outcome, Request, Response, Role

CHANNEL = Channel(Role.TOOL, "Shop")


def exchange(
    method: str = "GET",
    target: str = "/x",
    sent: bytes = b"",
    kind: str = "application/json",
    got: bytes = b"",
    got_kind: str = "application/json",
) -> Exchange:
    request = Request(method, target, (("Content-Type", kind),), Body(sent))
    return Exchange("x", CHANNEL, 0, request, Response(200, (("content-type", got_kind),), Body(got)))


@pytest.mark.parametrize(
    ("one", "arguments"),
    [
        (exchange(target="/o/1?a=b&a=c&d="), {"method": "GET", "path": "/o/1", "a": ["b", "c"], "d": ""}),
        (exchange("POST", "/o?id=1", b'{"id": 2}'), {"method": "POST", "path": "/o", "id": 2}),
        (exchange("POST", sent=b"[1]"), {"method": "POST", "path": "/x", "body": [1]}),
        (
            exchange("POST", sent=b"words", kind="text/plain"),
            {"method": "POST", "path": "/x", "body": "words"},
        ),
        (
            exchange("POST", sent=b"a=1&b=c+d", kind="application/x-www-form-urlencoded"),
            {"method": "POST", "path": "/x", "a": "1", "b": "c d"},
        ),
        (
            exchange("PUT", sent=b"\xff\xfe", kind="image/png"),
            {"method": "PUT", "path": "/x", "body": "(2 bytes of image/png)"},
        ),
    ],
)
def test_fields_of_query_and_body_stand_where_an_author_looks(one: Exchange, arguments: Json) -> None:
    (use,) = decode(one).uses
    assert (use.name, use.arguments) == ("Shop", arguments)


@pytest.mark.parametrize(
    ("got", "kind", "content"),
    [
        (b'{"n": 1}', "text/plain", {"n": 1}),
        (b"hello", "text/html", "hello"),
        (b"", "application/json", None),
        (b'{"n":1}\n{"n":2}\n', "application/x-ndjson", [{"n": 1}, {"n": 2}]),
        (b"data: 1\n\ndata: x\n\n", "text/event-stream", [1, "x"]),
        (b"\x89PNG\xff", "image/png", "(5 bytes of image/png)"),
    ],
)
def test_a_body_is_what_it_is(got: bytes, kind: str, content: Json) -> None:
    (use,) = decode(exchange(got=got, got_kind=kind)).uses
    assert use.content == content


@pytest.mark.parametrize("one", [exchange("OPTIONS"), exchange("HEAD"), exchange(target="/.well-known/x")])
def test_questions_about_the_server_are_no_calls(one: Exchange) -> None:
    assert decode(one).protocol == "rest"
    assert decode(one).uses == ()


def test_a_tool_that_never_answered_says_why() -> None:
    one = Exchange("x", CHANNEL, 0, Request("GET", "/x"), None, Outcome.TIMED_OUT, "after 30 s")
    (use,) = decode(one).uses
    assert (use.content, use.error) == (None, "no answer (timed_out): after 30 s")


def test_a_query_beyond_reason_is_kept_as_text() -> None:
    (use,) = decode(exchange(target="/x?" + "a=1;" * 3)).uses
    assert isinstance(use.arguments, dict)
    assert use.arguments["path"] == "/x"
