"""What `abs shim` adds to a message: a client that waits for each answer, with it and without, in turn.

The server is `cat`, which answers at once and hides nothing. Target: at most 1 ms more each way.
"""

import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median, quantiles

from abs_replay.errors import StoreLocked
from abs_replay.store import Store
from benchmarks.processes import BIN

SIZES = {1_000: 1000, 100_000: 200}  # how many messages of how many bytes
WARM_UP = 100  # the first do not count: something still loads


def run() -> None:
    for size, messages in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "store.duckdb"
            bare = round_trips(["cat"], messages, size)
            shimmed = round_trips(
                [str(BIN / "abs"), "shim", "cat", "--store", str(store), "--", "cat"], messages, size
            )
            bare += round_trips(["cat"], messages, size)
            wait_for(Store(store), WARM_UP + messages + 1)
        added = (median(shimmed) - median(bare)) / 2
        print(
            f"abs shim, {size} bytes there and back: {_told(shimmed)}; without {_told(bare)}: "
            f"{added:.3f} ms more each way (target at most 1)"
        )


def wait_for(store: Store, exchanges: int) -> None:
    """Wait for the recording's end, and see that it has all: a POST a line, and a GET with the server's."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with suppress(StoreLocked):
            if all(each.recording.ended_at for each in store.recordings()):
                break
        time.sleep(0.1)
    kept = len(store.exchange_summaries())
    assert kept == exchanges, f"{kept} of {exchanges} exchanges were recorded"


def round_trips(command: Sequence[str], messages: int, size: int) -> list[float]:
    """How long each line took to come back, in ms."""
    times = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        for number in range(-WARM_UP, messages):
            line = b'{"jsonrpc":"2.0","method":"notifications/x","params":{"n":%d,"p":"' % number
            line += b"x" * (size - len(line) - 4) + b'"}}\n'
            began = time.perf_counter()
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline() == line
            if number >= 0:
                times.append((time.perf_counter() - began) * 1000)
            time.sleep(0.001)
        process.stdin.close()
    return times


def _told(times: Sequence[float]) -> str:
    return f"median {median(times):.3f} ms, p99 {quantiles(times, n=100)[98]:.3f} ms"
