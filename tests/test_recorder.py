"""What is put is on disk within 250 ms, without secrets, whoever else holds the store."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from abs_replay.errors import RecordingError, StoreError
from abs_replay.exchange import Body, Channel, Exchange, Outcome, Recording, Request, Response, Role
from abs_replay.recorder import Recorder
from abs_replay.store import Spool, Store
from abs_replay.summary import Summary
from abs_replay.tee import Tee

NOW = 1_750_000_000.0
SECRET = "sk-proj-Abcdefghijklmnop1234567890"


def exchange(number: int, **changes: object) -> Exchange:
    whole = Exchange(
        id=f"exchange-{number}",
        channel=Channel(Role.LLM, "llm"),
        started_at=NOW + number,
        request=Request("POST", "/v1/x", (("authorization", f"Bearer {SECRET}"),), Body(b"{}")),
        response=Response(200, (("content-type", "text/event-stream"),), Body(b"data: x\n\n")),
        ended_ms=1.0,
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


class Case:
    def __init__(self, path: Path) -> None:
        self.path, self.said = path, list[str]()
        self.recorder = Recorder(path, Recording("r1", "chat", NOW), say=self.said.append)

    def kept(self) -> list[str]:
        return [each.id for each in Store(self.path).exchanges("r1")]


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    made = Case(tmp_path / "new" / "store.duckdb")
    yield made
    made.recorder.close()


def within(seconds: float, reached: object) -> bool:
    assert callable(reached)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if reached():
            return True
        time.sleep(0.01)
    return False


def in_store(case: Case) -> bool:
    """Whether what was spooled first is in the store now."""
    return case.path.is_file() and Spool(case.path).is_empty


def test_an_exchange_is_in_the_store_while_the_recording_goes_on(case: Case) -> None:
    case.recorder.put(exchange(1))
    assert within(3.0, lambda: case.kept() == ["exchange-1"])
    case.recorder.put(lambda: exchange(2))
    assert within(3.0, lambda: case.kept() == ["exchange-1", "exchange-2"])


def test_closing_keeps_all_that_was_put_and_notes_the_end(case: Case) -> None:
    for number in range(1200):
        case.recorder.put(exchange(number))
    assert case.recorder.close() == Summary(1200, 1200, 1200 * 11, 0, 0, 0)
    assert case.kept() == [f"exchange-{number}" for number in range(1200)]
    assert (Store(case.path).recording("r1").ended_at or 0) > NOW


HOLD = """
import sys
from pathlib import Path
from abs_replay.store import Store
with Store(Path(sys.argv[1])).writing():
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """The store, held open by another process."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.communicate(b"")


@pytest.mark.processes
def test_what_can_not_wait_for_another_process_is_spooled_and_later_folded_in(case: Case) -> None:
    with held(case.path):
        began = time.monotonic()
        case.recorder.put(exchange(1))
        assert within(5.0, lambda: Spool(case.path).rows())
        assert within(5.0, lambda: case.recorder.summary.spooled == 1)
        assert time.monotonic() - began < 1.0  # 0.25 s on an idle machine
    case.recorder.put(exchange(2))
    summary = case.recorder.close()
    assert (summary.exchanges, summary.spooled, summary.lost) == (2, 1, 0)
    assert case.kept() == ["exchange-1", "exchange-2"]
    assert case.said == []


@pytest.mark.processes
def test_a_store_that_is_held_for_long_is_said_once_and_so_is_that_all_is_in_it(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("abs_replay.store.holders.LONG_S", 0.4)
    with held(case.path):
        case.recorder.put(exchange(1))
        assert within(5.0, lambda: len(case.said) == 1)
        case.recorder.put(exchange(2))
        assert within(5.0, lambda: case.recorder.summary.spooled == 2)
        (line,) = case.said
        assert str(Spool(case.path).path) in line
        assert "is held by process" in line
    assert within(5.0, lambda: len(case.said) == 2)
    assert "free again" in case.said[1]
    assert not Spool(case.path).path.exists()
    assert case.kept() == ["exchange-1", "exchange-2"]


@pytest.mark.processes
def test_a_recording_on_a_store_that_is_held_begins_in_the_spool_and_says_so_at_once(tmp_path: Path) -> None:
    path, said = tmp_path / "store.duckdb", list[str]()
    Store(path).begin(Recording("r1", "before", NOW))
    with held(path):
        began = time.monotonic()
        recorder = Recorder(path, Recording("r2", "chat", NOW), say=said.append)
        assert time.monotonic() - began < 3.0  # 0.5 s on an idle machine
        (line,) = said
        assert "is held by process" in line
        assert f"goes to {Spool(path).path}" in line
        recorder.put(exchange(1))
        assert within(5.0, lambda: recorder.summary.spooled == 1)
    assert within(5.0, lambda: len(said) == 2)
    assert "free again" in said[1]
    recorder.put(exchange(2))
    summary = recorder.close()
    assert (summary.exchanges, summary.spooled, summary.lost) == (2, 1, 0)
    assert [each.id for each in Store(path).exchanges("r2")] == ["exchange-1", "exchange-2"]


@pytest.mark.processes
def test_a_recorder_that_is_killed_while_its_store_was_held_leaves_its_recording(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    Store(path).begin(Recording("r1", "before", NOW))
    with held(path):
        Store(path).begin_later(Recording("r2", "killed", NOW))
        Spool(path).append("r2", [exchange(1)])
    assert Store(path).recording("killed").id == "r2"
    assert [each.id for each in Store(path).exchanges("r2")] == ["exchange-1"]


@pytest.mark.processes
def test_what_still_waits_in_the_spool_at_the_end_is_said(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(case.recorder._store, "_patience", 0.2)
    with held(case.path):
        case.recorder.put(exchange(1))
        summary = case.recorder.close()
        assert (summary.exchanges, summary.lost) == (1, 0)
        assert any(str(Spool(case.path).path) in line for line in case.said)
    assert case.kept() == ["exchange-1"]


@pytest.mark.processes
def test_no_secret_is_written_neither_to_the_store_nor_to_the_spool(case: Case) -> None:
    with held(case.path):
        case.recorder.put(exchange(1))
        assert within(5.0, lambda: Spool(case.path).rows())
        assert SECRET.encode() not in Spool(case.path).path.read_bytes()
    case.recorder.put(exchange(2))
    case.recorder.close()
    assert [each.redacted for each in Store(case.path).exchanges()] == [True, True]
    for file in case.path.parent.iterdir():
        assert SECRET.encode() not in file.read_bytes(), file.name


READ = """
import sys
from pathlib import Path
from abs_replay.store import Store
for _ in range(2):
    print(len(Store(Path(sys.argv[1]), 3.0).exchange_summaries()))
"""


@pytest.mark.processes
def test_readers_get_in_while_much_is_being_recorded(case: Case) -> None:
    stop = threading.Event()

    def load() -> None:
        number = 0
        while not stop.wait(0.004):
            case.recorder.put(exchange(number := number + 1))

    loading = threading.Thread(target=load)
    loading.start()
    try:
        command = [sys.executable, "-c", READ, str(case.path)]
        counts = subprocess.run(command, capture_output=True, check=True, timeout=30)
    finally:
        stop.set()
        loading.join()
    assert len(counts.stdout.split()) == 2
    assert case.recorder.close().lost == 0


@contextmanager
def unwritable(path: Path) -> Iterator[None]:
    """Neither the store nor its spool can be written."""
    path.unlink(missing_ok=True)
    for each in (path, Spool(path).path):
        each.mkdir()
    yield
    for each in (path, Spool(path).path):
        each.rmdir()


def test_what_can_be_written_nowhere_waits_in_memory_and_is_kept_later(case: Case) -> None:
    with unwritable(case.path):
        case.recorder.put(exchange(1))
        assert within(5.0, lambda: case.said)
        case.recorder.put(exchange(2))
        time.sleep(0.2)
    assert within(5.0, lambda: case.recorder.summary.exchanges == 2 and in_store(case))
    assert case.kept() == ["exchange-1", "exchange-2"]
    summary = case.recorder.close()
    assert (summary.exchanges, summary.lost) == (2, 0)
    assert any(line.endswith("what is recorded waits in memory") for line in case.said)


def test_what_can_be_written_nowhere_until_the_end_is_lost_loudly(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("abs_replay.recorder.AT_LAST_S", 0.2)
    with unwritable(case.path):
        case.recorder.put(exchange(1))
        assert case.recorder.close().lost == 1
    assert "LOST 1 exchange: neither the store nor its spool could be written until the end" in case.said


def test_what_waits_is_bounded_and_what_is_beyond_is_lost_loudly(tmp_path: Path) -> None:
    path, said = tmp_path / "store.duckdb", list[str]()
    recorder = Recorder(path, Recording("r1", "chat", NOW), say=said.append, memory=1 << 20)
    large = Request("POST", "/", (), Body(bytes(400_000)))
    with unwritable(path):
        began = time.monotonic()
        for number in range(50):
            recorder.put(exchange(number, request=large))
        assert time.monotonic() - began < 0.1
        assert within(5.0, lambda: recorder.summary.lost == 48)
    summary = recorder.close()
    assert (summary.exchanges, summary.lost) == (2, 48)
    assert "LOST 48 exchanges: more than 1 MiB waited to be written" in said


def test_one_that_is_larger_than_the_bound_is_kept_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    recorder = Recorder(path, Recording("r1", "chat", NOW), memory=1000)
    recorder.put(exchange(1, request=Request("POST", "/", (), Body(bytes(5000)))))
    assert recorder.close().exchanges == 1


def test_what_another_recorder_spools_is_not_said_to_be_left_of_this_one(case: Case) -> None:
    ended = threading.Event()

    def another() -> None:
        spool, number = Spool(case.path), 100
        while not ended.wait(0.002):
            spool.append("r2", [exchange(number := number + 1)])

    thread = threading.Thread(target=another)
    thread.start()
    case.recorder.put(exchange(1))
    case.recorder.close()
    ended.set()
    thread.join()
    assert case.said == []


@pytest.mark.parametrize("pause", [0.0, 0.5], ids=["while it is open", "while it is closed"])
def test_what_was_in_a_store_that_was_deleted_is_counted_as_lost_and_said(case: Case, pause: float) -> None:
    for number in (1, 2):
        case.recorder.put(exchange(number))
    assert within(5.0, lambda: case.recorder.summary.exchanges == 2 and in_store(case))
    time.sleep(pause)
    case.path.unlink()
    case.recorder.put(exchange(3))
    summary = case.recorder.close()
    assert (summary.exchanges, summary.lost) == (1, 2)
    assert case.kept() == ["exchange-3"]
    assert f"LOST 2 exchanges: store {case.path} was deleted or moved while recording" in "".join(case.said)


def test_a_store_that_is_deleted_after_the_last_exchange_is_no_quiet_end(case: Case) -> None:
    case.recorder.put(exchange(1))
    assert within(5.0, lambda: case.recorder.summary.exchanges == 1 and in_store(case))
    time.sleep(0.2)
    case.path.unlink()
    assert (case.recorder.close().lost, case.kept()) == (1, [])


def test_an_exchange_that_can_not_be_made_is_lost_loudly_and_the_others_are_kept(case: Case) -> None:
    def broken() -> Exchange:
        raise MemoryError("no room")

    case.recorder.put(exchange(1))
    case.recorder.put(broken)
    case.recorder.put(exchange(2))
    assert case.recorder.close().lost == 1
    assert case.said == ["LOST 1 exchange: an exchange could not be read: MemoryError('no room')"]
    assert case.kept() == ["exchange-1", "exchange-2"]


def test_the_summary_counts_streams_errors_and_bytes_on_the_wire(case: Case) -> None:
    plain = Response(200, (("content-type", "application/json"),), Body(b"12", size=1000))
    case.recorder.put(exchange(1))
    case.recorder.put(exchange(2, response=plain))
    case.recorder.put(exchange(3, response=replace(plain, status=500)))
    case.recorder.put(exchange(4, response=None, outcome=Outcome.REFUSED))
    case.recorder.put(exchange(5, outcome=Outcome.CLIENT_CLOSED))
    case.recorder.put(exchange(6, outcome=Outcome.UPSTREAM_CLOSED))
    summary = case.recorder.close()
    assert (summary.exchanges, summary.streams, summary.errors) == (6, 3, 3)
    assert summary.bytes == 6 * 2 + 3 * 9 + 2 * 1000


def test_a_store_that_can_not_be_made_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as raised:
        Recorder(tmp_path / "file" / "store.duckdb", Recording("r1", "chat", NOW))
    assert isinstance(raised.value, RecordingError)
    assert "file" in str(raised.value)


def test_a_tee_keeps_what_it_is_given_up_to_its_limit() -> None:
    tee = Tee(time.perf_counter(), 5)
    for piece in (b"abc", b"", b"def", b"ghi"):
        assert tee(piece) is piece
    body = tee.body()
    assert (body.data, body.size) == (b"abcde", 9)
    assert [chunk.end for chunk in body.chunks] == [3, 5]
    assert body.cut
