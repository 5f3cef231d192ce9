"""Nothing leaves this machine while a guard stands, whoever asks, and all is as before afterwards."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvloop

from abs_replay.network_guard import Guard, NetworkBlocked, guarded, is_here

ELSEWHERE = "192.0.2.1"  # RFC 5737: nobody's


@pytest.fixture
def guard() -> Iterator[Guard]:
    guard = Guard("tests/test_x.py::test_y", ["*.allowed.test"])
    with guarded(guard):
        yield guard


def with_a_socket(use: Callable[[socket.socket], object], kind: int = socket.SOCK_STREAM) -> None:
    with socket.socket(socket.AF_INET, kind) as made:
        made.settimeout(1)
        use(made)


async def connect() -> None:
    await asyncio.open_connection(ELSEWHERE, 443)


async def look_up() -> None:
    await asyncio.get_running_loop().getaddrinfo("api.openai.com", 443)


async def datagram() -> None:
    await asyncio.get_running_loop().create_datagram_endpoint(
        asyncio.DatagramProtocol, remote_addr=(ELSEWHERE, 53)
    )


WAYS_OUT: dict[str, Callable[[], object]] = {
    "connect": lambda: with_a_socket(lambda s: s.connect((ELSEWHERE, 443))),
    "connect_ex": lambda: with_a_socket(lambda s: s.connect_ex((ELSEWHERE, 443))),
    "sendto": lambda: with_a_socket(lambda s: s.sendto(b"x", (ELSEWHERE, 53)), socket.SOCK_DGRAM),
    "create_connection": lambda: socket.create_connection((ELSEWHERE, 443), timeout=1),
    "getaddrinfo": lambda: socket.getaddrinfo("api.openai.com", 443),
    "getaddrinfo of bytes": lambda: socket.getaddrinfo(b"api.openai.com", 443),
    "gethostbyname": lambda: socket.gethostbyname("api.openai.com"),
    "asyncio connects": lambda: asyncio.run(connect()),
    "asyncio looks up": lambda: asyncio.run(look_up()),
    "asyncio's datagrams": lambda: asyncio.run(datagram()),
    "uvloop connects": lambda: uvloop.run(connect()),
    "uvloop looks up": lambda: uvloop.run(look_up()),
    "uvloop's datagrams": lambda: uvloop.run(datagram()),
}


@pytest.mark.parametrize("way", WAYS_OUT)
def test_no_way_leads_out(guard: Guard, way: str) -> None:
    with pytest.raises(NetworkBlocked, match=r"^tests/test_x\.py::test_y wanted to reach (192|api)"):
        WAYS_OUT[way]()

    assert len(guard.refused) == 1


def test_a_client_says_it_in_its_own_way_and_it_is_remembered(guard: Guard) -> None:
    with pytest.raises(httpx.ConnectError):
        httpx.get("http://api.openai.com/")

    assert guard.refused == ["api.openai.com:80"]


def test_a_thread_is_guarded_too(guard: Guard) -> None:
    raised: list[Exception] = []

    def leave() -> None:
        try:
            socket.create_connection((ELSEWHERE, 443), timeout=1)
        except OSError as error:
            raised.append(error)

    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()

    assert isinstance(raised[0], NetworkBlocked)


def test_loopback_and_unix_sockets_work_as_ever(guard: Guard, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for host in ("127.0.0.1", "localhost"):
            socket.create_connection((host, port), timeout=5).close()
        with_a_socket(lambda s: s.connect(("0.0.0.0", port)))
    with (
        socket.socket(socket.AF_UNIX) as server,
        socket.socket(socket.AF_UNIX) as client,
    ):
        server.bind(str(tmp_path / "s"))
        server.listen()
        client.connect(str(tmp_path / "s"))

    assert guard.refused == []


def test_hosts_that_are_let_through_are_asked(guard: Guard) -> None:
    with pytest.raises(socket.gaierror):  # RFC 6761: no name under .test is anybody's
        socket.getaddrinfo("db.ALLOWED.test", 5432)


@pytest.mark.parametrize(
    ("host", "here"),
    [
        *((host, True) for host in ("", "localhost", "LocalHost.", "x.localhost", "127.8.8.8", "::1")),
        *((host, True) for host in ("0.0.0.0", "::", "::ffff:127.0.0.1")),
        *((host, False) for host in ("localhost.example.com", "10.0.0.1", "fe80::1%eth0", "::ffff:8.8.8.8")),
    ],
)
def test_what_is_this_machine(host: str, here: bool) -> None:
    assert is_here(host) is here


def test_all_is_as_before_also_where_the_block_failed() -> None:
    def found() -> list[Any]:
        return [socket.socket.connect, socket.getaddrinfo, uvloop.Loop.create_connection]

    before = found()
    with pytest.raises(NetworkBlocked), guarded(Guard("x")):
        socket.create_connection((ELSEWHERE, 443), timeout=1)

    assert found() == before
    assert "connect" not in vars(socket.socket)
