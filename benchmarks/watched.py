"""Run `abs record` or `mitmdump` with a watchdog on its loop: `python -m benchmarks.watched FILE COMMAND ..`.

Writes to FILE, as JSON, how late the loop came back from sleeps of 1 ms, in ms, with the processor time that
its thread and the others took meanwhile; how long after the end of each exchange it was on disk; and how much
processor time each call of our own hooks took at most. A loop that was late while its process hardly ran was
kept waiting by the machine: `idle` in place of a command is a loop with nothing else to do, which shows that.
"""

import asyncio
import atexit
import json
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import wraps
from inspect import iscoroutinefunction, isfunction, isgeneratorfunction
from pathlib import Path
from typing import Any

from abs_replay.cli.recording_log import Log
from abs_replay.exchange import Exchange, Outcome

LONG_MS = 5.0
late: list[tuple[float, float, float, float]] = []
kept: list[float] = []
hooks: dict[str, list[float]] = {}  # calls, calls over 5 ms, the longest in ms of processor time


async def watch() -> None:
    while True:
        before, own, all_ = time.perf_counter(), time.thread_time(), time.process_time()
        await asyncio.sleep(0.001)
        own, all_ = time.thread_time() - own, time.process_time() - all_
        late.append((before, (time.perf_counter() - before) * 1000 - 1, own * 1000, (all_ - own) * 1000))


def _timed(name: str, hook: Callable[..., Any]) -> Callable[..., Any]:
    seen = hooks[name] = [0, 0, 0.0]

    @wraps(hook)
    def timed(*args: Any, **more: Any) -> Any:
        began = time.thread_time()
        try:
            return hook(*args, **more)
        finally:
            took = (time.thread_time() - began) * 1000
            seen[:] = seen[0] + 1, seen[1] + (took > LONG_MS), max(seen[2], took)

    return timed


def time_hooks() -> None:
    """Take the time of all that we do in mitmproxy's loop."""
    from abs_replay.proxy import control, forward, onward, tap, websocket
    from abs_replay.tee import Tee

    ours = (tap.Tap, forward.Forward, onward.Onward, control.ControlAddon, websocket.Talk, websocket.Ear, Tee)
    for each in ours:
        for name, hook in list(vars(each).items()):
            is_plain = isfunction(hook) and not isgeneratorfunction(hook) and not iscoroutinefunction(hook)
            if is_plain and (name == "__call__" or not name.startswith("_")):
                setattr(each, name, _timed(f"{each.__name__}.{name}", hook))


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
            json.dumps({"late": [[at - began, *ms] for at, *ms in late], "kept": kept, "hooks": hooks}),
            encoding="utf-8",
        )
    )
    sys.argv = command
    if command[0] == "idle":
        with suppress(KeyboardInterrupt):
            plain(watch())
    elif command[0] == "abs":
        time_hooks()
        from abs_replay.cli import main

        main()
    else:
        from mitmproxy.tools.main import mitmdump

        mitmdump(command[1:])


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2:])
