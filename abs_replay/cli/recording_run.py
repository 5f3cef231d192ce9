"""A recording from its first listener to its last exchange, on the loop that carries the traffic."""

import asyncio
import os
import secrets
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from abs_replay.cli.forwarding import forwarding_for, way_through
from abs_replay.cli.keys import marking
from abs_replay.cli.recording_control import Control
from abs_replay.cli.recording_log import Log
from abs_replay.cli.recording_plan import Plan
from abs_replay.cli.recording_shown import show, variables, warn_of
from abs_replay.exchange import Exchange
from abs_replay.recorder import Recorder
from abs_replay.running import Running, noted

if TYPE_CHECKING:
    from abs_replay.proxy import Listeners
    from abs_replay.snapshots import Open
    from abs_replay.summary import Summary

POLL_S = 0.05
STATUS_S = 0.5


@dataclass(slots=True)
class Stop:
    """Whether to stop, and whether the terminal said so, to the whole group of processes."""

    event: asyncio.Event = field(default_factory=asyncio.Event)
    told: bool = False

    def on_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._note, number)

    def _note(self, number: int) -> None:
        self.told = number == signal.SIGINT
        self.event.set()


async def record(plan: Plan, log: Log) -> "tuple[int, Summary]":
    """Record until the program ends or a signal comes; gives its status, and what the recording came to."""
    stop = Stop()
    stop.on_signals()
    making = _Making(plan, log)
    try:
        async with making.listening() as listeners:
            environment = making.begin(listeners)
            with noted(plan.store, making.note(listeners)):
                making.tell(listeners)
                status = await _run(plan.program, environment, stop, making.control, log)
    except BaseException:
        making.close()
        raise
    summary = making.close()
    assert summary is not None
    return status, summary


class _Making:
    """One recording that is being made. Listeners come first, the recorder when they are known."""

    def __init__(self, plan: Plan, log: Log) -> None:
        self._plan, self._log = plan, log
        self._token = secrets.token_urlsafe(24)
        self.control = Control(plan.recording, self._token, log.marked, plan.host)
        self._recorder: Recorder | None = None
        self._opened: list[Callable[[], Sequence[Open]]] = []
        self._forwarding = None if plan.routes is None else forwarding_for(plan.routes)

    def listening(self) -> "AbstractAsyncContextManager[Listeners]":
        from abs_replay.proxy import listening

        plan = self._plan
        return listening(
            plan.recording.upstreams,
            self._keep,
            host=plan.host,
            port=plan.port,
            max_body=plan.max_body,
            control=self.control,
            forwarding=self._forwarding,
            watch=self._opened.append,
        )

    def begin(self, listeners: "Listeners") -> dict[str, str]:
        """Begin to write; gives the variables that lead a program to the listeners."""
        plan, (opened,) = self._plan, self._opened
        self._way = way_through(listeners.forward, self._forwarding, os.environ)
        self._recorder = Recorder(
            plan.store,
            plan.recording,
            say=self._log.problem,
            on_kept=self._kept,
            opened=opened,
            redactor=plan.redactor,
        )
        self.control.begin(self._recorder, opened)
        # To this one an `abs shim` of the program goes, of all recordings that run.
        here = {"ABS_STORE": str(plan.store.absolute()), "ABS_RECORDING": plan.recording.id}
        return variables(listeners, self._way) | here

    def note(self, listeners: "Listeners") -> Running:
        """What other processes find it by."""
        first = urlsplit(next(iter(listeners.values()), listeners.forward or ""))
        origin, recording = f"{first.scheme}://{first.netloc}", self._plan.recording
        return Running(recording.id, recording.name, os.getpid(), origin, self._token)

    def tell(self, listeners: "Listeners") -> None:
        plan = self._plan
        show(plan.recording, plan.store, bool(plan.program), listeners, self._way, self._log)
        warn_of(plan.host, self._log)

    def close(self) -> "Summary | None":
        """Write what is queued; None where nothing was begun."""
        return None if self._recorder is None else self._recorder.close()

    def _keep(self, made: Callable[[], Exchange]) -> None:
        assert self._recorder is not None  # no client is served before the listeners are known
        self._recorder.put(made)

    def _kept(self, exchange: Exchange) -> None:
        self._log.kept(exchange)
        self.control.kept(exchange)


async def _run(
    program: Sequence[str], environment: Mapping[str, str], stop: Stop, control: Control, log: Log
) -> int:
    """Wait for the program's end, or for a signal; gives its status, 0 without one."""
    from abs_replay import child

    if not program:
        with marking(control.mark):
            while not stop.event.is_set():
                log.status(control.summary, control.open_now())
                await _sleep(STATUS_S, stop)
        return 0
    process = child.start(program, environment)
    while process.poll() is None and not stop.event.is_set():
        await _sleep(POLL_S, stop)
    return await asyncio.to_thread(child.finish, process, told=stop.told)


async def _sleep(seconds: float, stop: Stop) -> None:
    try:
        await asyncio.wait_for(stop.event.wait(), seconds)
    except TimeoutError:
        return
