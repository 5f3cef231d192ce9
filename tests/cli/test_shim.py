"""`abs shim` as a process: a client does not notice it, and what was said is in the store."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from abs_replay.exchange import Exchange, Outcome
from abs_replay.store import Store

pytestmark = pytest.mark.processes

ABS = [sys.executable, "-c", "from abs_replay.cli import main; main()"]
SERVER = [sys.executable, "-S", str(Path(__file__).parent.parent / "stdio_server.py")]

type Process = subprocess.Popen[bytes]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.duckdb"


@contextmanager
def shim(store: Path, *server: str, stderr: int = subprocess.PIPE) -> Iterator[Process]:
    with subprocess.Popen(
        [*ABS, "shim", "files", "--store", str(store), "--", *server],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def run(store: Path, given: bytes, *server: str) -> tuple[int, bytes, bytes]:
    with shim(store, *server) as process:
        out, err = process.communicate(given, timeout=60)
        return process.returncode, out, err


def kept(store: Path, enough: Callable[[list[Exchange]], bool] = bool) -> list[Exchange]:
    """What is in the store, as soon as that is enough."""
    deadline = time.monotonic() + 20
    while True:
        found = list(Store(store).exchanges()) if store.exists() else []
        if enough(found) or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    """Whether a process still is there after a while."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    return True


def request(id_: int, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": "x", "params": params}).encode() + b"\n"


def talk(process: Process, line: bytes) -> bytes:
    assert process.stdin
    assert process.stdout
    process.stdin.write(line)
    process.stdin.flush()
    return process.stdout.readline()


def test_any_bytes_pass_unchanged_in_both_directions_a_line_of_10_mb_too(store: Path) -> None:
    lines = [
        b"\xff\xfe\x00",
        b"",
        b'{"jsonrpc":"2.0","method":"big","params":"%s"}' % (b"a" * 10_000_000),
        b"end",
    ]
    given = b"\n".join(lines)
    assert run(store, given, "cat") == (0, given, b"")
    seen = kept(store, lambda found: len(found) == 5)
    assert [one.request.body.data for one in seen if one.request.method == "POST"] == lines
    (listening,) = (one for one in seen if one.request.method == "GET")
    assert listening.response is not None
    expected = b"".join(b"event: message\ndata: %s\n\n" % line for line in lines)
    assert listening.response.body.data == expected


def test_half_a_line_is_passed_on_before_the_other_half_comes(store: Path) -> None:
    with shim(store, "cat") as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b'{"half')
        process.stdin.flush()
        assert os.read(process.stdout.fileno(), 100) == b'{"half'


def test_hundreds_of_requests_at_once_find_their_answers_in_any_order(store: Path) -> None:
    given = b"".join(request(number, n=number) for number in range(300))
    status, out, err = run(store, given, *SERVER, "300")
    assert (status, err) == (0, b"")
    assert [json.loads(line)["id"] for line in out.splitlines()] == list(reversed(range(300)))
    seen = kept(store, lambda found: len(found) == 300)
    pairs = {json.loads(one.request.body.data)["id"]: one.response for one in seen}
    assert len(pairs) == 300
    for number, response in pairs.items():
        assert response is not None
        assert json.loads(response.body.data)["id"] == number
    assert {one.outcome for one in seen} == {Outcome.COMPLETE}


def test_a_server_that_dies_ends_the_shim_with_its_status_and_its_words(store: Path) -> None:
    given = b'{"jsonrpc":"2.0","id":1,"method":"y"}\nno\n{"jsonrpc":"2.0","id":2,"method":"die"}\n'
    with shim(store, *SERVER, "2") as process:  # whose standard input stays open
        assert process.stdin
        assert process.stderr
        process.stdin.write(given)
        process.stdin.flush()
        assert process.wait(60) == 3
        assert process.stderr.read() == b"not JSON\n"
    seen = kept(store, lambda found: len(found) == 3)
    facts = {(one.outcome.value, one.error, one.response is None) for one in seen}
    why = "the client's line is no message: Expecting value: line 1 column 1 (char 0)"
    assert facts == {("upstream_closed", "the server ended", True), ("complete", why, False)}


def test_a_client_that_closes_ends_the_server_and_what_it_left_unanswered_is_its_own_doing(
    store: Path,
) -> None:
    assert run(store, request(1), *SERVER, "2") == (0, b"", b"")
    (one,) = kept(store)
    assert (one.outcome, one.error, one.response) == (Outcome.CLIENT_CLOSED, "the client ended", None)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_for_the_shim_is_the_servers_and_its_end_is_the_shims(
    store: Path, number: signal.Signals
) -> None:
    with shim(store, *SERVER, stderr=subprocess.DEVNULL) as process:
        talk(process, request(1))
        process.send_signal(number)
        assert process.wait(60) == (5 if number is signal.SIGUSR1 else -number)


def test_a_shim_that_is_killed_takes_the_server_along_and_what_passed_is_kept(
    store: Path, tmp_path: Path
) -> None:
    answer = """echo '{"id":1,"result":{}}'"""
    server = f"trap '' TERM HUP; echo $$ > {tmp_path}/pid; read line; {answer}; exec sleep 60"
    with shim(store, "sh", "-c", server) as process:
        talk(process, request(1))
        process.kill()
        process.wait(60)
    (one,) = kept(store)
    assert one.response is not None
    assert one.response.body.data == b'{"id":1,"result":{}}'
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_a_client_that_reads_no_more_breaks_the_servers_pipe(store: Path) -> None:
    with shim(
        store, "sh", "-c", "read line; echo one; read line; echo two; sleep 0.2; echo three"
    ) as process:
        assert talk(process, b"{}\n") == b"one\n"
        assert process.stdin
        assert process.stdout
        process.stdout.close()
        process.stdin.write(b"{}\n")
        process.stdin.flush()
        assert process.wait(60) == -signal.SIGPIPE


def test_what_the_server_leaves_behind_does_not_keep_the_shim(store: Path) -> None:
    with shim(store, "sh", "-c", "sleep 30 & echo done; exit 4") as process:
        assert process.stdout
        assert process.stdout.readline() == b"done\n"
        assert process.wait(10) == 4


def test_a_secret_is_not_in_the_recording_and_passes_all_the_same(store: Path) -> None:
    key = "sk-proj-Abcdefghijklmnop1234567890"
    _, out, _ = run(store, request(1, key=key), *SERVER)
    assert key in out.decode()
    (one,) = kept(store)
    assert one.redacted
    assert key.encode() not in one.request.body.data + (one.response.body.data if one.response else b"")


def test_under_abs_record_it_is_recorded_with_the_rest_without_being_told_where(store: Path) -> None:
    program = [*ABS, "shim", "files", "--", *SERVER]
    ended = subprocess.run(
        [*ABS, "record", "--port", "0", "--llm", "openai", "--store", str(store), "--quiet", "--", *program],
        input=request(1, n=1.50),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    (recording,) = Store(store).recordings()
    (one,) = Store(store).exchanges(recording.recording.id)
    assert (str(one.channel), one.outcome) == ("tool:files", Outcome.COMPLETE)
    assert one.response is not None
    assert one.response.body.data + b"\n" == ended.stdout


def test_a_store_that_can_not_be_written_stops_nothing_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, out, err = run(tmp_path / "file" / "store.duckdb", request(1), *SERVER)
    assert (status, json.loads(out)["id"]) == (0, 1)
    first, last = err.decode().splitlines()
    assert first.startswith("abs: shim files: not recorded yet: ")
    assert last == "abs: shim files: LOST 1 exchange"


def test_a_server_that_can_not_be_run_is_told_in_one_line(store: Path) -> None:
    assert run(store, b"", "no-such-server") == (
        2,
        b"",
        b"abs: can not run 'no-such-server': No such file or directory\n",
    )
    assert not store.exists()


def test_without_a_server_it_says_what_to_do(store: Path) -> None:
    status, _, err = run(store, b"")
    assert (status, err.startswith(b"abs: nothing to run: say which server after --")) == (2, True)
