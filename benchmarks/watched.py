"""Run `abs record` or `mitmdump` with a watchdog on its loop: `python -m benchmarks.watched FILE COMMAND ..`.

Writes to FILE, as JSON, how late the loop came back from sleeps of 1 ms, in ms, and how long after the end of
each exchange it was on disk.
"""

import asyncio
import atexit
import json
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from abs_replay.cli.recording_log import Log
from abs_replay.exchange import Exchange, Outcome

late: list[tuple[float, float]] = []
kept: list[float] = []


async def watch() -> None:
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.001)
        late.append((before, (time.perf_counter() - before) * 1000 - 1))


async def _watched(main: Coroutine[Any, Any, Any]) -> Any:
    watching = asyncio.create_task(watch())
    try:
        return await main
    finally:
        watching.cancel()


def note(log: Log, exchange: Exchange) -> None:
    """In place of the log's word for an exchange that is on disk."""
    if exchange.ended_ms is not None and exchange.outcome is Outcome.COMPLETE:
        kept.append((time.time() - exchange.started_at) * 1000 - exchange.ended_ms)


def run(file: Path, command: list[str]) -> None:
    began, plain = time.perf_counter(), asyncio.run
    setattr(asyncio, "run", lambda main, **more: plain(_watched(main), **more))  # noqa: B010
    setattr(Log, "kept", note)  # noqa: B010
    atexit.register(
        lambda: file.write_text(
            json.dumps({"late": [[at - began, ms] for at, ms in late], "kept": kept}), encoding="utf-8"
        )
    )
    sys.argv = command
    if command[0] == "abs":
        from abs_replay.cli import main

        main()
    else:
        from mitmproxy.tools.main import mitmdump

        mitmdump(command[1:])


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2:])
