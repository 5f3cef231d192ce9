"""Secrets sent in every place through a real `abs record` are in no byte of what it leaves behind."""

import base64
import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pytest
from websockets.sync.client import connect
from websockets.sync.server import Server, ServerConnection, serve

from abs_replay.decoders.content import unpack
from abs_replay.exchange import Exchange, Message, header
from abs_replay.store import Store
from tests.redact.canaries import Case, Secrets, cases, forms, split

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]

ABS = [sys.executable, "-c", "from abs_replay.cli import main; main()"]
UPSTREAM_TAKES_S = 30

SECRETS = Secrets()
CASES = {case.name: case for case in cases(SECRETS)}
SOCKET = {"header": SECRETS.word(), "sent": SECRETS.key(), "told": SECRETS.key(), "bytes": SECRETS.key()}
TAG, NAME, USER, REFUSED = SECRETS.key(), SECRETS.key(), SECRETS.word(), SECRETS.word()
SOUGHT = [secret for case in CASES.values() for secret in case.secrets] + [
    *SOCKET.values(),
    TAG,
    NAME,
    USER,
    REFUSED,
]


class Upstream(BaseHTTPRequestHandler):
    """Answers each path as its case says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        case = CASES[urlsplit(self.path).path.strip("/")]
        self.send_response(case.status)
        for name, value in case.answer_headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for data in case.chunks:
            if data:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()
        if case.broken:
            time.sleep(0.1)
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextlib.contextmanager
def thread_of(server: ThreadingHTTPServer | Server) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        server.daemon_threads = True
        server.block_on_close = False
        with thread_of(server):
            yield f"http://127.0.0.1:{server.server_address[1]}"


def converse(socket: ServerConnection) -> None:
    socket.recv()
    for part in split(f"it is {SOCKET['told']} ok"):
        socket.send(json.dumps({"type": "response.text.delta", "delta": part}))
    socket.send(b"\x00\x01" + SOCKET["bytes"].encode() + b"\x02")
    socket.recv()


@pytest.fixture(scope="module")
def sockets() -> Iterator[str]:
    with serve(converse, "127.0.0.1", 0) as server, thread_of(server):
        yield f"http://127.0.0.1:{server.socket.getsockname()[1]}"


class Recording:
    """A running `abs record`, with all that it says."""

    def __init__(self, store: Path, *arguments: str) -> None:
        command = [*ABS, "record", "--port", "0", "--store", str(store), "--json-log", *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=store.parent, start_new_session=True
        )
        assert self.process.stderr
        self.said = [self.process.stderr.readline()]
        self.listeners = json.loads(self.said[0])["listeners"]
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr
        self.said.extend(self.process.stderr)

    def kept(self) -> int:
        return sum(b'"event": "exchange"' in line for line in list(self.said))

    def wait_for(self, count: int) -> None:
        until = time.monotonic() + UPSTREAM_TAKES_S
        while self.kept() < count:
            assert time.monotonic() < until, b"".join(self.said[-5:])
            time.sleep(0.02)

    def end(self, kill: bool) -> bytes:
        (self.process.kill if kill else self.process.terminate)()
        self._reader.join(UPSTREAM_TAKES_S)
        assert self.process.stdout
        assert self.process.stderr
        with self.process, self.process.stdout, self.process.stderr:
            return b"".join(self.said) + self.process.stdout.read()


def ask(listener: str, case: Case) -> None:
    connection = http.client.HTTPConnection(urlsplit(listener).netloc, timeout=20)
    with contextlib.closing(connection), contextlib.suppress(http.client.IncompleteRead):
        connection.request(case.method, f"/{case.name}{case.query}", case.body, case.headers)
        connection.getresponse().read()


def talk(listener: str) -> None:
    headers = {"Authorization": f"Bearer {SOCKET['header']}"}
    with connect(listener.replace("http", "ws", 1), additional_headers=headers) as socket:
        socket.send(json.dumps({"session": {"note": f"it is {SOCKET['sent']}"}}))
        for _ in range(len(split(f"it is {SOCKET['told']} ok")) + 1):
            socket.recv()
        socket.send("done")


def all_said(recording: Recording) -> int:
    """Send every case; gives how many exchanges that makes."""
    for case in CASES.values():
        ask(recording.listeners["agent"], case)
    talk(recording.listeners["tool:Live"])
    refused = Case("x", (), query=f"?access_token={REFUSED}")
    ask(recording.listeners["tool:Away"], refused)
    return len(CASES) + 2


def left_in(data: bytes) -> list[str]:
    return [secret for secret in SOUGHT for form in forms(secret) if form in data]


def files(folder: Path) -> bytes:
    found = []
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):  # the recorder takes files away
            found.append(path.read_bytes())
    return b"\n".join(found)


def read_out(exchange: Exchange) -> bytes:
    """All of an exchange: bodies unpacked, escapes undone, and what deltas and messages say, joined."""
    parts = [repr(exchange).encode()]
    for message in (exchange.request, exchange.response):
        if message is not None:
            parts.append(unpack(header(message.headers, "content-encoding") or "", message.body.data).data)
            parts += [base64.b64decode(inner) for inner in re.findall(rb'"bytes": "([^"]*)"', parts[-1])]
    messages: Sequence[Message] = exchange.websocket.messages if exchange.websocket else ()
    data = b"\n".join([*parts, *(message.data for message in messages)])
    said = b"".join(re.findall(rb'"(?:content|delta|text|partial_json)": "((?:[^"\\]|\\.)*)"', data))
    return b"\n".join([data, said, data.replace(rb"\u002d", b"-")])


def deltas_of(data: bytes) -> str:
    """What the events of a stream say, joined: a secret in pieces would be whole there."""
    events = (json.loads(line[6:]) for line in data.splitlines() if line.startswith(b'data: {"choices"'))
    return "".join(event["choices"][0]["delta"]["content"] for event in events)


def abs_(*arguments: str, folder: Path) -> bytes:
    done = subprocess.run([*ABS, *arguments], capture_output=True, timeout=60, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def arguments(upstream: str, sockets: str) -> list[str]:
    upstreams = ["--agent", upstream, "--tool", f"Live={sockets}", "--tool", "Away=http://127.0.0.1:9"]
    return [*upstreams, "--name", f"of {NAME}", "--tag", f"token={TAG}"]


def test_what_a_recording_keeps_and_says_has_no_secret(tmp_path: Path, arguments: list[str]) -> None:
    store = tmp_path / "store.duckdb"
    recording = Recording(store, *arguments)
    try:
        recording.wait_for(all_said(recording))
        assert left_in(files(tmp_path)) == []  # the log of the store, too
    finally:
        said = recording.end(kill=False)
    assert left_in(said) == []
    assert recording.process.returncode == 0
    for number, exchange in enumerate(Store(store).exchanges()):
        assert left_in(read_out(exchange)) == [], exchange.request.target
        assert exchange.redacted, (number, exchange.request.target)
    streams = [
        e.response.body.data for e in Store(store).exchanges() if e.response and e.request.path == "/deltas"
    ]
    assert [deltas_of(data) for data in streams] == [
        f"it is <key:{number}> ok" for number in numbers(streams)
    ]
    out = abs_("export", "last", "--store", str(store), "--output", "all.cassette.json", folder=tmp_path)
    out += abs_("ls", "exchanges", "--store", str(store), folder=tmp_path)
    out += abs_("show", "last", "--store", str(store), folder=tmp_path)
    assert left_in(out + files(tmp_path)) == []


def numbers(streams: Sequence[bytes]) -> list[int]:
    return [int(deltas_of(data).partition("<key:")[2].partition(">")[0]) for data in streams]


def test_what_a_killed_recorder_leaves_has_no_secret(tmp_path: Path, arguments: list[str]) -> None:
    """In the store, its log, and its spool, since another process holds the store for half of the time."""
    store = tmp_path / "store.duckdb"
    recording = Recording(store, *arguments)
    try:
        count = all_said(recording)
        recording.wait_for(count)
        with held(store):
            recording.wait_for(count + all_said(recording))
            spooled = tmp_path / "store.duckdb.spool"
            assert spooled.stat().st_size > 10_000
            recording.process.kill()  # before it can fold the spool in: reading the store ends the hold
            recording.process.wait()
            assert left_in(files(tmp_path)) == []
    finally:
        said = recording.end(kill=True)
    assert left_in(said + files(tmp_path)) == []
    for line in spooled.read_bytes().splitlines():
        assert left_in(line) == []
    kept = Store(store).exchanges()
    assert len(kept) == 2 * count
    assert left_in(b"".join(map(read_out, kept))) == []


@contextlib.contextmanager
def held(store: Path) -> Iterator[None]:
    """Hold the store open, as a long query of somebody would."""
    until = time.monotonic() + UPSTREAM_TAKES_S
    while True:
        try:
            connection = duckdb.connect(str(store), read_only=True)
            break
        except duckdb.IOException:
            assert time.monotonic() < until
            time.sleep(0.01)
    with connection:
        yield


def test_a_message_about_what_was_given_has_no_secret(tmp_path: Path) -> None:
    command = [*ABS, "record", "--port", "0", "--agent", f"http://me:{USER}@127.0.0.1:9"]
    done = subprocess.run(command, capture_output=True, timeout=60, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert b"'http://me:<auth:1>@127.0.0.1:9'" in done.stderr
    assert left_in(done.stdout + done.stderr) == []


def test_there_are_enough_canaries() -> None:
    assert len(set(SOUGHT)) >= 40
    assert os.environ.get("ABS_STORE") is None
