"""`abs record` seen and steered while it runs: by `abs tail`, by requests for marks, at its terminal."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.exchange import Channel, Exchange, Outcome, Recording, Role
from abs_replay.exchange import Request as Asked
from abs_replay.running import Running, noted, running
from abs_replay.store import Store

ABS = [sys.executable, "-c", "from abs_replay.cli import main; main()"]
# The terminal becomes that of the session, as if a shell had started it there.
AT_TERMINAL = [
    sys.executable,
    "-c",
    "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from abs_replay.cli import main; main()",
]


class Agent(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        answer = b'{"message": {"role": "assistant", "content": "Yes."}}'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def agent() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Agent) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/chat"
        server.shutdown()
        thread.join()


def posted(url: str, body: bytes) -> object:
    with urlopen(Request(url, body, {"content-type": "application/json"}), timeout=10) as answer:
        return json.load(answer)


def says(url: str, text: str) -> None:
    posted(url, json.dumps({"messages": [{"role": "user", "content": text}]}).encode())


@pytest.mark.processes
def test_a_recording_is_followed_and_marked_from_elsewhere(agent: str, tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    record = [*ABS, "record", "--agent", agent, "--port", "0", "--store", str(store), "--json-log"]
    tail = [*ABS, "tail", "--store", str(store), "--format", "json"]
    with subprocess.Popen(record, stderr=subprocess.PIPE, text=True) as recorder:
        try:
            assert recorder.stderr
            url = json.loads(recorder.stderr.readline())["listeners"]["agent"]
            says(url, "Hello?")
            with subprocess.Popen(
                tail, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            ) as follower:
                assert follower.stdout
                assert follower.stderr
                first = json.loads(follower.stdout.readline())
                marked = posted(url.removesuffix("/chat") + "/__abs__/mark", b'{"name": "lamp"}')
                says(url, "A lamp.")
                second = json.loads(follower.stdout.readline())
                recorder.send_signal(signal.SIGINT)
                assert follower.wait(15) == 0
                assert "the recording has ended, with 2 exchanges" in follower.stderr.read()
            events = [json.loads(line) for line in recorder.stderr]
            assert recorder.wait(15) == 0
        finally:
            recorder.kill()
    assert [first["target"], second["target"]] == ["/chat", "/chat"]
    assert first["id"] != second["id"]
    by_name = {event["event"]: event for event in events}
    assert isinstance(marked, dict)
    assert (by_name["mark"]["at"], by_name["mark"]["name"]) == (marked["at"], "lamp")
    assert (by_name["ended"]["marks"], by_name["ended"]["exchanges"], by_name["ended"]["spooled"]) == (
        1,
        2,
        0,
    )
    times = [event["time"] for event in events]
    assert times == sorted(times)
    assert [trace.name for trace in Store(store).traces()] == [None, "lamp"]
    assert running(store) == ()


@pytest.mark.processes
def test_at_its_terminal_a_line_tells_how_it_goes_and_m_sets_a_mark(agent: str, tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    ours, its = os.openpty()
    command = [*AT_TERMINAL, "record", "--agent", agent, "--port", "0", "--store", str(store)]
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its, start_new_session=True) as recorder:
        try:
            os.close(its)
            seen = read_until(ours, b"0 exchanges, 0 errors")
            assert b"m and Enter" in seen
            os.write(ours, b"m a lamp\nx\nm\n")
            read_until(ours, b"called 'a lamp'")
            read_until(ours, b"2 marks")
            os.write(ours, b"\x03")
            read_until(ours, b"recorded ")
            assert recorder.wait(15) == 0
        finally:
            recorder.kill()
            os.close(ours)
    assert [mark.name for mark in Store(store).recording("last").marks] == ["a lamp", None]


def read_until(terminal: int, wanted: bytes) -> bytes:
    seen, until = b"", time.monotonic() + 20
    while wanted not in seen and time.monotonic() < until:
        seen += os.read(terminal, 4096)
    assert wanted in seen
    return seen


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A recording of twelve exchanges that has ended."""
    store = Store(tmp_path / "s.duckdb")
    store.begin(Recording("r1", "demo", 1.0))
    channels = Channel(Role.TOOL, "shop"), Channel(Role.LLM, "llm")
    asked = Asked("GET", "/\x1b[31mx")
    each = [
        Exchange(f"e{n:02}", channels[n % 2], 100000.0 + n, asked, None, Outcome.REFUSED, ended_ms=3.0)
        for n in range(12)
    ]
    store.append("r1", each)
    store.end("r1", 9.0)
    return store


def test_of_a_recording_that_has_ended_the_last_ten_are_shown(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(cli, ["tail", "--store", str(store.path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert "tool:shop       –  refused" in lines[0]
    assert lines[0].endswith("GET /\\x1b[31mx")
    for channel, count in (("llm", 5), ("shop", 5), ("tool:shop", 5), ("tool", 5), ("agent", 0)):
        assert run(cli, ["tail", "demo", "--store", str(store.path), "--channel", channel]) == 0
        assert len(capsys.readouterr().out.splitlines()) == count


def test_where_the_noted_recorder_does_not_answer_the_store_tells_the_rest(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    with noted(store.path, Running("r1", "demo", os.getpid(), "http://127.0.0.1:9", "token")):
        assert run(cli, ["tail", "--store", str(store.path), "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert [json.loads(line)["id"] for line in out.splitlines()] == [f"e{n:02}" for n in range(2, 12)]
    assert "the recording has ended, with 12 exchanges" in err


def test_without_a_store_or_a_recording_a_line_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(cli, ["tail", "--store", str(tmp_path / "none.duckdb")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
