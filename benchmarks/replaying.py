"""`abs replay` against `mitmdump --server-replay` and a bare ASGI application, on the same 1,000 requests.

At least 12 times the former, and 0.6 of the latter (`benchmarks.bare`). mitmproxy is told to reuse its
answers and not to dial the origin; `abs replay` is reset between rounds, since it answers a request once.
"""

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.load import Load, drive, request
from benchmarks.processes import BIN, free_port, serving
from benchmarks.recording import recorder, upstream
from benchmarks.upstream import question

REQUESTS = [request("/v1/chat/completions", question(seed, 2000)) for seed in range(1000)]
RESET = [request("/__abs__/reset", b"")]


def cassette(target: int, folder: Path) -> Path:
    """Record the requests with `abs record` and export them."""
    store, path = folder / "store.duckdb", folder / "bench.cassette.json"
    with recorder(target, store) as (_, port):
        _all_answered(drive(port, REQUESTS))
    export = [str(BIN / "abs"), "export", "last", "--store", str(store), "--output", str(path)]
    subprocess.run(export, check=True, stdout=subprocess.DEVNULL)
    return path


def flow_file(target: int, folder: Path) -> Path:
    """Record the same requests with `mitmdump -w`."""
    path, port = folder / "bench.mitm", free_port()
    mode = ["--listen-host", "127.0.0.1", "--mode", f"reverse:http://127.0.0.1:{target}@{port}"]
    with serving([str(BIN / "mitmdump"), "-q", *mode, "-w", str(path)], port):
        _all_answered(drive(port, REQUESTS))
    return path


def _all_answered(load: Load) -> Load:
    if load.errors or load.requests != len(REQUESTS):
        raise SystemExit(
            f"{load.requests} of {len(REQUESTS)} requests answered, {load.errors} of them with an error"
        )
    return load


@contextmanager
def abs_replay(path: Path) -> Iterator[int]:
    port = free_port()
    with serving([str(BIN / "abs"), "replay", str(path), "--port", str(port), "--quiet"], port):
        yield port


@contextmanager
def server_replay(target: int, path: Path) -> Iterator[int]:
    port = free_port()
    mode = ["--listen-host", "127.0.0.1", "--mode", f"reverse:http://127.0.0.1:{target}@{port}"]
    settings = [
        "server_replay_reuse=true",
        "server_replay_extra=404",
        "connection_strategy=lazy",
        "flow_detail=0",
    ]
    flags = [part for setting in settings for part in ("--set", setting)]
    with serving([str(BIN / "mitmdump"), "-q", *mode, "--server-replay", str(path), *flags], port):
        yield port


@contextmanager
def bare(path: Path) -> Iterator[int]:
    port = free_port()
    with serving([sys.executable, "-m", "benchmarks.bare", str(path), str(port)], port):
        yield port


def round_trip(ours: int, others: Sequence[int], order: random.Random) -> tuple[Load, ...]:
    """Ask each for every request: what is measured here shares the machine with nothing else of ours."""
    shuffled = order.sample(REQUESTS, k=len(REQUESTS))
    mine = _all_answered(drive(ours, shuffled))
    drive(ours, RESET, connections=1)
    return mine, *(_all_answered(drive(other, shuffled)) for other in others)


def run(rounds: int = 7) -> None:
    with tempfile.TemporaryDirectory() as name, upstream() as target:
        folder = Path(name)
        recorded = cassette(target, folder), flow_file(target, folder)
        with (
            abs_replay(recorded[0]) as ours,
            server_replay(target, recorded[1]) as peer,
            bare(recorded[0]) as least,
        ):
            order = random.Random(0)
            loads = [round_trip(ours, (peer, least), order) for _ in range(rounds + 1)][1:]
    _say("mitmdump --server-replay", "at least 12", [(mine, other) for mine, other, _ in loads])
    _say("a bare ASGI application", "at least 0.6", [(mine, other) for mine, _, other in loads])


def _say(peer: str, target: str, pairs: Sequence[tuple[Load, Load]]) -> None:
    ratios = [mine.per_second / other.per_second for mine, other in pairs]
    mine, other = (median(load.per_second for load in column) for column in zip(*pairs, strict=True))
    print(f"abs replay / {peer}: {median(ratios):.2f} times (target {target})")
    print(f"  {mine:.0f} and {other:.0f} requests/s, rounds {' '.join(f'{ratio:.2f}' for ratio in ratios)}")
