"""A process apart from the one that passes on, which loads and does what takes time.

Reading a message of 10 MB, or taking the secrets out of it, keeps a process's other threads from running:
those that pass on. And it can still write down what passed when the other was killed.
"""

import os
import signal
from collections.abc import Callable, Sequence


def begin(work: Callable[[int], None], not_ours: Sequence[int], say: Callable[[str], None]) -> int:
    """Start a process that does `work` with the reading end of a pipe; gives the writing end.

    `not_ours` are descriptors that it must not keep open. Call it before any thread is started. Raises
    `OSError` where there can be no further process.
    """
    reader, writer = os.pipe()
    if os.fork() == 0:
        status = 1
        try:
            _leave(*not_ours, writer)
            work(reader)
            status = 0
        except Exception as error:
            say(f"nothing is recorded any more: {error!r}")
        finally:
            os._exit(status)
    os.close(reader)
    return writer


def _leave(*not_ours: int) -> None:
    """Take no part in what ends the client's processes, nor hold what they wait for to be closed."""
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nowhere, descriptor)
    for descriptor in (*not_ours, nowhere):
        os.close(descriptor)
