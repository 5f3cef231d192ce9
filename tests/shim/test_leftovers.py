"""What a server has not answered yet is found beside the store, whoever kills the process that records."""

import subprocess
import sys
from pathlib import Path

import pytest

from abs_replay.exchange import Body, Channel, Exchange, Outcome, Recording, Request, Response, Role
from abs_replay.redact import Redactor
from abs_replay.shim.leftovers import Leftovers
from abs_replay.store import Store

KEY = "sk-proj-Abcdefghijklmnop1234567890"
LEAVE = """
import os, sys, time
from pathlib import Path
from abs_replay.exchange import Upstream
from abs_replay.redact import Redactor
from abs_replay.shim.lines import Line
from abs_replay.shim.places import Keeper, Wanted
from abs_replay.shim.talk import Place, Talk

place = Place("files", "npx")
keeper = Keeper(Wanted(Path(sys.argv[1]), None, "left", Upstream(place.channel, place.url)), Redactor, print)
talk = Talk(place, time.time(), keeper.put)
talk.from_client(Line(sys.argv[2].encode()), time.time())
keeper.leave(talk.unanswered(time.time() + 1))
os._exit(0)
"""


def asked(id_: str, data: bytes = b"") -> Exchange:
    answer = Response(200, (), Body(data)) if data else None
    request = Request("POST", "/files", (), Body(f"it is {KEY}".encode()))
    return Exchange(id_, Channel(Role.TOOL, "files"), 2.0, request, answer, outcome=Outcome.UNFINISHED)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r", "demo", 1.0))
    return store


def folders(store: Store) -> list[Path]:
    return sorted(store.path.parent.glob("*.open"))


def test_what_is_open_is_there_without_its_secrets_until_it_is_answered(store: Store) -> None:
    said = list[str]()
    leftovers = Leftovers(store.path, Redactor, said.append)
    leftovers.show("r", [asked("a"), asked("b", b"one")])
    (folder,) = folders(store)
    assert len(list(folder.iterdir())) == len(leftovers) == 2
    assert KEY not in "".join(file.read_text() for file in folder.iterdir())
    leftovers.show("r", [asked("b", b"one, two")])
    assert len(list(folder.iterdir())) == 1
    leftovers.show("another", [])
    leftovers.close()
    assert (folders(store), said) == ([], [])


def test_a_folder_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = list[str]()
    Leftovers(tmp_path / "file" / "store.duckdb", Redactor, said.append).show("r", [asked("a")])
    assert said == ["what is not answered yet can not be kept: File exists"]


@pytest.mark.processes
def test_a_kill_leaves_what_was_not_answered_in_a_recording_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    line = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}'
    subprocess.run([sys.executable, "-c", LEAVE, str(path), line], check=True, timeout=60)
    (one,) = Store(path).exchanges()
    assert (one.outcome, one.request.body.data.decode(), one.response) == (Outcome.UNFINISHED, line, None)
    assert Store(path).recordings()[0].recording.name == "left"
