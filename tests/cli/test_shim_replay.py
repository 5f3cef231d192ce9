"""`abs shim --replay` as a process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from abs_replay.cassette import Cassette, dumps
from abs_replay.exchange import Exchange, Outcome, Recording
from abs_replay.shim.lines import Line
from abs_replay.shim.talk import Place, Talk

pytestmark = pytest.mark.processes

# Whatever opens a socket, starts a process, or loads what only a recorder or a server needs, ends the shim.
GUARDED = """
import sys

FORBIDDEN = ("socket.__new__", "socket.connect", "subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec")

def forbid(event, arguments):
    if event in FORBIDDEN:
        raise SystemExit(f"it did {event}")

sys.addaudithook(forbid)
from abs_replay.cli import main
try:
    main()
finally:
    loaded = {"duckdb", "mitmproxy", "uvicorn", "openai", "httpx"} & set(sys.modules)
    if loaded:
        sys.stderr.write(f"it loaded {loaded}")
"""
ASKED = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}'


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    kept: list[Exchange] = []
    talk = Talk(Place("files", "server"), 0.0, kept.append)
    talk.from_client(Line(ASKED), 0.0)
    talk.from_server(Line(ANSWER), 1.0)
    talk.end(Outcome.CLIENT_CLOSED, 2.0)
    path = tmp_path / "files.cassette.json"
    path.write_text(dumps(Cassette(Recording("r", "r", 0.0), tuple(kept))), encoding="utf-8")
    return path


def run(given: bytes, *arguments: object) -> tuple[int, bytes, str]:
    command = [sys.executable, "-c", GUARDED, "shim", *map(str, arguments)]
    ended = subprocess.run(command, input=given, capture_output=True, timeout=60, check=False)
    return ended.returncode, ended.stdout, ended.stderr.decode()


def test_it_answers_from_the_cassette_alone_without_a_socket_or_a_process(cassette: Path) -> None:
    given = (ASKED + b"\n", "--replay", cassette, "--fail-unused", "files")
    assert run(*given) == (0, ANSWER + b"\n", "")


def test_a_miss_is_answered_said_and_its_exit_status(cassette: Path) -> None:
    status, out, said = run(b'{"jsonrpc": "2.0", "id": 2, "method": "x"}', "files", "--replay", cassette)
    assert (status, json.loads(out)["error"]["code"]) == (1, -32001)
    assert said.splitlines()[0] == (
        "abs: shim files: miss: POST /files on tool:files: nobody recorded this request"
    )


def test_what_was_not_played_fails_where_that_is_wanted(cassette: Path) -> None:
    status, out, said = run(b"", "files", "--replay", cassette, "--fail-unused")
    assert (status, out) == (1, b"")
    assert said.startswith("abs: shim files: unused: POST /files (id ")


def test_a_server_that_died_ends_the_shim_and_that_is_said(tmp_path: Path) -> None:
    kept: list[Exchange] = []
    talk = Talk(Place("files", "server"), 0.0, kept.append)
    talk.from_client(Line(ASKED), 0.0)
    talk.end(Outcome.UPSTREAM_CLOSED, 1.0)
    path = tmp_path / "died.cassette.json"
    path.write_text(dumps(Cassette(Recording("r", "r", 0.0), tuple(kept))), encoding="utf-8")
    expected = (1, b"", "abs: shim files: the server ended here, as recorded\n")
    assert run(ASKED + b"\n" + ASKED + b"\n", "files", "--replay", path) == expected


def test_what_was_never_recorded_on_it_is_an_error_in_one_line(cassette: Path) -> None:
    expected = "abs: the cassette has nothing of tool:other: what was recorded is of tool:files\n"
    assert run(b"", "other", "--replay", cassette) == (2, b"", expected)
