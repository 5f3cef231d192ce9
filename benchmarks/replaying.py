"""`abs replay` against `mitmdump --server-replay` on the same 1,000 recorded requests: at least 8 times.

Both recorded the same 1,000 requests to the same origin. mitmproxy is told to reuse its answers and not to
dial the origin; `abs replay` is reset between rounds, since it answers a recorded request once.
"""

import random
import subprocess
import tempfile
from collections.abc import Iterator
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


def round_trip(ours: int, peer: int, order: random.Random) -> tuple[Load, Load]:
    shuffled = order.sample(REQUESTS, k=len(REQUESTS))
    mine = _all_answered(drive(ours, shuffled))
    drive(ours, RESET, connections=1)
    return mine, _all_answered(drive(peer, shuffled))


def run(rounds: int = 7) -> None:
    with tempfile.TemporaryDirectory() as name, upstream() as target:
        folder = Path(name)
        recorded = cassette(target, folder), flow_file(target, folder)
        with abs_replay(recorded[0]) as ours, server_replay(target, recorded[1]) as peer:
            order = random.Random(0)
            pairs = [round_trip(ours, peer, order) for _ in range(rounds + 1)][1:]
    ratios = [mine.per_second / other.per_second for mine, other in pairs]
    mine, other = (median(load.per_second for load in column) for column in zip(*pairs, strict=True))
    print(f"abs replay / mitmdump --server-replay: {median(ratios):.1f} times (target at least 8)")
    print(f"  {mine:.0f} and {other:.0f} requests/s, rounds {' '.join(f'{ratio:.1f}' for ratio in ratios)}")
