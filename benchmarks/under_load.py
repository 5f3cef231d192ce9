"""A recorder under a steady load: 40 % of what bare mitmdump sustains, and slow streams beside it.

Nothing may be lost. How long until an exchange is on disk, how late the loop is, how the memory grows is told
beside what mitmdump alone comes to under the same load, and how late a loop is that has nothing to do: a
machine makes pauses of its own. `python -m benchmarks.under_load [SECONDS]`
"""

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from abs_replay.store import Store
from benchmarks.load import drive, request
from benchmarks.processes import BIN, cpu_seconds, free_port, resident_mib, serving
from benchmarks.upstream import question
from benchmarks.watched import LONG_MS

SHARE, STREAMS, CONNECTIONS = 0.4, 200, 16
REQUESTS = [request("/v1/chat/completions", question(seed)) for seed in range(200)]
SLOW = request("/v1/slow", b"{}")
SETTLE_S = 3.0  # until every stream is open


@dataclass(frozen=True, slots=True)
class Steady:
    """What came of a steady load: how many were answered, latencies of them in ms, MiB now and then."""

    answered: int
    latencies: tuple[float, ...]
    memory: tuple[float, ...]
    cpu_ms: float


class Late(NamedTuple):
    """How late a loop was, and the processor time that its thread and the others took meanwhile, in ms."""

    ms: float
    own: float
    others: float


@dataclass(frozen=True, slots=True)
class Found:
    """What a recorder made of it; `late` and `on_disk` in ms, sorted; `hooks` as `watched` counts them."""

    rate: float
    steady: Steady
    lost: int
    missing: int
    late: tuple[Late, ...]
    on_disk: tuple[float, ...]
    hooks: dict[str, list[float]]


@contextmanager
def upstream() -> Iterator[int]:
    port = free_port()
    with serving([sys.executable, "-m", "benchmarks.upstream", str(port)], port):
        yield port


def sustained(target: int, seconds: float) -> float:
    """Requests a second that bare mitmdump sustains now."""
    port = free_port()
    with serving([str(BIN / "mitmdump"), *_plain(target, port)], port):
        drive(port, REQUESTS, connections=CONNECTIONS, seconds=0.5)
        return drive(port, REQUESTS, connections=CONNECTIONS, seconds=seconds).per_second


def _plain(target: int, port: int) -> list[str]:
    mode = f"reverse:http://127.0.0.1:{target}@{port}"
    options = ["flow_detail=0", "stream_large_bodies=1"]
    return ["-q", "--listen-host", "127.0.0.1", "--mode", mode, *(f"--set={each}" for each in options)]


def recorded(target: int, folder: Path, rate: float, seconds: float, streams: int = STREAMS) -> Found:
    """Put the load on a recorder."""
    port, store, notes = free_port(), folder / "store.duckdb", folder / "notes.json"
    where = ["--llm", f"http://127.0.0.1:{target}", "--port", str(port), "--store", str(store)]
    with serving(_watched(notes, ["abs", "record", *where, "--quiet"]), port) as process:
        steady = asyncio.run(_steady(process, port, rate, seconds, streams))
    kept = Store(store).recordings()[0].exchanges
    missing = steady.answered + streams - kept
    return Found(rate, steady, max(0, missing), missing, *_notes(notes))


def passed(target: int, folder: Path, rate: float, seconds: float, streams: int = STREAMS) -> Found:
    """Put the same load on mitmdump alone."""
    port, notes = free_port(), folder / "plain.json"
    with serving(_watched(notes, ["mitmdump", *_plain(target, port)]), port) as process:
        steady = asyncio.run(_steady(process, port, rate, seconds, streams))
    return Found(rate, steady, 0, 0, *_notes(notes))


def _watched(notes: Path, command: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "benchmarks.watched", str(notes), *command]


def _notes(path: Path) -> tuple[tuple[Late, ...], tuple[float, ...], dict[str, list[float]]]:
    """How late the loop was once the streams were open, how late exchanges were on disk, and our hooks."""
    noted = json.loads(path.read_bytes())
    late, first = noted["late"], noted["late"][0][0] + SETTLE_S
    lags = tuple(sorted(Late(*each) for at, *each in late if at > first))
    return lags, tuple(sorted(noted["kept"])), noted["hooks"]


@contextmanager
def idle(folder: Path) -> Iterator[Callable[[], tuple[Late, ...]]]:
    """A loop with nothing to do, in a process of its own; what is given tells how late it was, at the end."""
    notes = folder / "idle.json"
    with subprocess.Popen(_watched(notes, ["idle"])) as process:
        yield lambda: _notes(notes)[0]
        process.send_signal(signal.SIGINT)


def blame(late: Sequence[Late]) -> str:
    """What kept a loop waiting for long: its own work, other threads of its process, or the machine."""
    over = [each for each in late if each.ms > LONG_MS]
    own = sum(each.own > LONG_MS for each in over)
    others = sum(each.own <= LONG_MS < each.others for each in over)
    return (
        f"more than {LONG_MS:.0f} ms late {len(over)} times of {len(late)}: {own} while it worked itself, "
        f"{others} while other threads did, {len(over) - own - others} while its process did not run"
    )


async def _steady(process: int, port: int, rate: float, seconds: float, streams: int) -> Steady:
    """Send requests at a rate, over a few connections, beside streams that stay open."""
    listening = [asyncio.create_task(_listen(port)) for _ in range(streams)]
    await asyncio.sleep(SETTLE_S if streams else 0)
    latencies: list[float] = []
    turns: asyncio.Queue[bytes | None] = asyncio.Queue()
    asking = [asyncio.create_task(_ask(port, turns, latencies)) for _ in range(CONNECTIONS)]
    memory, cpu = [resident_mib(process)], cpu_seconds(process)
    began, sent = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < seconds:
        while sent < passed * rate:
            turns.put_nowait(REQUESTS[sent % len(REQUESTS)])
            sent += 1
        if passed > len(memory):
            memory.append(resident_mib(process))
        await asyncio.sleep(0.002)
    for _ in asking:
        turns.put_nowait(None)
    async with asyncio.timeout(60):
        await asyncio.gather(*asking)
    used = (cpu_seconds(process) - cpu) * 1000
    for each in listening:
        each.cancel()
    await asyncio.gather(*listening, return_exceptions=True)  # which we have cancelled
    return Steady(len(latencies), tuple(sorted(latencies)), tuple(memory), used / max(1, len(latencies)))


async def _ask(port: int, turns: "asyncio.Queue[bytes | None]", latencies: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (message := await turns.get()) is not None:
        began = time.perf_counter()
        writer.write(message)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]))
        latencies.append((time.perf_counter() - began) * 1000)
    writer.close()


async def _listen(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(SLOW)
        while await reader.readline():
            pass
    finally:
        writer.close()


def quantile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0.0


def run(seconds: float = 30) -> None:
    with tempfile.TemporaryDirectory() as name, upstream() as target:
        rate = SHARE * sustained(target, 4)
        with idle(Path(name)) as idled:
            plain = passed(target, Path(name), rate, seconds)
            ours = recorded(target, Path(name), rate, seconds)
        machine = idled()
    print(
        f"{rate:.0f} requests/s (40 % of what mitmdump sustains) and {STREAMS} slow streams, {seconds:.0f} s"
    )
    print(f"  {ours.steady.answered} answered, {ours.lost} lost (target 0)")
    print(
        f"  CPU per request: {ours.steady.cpu_ms / plain.steady.cpu_ms:.2f} of mitmdump's, streams included"
    )
    for of, share in (("median", 0.5), ("p99", 0.99)):
        mine, other = quantile(ours.steady.latencies, share), quantile(plain.steady.latencies, share)
        print(f"  answer, {of}: {mine:.1f} ms, mitmdump {other:.1f} ms")
    on_disk, at = ours.on_disk, "  from an exchange's end to disk:"
    print(
        f"{at} median {quantile(on_disk, 0.5):.0f}, p99 {quantile(on_disk, 0.99):.0f}, "
        f"at most {quantile(on_disk, 1):.0f} ms (target 250)"
    )
    for label, late in (("abs record", ours.late), ("mitmdump", plain.late), ("nothing", machine)):
        lags = [each.ms for each in late]
        print(
            f"  loop of {label}: late by {quantile(lags, 0.5):.2f} ms in the median, p99 "
            f"{quantile(lags, 0.99):.1f}, at most {quantile(lags, 1):.1f};\n    {blame(late)}"
        )
    longest = max(ours.hooks, key=lambda name: ours.hooks[name][2])
    calls, over = (sum(each[part] for each in ours.hooks.values()) for part in (0, 1))
    print(
        f"  our own code in the loop: {over:.0f} of {calls:.0f} calls took more than {LONG_MS:.0f} ms of "
        f"processor time (target 0), the longest {ours.hooks[longest][2]:.2f} ms ({longest})"
    )
    memory = ours.steady.memory
    print(f"  memory: {memory[0]:.0f} MiB at first, {memory[-1]:.0f} at last, {max(memory):.0f} at most")


if __name__ == "__main__":
    run(float(sys.argv[1]) if sys.argv[1:] else 30)
