"""Secrets are found wherever they hide, and what hid them is as valid as before."""

import base64
import json
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.decoders import aws_events
from abs_replay.exchange import (
    Exchange,
    Message,
    Request,
    Response,
    WebSocket,
)
from abs_replay.redact import Redactor, redact, searching
from abs_replay.redact.frames import written
from tests.redact.sent import KEY, SECRET, WORDS, answer_of, body_of, exchange

FRAMES = "application/vnd.amazon.eventstream"


@pytest.mark.parametrize(
    ("hidden", "kept"),
    [
        (KEY.replace("-", r"\u002d"), "<key:1>"),
        (KEY.replace("j", r"\u006A"), "<key:1>"),
        (KEY.replace("-", "%2D"), "<key:1>"),
        (r"https:\/\/me:pass1@h", r"https:\/\/me:<auth:1>@h"),
        ("Authorization: Basic bWU6cGFzczE=", "Authorization: Basic <auth:1>"),
    ],
)
def test_escapes_hide_nothing(hidden: str, kept: str) -> None:
    assert body_of(f'{{"a": "x {hidden} y"}}'.encode()).decode() == f'{{"a": "x {kept} y"}}'


def test_base64_that_has_a_secret_is_written_anew() -> None:
    for plain in (f"user:{KEY}", f'{{"k": "{KEY}", "n": "é"}}', f"{KEY}\n" * 3, f"\x00\xff{KEY}" * 20):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            packed = encode(plain.encode("utf-8")).decode()
            body = json.loads(body_of(json.dumps({"a": packed}).encode()))
            raw = base64.urlsafe_b64decode(body["a"].replace("+", "-").replace("/", "_"))
            assert raw.decode() == plain.replace(KEY, "<key:1>")


def test_base64_keeps_its_missing_padding() -> None:
    packed = base64.b64encode(f"ab {KEY}".encode()).rstrip(b"=")
    assert body_of(packed) == base64.b64encode(b"ab <key:1>").rstrip(b"=")


@pytest.mark.parametrize("before", [64 * 1024 - 17, 64 * 1024 - 16, 64 * 1024 - 1, 64 * 1024])
def test_base64_over_the_slices_of_a_large_text_is_found(before: int) -> None:
    packed = base64.b64encode(f"the key is {KEY}.".encode())
    kept = base64.b64encode(b"the key is <key:1>.")
    assert body_of(b" " * before + packed) == b" " * before + kept


@pytest.mark.parametrize("before", [64 * 1024 - 8, 64 * 1024, 100_000])
def test_a_secret_over_the_slices_of_a_large_text_is_found_once(before: int) -> None:
    assert body_of(b" " * before + KEY.encode() + b" " * 99) == b" " * before + b"<key:1>" + b" " * 99


def test_base64_in_lines_stays_in_lines() -> None:
    plain = b"some words before " * 4 + KEY.encode() + b" and some behind" * 3
    body = body_of(base64.encodebytes(plain))
    assert base64.decodebytes(body) == plain.replace(KEY.encode(), b"<key:1>")
    assert max(map(len, body.split())) == 76


def test_base64_in_a_path_is_found_beside_its_slashes() -> None:
    packed = base64.b64encode(f"me:{KEY}".encode()).decode()
    result = redact(replace(exchange(), request=Request("GET", f"/some/{packed}/path"))).request.target
    assert base64.b64decode(result.split("/")[2]) == b"me:<key:1>"


@pytest.mark.parametrize(
    "text", [b"A" * 3000, b"abcdefghijklmnopqrstuvwxyz" * 8, b"deadbeef" * 8, b"%41%zz\\u0041\\/"]
)
def test_what_hides_nothing_keeps_its_bytes(text: bytes) -> None:
    assert body_of(text) == text


def test_a_password_of_basic_credentials_in_a_text_is_a_secret_elsewhere() -> None:
    packed = base64.b64encode(b"me:pass-word-99").decode()
    assert body_of(f"-H 'Authorization: Basic {packed}' pass-word-99".encode()) == (
        b"-H 'Authorization: Basic <auth:1>' <auth:2>"
    )
    assert body_of(b"Basic understanding, basic information") == b"Basic understanding, basic information"


def frame(event: object, kind: str = "chunk") -> bytes:
    inner = json.dumps(event).encode()
    payload = json.dumps({"bytes": base64.b64encode(inner).decode(), "p": "abc"}).encode()
    return written(bytes((11,)) + b":event-type" + b"\x07" + len(kind).to_bytes(2) + kind.encode(), payload)


def delta(text: str) -> dict[str, object]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


def said(stream: aws_events.Stream) -> str:
    assert stream.fault is None
    inner = [json.loads(base64.b64decode(json.loads(each.payload)["bytes"])) for each in stream.frames]
    return "".join(each["delta"]["text"] for each in inner)


@pytest.mark.parametrize("size", [1, 9, 60])
def test_secrets_over_frames_of_a_binary_stream_are_replaced_and_the_frames_stay_valid(size: int) -> None:
    text = f"it is {KEY} indeed"
    wire = [frame(delta(text[at : at + size])) for at in range(0, len(text), size)]
    ends = tuple(accumulate(map(len, wire)))
    body = answer_of(redact(exchange(b"", FRAMES, b"".join(wire), ends)))
    assert said(aws_events.read(body.data)) == "it is <key:1> indeed"
    assert len(body.chunks) == len(wire)
    assert body.chunks[-1].end == len(body.data)
    assert aws_events.read(body.data[: body.chunks[0].end]).fault is None


def test_headers_of_frames_lose_their_secrets_too_and_plain_payloads() -> None:
    wire = frame({"a": 1}, f"x {KEY}") + written(b"", f'{{"contentBlockDelta": "{KEY}"}}'.encode())
    stream = aws_events.read(answer_of(redact(exchange(b"", FRAMES, wire))).data)
    assert stream.fault is None
    assert stream.frames[0].headers[":event-type"] == "x <key:1>"
    assert stream.frames[1].payload == b'{"contentBlockDelta": "<key:1>"}'


def test_headers_of_frames_that_are_no_text_stay() -> None:
    seven, blob = b"\x01n\x04\x00\x00\x00\x07", b"\x01b\x06\x00\x03sk-"
    said = b"\x01t\x07" + len(KEY).to_bytes(2) + KEY.encode()
    body = answer_of(redact(exchange(b"", FRAMES, written(seven + blob + said, b"{}")))).data
    assert body == written(seven + blob + b"\x01t\x07\x00\x07<key:1>", b"{}")


def test_bytes_in_a_frame_that_are_no_base64_are_searched_as_they_are() -> None:
    wire = written(b"", b'{"bytes": "abcde", "k": "%b"}' % KEY.encode())
    body = answer_of(redact(exchange(b"", FRAMES, wire))).data
    assert body == written(b"", b'{"bytes": "abcde", "k": "<key:1>"}')


def test_a_secret_behind_the_frames_is_replaced() -> None:
    wire = frame(delta("nothing here"))
    assert answer_of(redact(exchange(b"", FRAMES, wire + KEY.encode()))).data == wire + b"<key:1>"


def test_a_binary_stream_without_secrets_keeps_its_bytes_also_broken() -> None:
    wire = frame(delta("nothing here")) + written(b"\x01a\x63", b"")
    for data in (wire, wire[:-3], wire[:20], wire + b"\0" * 30):
        plain = exchange(b"", FRAMES, data)
        assert redact(plain) is plain


def socket(*messages: Message, reason: str = "") -> Exchange:
    return replace(exchange(), websocket=WebSocket(messages, 1000, reason, True))


def test_messages_of_a_websocket_lose_their_secrets_and_keep_their_times() -> None:
    sent = Message(True, f'{{"authorization": "Bearer {KEY}"}}'.encode(), True, 1.0)
    binary = Message(False, b"\x00" + KEY.encode() + b"\x01", False, 2.0, 36)
    kept = redact(socket(sent, binary, reason=f"bad {KEY}")).websocket
    assert kept is not None
    assert kept.messages == (
        Message(True, b'{"authorization": "Bearer <key:1>"}', True, 1.0),
        Message(False, b"\x00<key:1>\x01", False, 2.0, 9),
    )
    assert kept.close_reason == "bad <key:1>"


@pytest.mark.parametrize("size", [1, 7, 40])
def test_a_secret_of_which_every_message_carries_a_part_is_replaced(size: int) -> None:
    text = f"it is {KEY} indeed"
    messages = [
        Message(False, json.dumps({"type": "delta", "delta": text[at : at + size]}).encode(), True, float(at))
        for at in range(0, len(text), size)
    ]
    between = Message(True, b'{"delta": "other"}', True, 0.5)
    kept = redact(socket(messages[0], between, *messages[1:])).websocket
    assert kept is not None
    assert (
        "".join(json.loads(m.data)["delta"] for m in kept.messages if not m.from_client)
        == "it is <key:1> indeed"
    )
    assert kept.messages[1] == between


def test_joining_messages_ends_even_where_more_could_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "PASSES", 1)
    text = f"it is {KEY} indeed"
    parts = [Message(False, part.encode(), True, 1.0) for part in (text[:15], text[15:])]
    kept = redact(socket(*parts)).websocket
    assert kept is not None
    assert b"".join(each.data for each in kept.messages) == b"it is <key:1> indeed"


def test_a_websocket_without_secrets_is_left_alone() -> None:
    plain = socket(Message(True, b"hello\n", True, 1.0), Message(False, b"\x00", False, 1.0))
    assert redact(plain) is plain


def test_trailers_reasons_and_hosts_lose_their_secrets() -> None:
    response = Response(401, reason=f"bad {KEY}", trailers=(("x-api-key", "abc"), ("x", KEY)))
    result = redact(replace(exchange(), response=response, request=Request("GET", "/", host=f"a.{KEY}.b")))
    assert result.response is not None
    assert result.response.reason == "bad <key:2>"
    assert result.response.trailers == (("x-api-key", "<key:1>"), ("x", "<key:2>"))
    assert result.request.host == "a.<key:2>.b"


def test_texts_and_recordings_lose_their_secrets_with_what_the_exchanges_taught() -> None:
    redactor = Redactor()
    redactor.redact(exchange(b"", "", f"x-{KEY} api_key=abc".encode()))
    redactor.redact(replace(exchange(), request=Request("GET", "/", (("x-api-key", "my-own-key-77"),))))
    assert redactor.text("ValueError('my-own-key-77 https://me:pw1@h/?token=a')") == (
        "ValueError('<key:2> https://me:<auth:1>@h/?token=<key:3>')"
    )


@given(SECRET, st.lists(st.tuples(WORDS, WORDS), max_size=6), st.data())
def test_json_stays_json_however_its_secrets_are_written(
    secret: str, members: list[tuple[str, str]], data: st.DataObject
) -> None:
    """Planted in values and names, escaped at random, in JSON inside JSON, in base64."""
    value: object = dict(members) | {"plain": f" {secret} ", secret: 1}
    value = {"a": value, "in": json.dumps(value), "b": base64.b64encode(f"u:{secret}".encode()).decode()}
    text = json.dumps(
        value, ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.sampled_from([None, 2]))
    )
    if data.draw(st.booleans()):
        text = (
            text.replace(secret[5], f"\\u{ord(secret[5]):04x}")
            if secret[5] not in "0123456789abcdefnrtuABCDEF"
            else text
        )
        text = text.replace("/", "\\/")
    body = body_of(text.encode())
    kept = json.loads(body)
    assert secret not in json.dumps(kept, ensure_ascii=False)
    assert secret not in base64.b64decode(kept["b"]).decode()
    assert json.loads(kept["in"])["plain"] == " <key:1> "
    assert body_of(body) == body
