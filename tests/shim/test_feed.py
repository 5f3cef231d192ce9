"""What passed arrives with its time and in its order; what there is no room for is known to be missing."""

import os
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.shim.feed import Feed, Intake, Kind


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for descriptor in (reader, writer):
        try:
            os.close(descriptor)
        except OSError:
            continue


@given(st.lists(st.tuples(st.sampled_from([Kind.CLIENT, Kind.SERVER]), st.binary(max_size=300))))
def test_frames_arrive_as_they_were_put(put: list[tuple[Kind, bytes]]) -> None:
    reader, writer = os.pipe()
    feed = Feed(writer, pytest.fail)
    before = time.time()
    for kind, data in put:
        feed.put(kind, data)
    intake = Intake(reader)
    feed.finish(0)
    os.close(writer)
    found = list(intake.frames(lambda: None))
    os.close(reader)
    assert [(kind, data) for kind, _, data in found[:-1]] == put
    times = [at for _, at, _ in found]
    assert times == sorted(times)
    assert all(before - 1 < at < time.time() + 1 for at in times)


def test_what_there_is_no_room_for_is_missed_and_told_once(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    said: list[str] = []
    feed = Feed(writer, said.append, bound=200_000)
    for _ in range(10):
        feed.put(Kind.CLIENT, b"x" * 100_000)
    assert said == ["recording falls behind: not everything is recorded"]
    intake = Intake(reader)
    for _ in range(20):  # until there is room again
        feed.put(Kind.CLIENT, b"again")
        time.sleep(0.05)
    feed.put(Kind.SERVER, b"other")
    feed.finish(0)
    os.close(writer)
    got = [(kind, data[:5]) for kind, _, data in intake.frames(lambda: None)]
    gap = got.index((Kind.CLIENT_MISSED, b""))
    assert set(got[:gap]) == {(Kind.CLIENT, b"xxxxx")}
    assert 2 <= gap < 10
    assert set(got[gap + 1 : -2]) == {(Kind.CLIENT, b"again")}
    assert got[-2:] == [(Kind.SERVER, b"other"), (Kind.OVER, b"")]


def test_when_nobody_reads_any_more_it_says_so_and_nothing_waits(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    said: list[str] = []
    feed = Feed(writer, said.append)
    os.close(reader)
    feed.put(Kind.CLIENT, b"x")
    feed.finish(10)
    deadline = time.monotonic() + 10
    while not said and time.monotonic() < deadline:
        time.sleep(0.01)
    assert said == ["nothing is recorded any more: Broken pipe"]
    feed.put(Kind.CLIENT, b"y" * 1000)
    assert len(said) == 1


def test_the_end_is_waited_for_but_not_for_ever(pipe: tuple[int, int]) -> None:
    _, writer = pipe
    feed = Feed(writer, pytest.fail)
    before = time.monotonic()
    feed.finish(0.05)
    assert 0.04 < time.monotonic() - before < 5
