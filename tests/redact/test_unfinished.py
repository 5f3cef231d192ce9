"""Of what is not whole the end is held back where it may be a secret's beginning, and only there."""

import base64
import json
import zlib
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.exchange import (
    Body,
    Channel,
    Chunk,
    Exchange,
    Headers,
    Message,
    Outcome,
    Request,
    Response,
    Role,
    WebSocket,
)
from abs_replay.redact import Redactor, Rules, redact
from abs_replay.redact.finders import Pattern
from abs_replay.redact.frames import written
from abs_replay.redact.unfinished import LEAST

KEY = "sk-proj-Abcdefghijklmnop1234567890"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJlLW9mLWl0"


def running(
    answer: bytes,
    headers: Headers = (),
    outcome: Outcome = Outcome.UNFINISHED,
    ends: tuple[int, ...] = (),
    size: int | None = None,
) -> Exchange:
    body = Body(answer, tuple(Chunk(end, 1.0) for end in ends), size)
    return Exchange(
        "1", Channel(Role.LLM, "llm"), 0.0, Request("POST", "/"), Response(200, headers, body), outcome
    )


def kept(made: Exchange, redactor: Redactor | None = None) -> Body:
    result = (redactor or Redactor()).redact(made)
    assert result.response
    return result.response.body


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("it is sk-proj-Ab", "it is "),
        ("it is sk-", "it is "),
        (f"it is {KEY}", "it is "),
        (f"it is {KEY} and", "it is <key:1> and"),
        ('{"api_key": "abcd', '{"api_key": "'),
        ("OPENAI_API_KEY=abcd", "OPENAI_API_KEY="),
        ("<apiKey>abcd", "<apiKey>"),
        ("at https://me:pas", "at https"),
        ("Bearer abcd", ""),
        (f"so {JWT[:30]}", "so "),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", "-----BEGIN "),
        ("?access_token=abc", "?access_"),
        ("nothing of that sort, a task", "nothing of that sort, a task"),
        ("", ""),
    ],
)
def test_what_may_go_on_as_a_secret_is_cut_from_a_broken_body(text: str, left: str) -> None:
    body = kept(running(text.encode(), outcome=Outcome.UPSTREAM_CLOSED))
    assert kept(running(text.encode())).data.decode() in left
    assert body.data.decode() == left
    assert body.size == (None if "key:1" in left or left == text else len(text))


def test_a_body_that_is_whole_keeps_its_end() -> None:
    half = b"it is sk-proj-Ab"
    assert kept(running(half, outcome=Outcome.COMPLETE)).data == half
    assert kept(running(half, (("content-length", str(len(half))),))).data == half
    done = b'data: {"delta": "see https://example.com"}\n\ndata: [DONE]\n\n'
    assert kept(running(done, outcome=Outcome.CLIENT_CLOSED)).data == done


def test_the_end_of_a_body_that_was_cut_is_held_back_and_its_size_stays() -> None:
    body = kept(running(b"it is sk-proj-Ab", outcome=Outcome.COMPLETE, size=5000))
    assert (body.data, body.size) == (b"it is ", 5000)


def test_the_beginning_of_a_known_secret_is_held_back() -> None:
    redactor = Redactor()
    asked = Request("POST", "/", (("x-api-key", "my-own-key-77"),))
    for text, left in (
        ("so my-own-k", "so "),
        ("so my-own-key-7", "so "),
        ("so my-", "so my-"),
        ("my", "my"),
    ):
        made = replace(running(text.encode(), outcome=Outcome.TIMED_OUT), request=asked)
        assert kept(made, redactor).data.decode() == left


def test_a_request_that_its_client_broke_off_is_held_back_and_one_that_nobody_answered_is_not() -> None:
    request = Request("POST", "/", (), Body(b"it is sk-proj-Ab"))
    for outcome, left in ((Outcome.CLIENT_CLOSED, b"it is "), (Outcome.REFUSED, b"it is sk-proj-Ab")):
        made = Exchange("1", Channel(Role.LLM, "llm"), 0.0, request, None, outcome)
        assert redact(made).request.body.data == left


def event(text: str) -> bytes:
    return b"data: " + json.dumps({"delta": {"content": text}}).encode() + b"\n\n"


def words(data: bytes) -> str:
    """What the whole events of a stream say."""
    events = [json.loads(line[6:]) for line in data.split(b"\n\n")[:-1] if line]
    return "".join(each["delta"]["content"] for each in events)


def test_the_beginning_of_a_secret_in_the_last_events_is_held_back() -> None:
    wire = [event("it is"), event(" sk-"), event("proj-A")]
    ends = tuple(accumulate(map(len, wire)))
    body = kept(running(b"".join(wire), outcome=Outcome.UPSTREAM_CLOSED, ends=ends))
    assert words(body.data) == "it is "
    assert body.chunks[-1].end == len(body.data)
    assert body.size == len(b"".join(wire))
    assert words(kept(running(event("it is sk-proj-A"), outcome=Outcome.UPSTREAM_CLOSED)).data) == "it is "
    assert kept(running(event("it is") + event(" sk-") + event("proj-A"))).data.startswith(event("it is"))


def test_the_end_of_a_torn_event_is_joined_to_those_before_it() -> None:
    torn = event("it is sk-") + event("proj-Abc")[:-7]
    assert b"proj-A" not in kept(running(torn)).data
    assert words(kept(running(torn, outcome=Outcome.TIMED_OUT)).data) == "it is "


def test_a_torn_frame_of_a_binary_stream_is_held_back() -> None:
    whole = written(b"", b'{"a": "b"}')
    body = kept(running(whole + written(b"", f'{{"a": "{KEY}"}}'.encode())[:-20]))
    assert body.data == whole


def test_a_compressed_stream_is_held_back_inside() -> None:
    packer = zlib.compressobj(wbits=31)
    wire = packer.compress(b"it is sk-proj-Ab") + packer.flush(zlib.Z_SYNC_FLUSH)
    body = kept(running(wire, (("content-encoding", "gzip"),)))
    assert zlib.decompressobj(31).decompress(body.data) == b"it is "
    assert body.cut


def test_messages_of_a_websocket_that_is_open_are_held_back() -> None:
    messages = tuple(
        Message(False, json.dumps({"delta": text}).encode(), True, 1.0) for text in ("it is sk-", "proj-A")
    )
    cut = Message(True, b"it is sk-proj", True, 1.0, 1000)
    result = redact(replace(running(b""), websocket=WebSocket((*messages, cut)))).websocket
    assert result is not None
    assert [json.loads(each.data)["delta"] for each in result.messages[:2]] == ["it is ", ""]
    assert (result.messages[2].data, result.messages[2].size) == (b"it is ", 1000)


def test_a_secret_that_comes_whole_later_has_the_placeholder_that_it_would_have_had() -> None:
    redactor = Redactor()
    for end in range(0, len(KEY), 5):
        assert KEY[:4].encode() not in kept(running(f"it is {KEY[:end]}".encode()), redactor).data
    assert (
        kept(running(f"it is {KEY}.".encode(), outcome=Outcome.COMPLETE), redactor).data == b"it is <key:1>."
    )


VENDORS = st.sampled_from(
    [KEY, JWT, "ghp_" + "a1B2" * 9, "AKIAIOSFODNN7EXAMPLE", "xoxb-123456789012-abcdefABCDEF"]
)


@given(st.lists(st.text("ab <>:.\n", max_size=8), min_size=2, max_size=4), VENDORS, st.data())
def test_no_part_of_a_secret_is_kept_wherever_a_stream_stops(
    texts: list[str], secret: str, data: st.DataObject
) -> None:
    """As a plain text, over events cut anywhere, compressed, and where the secret is known from a header."""
    said = f" {secret} ".join(texts)
    known = data.draw(st.booleans())
    asked = Request("POST", "/", (("x-api-key", secret),) if known else ())
    form = data.draw(st.sampled_from(["plain", "events", "gzip"]))
    size = data.draw(st.integers(1, 9))
    wire = said.encode()
    if form == "events":
        wire = b"".join(event(said[at : at + size]) for at in range(0, len(said), size))
    stopped = wire[: data.draw(st.integers(0, len(wire)))]
    if form == "gzip":
        packer = zlib.compressobj(wbits=31)
        stopped = packer.compress(stopped) + packer.flush(zlib.Z_SYNC_FLUSH)
    headers: Headers = (("content-encoding", "gzip"),) if form == "gzip" else ()
    result = kept(replace(running(stopped, headers), request=asked)).data
    if form == "gzip":
        result = zlib.decompressobj(31).decompress(result)
    seen = words(result) if form == "events" else result.decode()
    least = secret[: 3 + LEAST]
    assert least not in seen


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("framed", [False, True])
def test_what_is_kept_of_a_running_stream_only_grows(size: int, framed: bool) -> None:
    """Else who adds what is new to what is kept would have to take back what was kept."""
    said = f"a task is {KEY}, and sk-learn; " + (f"{JWT} so." if size > 1 else "and so on.")
    parts = [said[at : at + size] for at in range(0, len(said), size)]
    wire = [written(b"", event(each)[6:-2]) if framed else event(each) for each in parts]
    whole = kept(running(b"".join(wire), outcome=Outcome.COMPLETE)).data
    redactor = Redactor()
    longest = 0
    for count in range(len(wire) + 1):
        data = kept(running(b"".join(wire[:count])), redactor).data
        assert whole.startswith(data)
        assert len(data) >= longest
        longest = len(data)
    assert longest > len(whole) - 3 * len(wire[-1])


def test_base64_that_goes_on_is_held_back_from_where_a_secret_may_begin() -> None:
    packed = base64.b64encode(f"user is {KEY}".encode())[:28]
    assert b"sk-" not in base64.b64decode(kept(running(b"x: " + packed)).data[3:] + b"==")


def test_what_is_escaped_three_times_is_no_beginning() -> None:
    assert kept(running(b"x %252573k-proj-99")).data == b"x %252573k-proj-99"
    assert kept(running(b"x %2573k-proj-99")).data == b"x "


def test_a_beginning_within_base64_is_held_back_at_the_end_alone() -> None:
    packed = base64.b64encode(b"the key is sk-proj-Abc")
    assert kept(running(packed)).data == b""
    assert kept(running(packed + b", is it?")).data == packed + b", is it?"


def test_without_what_is_built_in_only_what_a_rule_finds_is_held_back() -> None:
    redactor = Redactor(Rules(builtin=False, finders=(Pattern("customer", r"C-\d{4}"),)))
    assert kept(running(b"sk-proj-Ab"), redactor).data == b"sk-proj-Ab"
    assert kept(running(b"sk-proj-Ab C-12"), redactor).data == b"sk-proj-Ab "
