"""What a client sees of a recorder it sees of the replay: pieces, codings, and how a stream broke off."""

import asyncio
import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
import openai
import pytest

from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.decoders import decode
from abs_replay.exchange import Exchange, Outcome, Recording
from abs_replay.player import Player
from abs_replay.server import ReplayServer
from tests.proxied import EVENTS, SSE, chunk, recording

pytestmark = pytest.mark.processes

PACKED = SSE.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
SAID = json.dumps({"id": "c", "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]})
CHAT = b"data: %s\n\n" % SAID.encode()
PATHS = ("/split", "/gzip", "/cut")


def packed() -> Iterator[bytes]:
    """The events in one gzip stream, of which each chunk holds a part that can be read when it came."""
    packer = zlib.compressobj(wbits=31)
    for event in EVENTS:
        yield packer.compress(event) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
    path = head.split(b" ")[1].decode()
    length = next((int(each.split(b":")[1]) for each in head.lower().split(b"\r\n") if b"-length" in each), 0)
    await reader.readexactly(length)
    pieces = {"/split": EVENTS, "/gzip": tuple(packed())}.get(path, (CHAT, b"data: [DONE]\n\n"))
    writer.write(PACKED if path == "/gzip" else SSE)
    for piece in pieces[:1] if path == "/cut" else pieces:
        writer.write(chunk(piece))
        await writer.drain()
        await asyncio.sleep(0.02)
    if path == "/cut":
        writer.close()
    elif path.endswith("/completions"):
        await reader.read()  # until the client leaves: what comes after the last event, SDKs never read
    else:
        writer.write(b"0\r\n\r\n")


@dataclass(frozen=True)
class Heard:
    """Pieces as they were framed, whether the framing came to its end, and what clients raise."""

    pieces: tuple[bytes, ...]
    is_whole: bool
    raised: str


async def heard(base: str, path: str) -> Heard:
    pieces, is_whole = await framed(base, path)
    raised = ""
    async with httpx.AsyncClient(trust_env=False) as client:
        try:
            answer = await client.get(base + path)
            raised = str(answer.status_code)
        except httpx.HTTPError as error:
            raised = type(error).__name__
    return Heard(pieces, is_whole, raised)


async def framed(base: str, path: str) -> tuple[tuple[bytes, ...], bool]:
    """Read HTTP/1.1's chunks as they are (RFC 9112 §7.1)."""
    address = urlsplit(base)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: {address.netloc}\r\n\r\n".encode())
    pieces: list[bytes] = []
    try:
        if b"chunked" not in await reader.readuntil(b"\r\n\r\n"):
            return (), True
        while size := int(await reader.readline() or b"x", 16):
            pieces.append((await reader.readexactly(size + 2))[:-2])
    except (ValueError, asyncio.IncompleteReadError):
        return tuple(pieces), False
    finally:
        writer.close()
    return tuple(pieces), True


async def complete(base: str) -> str:
    async with openai.AsyncOpenAI(base_url=base, api_key="k", max_retries=0) as sdk:
        asked = await sdk.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        said = "".join([part.choices[0].delta.content or "" async for part in asked])
        await asked.close()
        return said


async def everything(base: str) -> tuple[dict[str, Heard], str]:
    return {path: await heard(base, path) for path in PATHS}, await complete(base)


type Both = tuple[dict[str, Heard], dict[str, Heard], tuple[str, str], tuple[Exchange, ...]]


@pytest.fixture(scope="module")
def both() -> Both:
    """What clients heard of a recorder, then of a replay with nothing behind it, and what was kept."""

    async def record() -> tuple[dict[str, Heard], str, tuple[Exchange, ...]]:
        async with recording(serve) as proxy:
            first, said = await everything(proxy.base)
            count = 2 * len(PATHS) + 1
            kept = [await proxy.exchange() for _ in range(count)]
            return first, said, tuple(sorted(kept, key=lambda exchange: exchange.started_at))

    recorded, said, kept = asyncio.run(record())
    cassette = loads(dumps(Cassette(Recording("r", "n", 0.0), kept)))
    with ReplayServer(Player(cassette)) as server:
        (base,) = server.addresses().values()
        replayed, again = asyncio.run(everything(base))
    return recorded, replayed, (said, again), kept


def test_an_event_in_two_chunks_and_two_events_in_one_come_in_the_same_pieces(both: Both) -> None:
    recorded, replayed, _, _ = both
    assert recorded["/split"] == replayed["/split"] == Heard(EVENTS, is_whole=True, raised="200")


def test_a_compressed_stream_comes_in_the_same_pieces_and_can_be_read_as_it_comes(both: Both) -> None:
    recorded, replayed, _, _ = both
    assert recorded["/gzip"] == replayed["/gzip"]
    assert gzip.decompress(b"".join(replayed["/gzip"].pieces)) == b"".join(EVENTS)


def test_a_stream_that_broke_off_raises_the_same_in_a_client(both: Both) -> None:
    recorded, replayed, _, _ = both
    assert (
        recorded["/cut"] == replayed["/cut"] == Heard((CHAT,), is_whole=False, raised="RemoteProtocolError")
    )


def test_an_sdk_that_hangs_up_at_the_last_event_leaves_a_whole_answer(both: Both) -> None:
    _, _, said, kept = both
    assert said == ("hi", "hi")
    (chat,) = [exchange for exchange in kept if exchange.request.path.endswith("/completions")]
    assert chat.outcome is Outcome.CLIENT_CLOSED
    assert decode(chat).complete is True
