"""No secret is kept, nothing else is changed, and doing it twice is doing it once."""

import gzip
import json
import time
from dataclasses import replace
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.exchange import Body, Exchange, Outcome, header
from abs_replay.redact import Redactor, redact
from abs_replay.redact import searching as searching_module
from abs_replay.redact.placeholders import SOUGHT_AT_ONCE
from tests.redact.exchanges import JWT, KEY, answer_of, exchange, request_headers


def test_a_wrong_key_stays_different_from_the_right_one_and_equal_ones_stay_equal() -> None:
    redactor = Redactor()
    keys = ["right-key-1", "wrong-key-2", "right-key-1"]
    kept = [redactor.redact(exchange(headers=(("x-api-key", key),))).request.headers[0][1] for key in keys]
    assert kept == ["<key:1>", "<key:2>", "<key:1>"]


def test_a_secret_over_chunk_boundaries_is_replaced_and_the_ends_are_mapped() -> None:
    data = b"data: " + KEY.encode() + b"\n\ndata: b\n\n"
    result = answer_of(redact(exchange(answer=data, chunks=(10, 20, 30, len(data) - 9, len(data)))))
    assert result.data == b"data: <key:1>\n\ndata: b\n\n"
    ends = [chunk.end for chunk in result.chunks]
    assert [result.data[a:b] for a, b in pairwise([0, *ends])] == [
        b"data: <key",
        b":1>",
        b"\n\n",
        b"data: b\n\n",
    ]


def test_the_content_length_follows_and_that_of_an_untouched_body_stays() -> None:
    length = (("Content-Length", str(len(KEY))),)
    result = redact(exchange(answer=KEY.encode(), answer_headers=length))
    assert result.response is not None
    assert result.response.headers == (("Content-Length", "7"),)
    assert redact(exchange(answer=b"abc", answer_headers=(("content-length", "3"),))).redacted is False


def test_the_size_of_a_cut_body_follows() -> None:
    whole = exchange(answer=KEY.encode())
    assert whole.response is not None
    data = KEY.encode() + b" and"
    cut = replace(whole, response=replace(whole.response, body=Body(data, (), 1000)))
    assert answer_of(redact(cut)).size == 1000 - len(KEY) + len("<key:1>")


def event(text: str, index: int = 0) -> bytes:
    choice = {"index": index, "delta": {"content": text}}
    return b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n"


@pytest.mark.parametrize("size", [1, 7, 40])
def test_a_secret_of_which_every_event_carries_a_part_is_replaced(size: int) -> None:
    said = f"it is {KEY} indeed"
    wire = [event(said[at : at + size]) for at in range(0, len(said), size)]
    ends = tuple(accumulate(map(len, wire)))
    body = answer_of(redact(exchange(answer=b"".join(wire), chunks=ends)))
    events = [json.loads(line[6:]) for line in body.data.splitlines() if line]
    assert "".join(each["choices"][0]["delta"]["content"] for each in events) == "it is <key:1> indeed"
    assert len(events) == len(body.chunks) == len(wire)


def test_a_known_secret_is_found_over_events_and_apart_from_what_comes_between() -> None:
    wire = event("it is my-own-") + event("another answer", 1) + event("key-77!")
    result = redact(exchange(headers=(("authorization", "Bearer my-own-key-77"),), answer=wire))
    expected = event("it is <auth:1>") + event("another answer", 1) + event("!")
    assert answer_of(result).data == expected


def test_one_endless_line_of_members_is_looked_through_in_linear_time() -> None:
    began = time.process_time()
    redact(exchange(answer=b"data: " + b'"content":"a",' * 60_000))
    assert time.process_time() - began < 4  # 0.2 s on an idle machine; 20 s where it is quadratic


def test_events_without_a_secret_keep_their_bytes() -> None:
    plain = exchange(answer=event("it is sk") + event("-") + event("no key at all") + b"data: [DONE]\n\n")
    assert redact(plain) is plain


SECRETS = st.text(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~+/-", min_size=24, max_size=60
)


TEXTS = st.text(max_size=30)


LOOKALIKES = st.sampled_from(
    [
        KEY,
        "x" + KEY,
        "<auth:1>",
        "<",
        ">",
        "sk-",
        "Bearer ",
        "://a:b@",
        "&key=abcdef1",
        '"api_key":"abcdefgh"',
        JWT,
    ]
)


@st.composite
def planted(draw: st.DrawFn) -> tuple[Exchange, str]:
    """An exchange with a secret in one telling place, and in other places too."""
    secret = draw(SECRETS)
    pieces = st.lists(st.one_of(TEXTS, LOOKALIKES, st.just(secret)), max_size=8)
    body, answer = ("".join(draw(pieces)).encode("utf-8", "replace") for _ in range(2))
    packed = draw(st.booleans())
    telling = draw(
        st.sampled_from(
            [
                ("Authorization", f"Bearer {secret}"),
                ("x-api-key", secret),
                ("Cookie", f"a=b; sid={secret}"),
                ("x-auth-token", secret),
            ]
        )
    )
    wire = gzip.compress(answer) if packed else answer
    ends = sorted(draw(st.sets(st.integers(1, len(wire)), max_size=4))) if wire else []
    made = exchange(
        target=draw(st.sampled_from(["/a", f"/a/{secret}", f"/a?b={secret}"])),
        headers=(
            telling,
            ("content-length", str(len(body))),
            ("x-other", draw(st.sampled_from(["", secret]))),
        ),
        body=body,
        answer=wire,
        answer_headers=(("content-encoding", "gzip" if packed else "identity"),),
        chunks=(*ends, len(wire)) if wire and (not ends or ends[-1] != len(wire)) else tuple(ends),
        error=draw(st.sampled_from([None, f"{secret}!"])),
    )
    return made, secret


def readable(seen: Exchange) -> bytes:
    answer = answer_of(seen)
    packed = header(seen.response.headers, "content-encoding") == "gzip" if seen.response else False
    plain = gzip.decompress(answer.data) if packed and answer.data else answer.data
    texts = [seen.request.target, seen.error or "", *(value for _, value in seen.request.headers)]
    return b"\0".join([seen.request.body.data, plain, *(text.encode() for text in texts)])


@given(planted())
def test_no_planted_secret_survives(case: tuple[Exchange, str]) -> None:
    made, secret = case
    result = redact(made)
    assert result.redacted
    assert secret.encode() not in readable(result)
    assert header(result.request.headers, "content-length") == str(len(result.request.body.data))
    for body in (result.request.body, answer_of(result)):
        ends = [chunk.end for chunk in body.chunks]
        assert ends == sorted(set(ends))
        assert all(0 < end <= len(body.data) for end in ends)


@given(planted())
def test_redacting_twice_is_redacting_once(case: tuple[Exchange, str]) -> None:
    redactor = Redactor()
    once = redactor.redact(case[0])
    assert redactor.redact(once) == once
    assert redact(once) == once


def test_a_placeholder_stays_and_later_secrets_are_counted_on_from_it() -> None:
    first, second = request_headers(("x-api-key", "<key:7>"), ("api-key", "another-1"))
    assert (first[1], second[1]) == ("<key:7>", "<key:8>")


def test_only_the_latest_secrets_are_sought_elsewhere() -> None:
    redactor = Redactor()
    keys = [f"secret-number-{number:04}" for number in range(SOUGHT_AT_ONCE + 1)]
    for key in keys:
        redactor.redact(exchange(headers=(("x-api-key", key),)))
    result = answer_of(redactor.redact(exchange(answer=f"{keys[0]} {keys[-1]}".encode())))
    assert result.data == f"{keys[0]} <key:{len(keys)}>".encode()


def test_what_could_be_a_part_of_a_placeholder_is_not_sought_elsewhere() -> None:
    result = redact(exchange(headers=(("authorization", "auth:1234567"),), answer=b"auth:1234567"))
    assert answer_of(result).data == b"auth:1234567"


def test_replacing_ends_even_where_it_would_find_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching_module, "PASSES", 1)
    assert answer_of(redact(exchange(answer=KEY.encode()))).data == b"<key:1>"


def test_holding_back_ends_even_where_more_could_be_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching_module, "PASSES", 1)
    cut = replace(exchange(answer=b"it is sk-proj-Ab"), outcome=Outcome.UPSTREAM_CLOSED)
    assert answer_of(redact(cut)).data == b"it is "


def test_after_very_many_clean_texts_a_secret_is_still_found() -> None:
    redactor = Redactor()
    clean = exchange(headers=tuple((f"x-{number}", f"value {number}") for number in range(4200)))
    assert redactor.redact(clean) is clean
    again = exchange(headers=(("x-0", "value 0"), ("x-new", "never seen")))
    assert redactor.redact(again) is again
    again = exchange(headers=(*again.request.headers, ("x-key-of", KEY)))
    assert redactor.redact(again).request.headers == (*again.request.headers[:2], ("x-key-of", "<key:1>"))


def test_a_request_that_was_never_answered_loses_its_secrets_too() -> None:
    refused = replace(exchange(headers=(("x-api-key", "abc"),), error=f"no way to {KEY}"), response=None)
    assert redact(refused).request.headers == (("x-api-key", "<key:1>"),)
    assert redact(refused).error == "no way to <key:2>"
