"""The addon in stock mitmdump: what flows through is in the store, by channel and without its secrets."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from abs_replay.exchange import Outcome
from abs_replay.running import running
from abs_replay.store import Store

pytestmark = pytest.mark.processes

ADDON = Path(__file__).parents[2] / "addons" / "abs_recorder.py"
MITMDUMP = shutil.which("mitmdump", path=os.pathsep.join([str(Path(sys.executable).parent), os.defpath]))
PIECES = (b"data: 1\n\n", b"data: 2\n\n", b"data: [DONE]\n\n")
KEY = "sk-proj-Abcdefghijklmnop1234567890"


class Upstream(BaseHTTPRequestHandler):
    """Streams three events, with a pause between them."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in PIECES:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
            time.sleep(0.1)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def upstream() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        server.daemon_threads = True
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def command(folder: Path, *options: str) -> list[str]:
    if MITMDUMP is None:
        pytest.skip("mitmproxy is not installed (pip install abs-replay[record])")
    settings = ["--set", f"confdir={folder}", "--listen-host", "127.0.0.1", "-p", "0"]
    return [MITMDUMP, "-s", str(ADDON), *settings, *options]


@contextmanager
def mitmdump(folder: Path, *options: str) -> Iterator[int]:
    """Stock mitmdump with the addon; gives its port, and ends it as Ctrl-C does."""
    log = folder / "log"
    environment = os.environ | {"ABS_STORE": str(folder / "store.duckdb"), "PYTHONUNBUFFERED": "1"}
    with (
        log.open("wb") as out,
        subprocess.Popen(command(folder, *options), stdout=out, env=environment) as process,
    ):
        try:
            yield _port(log)
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0


def _port(log: Path) -> int:
    for _ in range(400):
        for line in log.read_text().splitlines():
            if "listening at" in line:
                return int(line.rstrip(".").rpartition(":")[2])
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def test_what_flows_through_is_kept_by_channel_chunk_by_chunk_and_without_secrets(
    tmp_path: Path, upstream: str
) -> None:
    channels = f"abs_channels=agent={upstream},tool:Order MCP={upstream}/mcp"
    options = ["--mode", f"reverse:{upstream}", "--set", "abs_name=chat", "--set", channels]
    with mitmdump(tmp_path, *options) as port, httpx.Client() as client:
        for path in ("/chat", "/mcp/x?api_key=abcdef12"):
            headers = {"authorization": f"Bearer {KEY}"}
            with client.stream("GET", f"http://127.0.0.1:{port}{path}", headers=headers) as answer:
                assert tuple(answer.iter_raw()) == PIECES

    store = Store(tmp_path / "store.duckdb")
    recording = store.recording("chat")
    seen = store.exchanges(recording.id)
    assert [str(each.channel) for each in seen] == ["agent", "tool:Order MCP"]
    assert [each.request.target for each in seen] == ["/chat", "/mcp/x?api_key=<key:1>"]
    assert recording.ended_at is not None
    for each in seen:
        assert each.outcome is Outcome.COMPLETE
        assert each.response is not None
        assert len(each.response.body.chunks) == len(PIECES)
        assert KEY not in repr(each)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("abs_channels=robot=http://h", "abs: abs_channels: 'robot=http://h': expected agent, llm or tool"),
        ("abs_store={folder}", "abs: store {folder} can not be used: "),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_flows(tmp_path: Path, option: str, said: str) -> None:
    line = command(tmp_path, "-q", "--set", option.format(folder=tmp_path))
    ended = subprocess.run(line, capture_output=True, text=True, timeout=40, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith(said.format(folder=tmp_path))
    assert (ended.stderr.count("\n"), ended.stdout) == (1, "")


def test_hosts_are_routed_and_marks_are_taken_as_by_abs_record(tmp_path: Path, upstream: str) -> None:
    store = tmp_path / "store.duckdb"
    with (
        mitmdump(tmp_path, "--set", "abs_routes=127.0.0.*=llm:Mine") as port,
        httpx.Client(proxy=f"http://127.0.0.1:{port}") as client,
    ):
        client.get(f"{upstream}/chat")
        assert httpx.post(f"http://127.0.0.1:{port}/__abs__/mark", json={"name": "second"}).status_code < 300
        (noted,) = running(store)
        assert noted.url == f"http://127.0.0.1:{port}"
    assert running(store) == ()
    (seen,) = Store(store).exchanges()
    assert str(seen.channel) == "llm:Mine"
