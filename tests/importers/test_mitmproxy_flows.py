"""Flow files are read with mitmproxy's own reader: times, errors and old versions kept, broken ones told."""

import builtins
import io
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.flow import Error
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow, tutils

from abs_replay import importers
from abs_replay.errors import UsageError
from abs_replay.exchange import Exchange, Message, Outcome, WebSocket
from abs_replay.importers import Imported, Source, recognise
from abs_replay.importers.mitmproxy_flows import BROKEN, OTHER


def written(*flows: Any) -> bytes:
    file = io.BytesIO()
    writer = FlowWriter(file)  # type: ignore[no-untyped-call]
    for flow in flows:
        writer.add(flow)
    return file.getvalue()


def flow(**changes: Any) -> Any:
    made = tflow.tflow(
        req=tutils.treq(
            method=b"POST",
            host="api.example",
            port=8443,
            scheme=b"https",
            path=b"/a?b=%20",
            headers=((b"Host", b"api.example:8443"), (b"X-\xe9", b"1"), (b"x-\xe9", b"2")),
            content=b'{"q": 1}',
            timestamp_start=100.0,
        ),
        resp=tutils.tresp(
            status_code=201,
            reason=b"Made",
            headers=((b"content-encoding", b"gzip"),),
            content=b"\x1f\x8b\xff broken",
            timestamp_end=100.25,
        ),
    )
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def read(data: bytes) -> Imported:
    source = Source(Path("x.mitm"), data)
    assert recognise(source) == "mitmproxy"
    return importers.read("mitmproxy", source)


def one(data: bytes) -> Exchange:
    (exchange,) = read(data).exchanges
    return exchange


def test_bytes_names_and_times_are_kept() -> None:
    made = flow()
    exchange = one(written(made))
    assert exchange.id == made.id
    assert (exchange.started_at, exchange.ended_ms, exchange.outcome) == (100.0, 250.0, Outcome.COMPLETE)
    request, response = exchange.request, exchange.response
    assert response is not None
    assert (request.method, request.target, request.host) == ("POST", "/a?b=%20", "api.example:8443")
    assert request.headers == (("Host", "api.example:8443"), ("X-é", "1"), ("x-é", "2"))
    assert (response.status, response.reason) == (201, "Made")
    assert response.body.data == b"\x1f\x8b\xff broken"
    assert response.headers == (("content-encoding", "gzip"),)
    assert (request.body.data, request.body.chunks, response.body.chunks) == (b'{"q": 1}', (), ())


@pytest.mark.parametrize(
    ("message", "connected", "outcome"),
    [
        ("Client disconnected.", True, Outcome.CLIENT_CLOSED),
        ("server closed connection", True, Outcome.UPSTREAM_CLOSED),
        ("[Errno 111] Connect call failed", False, Outcome.REFUSED),
        ("[Errno 110] connection timed out", False, Outcome.TIMED_OUT),
        ("Certificate verify failed", False, Outcome.TLS_FAILED),
    ],
)
def test_an_error_says_how_the_exchange_ended(message: str, connected: bool, outcome: Outcome) -> None:
    made = flow(response=None, error=Error(message, 100.5))
    made.server_conn.timestamp_tcp_setup = 99.0 if connected else None
    exchange = one(written(made))
    assert (exchange.outcome, exchange.error, exchange.response) == (outcome, message, None)
    assert exchange.ended_ms == 500.0


def test_what_is_no_http_is_left_out() -> None:
    imported = read(written(tflow.ttcpflow(), flow()))
    assert [exchange.response and exchange.response.status for exchange in imported.exchanges] == [201]
    assert OTHER in imported.remarks


def test_the_messages_of_a_websocket_are_kept_with_how_it_was_closed() -> None:
    made = tflow.twebsocketflow()
    assert made.websocket is not None
    start = made.request.timestamp_start
    for number, message in enumerate(made.websocket.messages):
        message.timestamp = start + number / 4
    made.websocket.timestamp_end = start + 2
    exchange = one(written(made))
    assert exchange.ended_ms == 2000.0
    assert exchange.websocket == WebSocket(
        (
            Message(True, b"hello binary", False, 0.0),
            Message(True, b"hello text", True, 250.0),
            Message(False, b"it's me", True, 500.0),
        ),
        1000,
        "",
        False,
    )


@pytest.mark.parametrize(
    ("by_client", "outcome"), [(True, Outcome.CLIENT_CLOSED), (False, Outcome.UPSTREAM_CLOSED)]
)
def test_a_websocket_without_a_close_frame_was_broken_off(by_client: bool, outcome: Outcome) -> None:
    made = tflow.twebsocketflow()
    assert made.websocket is not None
    made.websocket.close_code, made.websocket.closed_by_client = 1006, by_client
    assert one(written(made)).outcome is outcome


def test_a_real_websocket_comes_with_its_messages(shared: Path) -> None:
    path = shared / "corpus/mitmproxy/test/mitmproxy/data/websocket.mitm"
    if not path.exists():
        pytest.skip("no corpus")
    sockets = [each.websocket for each in read(path.read_bytes()).exchanges if each.websocket]
    assert sockets
    assert all(socket.messages for socket in sockets)


def test_a_file_that_breaks_off_gives_what_comes_before() -> None:
    whole = written(flow(), flow())
    imported = read(whole[:-10])
    assert len(imported.exchanges) == 1
    assert BROKEN in imported.remarks


@pytest.mark.parametrize("data", [b"3:abc,", b"9:7:version", b"40:7:version;1:x" + b"}" * 40, b""])
def test_what_is_no_flow_file_is_one_line(data: bytes) -> None:
    with pytest.raises(UsageError, match=r"^x: is no flow file") as raised:
        importers.read("mitmproxy", Source(Path("x"), data or b"1"))
    assert "\n" not in str(raised.value)


def test_where_mitmproxy_is_absent_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "mitmproxy":
            raise ModuleNotFoundError(name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r"x.mitm: needs mitmproxy: pip install 'abs-replay\[record\]'"):
        read(written(flow()))


def test_files_of_old_versions_are_read_as_mitmproxy_reads_them(shared: Path) -> None:
    folder = shared / "corpus" / "mitmproxy" / "test" / "mitmproxy" / "data"
    if not folder.is_dir():
        pytest.skip("no corpus")
    for name, count in (("dumpfile-7.mitm", 1), ("dumpfile-19.mitm", 1), ("flows/websocket.mitm", 3)):
        assert len(read((folder / name).read_bytes()).exchanges) >= count, name
