"""Processor time a request: `abs record` beside `mitmdump` that changes nothing, by kinds of traffic.

The same requests go through both in turn, in rounds; what a machine does beside slows both, so the ratio of a
round stands. All threads of a process count, and what is still written after the last answer.
`python -m benchmarks.cost [ROUNDS]`
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from benchmarks.load import drive, request
from benchmarks.processes import cpu_seconds
from benchmarks.recording import plain_mitmdump, recorder, upstream
from benchmarks.upstream import question, text

TARGET = 1.25
SETTLE_S = 0.6  # what is queued is paid for, too
type Way = tuple[int, int]  # process id and port


def history(seed: int, turns: int = 40) -> bytes:
    """A chat's request with a long history: 50 KB, of which the next turn repeats all."""
    system = {"role": "system", "content": text(7, 2000)}
    roles = ("user", "assistant")
    said = [{"role": roles[n % 2], "content": text(1000 * seed + n, 1200)} for n in range(turns)]
    return json.dumps({"model": "m-1", "messages": [system, *said], "stream": False}).encode()


KEY = b"authorization: Bearer sk-proj-Abcdefghijklmnop1234567890\r\n"


def asked(path: str, body: bytes) -> bytes:
    """A request with a key, as all are."""
    head, end, rest = request(path, body).partition(b"\r\n")
    return head + end + KEY + rest


SMALL = [asked("/v1/chat/completions", question(seed, 200)) for seed in range(100)]
USUAL = [asked("/v1/chat/completions", question(seed)) for seed in range(100)]
LONG = [asked("/v1/chat/completions", history(seed)) for seed in range(50)]
STREAM = asked("/v1/said", b"{}")


async def _streams(port: int, count: int, at_once: int = 8) -> None:
    """Read streams of a few hundred deltas to their ends."""
    turns = iter(range(count))

    async def some() -> None:
        for _ in turns:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(STREAM)
            async with asyncio.timeout(60):
                while b"[DONE]" not in await reader.readline():
                    pass
            writer.close()
            await writer.wait_closed()

    await asyncio.gather(*(some() for _ in range(at_once)))


def _asked(requests: Sequence[bytes]) -> Callable[[int, int], object]:
    return lambda port, count: drive(port, [requests[n % len(requests)] for n in range(count)])


CASES: dict[str, tuple[int, Callable[[int, int], object]]] = {
    "a short question, 8 KB back": (400, _asked(SMALL)),
    "4 KB, 8 KB back": (400, _asked(USUAL)),
    "a history of 50 KB": (200, _asked(LONG)),
    "a stream of 200 deltas": (40, lambda port, count: asyncio.run(_streams(port, count))),
}


def used(way: Way, load: Callable[[int, int], object], count: int) -> float:
    """Milliseconds of processor time a request."""
    before = cpu_seconds(way[0])
    load(way[1], count)
    time.sleep(SETTLE_S)
    return (cpu_seconds(way[0]) - before) * 1000 / count


def rounds_of(ours: Way, peer: Way, case: str, rounds: int) -> list[tuple[float, float]]:
    """Both in turn, so that each is the first of a round as often as the other."""
    count, load = CASES[case]
    found = []
    for number in range(rounds + 1):
        first, second = (ours, peer) if number % 2 else (peer, ours)
        a, b = used(first, load, count), used(second, load, count)
        found.append((a, b) if first is ours else (b, a))
    return found[1:]  # the first warms both


def run(rounds: int = 6) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        upstream() as target,
        recorder(target, Path(folder) / "store.duckdb") as ours,
        plain_mitmdump(target) as peer,
        plain_mitmdump(target, "stream_large_bodies=1") as streaming,
    ):
        print(f"processor time a request, abs record / mitmdump (target at most {TARGET})")
        for case in CASES:
            found = rounds_of(ours, streaming if "stream" in case else peer, case, rounds)
            ratios = sorted(mine / other for mine, other in found)
            mine, other = (median(side) for side in zip(*found, strict=True))
            scatter = f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
            print(f"  {case}: {median(ratios):.2f} {scatter}, {mine:.2f} and {other:.2f} ms", flush=True)


if __name__ == "__main__":
    run(int(sys.argv[1]) if sys.argv[1:] else 6)
