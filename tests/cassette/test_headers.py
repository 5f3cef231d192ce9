"""Headers that a program sends again and again stand once in a conversation, and come back as they were."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.cassette.exchanges import Earlier
from abs_replay.cassette.quick import quick
from abs_replay.errors import CassetteError
from abs_replay.exchange import Channel, Exchange, Headers, Recording, Request, Response, Role

LLM, TOOL = Channel(Role.LLM, "openai"), Channel(Role.TOOL, "orders")
LONG = "of a program that says much of itself " * 8
SENT = (("Accept", "*/*"), ("User-Agent", LONG), ("Content-Length", "12"), ("X-Two", "a"), ("x-two", "b"))
GOT = (("Date", "Mon"), ("Server", LONG))


def exchange(id_: str, sent: Headers = SENT, got: Headers = GOT, channel: Channel = LLM) -> Exchange:
    return Exchange(id_, channel, 1.0, Request("GET", "/", sent), Response(200, got))


def taped(*exchanges: Exchange, begins: str = "") -> Cassette:
    return Cassette(Recording("r", "n", 0.0), exchanges, frozenset(begins))


def shown(cassette: Cassette) -> Any:
    return json.loads(dumps(cassette))["exchanges"]


def changed(headers: Headers, **values: str) -> Headers:
    return tuple((name, values.get(name.replace("-", "_"), value)) for name, value in headers)


def test_only_what_differs_from_an_earlier_exchange_is_said() -> None:
    sent, got = changed(SENT, Content_Length="99"), changed(GOT, Date="Tue")
    cassette = taped(exchange("a"), exchange("b", sent, got), exchange("c", sent, GOT))
    _, second, third = shown(cassette)
    request, response = second["request"], second["response"]
    assert (request["headers_as"], request["headers"]) == ("a", ["Content-Length: 99"])
    assert (response["headers_as"], response["headers"]) == ("a", ["Date: Tue"])
    assert third["response"] == {"status": 200, "headers_as": "a"}
    assert loads(dumps(cassette)) == cassette
    assert '"abs_cassette": 4' in dumps(cassette)


@pytest.mark.parametrize(
    "second",
    [
        exchange("b", channel=TOOL),
        exchange("b", sent=SENT[1:], got=GOT[:1]),
        exchange("b", sent=tuple(reversed(SENT)), got=(("Date", "Mon"), ("server", LONG))),
        exchange("b", sent=changed(SENT, X_Two="c"), got=changed(GOT, Server="short")),
    ],
    ids=["another channel", "other names", "another order or other letters", "a name twice, or little saved"],
)
def test_what_is_not_alike_is_said_whole(second: Exchange) -> None:
    cassette = taped(exchange("a"), second)
    assert "headers_as" not in dumps(cassette)
    assert '"abs_cassette": 1' in dumps(cassette)
    assert loads(dumps(cassette)) == cassette


def test_nothing_points_out_of_its_conversation_or_to_an_id_that_stands_twice() -> None:
    assert "headers_as" not in dumps(taped(exchange("a"), exchange("b"), begins="ab"))
    assert "headers_as" not in dumps(taped(exchange("a"), exchange("a")))


def test_what_points_is_read_at_speed() -> None:
    text, earlier = dumps(taped(exchange("a"), exchange("b", got=changed(GOT, Date="Tue")))), Earlier()
    first = quick(text, text.index("{", text.index('"exchanges"')), earlier)
    assert first is not None
    second = quick(text, text.index("{", first[2]), earlier)
    assert second is not None
    assert [first[0], second[0]] == list(loads(text).exchanges)


def test_what_is_changed_by_hand_is_changed_in_all_that_say_the_same() -> None:
    text = dumps(taped(exchange("a"), exchange("b"))).replace("Accept: */*", "Accept: text/plain")
    assert [one.request.headers[0][1] for one in loads(text).exchanges] == ["text/plain"] * 2


@pytest.mark.parametrize(
    ("side", "said", "wrong"),
    [
        ("request", {"headers_as": "z"}, "request.headers_as: no exchange that stands before"),
        ("request", {"headers_as": "b"}, "request.headers_as: no exchange that stands before"),
        ("response", {"headers_as": "n"}, "response.headers_as: no exchange that stands before"),
        ("request", {"headers_as": 1}, "request.headers_as: expected text"),
        ("request", {"headers_as": "a", "headers": ["X-New: 1"]}, "request.headers: 'X-New' must stand once"),
        ("request", {"headers_as": "a", "headers": ["x-two: 1"]}, "request.headers: 'x-two' must stand once"),
        (
            "request",
            {"headers_as": "a", "headers": ["accept: 1", "Accept: 2"]},
            "request.headers: 'accept' must stand once",
        ),
        ("request", {"headers_as": "a", "headers": ["?"]}, "request.headers[0]: expected"),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_pointer_that_leads_nowhere_is_refused_with_its_path(
    side: str, said: Any, wrong: str, indent: int | None
) -> None:
    document = json.loads(dumps(taped(exchange("a"), replace(exchange("n"), response=None), exchange("b"))))
    last = document["exchanges"][2][side]
    last.pop("headers", None)
    last.update(said)
    with pytest.raises(CassetteError) as raised:
        loads(json.dumps(document, indent=indent))
    assert wrong in str(raised.value)


NAMES = st.sampled_from(["accept", "Accept", "date", "x-long", "x-id"])
VALUES = st.sampled_from(["1", "2", LONG, LONG + "2", ""])
LISTS = st.lists(st.tuples(NAMES, VALUES), max_size=4).map(tuple)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.builds(exchange, st.sampled_from("abcd"), LISTS, LISTS), max_size=5),
    st.sampled_from(["", "b"]),
)
def test_any_headers_come_back_in_their_order(exchanges: list[Exchange], begins: str) -> None:
    cassette = taped(*exchanges, begins=begins if any(one.id == begins for one in exchanges) else "")
    text = dumps(cassette)
    assert loads(text) == cassette
    assert dumps(loads(text)) == text
    assert loads(json.dumps(json.loads(text))) == cassette
