"""The addon in stock mitmdump: recorded answers, streams intact, and no connection to anything else."""

import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest

from abs_replay.cassette import Cassette, dumps
from abs_replay.exchange import (
    Body,
    Channel,
    Chunk,
    Exchange,
    Outcome,
    Recording,
    Request,
    Response,
    Role,
    Upstream,
)

pytestmark = pytest.mark.processes

ADDON = Path(__file__).parents[2] / "addons" / "abs_player.py"
MITMDUMP = shutil.which("mitmdump", path=os.pathsep.join([str(Path(sys.executable).parent), os.defpath]))
TOOL = Channel(Role.TOOL, "orders")
PIECES = (b"data: 1\n\n", b"data: 2\n\n", b"data: [DONE]\n\n")

# Our own hook fails: mitmproxy logs it and would go on to the real host.
CRASH = """
from mitmproxy import ctx
def running():
    ctx.master.addons.get("absplayer").leading = None
"""


@pytest.fixture
def mitmdump(tmp_path: Path) -> Iterator[Callable[..., int]]:
    """Start stock mitmdump with a cassette of one upstream; gives the port that it listens on."""
    if MITMDUMP is None:
        pytest.skip("mitmproxy is not installed (pip install abs-replay[record])")
    running: list[subprocess.Popen[bytes]] = []

    def start(upstream: str, *options: str) -> int:
        cassette = tmp_path / "orders.cassette.json"
        cassette.write_text(dumps(recorded(upstream)), encoding="utf-8")
        port = free_port()
        command = [str(MITMDUMP), "-s", str(ADDON), "--set", f"abs_cassette={cassette}", "-p", str(port)]
        command += ["--set", f"confdir={tmp_path}", "--listen-host", "127.0.0.1", *options]
        log = (tmp_path / "log").open("wb")
        with log:
            running.append(subprocess.Popen(command, stdout=log, stderr=log))
        await_port(port)
        return port

    yield start
    for process in running:
        process.terminate()
        process.wait(20)


def recorded(upstream: str) -> Cassette:
    ends = (len(PIECES[0]), len(PIECES[0] + PIECES[1]), len(b"".join(PIECES)))
    body = Body(b"".join(PIECES), tuple(Chunk(end, 0.0) for end in ends))
    headers = (("content-type", "text/event-stream"), ("transfer-encoding", "chunked"))
    exchanges = (
        Exchange("1", TOOL, 0.0, Request("GET", "/api/stream"), Response(200, headers, body)),
        Exchange(
            "2", TOOL, 0.0, Request("GET", "/api/torn"), Response(200, headers, body), Outcome.UPSTREAM_CLOSED
        ),
    )
    return Cassette(Recording("r", "orders", 0.0, upstreams=(Upstream(TOOL, f"{upstream}/api"),)), exchanges)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def await_port(port: int) -> None:
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail("mitmdump did not begin to listen within 30 s")


@contextmanager
def origin() -> Iterator[tuple[str, list[str]]]:
    """A live service that must never be asked; gives its URL and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(500)

        def log_message(self, *_: object) -> None:
            """Be silent."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def test_a_reverse_proxy_answers_from_the_cassette_and_never_asks_upstream(
    mitmdump: Callable[..., int],
) -> None:
    with origin() as (upstream, asked):
        port = mitmdump(upstream, "--mode", f"reverse:{upstream}")
        with httpx.stream("GET", f"http://127.0.0.1:{port}/api/stream") as response:
            assert response.read() == b"".join(PIECES)
        miss = httpx.get(f"http://127.0.0.1:{port}/api/stream")
        assert miss.status_code == 422
        assert "all were played" in miss.json()["title"]
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(f"http://127.0.0.1:{port}/api/torn")
    assert asked == []


def test_a_forward_proxy_answers_for_the_real_https_host(
    mitmdump: Callable[..., int], tmp_path: Path
) -> None:
    port = mitmdump("https://orders.invalid")
    trust = ssl.create_default_context(cafile=str(tmp_path / "mitmproxy-ca-cert.pem"))
    with httpx.Client(proxy=f"http://127.0.0.1:{port}", verify=trust) as http:
        assert http.get("https://orders.invalid/api/stream").content == b"".join(PIECES)
        elsewhere = http.get("https://elsewhere.invalid/")
        assert elsewhere.status_code == 422
        assert "nothing was recorded at elsewhere.invalid:443" in elsewhere.json()["title"]


def test_a_hook_that_fails_does_not_let_a_request_out(mitmdump: Callable[..., int], tmp_path: Path) -> None:
    crash = tmp_path / "crash.py"
    crash.write_text(CRASH)
    with origin() as (upstream, asked):
        port = mitmdump(upstream, "--mode", f"reverse:{upstream}", "-s", str(crash))
        assert httpx.get(f"http://127.0.0.1:{port}/api/stream").status_code == 502
        assert "Addon error" in (tmp_path / "log").read_text()
    assert asked == []


def test_a_cassette_that_can_not_be_read_stops_mitmdump_with_one_reason(tmp_path: Path) -> None:
    if MITMDUMP is None:
        pytest.skip("mitmproxy is not installed")
    command = [MITMDUMP, "-s", str(ADDON), "--set", f"abs_cassette={tmp_path}/none.json", "-p", "0"]
    run = subprocess.run(
        [*command, "--set", f"confdir={tmp_path}"], capture_output=True, text=True, timeout=30, check=False
    )
    assert run.returncode != 0
    assert "abs_cassette: [Errno 2]" in run.stdout + run.stderr
