"""What passed arrives with its time and in its order; what there is no room for is known to be missing."""

import os
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.shim.feed import Feed, Frame, Kind, frames


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for descriptor in (reader, writer):
        try:
            os.close(descriptor)
        except OSError:
            continue


def read(reader: int, until: Kind = Kind.OVER) -> list[Frame]:
    found: list[Frame] = []
    for frame in frames(reader, lambda: None):
        found.append(frame)
        if frame[0] is until:
            break
    return found


@given(st.lists(st.tuples(st.sampled_from([Kind.CLIENT, Kind.SERVER]), st.binary(max_size=300))))
def test_frames_arrive_as_they_were_put(put: list[tuple[Kind, bytes]]) -> None:
    reader, writer = os.pipe()
    feed = Feed(writer, pytest.fail)
    before = time.time()
    for kind, data in put:
        feed.put(kind, data)
    feed.put(Kind.OVER)
    found = read(reader)
    os.close(reader)
    os.close(writer)
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
    got: list[Frame] = []
    thread = threading.Thread(target=lambda: got.extend(read(reader)))
    thread.start()
    deadline = time.monotonic() + 10
    while len(got) < 1 and not thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)  # there is room again
    feed.put(Kind.SERVER, b"other")
    feed.put(Kind.CLIENT, b"again")
    feed.put(Kind.OVER)
    thread.join(10)
    kinds = [kind for kind, _, _ in got]
    assert kinds[-4:] == [Kind.SERVER, Kind.CLIENT_MISSED, Kind.CLIENT, Kind.OVER]
    assert 2 <= kinds.count(Kind.CLIENT) - 1 < 10


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
