"""Frames of AWS's event streams: both checksums count, and what is broken ends the stream."""

import struct
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.decoders import aws_events
from abs_replay.decoders.aws_events import Frame
from tests.event_frames import event, frame

HEADERS = {":event-type": "a", ":message-type": "event"}
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
frames = st.lists(st.tuples(st.dictionaries(names, names, max_size=3), st.binary(max_size=20)), max_size=4)


@settings(max_examples=60)
@given(frames)
def test_what_was_written_is_read(given_frames: list[tuple[dict[str, str], bytes]]) -> None:
    data = b"".join(frame(payload, headers) for headers, payload in given_frames)
    found = aws_events.read(data)
    assert found.fault is None
    assert [(dict(one.headers), one.payload) for one in found.frames] == given_frames


@settings(max_examples=100)
@given(frames.filter(bool), st.data())
def test_one_wrong_bit_ends_the_stream_at_its_frame(
    given_frames: list[tuple[dict[str, str], bytes]], data: st.DataObject
) -> None:
    made = [frame(payload, headers) for headers, payload in given_frames]
    number = data.draw(st.integers(0, len(made) - 1))
    bit = data.draw(st.integers(0, len(made[number]) * 8 - 1))
    made[number] = (int.from_bytes(made[number]) ^ (1 << bit)).to_bytes(len(made[number]))
    found = aws_events.read(b"".join(made))
    assert [one.payload for one in found.frames] == [payload for _, payload in given_frames[:number]]
    assert found.fault is not None
    assert found.fault.startswith(f"frame {number}, at byte {sum(map(len, made[:number]))}, has ")


@pytest.mark.parametrize("left", [1, 11, 12, 40])
def test_a_stream_that_is_cut_keeps_what_came_before(left: int) -> None:
    found = aws_events.read(frame(b"one", HEADERS) + frame(b"two", HEADERS)[:left])
    assert found.frames == (Frame(HEADERS, b"one"),)
    assert found.fault is not None
    assert found.fault.endswith("is cut off")


def checked(total: int, headers: bytes, length: int | None = None) -> bytes:
    """Make a frame whose checksums fit, whatever its lengths and headers say."""
    lengths = struct.pack("!II", total, len(headers) if length is None else length)
    start = lengths + struct.pack("!I", crc32(lengths)) + headers
    return start + struct.pack("!I", crc32(start))


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (checked(12, b""), "is shorter than its headers"),
        (checked(16, b"", length=4), "is shorter than its headers"),
        (checked(19, b"\x01a\x63"), "has headers that can not be read"),
        (checked(21, b"\x01a\x07\x00\x09"), "has headers that can not be read"),
        (checked(18, b"\x09a"), "has headers that can not be read"),
        (checked(22, b"\x01a\x07\x00\x01\xff"), "has headers that can not be read"),
    ],
)
def test_frames_that_contradict_themselves_are_broken(data: bytes, fault: str) -> None:
    found = aws_events.read(data)
    assert found.frames == ()
    assert found.fault == f"frame 0, at byte 0, {fault}"


def test_headers_that_are_no_text_are_passed_over() -> None:
    values = {
        0: b"",
        1: b"",
        2: b"x",
        3: b"xx",
        4: b"x" * 4,
        5: b"x" * 8,
        6: b"\x00\x02xx",
        8: b"x" * 8,
        9: b"x" * 16,
    }
    head = (
        b"".join(b"\x01a" + bytes([kind]) + value for kind, value in values.items()) + b"\x01b\x07\x00\x01c"
    )
    assert aws_events.read(checked(16 + len(head), head)).frames == (Frame({"b": "c"}, b""),)


def test_a_stream_is_known_by_its_first_checksum_or_its_type() -> None:
    data = event("a", {})
    assert aws_events.is_stream("", data)
    assert aws_events.is_stream("application/vnd.amazon.eventstream", b"")
    assert not aws_events.is_stream("application/json", b'{"message": "no"}')
    assert not aws_events.is_stream("", b"")


@settings(max_examples=100)
@given(st.binary(max_size=60))
def test_any_bytes_are_taken(data: bytes) -> None:
    found = aws_events.read(data)
    assert not data or found.fault or found.frames


def test_lengths_are_checked_before_they_are_believed() -> None:
    data = bytearray(frame(b"one", HEADERS))
    data[3] ^= 1
    assert aws_events.read(bytes(data)).fault == (
        "frame 0, at byte 0, has lengths that their checksum does not fit"
    )
