"""Streams of `abs replay`: the first byte against a bare ASGI application's, and how well the pace is kept.

Under `--timing none` the first byte comes within 1 ms of the bare one (the same streams, in turn); under
`--timing recorded` an event is off by less than 2 ms in the median, as clients see it, from the first on.
"""

import asyncio
import json
import random
import tempfile
import time
from pathlib import Path
from statistics import median

from abs_replay.cassette import Cassette, dumps
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Recording, Request, Response, Role
from benchmarks.load import request
from benchmarks.processes import BIN, free_port, serving
from benchmarks.replaying import bare
from benchmarks.upstream import question, text

STREAMS, EVENTS, AT_ONCE = 400, 60, 20
PATH = "/v1/chat/completions"
CHANNEL = Channel(Role.LLM, "llm")


def stream(number: int) -> Exchange:
    """A recorded answer in events, 5 to 60 ms apart."""
    chance, at_ms, data, chunks = random.Random(number), 20.0, b"", []
    for event in range(EVENTS):
        delta = {"choices": [{"index": 0, "delta": {"content": text(number * 97 + event, 20)}}]}
        data += b"data: " + json.dumps(delta).encode() + b"\n\n"
        chunks.append(Chunk(len(data), at_ms))
        at_ms += chance.uniform(5, 60)
    answer = Response(200, (("content-type", "text/event-stream"),), Body(data, tuple(chunks)), "OK")
    headers = (("content-type", "application/json"),)
    asked = Request("POST", PATH, headers, Body(question(number, 2000)))
    return Exchange(f"x{number}", CHANNEL, float(number), asked, answer, ended_ms=at_ms)


async def events(port: int, message: bytes) -> tuple[float, list[float]]:
    """Ask once; when the first byte of the body came, and each event, in ms after the request was sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begun = time.perf_counter()
    writer.write(message)
    await reader.readuntil(b"\r\n\r\n")
    times: list[float] = []
    first, rest = 0.0, b""
    while piece := await reader.read(65536):
        now = (time.perf_counter() - begun) * 1000
        first = first or now
        rest += piece
        times += [now] * rest.count(b"\n\n")
        ended = rest.endswith(b"0\r\n\r\n")
        rest = rest[rest.rfind(b"\n\n") + 2 :] if b"\n\n" in rest else rest
        if ended:
            break
    writer.close()
    return first, times


async def in_turn(ours: int, other: int) -> list[tuple[float, float]]:
    """First bytes of every stream, ours and the other's, one after the other."""
    found = []
    for number in range(STREAMS):
        message = request(PATH, question(number, 2000))
        found.append(((await events(ours, message))[0], (await events(other, message))[0]))
    return found


async def at_once(port: int, recorded: list[Exchange]) -> list[float]:
    """By how many ms each event is off, of some streams that are played together."""
    asked = [request(PATH, exchange.request.body.data) for exchange in recorded]
    played = await asyncio.gather(*(events(port, message) for message in asked))
    off = []
    for exchange, (_, times) in zip(recorded, played, strict=True):
        assert exchange.response is not None
        should = [chunk.at_ms for chunk in exchange.response.body.chunks]
        pairs = zip(should, times, strict=True)
        off += [abs((came - times[0]) - (at_ms - should[0])) for at_ms, came in pairs]
    return sorted(off)


def run() -> None:
    exchanges = [stream(number) for number in range(STREAMS)]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "streams.cassette.json"
        cassette = Cassette(
            Recording("r", "streams", 0.0), tuple(exchanges), frozenset(e.id for e in exchanges)
        )
        path.write_text(dumps(cassette), encoding="utf-8")
        fast, paced = free_port(), free_port()
        replay = [str(BIN / "abs"), "replay", str(path), "--quiet", "--port"]
        with serving([*replay, str(fast)], fast), bare(path) as least:
            pairs = asyncio.run(in_turn(fast, least))[20:]
        with serving([*replay, str(paced), "--timing", "recorded"], paced):
            off = asyncio.run(at_once(paced, exchanges[:AT_ONCE]))
    added = median(mine - other for mine, other in pairs)
    mine, other = (sorted(column) for column in zip(*pairs, strict=True))
    print(f"the first byte of a stream, after a bare ASGI application's: {added:+.2f} ms (target at most 1)")
    for of, share in (("median", 0.5), ("p99", 0.99)):
        at = int(len(mine) * share)
        print(f"  {of}: {mine[at]:.2f} and {other[at]:.2f} ms, of {len(mine)} streams")
    print(
        f"an event is off by {median(off):.2f} ms in the median (target under 2), {AT_ONCE} streams at once"
    )
    print(f"  p99 {off[int(len(off) * 0.99)]:.2f} ms, {len(off)} events")


if __name__ == "__main__":
    run()
