"""`abs record` against `mitmdump` in reverse mode without an addon, and against no proxy for streams.

CPU per request is the steadier figure; requests per second scatter by a fifth on a shared machine.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.load import Load, drive, request
from benchmarks.processes import BIN, cpu_seconds, free_port, serving
from benchmarks.upstream import question

REQUESTS = [request("/v1/chat/completions", question(seed)) for seed in range(200)]


@contextmanager
def upstream() -> Iterator[int]:
    port = free_port()
    with serving([sys.executable, "-m", "benchmarks.upstream", str(port)], port):
        yield port


@contextmanager
def recorder(target: int, store: Path) -> Iterator[tuple[int, int]]:
    """Give (process id, port) of `abs record` before the upstream."""
    port = free_port()
    command = [str(BIN / "abs"), "record", "--llm", f"http://127.0.0.1:{target}/v1", "--port", str(port)]
    with serving([*command, "--store", str(store), "--quiet"], port) as pid:
        yield pid, port


@contextmanager
def plain_mitmdump(target: int, *settings: str) -> Iterator[tuple[int, int]]:
    port = free_port()
    mode = f"reverse:http://127.0.0.1:{target}@{port}"
    command = [
        str(BIN / "mitmdump"),
        "-q",
        "--listen-host",
        "127.0.0.1",
        "--mode",
        mode,
        *(f"--set={setting}" for setting in ("flow_detail=0", *settings)),
    ]
    with serving(command, port) as pid:
        yield pid, port


def loaded(pid: int, port: int, seconds: float = 4) -> tuple[Load, float]:
    """Give the load's outcome and CPU ms per request."""
    before = cpu_seconds(pid)
    load = drive(port, REQUESTS, seconds=seconds)
    time.sleep(0.5)  # what is still queued is paid for too
    return load, (cpu_seconds(pid) - before) * 1000 / load.requests


def throughput(rounds: int = 5) -> None:
    with tempfile.TemporaryDirectory() as folder, upstream() as target:
        store = Path(folder) / "store.duckdb"
        with recorder(target, store) as ours, plain_mitmdump(target) as peer:
            loaded(*ours, seconds=1), loaded(*peer, seconds=1)
            pairs = [(loaded(*ours), loaded(*peer)) for _ in range(rounds)]
    cpu = [mine[1] / other[1] for mine, other in pairs]
    speed = [mine[0].per_second / other[0].per_second for mine, other in pairs]
    errors = sum(mine[0].errors for mine, _ in pairs)
    mine, other = pairs[-1][0][0].per_second, pairs[-1][1][0].per_second
    print("abs record / mitmdump")
    print(f"  CPU per request: {median(cpu):.2f} (target at most 1.25), rounds {_list(cpu)}")
    print(f"  requests per second: {median(speed):.2f} (target at least 0.8), rounds {_list(speed)}")
    print(f"  last round: {mine:.0f} and {other:.0f} requests/s; {errors} errors in all")


def _list(values: list[float]) -> str:
    return " ".join(f"{value:.2f}" for value in values)


async def delays(port: int) -> list[float]:
    """Read one stream; give ms between each event's send time and its arrival (one monotonic clock)."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request("/v1/stream", b"{}"))
    found, rest = [], b""
    async with asyncio.timeout(30):
        while b"[DONE]" not in rest:
            rest += await reader.read(65536)
            now = time.monotonic_ns()
            *whole, rest = rest.split(b"\n\n")
            stamps = [event.rpartition(b"data: ")[2] for event in whole]
            found += [(now - int(stamp)) / 1e6 for stamp in stamps if stamp.isdigit()]
            if any(stamp == b"[DONE]" for stamp in stamps):
                break
    writer.close()
    return found


def streaming(rounds: int = 5) -> None:
    """Chunks through abs record, through mitmdump that streams too, and straight: in turn, of one run."""
    with (
        tempfile.TemporaryDirectory() as folder,
        upstream() as target,
        recorder(target, Path(folder) / "store.duckdb") as (_, port),
        plain_mitmdump(target, "stream_large_bodies=1") as (_, peer),
    ):
        ways = port, peer, target
        for way in ways:
            asyncio.run(delays(way))
        found = [[asyncio.run(delays(way)) for way in ways] for _ in range(rounds)]
    ours, plain, straight = (sorted(each for of in way for each in of) for way in zip(*found, strict=True))
    added = [median(mine) - median(direct) for mine, _, direct in found]
    print("a chunk of a stream through abs record, against no proxy")
    print(f"  median {median(added):+.2f} ms (target at most 1), rounds {_list(added)}")
    for label, late in (("abs record", ours), ("mitmdump", plain), ("no proxy", straight)):
        at = late[int(len(late) * 0.99)]
        print(f"  {label}: median {median(late):.2f}, p99 {at:.2f} ms after it was sent, {len(late)} events")


def run() -> None:
    throughput()
    streaming()
