"""A load generator light enough not to be what is measured: raw HTTP/1.1 over keep-alive connections."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import cast

import httptools
import uvloop


@dataclass(frozen=True, slots=True)
class Load:
    """What came of it: requests answered, those not answered with 200, seconds, median latency in ms."""

    requests: int
    errors: int
    seconds: float
    median_ms: float

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds


def request(path: str, body: bytes, *, method: str = "POST") -> bytes:
    """Write one HTTP request as bytes."""
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body


def drive(
    port: int, requests: Sequence[bytes], *, connections: int = 16, seconds: float | None = None
) -> Load:
    """Send every request once or, with `seconds`, round and round for that long."""
    return uvloop.run(_drive(port, requests, connections, seconds))


async def _drive(port: int, requests: Sequence[bytes], connections: int, seconds: float | None) -> Load:
    turn = count()
    latencies: list[float] = []
    errors: list[int] = []
    started = time.perf_counter()

    def following() -> bytes | None:
        if seconds is not None:
            late = time.perf_counter() - started > seconds
            return None if late else requests[next(turn) % len(requests)]
        position = next(turn)
        return requests[position] if position < len(requests) else None

    loop = asyncio.get_running_loop()
    clients = [Client(following, latencies, errors, loop.create_future()) for _ in range(connections)]
    for client in clients:
        await loop.create_connection(lambda client=client: client, "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.wait_for(asyncio.gather(*(client.done for client in clients)), timeout=120)
    elapsed = time.perf_counter() - started
    latencies.sort()
    return Load(len(latencies), len(errors), elapsed, latencies[len(latencies) // 2] * 1000)


class Client(asyncio.Protocol):
    """One connection: sends the next request when the answer to the last one is whole."""

    def __init__(self, following, latencies, errors, done) -> None:  # type: ignore[no-untyped-def]
        self.following, self.latencies, self.errors, self.done = following, latencies, errors, done
        self.parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is none by class
        self.send()

    def send(self) -> None:
        message = self.following()
        if message is None:
            self.transport.close()
            self.done.set_result(None)
            return
        self.sent_at = time.perf_counter()
        self.transport.write(message)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        self.latencies.append(time.perf_counter() - self.sent_at)
        if self.parser.get_status_code() != 200:
            self.errors.append(self.parser.get_status_code())
        self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionResetError("the server closed a connection"))
