"""The program that a replay is for, and the signals that end both."""

import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class Stop:
    """Whether to stop, and whether the terminal said so, to the whole group of processes."""

    event: threading.Event = field(default_factory=threading.Event)
    told: bool = False

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._note) for number in STOPPING}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.told = number == signal.SIGINT
        self.event.set()

    def wait(self) -> int:
        self.event.wait()
        return 0


def run(program: Sequence[str], variables: Mapping[str, str], stop: Stop) -> int:
    """Run a program until it ends, or a signal comes; gives its status."""
    from abs_replay import child

    process = child.start(program, variables)

    def await_end() -> None:
        process.wait()
        stop.event.set()

    threading.Thread(target=await_end, daemon=True).start()
    stop.wait()
    return child.finish(process, told=stop.told)
