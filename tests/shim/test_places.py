"""Exchanges go to the recorder that runs, else to a recording of the shim's own, and none is lost between."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from abs_replay.callers import CONTROL
from abs_replay.cli.recording_control import Control
from abs_replay.exchange import Exchange, Recording, Request, Upstream
from abs_replay.recorder import Recorder
from abs_replay.redact import Redactor
from abs_replay.running import Running, noted
from abs_replay.shim.places import Keeper, Wanted, store_path
from abs_replay.shim.talk import Place
from abs_replay.store import Store

PLACE = Place("files", "npx")


@contextmanager
def recording(store: Path, name: str, token: str = "t") -> Iterator[None]:
    """A recorder that runs, with its listener and its note."""
    begun = Recording(f"id-of-{name}", name, time.time())
    control = Control(begun, "t")

    class Listener(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = tuple(self.headers.items())
            status, answer = control("POST", self.path.removeprefix(CONTROL), headers, body)
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        server.daemon_threads, server.block_on_close = True, False
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        recorder = Recorder(store, begun)
        control.begin(recorder, tuple)
        with noted(store, Running(begun.id, name, os.getpid(), url, token)):
            yield
        server.shutdown()
        thread.join()
        recorder.close()


def exchange(id_: str) -> Exchange:
    return Exchange(id_, PLACE.channel, time.time(), Request("POST", "/files", scheme="stdio"), ended_ms=1.0)


def keeper(store: Path, said: list[str], wanted: str | None = None, own_name: str | None = None) -> Keeper:
    return Keeper(Wanted(store, wanted, own_name, Upstream(PLACE.channel, PLACE.url)), Redactor, said.append)


def kept(store: Path) -> dict[str, list[str]]:
    opened = Store(store)
    return {
        each.recording.name: [one.id for one in opened.exchanges(each.recording.id)]
        for each in opened.recordings()
    }


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / ".abs" / "store.duckdb"


def test_it_goes_over_to_what_there_is_and_nothing_is_lost(store: Path) -> None:
    said: list[str] = []
    own = keeper(store, said, own_name="own")
    own.put(exchange("before"))
    with recording(store, "chat"):
        own.put(exchange("during"))
        own.rest()
        own.put(exchange("too"))
        own.rest()
    own.put(exchange("after"))
    own.close()
    assert kept(store)["chat"] == ["during", "too"]
    opened = Store(store)
    owns = [each.recording for each in opened.recordings() if each.recording.name == "own"]
    assert sorted(one.id for each in owns for one in opened.exchanges(each.id)) == ["after", "before"]
    assert all(each.ended_at is not None for each in owns)
    assert [each.upstreams for each in owns] == [(Upstream(PLACE.channel, "stdio://npx/files"),)] * 2
    # Two write to one store here, and who has to wait may say so.
    assert [message for message in said if not message.startswith("not all is in the store yet")] == []


def test_of_several_the_environment_chooses_by_id_or_name_and_none_else_will_do(store: Path) -> None:
    said: list[str] = []
    with recording(store, "first"), recording(store, "second"):
        for wanted in ("first", "id-of-second", "third"):
            one = keeper(store, said, wanted, own_name="own")
            one.put(exchange(wanted))
            one.close()
    assert kept(store) == {"first": ["first"], "second": ["id-of-second"], "own": ["third"]}
    assert said == []


def test_a_recorder_that_takes_nothing_is_told_once_and_a_recording_of_its_own_does_it(store: Path) -> None:
    said: list[str] = []
    with recording(store, "chat", token="old"):
        own = keeper(store, said, own_name="own")
        own.put(exchange("a"))
        own.put(exchange("b"))
        own.close()
    assert kept(store) == {"chat": [], "own": ["a", "b"]}
    (message,) = said
    assert message.startswith("the recorder of chat at http://127.0.0.1:")
    assert message.endswith(" takes nothing: it answered 403")


def test_a_note_whose_listener_is_gone_is_passed_over(store: Path) -> None:
    said: list[str] = []
    store.parent.mkdir(parents=True)
    with noted(store, Running("r", "gone", os.getpid(), "http://127.0.0.1:9", "t")):
        own = keeper(store, said, own_name="own")
        own.put(exchange("a"))
        own.close()
    assert kept(store) == {"own": ["a"]}
    assert "takes nothing: ConnectionRefusedError" in said[0]


def test_where_nothing_can_be_written_it_says_what_is_lost(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "file").write_text("")
    own = keeper(tmp_path / "file" / "store.duckdb", said)
    own.put(exchange("a"))
    own.put(exchange("b"))
    own.close()
    assert said[0].startswith("not recorded yet: store ")
    assert said[-1] == "LOST 2 exchanges"


def test_the_store_is_the_nearest_above_that_is_there_or_recorded_into(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    assert store_path(None, {}, folder) == folder / ".abs/store.duckdb"
    store.parent.mkdir()
    with noted(store, Running("r", "n", os.getpid(), "http://127.0.0.1:9", "t")):
        assert store_path(None, {}, folder) == store
    store.write_bytes(b"")
    assert store_path(None, {}, folder) == store
    assert store_path(None, {"ABS_STORE": "x.duckdb"}, folder) == folder / "x.duckdb"
    assert store_path(Path("/y.duckdb"), {"ABS_STORE": "x.duckdb"}, folder) == Path("/y.duckdb")
