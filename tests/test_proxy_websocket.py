"""A WebSocket passes as if nobody were there, and all that was said on it is kept."""

import asyncio
import contextlib
import json
import socket
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import openai
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, ConnectionClosedError, InvalidStatus
from websockets.typing import Origin

from abs_replay.assembly import assemble
from abs_replay.channels import parse_upstream
from abs_replay.exchange import Exchange, Message, Outcome, Role, WebSocket, header

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of pyasn1 in ldap3, which mitmproxy imports
    from abs_replay.proxy import listening

pytestmark = pytest.mark.processes

type Handle = Callable[[ServerConnection], Awaitable[None]]
type Spoken = tuple[bool, str | bytes]


async def echo(server: ServerConnection) -> None:
    async for message in server:
        await server.send(message)


class Recorded:
    def __init__(self, url: str) -> None:
        self.url = url
        self.made: list[Callable[[], Exchange]] = []

    async def exchange(self) -> Exchange:
        for _ in range(300):
            if self.made:
                return self.made.pop(0)()
            await asyncio.sleep(0.01)
        raise AssertionError("no exchange was noted")

    async def socket(self) -> WebSocket:
        socket = (await self.exchange()).websocket
        assert socket is not None
        return socket


@contextlib.asynccontextmanager
async def recorded(handle: Handle, max_body: int = 1 << 24, **how: object) -> AsyncIterator[Recorded]:
    """A real WebSocket server behind a real listener; `url` is the listener's."""
    async with serve(handle, "127.0.0.1", 0, **how) as server:  # type: ignore[arg-type]
        port = next(iter(server.sockets)).getsockname()[1]
        declared = parse_upstream(Role.LLM, f"http://127.0.0.1:{port}/v1")
        made: list[Callable[[], Exchange]] = []
        async with listening([declared], made.append, max_body=max_body) as addresses:
            result = Recorded(addresses[declared.channel].replace("http", "ws", 1))
            result.made = made
            yield result


def spoken(websocket: WebSocket) -> list[Spoken]:
    return [(m.from_client, m.data.decode() if m.is_text else m.data) for m in websocket.messages]


def run(case: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(20):
            await case()

    asyncio.run(limited())


def test_text_and_bytes_are_kept_in_order_with_their_times_and_the_handshake() -> None:
    async def case() -> None:
        async with recorded(echo) as proxy:
            before = time.time()
            async with connect(f"{proxy.url}/realtime?model=gpt", additional_headers={"X-A": "1"}) as client:
                for each in ("hällo", b"\x00\xff", ""):
                    await client.send(each)
                    assert await client.recv() == each
                    await asyncio.sleep(0.05)
                assert not proxy.made, "it is handed over when it has ended"
            seen = await proxy.exchange()
            assert (seen.request.method, seen.request.target) == ("GET", "/v1/realtime?model=gpt")
            assert header(seen.request.headers, "x-a") == "1"
            assert "permessage-deflate" in (header(seen.request.headers, "sec-websocket-extensions") or "")
            assert seen.response is not None
            assert seen.response.status == 101
            assert (seen.outcome, seen.error) == (Outcome.COMPLETE, None)
            assert seen.websocket is not None
            both = [(side, said) for said in ("hällo", b"\x00\xff", "") for side in (True, False)]
            assert spoken(seen.websocket) == both
            times = [message.at_ms for message in seen.websocket.messages]
            assert times == sorted(times)
            assert times[2] - times[0] > 45
            assert times[-1] <= (seen.ended_ms or 0) <= (time.time() - before) * 1000 + 1
            assert (seen.websocket.close_code, seen.websocket.closed_by_client) == (1000, True)

    run(case)


@pytest.mark.parametrize("compression", ["deflate", None])
def test_large_and_fragmented_messages_come_whole(compression: str | None) -> None:
    large = "α" * 300_000

    async def pieces() -> AsyncIterator[str]:
        for each in ("one ", "two ", "three"):
            yield each
            await asyncio.sleep(0.02)

    async def handle(server: ServerConnection) -> None:
        await server.send(large)
        async for fragment in server.recv_streaming(decode=True):
            await server.send(f"[{fragment}]")
        await server.wait_closed()

    async def case() -> None:
        async with recorded(handle) as proxy:
            async with connect(proxy.url, compression=compression) as client:
                assert await client.recv() == large
                sending = asyncio.create_task(client.send(pieces()))
                assert await client.recv() == "[one ]", "a fragment is not held back"
                assert not sending.done()
                await sending
            socket = await proxy.socket()
            assert (False, large) in spoken(socket)
            assert (True, "one two three") in spoken(socket)

    run(case)


def test_ten_thousand_messages_are_all_kept_in_their_order() -> None:
    count = 5000

    async def handle(server: ServerConnection) -> None:
        for number in range(count):
            assert await server.recv() == f"ask {number}"
            await server.send(f"answer {number}")
        await server.close()

    async def case() -> None:
        async with recorded(handle) as proxy:
            async with connect(proxy.url) as client:
                sending = asyncio.create_task(send_all(client))
                received = [message async for message in client]
                await sending
            assert received == [f"answer {number}" for number in range(count)]
            said = spoken(await proxy.socket())
            assert [text for ours, text in said if ours] == [f"ask {number}" for number in range(count)]
            assert [text for ours, text in said if not ours] == received

    async def send_all(client: ClientConnection) -> None:
        for number in range(count):
            await client.send(f"ask {number}")

    run(case)


@pytest.mark.parametrize(("code", "reason"), [(1000, ""), (1001, "away"), (4321, "grüße"), (1011, "broken")])
def test_a_server_that_closes_is_heard_by_the_client_and_noted(code: int, reason: str) -> None:
    async def handle(server: ServerConnection) -> None:
        await server.send("bye")
        await server.close(code, reason)

    async def case() -> None:
        async with recorded(handle) as proxy, connect(proxy.url) as client:
            assert await client.recv() == "bye"
            with pytest.raises(ConnectionClosed):
                await client.recv()
            assert (client.close_code, client.close_reason) == (code, reason)
            seen = await proxy.exchange()
            assert seen.outcome is Outcome.COMPLETE
            assert seen.websocket is not None
            assert (seen.websocket.close_code, seen.websocket.close_reason) == (code, reason)
            assert seen.websocket.closed_by_client is False

    run(case)


def test_the_close_of_a_client_reaches_the_server() -> None:
    heard: list[tuple[int | None, str | None]] = []

    async def handle(server: ServerConnection) -> None:
        await server.wait_closed()
        heard.append((server.close_code, server.close_reason))

    async def case() -> None:
        async with recorded(handle) as proxy:
            async with connect(proxy.url) as client:
                await client.close(4000, "enough")
            socket = await proxy.socket()
            assert (socket.close_code, socket.close_reason, socket.closed_by_client) == (4000, "enough", True)
        assert heard == [(4000, "enough")]

    run(case)


def test_a_server_that_breaks_off_looks_to_the_client_as_it_is() -> None:
    async def handle(server: ServerConnection) -> None:
        await server.send("half a")
        server.transport.abort()

    async def case() -> None:
        async with recorded(handle) as proxy, connect(proxy.url) as client:
            assert await client.recv() == "half a"
            with pytest.raises(ConnectionClosedError):
                await client.recv()
            seen = await proxy.exchange()
            assert (seen.outcome, seen.error) == (
                Outcome.UPSTREAM_CLOSED,
                "the server was gone without a close frame",
            )
            assert seen.websocket is not None
            assert (seen.websocket.close_code, seen.websocket.closed_by_client) == (1006, False)
            assert spoken(seen.websocket) == [(False, "half a")]

    run(case)


def test_a_client_that_breaks_off_looks_to_the_server_as_it_is() -> None:
    heard: list[int | None] = []

    async def handle(server: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            await echo(server)
        heard.append(server.close_code)

    async def case() -> None:
        async with recorded(handle) as proxy:
            client = await connect(proxy.url)
            await client.send("hi")
            assert await client.recv() == "hi"
            client.transport.abort()
            seen = await proxy.exchange()
            assert (seen.outcome, seen.error) == (
                Outcome.CLIENT_CLOSED,
                "the client was gone without a close frame",
            )
            assert seen.websocket is not None
            assert (seen.websocket.close_code, seen.websocket.closed_by_client) == (1006, True)
        assert heard == [1006]

    run(case)


def test_what_is_open_when_the_recording_ends_is_kept_as_far_as_it_came() -> None:
    async def case() -> None:
        async with recorded(echo) as proxy:
            client = await connect(proxy.url)
            await client.send("hi")
            assert await client.recv() == "hi"
        seen = await proxy.exchange()
        assert seen.error == "the recording ended first"
        assert seen.websocket is not None
        assert spoken(seen.websocket) == [(True, "hi"), (False, "hi")]
        assert seen.websocket.close_code is None
        assert not proxy.made
        await client.close()

    run(case)


def test_pings_of_either_side_are_answered_by_the_other_side_itself() -> None:
    async def handle(server: ServerConnection) -> None:
        await (await server.ping(b"anyone?"))
        await server.send("there")
        await server.wait_closed()

    async def case() -> None:
        async with recorded(handle) as proxy:
            async with connect(proxy.url) as client:
                assert await client.recv() == "there"
                assert await (await client.ping(b"you?")) < 1.0
            assert spoken(await proxy.socket()) == [(False, "there")]

    run(case)


def test_messages_over_the_limit_pass_whole_and_are_kept_cut_with_their_sizes() -> None:
    async def case() -> None:
        async with recorded(echo, max_body=10) as proxy:
            async with connect(proxy.url) as client:
                for each in ("seven..", "another seven", ""):
                    await client.send(each)
                    assert await client.recv() == each
            seen = await proxy.exchange()
            assert seen.websocket is not None
            first, second, *others = seen.websocket.messages
            assert (first.data, first.size) == (b"seven..", None)
            assert (second.data, second.size, second.cut) == (b"sev", 7, True)
            assert others == [], "nor are many small ones kept without end"
            assert seen.error == "4 more messages are not kept: there were too many for --max-body"

    run(case)


def test_a_server_that_refuses_is_an_exchange_without_messages() -> None:
    async def handle(server: ServerConnection) -> None:
        raise AssertionError("nobody comes here")

    async def case() -> None:
        async with recorded(handle, origins=[Origin("https://only.example")]) as proxy:
            with pytest.raises(InvalidStatus):
                await connect(proxy.url)
            seen = await proxy.exchange()
            assert seen.response is not None
            assert (seen.response.status, seen.websocket) == (403, None)

    run(case)


SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"


@pytest.mark.parametrize(
    ("extensions", "frames", "heard"),
    [
        (b"", b"\x81\x02hi\xc1\x01?after", "frames of the server are not understood"),
        (b"", b"\x81\x02hi\x81\x01\xff", "frames of the server are not understood"),
        (b"Sec-WebSocket-Extensions: x-zip\r\n", b"\x81\x02hi\xc1\x01?", "frames of the server are not"),
        (
            b"Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=8\r\n",
            b"\x81\x02hi",
            "frames of the server are not understood (Window size",
        ),
    ],
)
def test_frames_that_nobody_understands_pass_all_the_same(
    extensions: bytes, frames: bytes, heard: str
) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(SWITCH + extensions + b"\r\n" + frames)
        await writer.drain()
        writer.close()

    async def case() -> None:
        made: list[Callable[[], Exchange]] = []
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        declared = parse_upstream(Role.LLM, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        async with server, listening([declared], made.append) as addresses:
            host, _, port = addresses[declared.channel][7:].partition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(
                b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
            )
            got = await reader.read()
            assert got.endswith(b"\r\n\r\n" + frames)
            writer.close()
            await writer.wait_closed()
        assert len(made) == 1
        seen = made[0]()
        assert heard in (seen.error or "")
        assert seen.websocket is not None
        assert seen.websocket.messages[1:] == ()

    run(case)


def test_a_message_takes_no_noticeable_time() -> None:
    async def seconds(url: str) -> float:
        async with connect(url) as client:
            start = time.perf_counter()
            for _ in range(200):
                await client.send("ping" * 50)
                await client.recv()
            return (time.perf_counter() - start) / 200

    async def case() -> None:
        async with recorded(echo) as proxy:
            assert await seconds(proxy.url) < 0.02

    run(case)


def test_the_bytes_of_a_message_need_not_be_read_in_one_piece() -> None:
    """Frames torn anywhere, two at once, and a close frame in the same piece."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(SWITCH + b"\r\n\x01")
        for each in (b"\x02n", b"a\x80\x02\xc3", b"\xaf\x82", b"\x01\x00\x88\x02\x03\xe8"):
            await writer.drain()
            await asyncio.sleep(0.02)
            writer.write(each)
        await writer.drain()
        writer.close()

    async def case() -> None:
        made: list[Callable[[], Exchange]] = []
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        declared = parse_upstream(Role.LLM, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        async with server, listening([declared], made.append) as addresses:
            port = int(addresses[declared.channel].rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.setblocking(False)
                loop = asyncio.get_running_loop()
                await loop.sock_sendall(
                    client,
                    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
                )
                while await loop.sock_recv(client, 65536):
                    pass
        websocket = made[0]().websocket
        assert websocket is not None
        assert spoken(websocket) == [(False, "naï"), (False, b"\x00")]
        assert (websocket.close_code, websocket.closed_by_client) == (1000, False)

    run(case)


def test_a_conversation_of_openais_sdk_becomes_its_trace() -> None:
    fixture = Path(__file__).parents[1] / "fixtures/openai_realtime/plain.json"
    script = json.loads(fixture.read_text())["exchanges"][0]["websocket"]["messages"]

    async def handle(server: ServerConnection) -> None:
        for side, _, event in script:
            if side == ">":
                assert json.loads(await server.recv())["type"] == event["type"]
            else:
                await server.send(json.dumps(event))
        await server.wait_closed()

    async def talk(sdk: openai.AsyncOpenAI) -> list[str]:
        heard: list[str] = []
        async with sdk.realtime.connect(model="gpt-realtime") as connection:
            for side, _, event in script:
                if side == ">":
                    await connection.send(event)
                else:
                    heard.append((await connection.recv()).type)
        return heard

    async def case() -> None:
        async with recorded(handle) as proxy:
            async with openai.AsyncOpenAI(api_key="k", websocket_base_url=proxy.url) as sdk:
                assert await talk(sdk) == [event["type"] for side, _, event in script if side == "<"]
            (trace,) = assemble([await proxy.exchange()])
        assert [f"{step.actor} {step.action}" for step in trace.steps] == [
            *("system says", "user says", "assistant calls", "tool responds", "assistant responds"),
            *("system says", "user says", "assistant responds"),
        ]

    run(case)


def test_a_message_is_cut_only_where_it_is_longer() -> None:
    assert not Message(True, b"ab", True, 0.0, size=2).cut
