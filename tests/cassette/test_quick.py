"""What is read at speed is what the slower reader gives, and never what it would refuse."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.cassette.exchanges import Earlier, read_exchange
from abs_replay.cassette.layout import lay_out
from abs_replay.cassette.quick import quick
from abs_replay.cassette.usual import usual
from abs_replay.errors import CassetteError
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Recording, Request, Response, Role
from abs_replay.json_styles import parse_at

LLM = Channel(Role.LLM, "openai")
HEADERS = (("content-type", "application/json"),)
CHAT = [{"role": "user", "content": 'He said: "hi", \\ and\nleft.'}, {"role": "assistant", "content": ": "}]


def exchange(asked: bytes, got: bytes, id_: str = "x") -> Exchange:
    body = Body(got, (Chunk(len(got), 3.5),))
    request = Request("POST", "/v1/chat/completions", HEADERS, Body(asked))
    return Exchange(id_, LLM, 1.5, request, Response(200, HEADERS, body), ended_ms=4.25)


def text_of(*exchanges: Exchange, begins: frozenset[str] = frozenset()) -> str:
    return dumps(Cassette(Recording("r", "n", 0.0), exchanges, begins))


def place_in(text: str) -> int:
    """Where the first exchange begins."""
    return text.index("{", text.index('"exchanges": ['))


def at_speed(text: str) -> Exchange | None:
    """What the two readers that are fast give, of whom one knows more and the other is faster."""
    read = [reader(text, place_in(text), Earlier()) for reader in (usual, quick)]
    either = read[0] or read[1]
    assert read[0] is None or read[1] in (None, read[0])
    return either and either[0]


def slowly(text: str) -> Exchange | None:
    """What the slower reader gives, None where it refuses."""
    try:
        item, _ = parse_at(text, place_in(text))
        return read_exchange(item, "", Earlier())[0]
    except Exception:
        return None


STYLES: tuple[dict[str, Any], ...] = ({}, {"separators": (",", ":")}, {"indent": 2}, {"indent": 4})


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_json_is_read_at_speed_in_every_usual_style(style: dict[str, Any], ascii_only: bool) -> None:
    body = {"model": "m", "messages": CHAT, "tools": [], "more": {}, "n": [1, 1.50, 1e300, True, None]}
    one = exchange(json.dumps(body, ensure_ascii=ascii_only, **style).encode(), b'{"a":[{}]}')
    assert at_speed(text_of(one)) == one


@pytest.mark.parametrize(
    "got",
    [b"data: {}\n\n", b"one\ntwo", b"\xff", b"", b'{"a":1,"a":2}', b'{"a":"\\u00e9 \xc3\xa9"}', b"[1]\n"],
)
def test_any_other_body_is_read_with_the_rest_at_speed(got: bytes) -> None:
    one = exchange(b"{}", got)
    assert at_speed(text_of(one)) == one


def test_letters_that_only_the_file_escapes_are_those_of_the_body() -> None:
    one = exchange('{"a":"x\u202ey\x7f"}'.encode(), '{"b": "\u00e9\u2028"}'.encode())
    assert at_speed(text_of(one)) == one


def test_a_request_that_goes_on_is_read_at_speed() -> None:
    first, second = (json.dumps({"messages": CHAT * count}).encode() for count in (9, 10))
    text = text_of(exchange(first, b"{}", "a"), exchange(second, b"{}", "b"), begins=frozenset("a"))
    earlier = Earlier()
    a = quick(text, place_in(text), earlier)
    assert a is not None
    assert a[1]
    b = quick(text, text.index("{", a[2]), earlier)
    assert b is not None
    assert b[0].request.body.data == second
    assert '"as": "a"' in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"id": "x"', '"id": "y", "id": "x"'),
        ('"a": 1', '"a": 2, "a": 1'),
        ('"a": 1', '"a" : 2, "a": 1'),
        ('"a": 1', '"\\u0061": 2, "a": 1'),
        ('"a": 1', '": ": 1, "a": 2, "a": 1'),
        ('"a": 1', '"b": [": ", {"a": 2, "a": 1}]'),
        ('"a": 1', '"b\\"": 1, "a\\\\": 2, "a\\\\": 1'),
    ],
)
def test_a_key_that_stands_twice_is_seen(old: str, new: str) -> None:
    text = text_of(exchange(b'{"a":1}', b"{}"))
    assert old in text
    changed = text.replace(old, new)
    assert at_speed(changed) is None
    with pytest.raises(CassetteError, match="stands twice"):
        loads(changed)


LONG = "as long as a line " * 8


def test_json_asked_and_answered_is_read_without_its_objects() -> None:
    for asked, got in (
        ({"messages": [*CHAT, LONG], "temperature": -0.5, "no": {}}, [[], {}, 1e300, LONG]),
        ([LONG], {"a": {"a": LONG}, "b": [{"a": ""}, {"a": ": "}]}),
        (LONG, {"n": [0, -1, 2.5], "s": f"\u00e9{LONG}"}),
    ):
        one = exchange(json.dumps(asked).encode(), json.dumps(got, ensure_ascii=False, indent=2).encode())
        text = text_of(one)
        assert usual(text, place_in(text), Earlier()) == (one, False, text.index("\n    }") + 6)


def test_a_text_that_looks_like_the_end_of_a_key_hides_no_key_that_stands_twice() -> None:
    text = text_of(exchange(b'{"a":1,"long":"%s"}' % LONG.encode(), b'{"long":"%s"}' % LONG.encode()))
    assert usual(text, place_in(text), Earlier()) is not None
    for inside in (
        '"a": 2, "a": 3',
        '": ": 1, "a": 2, "a": 3',
        '"b": [": ", "c"], "a": 2, "a": 3',
        '": ": ": ", "a": 1, "a": 2',
    ):
        changed = text.replace('"a": 1', inside)
        assert usual(changed, place_in(changed), Earlier()) is None
        with pytest.raises(CassetteError, match="stands twice"):
            loads(changed)


def test_numbers_stay_as_they_were_written() -> None:
    long = LONG.encode()
    text = text_of(exchange(b'{"a":1,"long":"%s"}' % long, b'{"long":"%s"}' % long))
    for number in ("-0", "1.50", "1E+5", "12345678901234567890123", "0.1e-7", "1e99999999999999999999"):
        changed = text.replace('"a": 1', f'"a": {number}')
        read = at_speed(changed)
        assert read is not None
        assert read == slowly(changed)
        assert read.request.body.data == b'{"a":%s,"long":"%s"}' % (number.encode(), long)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"id": "x"', '"outcome": "odd", "id": "x"', "outcome"),
        ('"id": "x"', '"begins": "anew", "id": "x"', "begins"),
        ('"ended_ms": 4.25', '"ended_ms": "soon"', "ended_ms"),
        ('"ended_ms": 4.25', '"ended_ms": 1e999', "ended_ms"),
        ('"status": 200', '"status": 99', "status"),
        ('"style": "spaced"', '"style": 7', "style"),
        ('"style": "spaced"', '"style": "tabs"', "style"),
    ],
)
def test_what_is_wrong_is_left_to_the_slower_reader_which_says_it(old: str, new: str, said: str) -> None:
    text = text_of(exchange(b'{"a": 1}', b'{"b": 2}'))
    assert old in text
    assert at_speed(text.replace(old, new)) is None
    with pytest.raises(CassetteError, match=said):
        loads(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"a": "letter"', '"a": "l\\u0065tter"'),
        ('"a": "letter"', '"a": "\u00e9"'),
        ('"a": "letter"', '"a": "x\x7f"'),
    ],
)
def test_letters_that_blanks_do_not_set_are_left_to_another_reader(old: str, new: str) -> None:
    body = json.dumps({"a": "letter", "b": LONG}, separators=(",", ":")).encode()
    document = json.loads(text_of(exchange(body, body)))
    document["exchanges"][0]["request"]["body"]["style"] = "compact ascii"
    text = lay_out(document)
    assert usual(text, place_in(text), Earlier()) is not None
    changed = text.replace(old, new, 1)
    assert changed != text
    assert usual(changed, place_in(changed), Earlier()) is None
    assert at_speed(changed) in (None, slowly(changed))
    assert loads(changed).exchanges[0] == slowly(changed)


def test_what_stands_before_a_beginning_is_pointed_to_no_more() -> None:
    body = json.dumps({"a": LONG}).encode()
    text = text_of(exchange(body, body), begins=frozenset("x"))
    earlier = Earlier()
    earlier["before"] = b"{}"
    read = usual(text, place_in(text), earlier)
    assert read is not None
    assert read[1]
    assert list(earlier) == ["x"]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


VALUES = st.recursive(
    st.sampled_from(
        [None, True, 0, -1, 200, 200.0, 1.5, 10**400, "", "GET", "a: b", ": ", "\u00e9", 'q"', "\\"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["json", "at", "style", "a", ": ", "text", "as"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)
BASES = [
    json.loads(text_of(one))
    for one in (
        exchange(b'{"a":1}', b'{"b": [{"c": 2}]}'),
        replace(exchange(b"", b"data: {}\n\n"), error="e"),
        replace(exchange(b'{\n  "a": "\xc3\xa9"\n}', b"{}"), response=None),
        exchange(b'{"a": [1, "%s"]}' % LONG.encode(), b'{"b":"%s","c":{"d":0.5}}' % LONG.encode()),
    )
]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(BASES), st.data())
def test_whatever_is_changed_by_hand_is_read_as_the_slower_reader_does(
    base: Any, data: st.DataObject
) -> None:
    document = json.loads(json.dumps(base))
    one = document["exchanges"][0]
    *path, last = data.draw(st.sampled_from([place for place in places(one) if place]))
    inner = one
    for key in path:
        inner = inner[key]
    inner[last] = data.draw(VALUES)
    if isinstance(inner, dict):
        inner.update(
            data.draw(st.dictionaries(st.sampled_from(["size", "chunks", "at", "x"]), VALUES, max_size=1))
        )
    text = lay_out(document)
    read = at_speed(text)
    assert read is None or read == slowly(text)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(BASES),
    st.integers(0, 1000),
    st.sampled_from(['"', "\\", ",", "{", "}", ":", "x", "\n", "1", "-", "]"]),
)
def test_a_text_with_a_letter_too_many_is_read_as_the_slower_reader_does(
    base: Any, place: int, letter: str
) -> None:
    text = lay_out(base)
    start = place_in(text)
    place = start + 1 + place % (len(text) - start)
    text = text[:place] + letter + text[place:]
    read = at_speed(text)
    assert read is None or read == slowly(text)
