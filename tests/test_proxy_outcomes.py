"""However an exchange ends, it is kept, and who ended it is told, on real sockets."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from abs_replay.channels import parse_upstream
from abs_replay.exchange import Outcome, Role, header
from tests.proxied import Recording, echo, endless, listening, recording

pytestmark = pytest.mark.processes


@contextlib.asynccontextmanager
async def connection(
    proxy: Recording, head: bytes
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A client that says what it is told to; one that sends the end of a connection, as SDKs do."""
    parts = urlsplit(proxy.base)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(head)
    await writer.drain()
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def reset(writer: asyncio.StreamWriter) -> None:
    """Hang up as a killed process does: at once, with what was not read yet."""
    held: socket.socket = writer.get_extra_info("socket")
    held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


UPLOAD = b"POST /up HTTP/1.1\r\nhost: x\r\n%s\r\n\r\n"


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize(
    ("framing", "body"),
    [(b"content-length: 2000000", b"x" * 1000), (b"transfer-encoding: chunked", b"3e8\r\n" + b"x" * 1000)],
)
def test_a_client_that_gives_up_an_upload_is_not_mistaken_for_an_upstream_that_broke_off(
    framing: bytes, body: bytes, killed: bool
) -> None:
    async def case() -> None:
        async with recording(endless) as proxy:
            async with connection(proxy, UPLOAD % framing + body) as (_, writer):
                await asyncio.sleep(0.1)
                if killed:
                    reset(writer)
            seen = await proxy.exchange()
            assert seen.outcome is Outcome.CLIENT_CLOSED
            assert seen.request.body.data == b"x" * 1000

    asyncio.run(case())


@pytest.mark.parametrize("killed", [False, True])
def test_a_client_that_gives_up_a_download_is_told_apart_with_what_it_had_got(killed: bool) -> None:
    async def case() -> None:
        async with recording(endless) as proxy:
            async with connection(proxy, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n") as (reader, writer):
                await reader.readuntil(b"data: one\n\n")
                if killed:
                    reset(writer)
            seen = await proxy.exchange()
            assert seen.outcome is Outcome.CLIENT_CLOSED
            assert seen.response is not None
            assert seen.response.body.data == b"data: one\n\n"

    asyncio.run(case())


async def drop_upload(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
    await reader.read(1000)
    reset(writer)


def test_an_upstream_that_hangs_up_on_an_upload_is_the_one_that_ended_it() -> None:
    async def case() -> None:
        async with recording(drop_upload) as proxy:
            async with connection(proxy, UPLOAD % b"content-length: 2000000" + b"x" * 100_000) as (reader, _):
                assert (await reader.readline()).startswith(b"HTTP/1.1 502 ")
            assert (await proxy.exchange()).outcome is Outcome.UPSTREAM_CLOSED

    asyncio.run(case())


async def too_large(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
    """Answer before the body is there, as gateways do, and hang up."""
    writer.write(
        b"HTTP/1.1 413 Content Too Large\r\ncontent-length: 6\r\nconnection: close\r\n\r\ntoo big"[:-1]
    )
    await writer.drain()
    await asyncio.sleep(0.2)
    writer.close()


def test_an_answer_that_comes_before_the_upload_is_done_reaches_the_client_and_is_kept() -> None:
    async def case() -> None:
        async with recording(too_large) as proxy:
            async with connection(proxy, UPLOAD % b"content-length: 9000000" + b"x" * 100_000) as (
                reader,
                _,
            ):
                assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
            seen = await proxy.exchange()
            assert seen.response is not None
            assert (seen.response.status, seen.response.body.data) == (413, b"too bi")
            assert seen.outcome is Outcome.COMPLETE
            assert seen.request.body.data.startswith(b"xxx")

    asyncio.run(case())


@pytest.mark.parametrize(
    ("head", "method", "target"),
    [
        (b"GET /x y z HTTP/1.1\r\nauthorization: Bearer abc\r\n\r\n", "GET", "/x y z"),
        (b"\xff\xfe no HTTP\r\nnonsense\r\n\r\n", "\xff\xfe", "no"),
        (b"GET /x\r\n\r\n", "GET", "/x"),
        (b"GET /x HTTP/1.1\r\nfold\r\nauthorization: Bearer abc\r\n\r\n", "GET", "/x"),
    ],
)
def test_a_request_that_is_no_http_is_kept_as_refused_with_all_that_was_said(
    head: bytes, method: str, target: str
) -> None:
    async def case() -> None:
        async with recording(echo) as proxy:
            async with connection(proxy, head) as (reader, _):
                assert (await reader.readline()).startswith(b"HTTP/1.1 400 ")
            seen = await proxy.exchange()
            assert (seen.outcome, seen.response, str(seen.channel)) == (Outcome.REFUSED, None, "llm")
            assert (seen.request.method, seen.request.target) == (method, target)
            assert (b"authorization" in head) == (
                header(seen.request.headers, "authorization") == "Bearer abc"
            )
            assert all(word in seen.request.body.data for word in (b"fold", b"nonsense") if word in head)
            assert "400" in (seen.error or "")

    asyncio.run(case())


@pytest.mark.parametrize(
    "fields",
    [
        b"x y: 1",
        b"content-length: 1\r\ncontent-length: 2",
        b"transfer-encoding: chunked\r\ncontent-length: 3",
    ],
)
def test_headers_that_could_smuggle_a_request_are_kept_as_refused(fields: bytes) -> None:
    async def case() -> None:
        async with recording(echo) as proxy:
            async with connection(proxy, b"POST /x HTTP/1.1\r\nhost: x\r\n%s\r\n\r\n1" % fields) as (
                reader,
                _,
            ):
                assert (await reader.readline()).startswith(b"HTTP/1.1 400 ")
            seen = await proxy.exchange()
            assert (seen.outcome, seen.response) == (Outcome.REFUSED, None)
            assert (seen.request.target, bool(seen.error)) == ("/x", True)

    asyncio.run(case())


def test_an_upstream_that_never_takes_the_connection_is_kept_as_timed_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its queue is full, so the system drops what knocks; it gives up after one repetition here, not six."""
    open_connection = asyncio.open_connection

    async def impatient(host: str, port: int, **options: Any) -> Any:
        knocking = socket.socket()
        knocking.setblocking(False)
        knocking.setsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT, 1)
        try:
            await asyncio.get_running_loop().sock_connect(knocking, (host, port))
        except OSError:
            knocking.close()
            raise
        return await open_connection(sock=knocking)

    async def case() -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            port = full.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port)):
                declared = parse_upstream(Role.LLM, f"http://127.0.0.1:{port}")
                made: list[Any] = []
                async with (
                    listening([declared], made.append) as addresses,
                    httpx.AsyncClient(timeout=30) as client,
                ):
                    monkeypatch.setattr(asyncio, "open_connection", impatient)
                    waiting = asyncio.create_task(client.get(addresses[declared.channel]))
                    await asyncio.sleep(0.2)
                    monkeypatch.setattr(asyncio, "open_connection", open_connection)
                    assert (await waiting).status_code == 502
                assert made[0]().outcome is Outcome.TIMED_OUT

    asyncio.run(case())
