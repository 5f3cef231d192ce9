"""`abs record` when something is wrong under it: its clients go on, it says so at once, and nothing is lost
that can be kept."""

import json
import os
import resource
import select
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
from urllib.request import Request, urlopen

import pytest

from abs_replay.store import Spool, Store

pytestmark = pytest.mark.processes

ABS = [sys.executable, "-c", "from abs_replay.cli import main; main()"]
PIECE = bytes(range(256)) * 256


class Upstream(BaseHTTPRequestHandler):
    """Answers at once, or with as many bytes as the path says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        size = int(self.path.rpartition("/")[2] or 2)
        self.send_response(200)
        self.send_header("content-length", str(size))
        self.end_headers()
        for start in range(0, size, len(PIECE)):
            self.wfile.write(PIECE[: size - start])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        server.daemon_threads = True
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


class Recorder:
    """A running `abs record --json-log`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stderr
        self.process, self._lines = process, process.stderr
        self.url = self.hears("listening")["listeners"]["llm"]

    def hears(self, event: str, seconds: float = 20.0) -> dict[str, dict[str, str]]:
        """The next line that tells of such an event."""
        deadline = time.monotonic() + seconds
        while select.select([self._lines], [], [], max(0.0, deadline - time.monotonic()))[0]:
            line = json.loads(self._lines.readline())
            if line["event"] == event:
                return dict(line)
        raise AssertionError(f"no {event} within {seconds} s")

    def asks(self, size: int = 2) -> int:
        """How many bytes came back."""
        count = 0
        with urlopen(Request(f"{self.url}/{size}", data=b"{}"), timeout=30) as answer:
            while piece := answer.read(1 << 20):
                count += len(piece)
        return count

    def ends(self) -> int:
        self.process.send_signal(signal.SIGINT)
        self._rest = self._lines.read()
        return self.process.wait(30)

    @property
    def ending(self) -> dict[str, int]:
        lines = [json.loads(line) for line in self._rest.splitlines()]
        return next(line for line in lines if line["event"] == "ended")


@contextmanager
def recording(upstream: str, store: Path, *options: str) -> Iterator[Recorder]:
    command = [
        *ABS,
        "record",
        "--llm",
        upstream,
        "--port",
        "0",
        "--store",
        str(store),
        "--json-log",
        *options,
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, bufsize=1) as process:
        try:
            yield Recorder(process)
        finally:
            process.kill()


def full(process: int, is_full: bool) -> None:
    """Let every write into a file fail, as on a full disk, or none."""
    limit = 0 if is_full else resource.RLIM_INFINITY
    resource.prlimit(process, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))


def test_a_full_disk_stops_no_client_and_costs_nothing_once_there_is_room(
    upstream: str, tmp_path: Path
) -> None:
    store = tmp_path / "store.duckdb"
    with recording(upstream, store) as recorder:
        assert recorder.asks() == 2
        recorder.hears("exchange")
        full(recorder.process.pid, True)
        assert [recorder.asks() for _ in range(20)] == [2] * 20
        assert "File too large" in str(recorder.hears("problem")["message"])
        full(recorder.process.pid, False)
        assert recorder.asks() == 2
        assert recorder.ends() == 0
    assert (recorder.ending["exchanges"], recorder.ending["lost"]) == (22, 0)
    assert len(Store(store).exchanges()) == 22
    assert not Spool(store).path.exists()


def test_what_a_disk_that_stays_full_does_not_take_is_lost_loudly(upstream: str, tmp_path: Path) -> None:
    store = tmp_path / "store.duckdb"
    with recording(upstream, store) as recorder:
        assert recorder.asks() == 2
        recorder.hears("exchange")
        full(recorder.process.pid, True)
        assert [recorder.asks() for _ in range(3)] == [2] * 3
        assert recorder.ends() == 1
    assert (recorder.ending["exchanges"], recorder.ending["lost"]) == (1, 3)
    assert len(Store(store).exchanges()) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may mount")
def test_a_disk_that_is_really_full_is_no_other(upstream: str, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        with recording(upstream, disk / "store.duckdb") as recorder:
            assert recorder.asks() == 2
            recorder.hears("exchange")
            with pytest.raises(OSError, match="No space"):
                (disk / "filler").write_bytes(bytes(16 << 20))
            assert [recorder.asks(200_000) for _ in range(5)] == [200_000] * 5
            assert "No space left" in str(recorder.hears("problem")["message"])
            (disk / "filler").unlink()
            assert recorder.ends() == 0
        assert recorder.ending["lost"] == 0
        assert len(Store(disk / "store.duckdb").exchanges()) == 6
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_folder_that_is_taken_away_is_made_again_and_what_was_in_it_is_counted(
    upstream: str, tmp_path: Path
) -> None:
    store = tmp_path / "folder" / "store.duckdb"
    with recording(upstream, store) as recorder:
        assert recorder.asks() == 2
        recorder.hears("exchange")
        time.sleep(0.5)
        shutil.rmtree(store.parent)
        assert recorder.asks() == 2
        assert recorder.ends() == 1
    assert (recorder.ending["exchanges"], recorder.ending["lost"]) == (1, 1)
    assert len(Store(store).exchanges()) == 1


HOLD = """
import sys
from pathlib import Path
from abs_replay.store import Store
with Store(Path(sys.argv[1])).writing():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_what_is_spooled_while_another_holds_the_store_survives_a_kill(upstream: str, tmp_path: Path) -> None:
    store = tmp_path / "store.duckdb"
    with recording(upstream, store) as recorder:
        assert recorder.asks() == 2
        recorder.hears("exchange")
        command = [sys.executable, "-c", HOLD, str(store)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout
            assert holder.stdout.readline() == b"held\n"
            assert recorder.asks() == 2
            recorder.hears("exchange")
            recorder.process.kill()
            holder.communicate(b"")
    assert len(Store(store).exchanges()) == 2
    with recording(upstream, store) as recorder:
        assert not Spool(store).path.exists(), "folded in when the next begins"
        assert recorder.ends() == 0


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing can be made in a folder; root may anyway, so it must be said to the file system."""
    flag = ["chattr", "+i"] if os.geteuid() == 0 else ["chmod", "a-w"]
    back = ["chattr", "-i"] if os.geteuid() == 0 else ["chmod", "u+w"]
    if shutil.which(flag[0]) is None or subprocess.run([*flag, folder], capture_output=True).returncode:
        pytest.skip("this file system knows no folder that root can not write")
    try:
        yield
    finally:
        subprocess.run([*back, folder], check=True)


def test_a_folder_that_becomes_read_only_costs_nothing_once_it_is_not(upstream: str, tmp_path: Path) -> None:
    store = tmp_path / "folder" / "store.duckdb"
    with recording(upstream, store) as recorder:
        assert recorder.asks() == 2
        recorder.hears("exchange")
        time.sleep(1.5)  # it has closed the store
        store.chmod(0o444)
        with read_only(store.parent):
            assert [recorder.asks() for _ in range(3)] == [2] * 3
            time.sleep(0.5)
        store.chmod(0o644)
        assert recorder.ends() == 0
    assert recorder.ending["lost"] == 0
    assert len(Store(store).exchanges()) == 4


def resident(process: int) -> int:
    """The most memory that a process ever had, in MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_large_download_does_not_fill_the_memory(upstream: str, tmp_path: Path) -> None:
    store, size = tmp_path / "store.duckdb", 200 << 20
    with recording(upstream, store, "--max-body", str(16 << 20)) as recorder:
        assert recorder.asks(size) == size
        assert resident(recorder.process.pid) < 300
        assert recorder.ends() == 0
    (seen,) = Store(store).exchanges()
    assert seen.response
    assert (seen.response.body.cut, seen.response.body.size) == (True, size)
