"""What is open when a recorder is killed is in the store afterwards, as far as it had come."""

import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.exchange import Body, Channel, Chunk, Exchange, Outcome, Recording, Request, Response, Role
from abs_replay.redact import PLACEHOLDER, Redactor
from abs_replay.snapshots import CONTEXT, LOOKS, Snapshots
from abs_replay.store import Store, Unfinished
from abs_replay.store.rows import exchange_of
from abs_replay.store.unfinished import left_open
from abs_replay.tee import Tee

NOW = 1_750_000_000.0
SECRET = "sk-proj-Abcdefghijklmnop1234567890"


@dataclass
class Stream:
    """An exchange whose response goes on."""

    id: str
    tee: Tee = field(default_factory=lambda: Tee(time.perf_counter(), 1 << 20))
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/event-stream"),)
    answered: bool = True
    asked: list[int | None] = field(default_factory=list)

    def says(self, *pieces: bytes) -> "Stream":
        for piece in pieces:
            self.tee(piece)
        return self

    def version(self) -> tuple[object, int]:
        return self.answered, self.tee.pieces

    def unfinished(self, since: int | None = None, most: int | None = None) -> Exchange:
        self.asked.append(since)
        sent = Request("POST", "/v1/x", (("authorization", f"Bearer {SECRET}"),), Body(b"{}"))
        response = Response(200, self.headers, self.tee.body(since or 0, most))
        return Exchange(
            self.id,
            Channel(Role.LLM, "llm"),
            NOW,
            sent if since is None else replace(sent, body=Body()),
            response if self.answered else None,
            Outcome.UNFINISHED,
            ended_ms=float(self.tee.pieces),
        )


def take(snapshots: Snapshots) -> None:
    """Let so much time pass that all that is open is kept."""
    for _ in range(LOOKS):
        snapshots._next = 0.0
        snapshots.turn()


class Case:
    """Snapshots of some streams, taken by hand."""

    def __init__(self, path: Path, *streams: Stream) -> None:
        self.path, self.said = path, list[str]()
        self.store = Store(path)
        self.store.begin(Recording("r1", "chat", NOW))
        self.unfinished = Unfinished(path, "r1")
        self.snapshots = Snapshots(self.unfinished, Redactor(), lambda: streams, self.said.append)

    def take(self) -> None:
        take(self.snapshots)

    def killed(self) -> tuple[Exchange, ...]:
        """What is in the store once nobody holds the folder."""
        left = self.unfinished.path
        kept = [(each.name, each.read_bytes()) for each in left.iterdir()]
        self.snapshots.close()
        left.mkdir(exist_ok=True)
        for name, content in kept:
            (left / name).write_bytes(content)
        return self.store.exchanges()


def events(first: int, last: int) -> list[bytes]:
    return [b'data: {"number": %d}\n\n' % number for number in range(first, last)]


def test_of_a_stream_that_runs_only_what_is_new_is_asked_for(tmp_path: Path) -> None:
    stream = Stream("e1").says(*events(0, 20))
    case = Case(tmp_path / "store.duckdb", stream)
    case.take()
    case.take()
    stream.says(*events(20, 30))
    case.take()
    assert stream.asked == [None, 20 - CONTEXT]
    assert case.store.exchanges() == (), "its recorder lives, and will bring the whole"
    (seen,) = case.killed()
    assert (seen.outcome, seen.ended_ms) == (Outcome.UNFINISHED, 30.0)
    assert seen.response
    assert seen.response.body.data == b"".join(events(0, 30))
    assert [chunk.end for chunk in seen.response.body.chunks] == [
        len(b"".join(events(0, last))) for last in range(1, 31)
    ]
    assert seen.request.body.data == b"{}"
    assert case.said == []


def test_what_ends_before_the_next_look_is_not_written(tmp_path: Path) -> None:
    case = Case(tmp_path / "store.duckdb", Stream("e1").says(b"data: 1\n\n"))
    case.snapshots._next = 0.0
    case.snapshots.turn()
    assert not case.unfinished.path.exists()
    case.snapshots._next = 0.0
    case.snapshots.turn()
    assert case.unfinished.path.exists()
    case.killed()


def test_what_was_left_is_folded_in_by_the_next_to_write(tmp_path: Path) -> None:
    case = Case(tmp_path / "store.duckdb", Stream("e1").says(b"data: 1\n\n"))
    case.take()
    before = case.killed()
    Store(case.path).append("r1", [])
    assert not case.unfinished.path.exists()
    assert Store(case.path).exchanges() == before


def test_an_exchange_that_ended_takes_the_place_of_what_was_kept_of_it(tmp_path: Path) -> None:
    stream = Stream("e1").says(b"data: 1\n\n")
    case = Case(tmp_path / "store.duckdb", stream)
    case.take()
    whole = replace(stream.says(b"data: 2\n\n").unfinished(), outcome=Outcome.COMPLETE)
    case.store.append("r1", [whole])
    assert case.killed() == (whole,)
    case.store.append("r1", [])
    assert case.store.exchanges() == (whole,)


def test_what_has_ended_leaves_nothing_behind(tmp_path: Path) -> None:
    case = Case(tmp_path / "store.duckdb", Stream("e1"), Stream("e2"))
    case.take()
    case.snapshots.ended(["e1", "e2", "e3"])
    case.snapshots.close()
    assert not case.unfinished.path.exists()


def test_a_request_that_waits_for_its_answer_is_kept_and_then_the_answer(tmp_path: Path) -> None:
    stream = Stream("e1", answered=False)
    case = Case(tmp_path / "store.duckdb", stream)
    case.take()
    stream.answered = True
    stream.says(b"data: 1\n\n")
    case.snapshots._kept["e1"].again = 0.0
    case.take()
    (seen,) = case.killed()
    assert seen.response
    assert seen.response.body.data == b"data: 1\n\n"


def test_no_secret_is_written(tmp_path: Path) -> None:
    stream = Stream("e1").says(b"data: 1\n\n")
    case = Case(tmp_path / "store.duckdb", stream)
    case.take()
    stream.says(f"data: {SECRET}\n\n".encode(), b"data: 2\n\n")
    case.take()
    for file in case.unfinished.path.iterdir():
        assert SECRET.encode() not in file.read_bytes()
    (seen,) = case.killed()
    assert seen.response
    assert seen.response.body.data.endswith(b"data: 2\n\n")
    assert seen.redacted


@given(
    pieces=st.lists(
        st.sampled_from([b"data: ok ", b"sk-proj", b"-Abcdefghij", b"klmnop12345", b"67890", b"\n\n"])
    ),
    every=st.integers(1, 4),
)
def test_what_is_kept_in_parts_is_what_would_be_kept_at_once(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], every: int
) -> None:
    path = tmp_path_factory.mktemp("parts") / "store.duckdb"
    unfinished, stream = Unfinished(path, "r1"), Stream("e1")
    snapshots = Snapshots(unfinished, Redactor(), lambda: [stream], pytest.fail)
    for start in range(0, len(pieces) + 1, every):
        stream.says(*pieces[start : start + every])
        take(snapshots)
    unfinished.close()
    (seen,) = [exchange_of(row) for row in left_open(path)]
    whole = Redactor().redact(stream.unfinished())
    assert seen.response
    assert whole.response
    # But for the numbers: words that a later piece made another secret of have taken some.
    bodies = (whole.response.body, seen.response.body)
    numberless = [PLACEHOLDER.sub(rb"<\1>", body.data) for body in bodies]
    assert numberless[0].startswith(numberless[1])
    assert whole.response.body.chunks[: len(seen.response.body.chunks)] == seen.response.body.chunks
    assert len(whole.response.body.chunks) - len(seen.response.body.chunks) <= 8


@given(cut=st.integers(0, 2000))
def test_a_torn_file_gives_what_was_whole_in_it(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("torn") / "store.duckdb"
    unfinished, stream = Unfinished(path, "r1"), Stream("e1").says(*events(0, 3))
    unfinished.put(stream.unfinished())
    (file,) = unfinished.path.glob("*.lines")
    first = file.stat().st_size
    unfinished.grow("e1", len(b"".join(events(0, 3))), Body(b"1", (Chunk(1, 1.0),)), 1.0)
    left = file.read_bytes()[:-cut] if cut else file.read_bytes()
    file.write_bytes(left)
    unfinished.close()
    found = [exchange_of(row) for row in left_open(path)]
    bodies = [each.response.body.data for each in found if each.response]
    whole = b"".join(events(0, 3))
    assert bodies in ([], [whole], [whole + b"1"])
    assert bool(bodies) == (len(left) >= first - 1)


def test_where_it_can_not_be_written_that_is_said_and_tried_again(tmp_path: Path) -> None:
    case = Case(tmp_path / "store.duckdb", Stream("e1").says(b"data: 1\n\n"))
    case.unfinished.path.write_text("in the way")
    case.take()
    assert case.said == [f"what is still open can not be kept in {case.unfinished.path}: File exists"]
    case.unfinished.path.unlink()
    case.take()
    assert len(case.killed()) == 1


KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from abs_replay.exchange import Recording
from abs_replay.recorder import Recorder
from test_snapshots import NOW, Stream
stream = Stream("e1").says(b"data: 1\\n\\n")
recorder = Recorder(Path(sys.argv[1]), Recording("r1", "chat", NOW), opened=lambda: [stream])
for number in range(1000):
    stream.says(b"data: %d\\n\\n" % number)
    print(number, flush=True)
    time.sleep(0.05)
"""


@pytest.mark.processes
def test_a_kill_takes_the_last_second_of_a_stream_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    command = [sys.executable, "-c", KILLED, str(path), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            if int(line) >= 40:
                break
        process.kill()
    (seen,) = Store(path).exchanges()
    assert seen.outcome is Outcome.UNFINISHED
    assert seen.response
    assert len(seen.response.body.chunks) >= 10  # 20 on an idle machine


def test_a_turn_is_short_whatever_is_open(tmp_path: Path) -> None:
    streams = [Stream(f"e{number}").says(*events(0, 50)) for number in range(200)]
    case = Case(tmp_path / "store.duckdb", *streams)
    longest, turns = 0.0, 0
    case.snapshots._next = 0.0
    case.snapshots.turn()  # they are only seen
    case.snapshots._next = 0.0
    while turns == 0 or case.snapshots.patience() == 0:
        began = time.perf_counter()
        case.snapshots.turn()
        longest, turns = max(longest, time.perf_counter() - began), turns + 1
    assert turns > 1
    assert longest < 0.5  # 0.012 s on an idle machine
    assert len(case.killed()) == 200
