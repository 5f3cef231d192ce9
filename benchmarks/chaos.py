"""A recorder under traffic is killed again and again at random moments: what is in its store afterwards?

`python -m benchmarks.chaos [KILLS]`
"""

import asyncio
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from abs_replay.exchange import Exchange, Outcome
from abs_replay.store import Store
from benchmarks.processes import BIN, free_port, serving
from benchmarks.upstream import question

KEPT_S = 0.25  # an exchange that ended so long before a kill is kept
OPEN_S = 1.0  # and so much of one that had not
CLIENTS, STREAMS = 4, 3


@dataclass(slots=True)
class Seen:
    """What the clients saw: when each exchange ended, when each event of a stream came; monotonic seconds."""

    ended: dict[str, float] = field(default_factory=dict)
    events: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Damage:
    """`lost` and `cut`: how long before the kill ended what is missing, the seconds of each."""

    ended: int = 0
    lost: tuple[float, ...] = ()
    streams: int = 0
    cut: tuple[float, ...] = ()

    def plus(self, other: "Damage") -> "Damage":
        return Damage(
            self.ended + other.ended,
            self.lost + other.lost,
            self.streams + other.streams,
            self.cut + other.cut,
        )


async def _post(port: int, name: str, seen: Seen) -> None:
    """Ask one question after another on one connection, until it breaks."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    number = 0
    try:
        while True:
            target, body = f"/v1/chat/completions?n={name}-{number}", question(number)
            head = f"POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            head_came = await reader.readuntil(b"\r\n\r\n")
            length = head_came.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
            await reader.readexactly(int(length))
            seen.ended[target] = time.monotonic()
            number += 1
    finally:
        writer.close()


async def _listen(port: int, name: str, seen: Seen) -> None:
    """Read a slow stream until it breaks."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    target = f"/v1/slow?n={name}"
    try:
        writer.write(f"POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n".encode())
        while line := await reader.readline():
            if line.startswith(b"data: "):
                seen.events.setdefault(target, []).append(time.monotonic())
    finally:
        writer.close()


async def _one(target: int, store: Path, name: str, wait_s: float) -> tuple[Seen, float]:
    """Record, kill after so many seconds of traffic; what was seen, and when the kill was."""
    port, seen = free_port(), Seen()
    command = [str(BIN / "abs"), "record", "--llm", f"http://127.0.0.1:{target}", "--port", str(port)]
    process = await asyncio.create_subprocess_exec(*command, "--store", str(store), "--quiet")
    try:
        await _until_listening(port)
        clients = [asyncio.create_task(_post(port, f"{name}-{n}", seen)) for n in range(CLIENTS)]
        clients += [asyncio.create_task(_listen(port, f"{name}-{n}", seen)) for n in range(STREAMS)]
        await asyncio.sleep(wait_s)
    finally:
        killed_at = time.monotonic()
        process.kill()
        await process.wait()
    await asyncio.gather(*clients, return_exceptions=True)  # connections that broke
    return seen, killed_at


async def _until_listening(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
    raise SystemExit("abs record does not listen")


def damage(seen: Seen, killed_at: float, kept: dict[str, Exchange]) -> Damage:
    """What is missing of what was seen."""
    lost = [killed_at - at for target, at in seen.ended.items() if target not in kept]
    cut = []
    for target, times in seen.events.items():
        found = kept.get(target)
        response = found.response if found is not None and found.outcome is Outcome.UNFINISHED else None
        events = response.body.data.count(b"\n\n") if response else 0
        cut += [killed_at - times[events]] if events < len(times) else []
    return Damage(len(seen.ended), tuple(lost), len(seen.events), tuple(cut))


def kill(times: int, folder: Path, seed: int = 1, at_most_s: float = 3.0) -> Damage:
    """Kill recorders of one store so many times; gives all that is missing in the end."""
    choice, store, total = random.Random(seed), folder / "store.duckdb", Damage()
    port, found = free_port(), []
    with serving([sys.executable, "-m", "benchmarks.upstream", str(port)], port):
        for number in range(times):
            wait_s = choice.uniform(0.1, at_most_s)
            found.append(asyncio.run(_one(port, store, str(number), wait_s)))
    kept = {each.request.target: each for each in Store(store).exchanges()}
    for seen, killed_at in found:
        total = total.plus(damage(seen, killed_at, kept))
    return total


def run(times: int = 100) -> None:
    with tempfile.TemporaryDirectory() as folder:
        total = kill(times, Path(folder))
    late = sum(age > KEPT_S for age in total.lost)
    print(f"a recorder killed {times} times: {total.ended} exchanges had ended, {total.streams} streams ran")
    print(
        f"  lost {len(total.lost)}, of those {late} had ended more than {KEPT_S} s before (target 0), "
        f"the oldest {max(total.lost, default=0):.3f} s"
    )
    missed = sum(age > OPEN_S for age in total.cut)
    print(
        f"  of {len(total.cut)} streams an end is missing, of {missed} more than {OPEN_S} s (target 0), "
        f"the longest {max(total.cut, default=0):.2f} s"
    )


if __name__ == "__main__":
    run(int(sys.argv[1]) if sys.argv[1:] else 100)
