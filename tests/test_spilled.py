"""Bytes in a file without a name: given again as they were, also where the disk is full."""

import resource
import signal

import pytest

from abs_replay import spilled
from abs_replay.spilled import Spilled


def test_bytes_are_given_again_whether_they_are_written_yet_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "_AT_ONCE", 100)
    room, places, end = Spilled(), list[tuple[int, bytes]](), 0
    for number in range(60):
        data = bytes([number]) * (number + 1)
        assert room.append(data)
        places.append((end, data))
        end += len(data)
    assert [room.read(start, len(data)) for start, data in places] == [data for _, data in places]


def test_few_bytes_need_no_file() -> None:
    room = Spilled()
    room.append(b"few")
    assert (room.read(0, 3), room._file) == (b"few", None)


def test_a_full_disk_loses_nothing_that_was_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "_AT_ONCE", 100)
    room = Spilled()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150, limits[1]))
    try:
        taken = [room.append(b"x" * 90 + b"y") for _ in range(6)]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert taken[0]
    assert not taken[-1]
    kept = sum(taken)
    assert room.read(0, 91 * kept) == (b"x" * 90 + b"y") * kept
