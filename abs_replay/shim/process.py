"""The server's process: started as its client would have, told what we are told, ended as it ends."""

import os
import resource
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import Final

from abs_replay.errors import UsageError

_TOLD: Final = (
    *(signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGUSR1, signal.SIGUSR2),
)
_OF_THE_KERNEL: Final = 0x80  # si_code SI_KERNEL: of a terminal, which tells its whole group


@dataclass(slots=True)
class Server:
    """A server that runs; `stdin` and `stdout` are our ends of its pipes."""

    pid: int
    stdin: int
    stdout: int
    told: Sequence[signal.Signals]
    status: int | None = None

    def hand_on_signals(self) -> None:
        """From now on hand it the signals that come for us; before, they waited."""
        Thread(target=_hand_on, args=(self,), name="abs-shim-signals", daemon=True).start()

    def wait(self) -> int:
        """Wait for its end, and give its status: negative where a signal ended it."""
        _, status = os.waitpid(self.pid, 0)
        self.status = os.waitstatus_to_exitcode(status)
        return self.status


def start(command: Sequence[str]) -> Server:
    """Start a server; signals that come for us wait until they are handed on. Raises `UsageError`."""
    told = [each for each in _TOLD if signal.getsignal(each) is not signal.SIG_IGN]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, told)
    its_stdin, stdin = os.pipe()
    stdout, its_stdout = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, its_stdin, 0), (os.POSIX_SPAWN_DUP2, its_stdout, 1)]
    try:
        pid = os.posix_spawnp(
            command[0],
            list(command),
            os.environ,
            file_actions=actions,
            setsigmask=mask,
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python ignores them, and that is inherited
        )
    except (OSError, ValueError) as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"can not run {command[0]!r}: {why}") from error
    os.close(its_stdin)
    os.close(its_stdout)
    return Server(pid, stdin, stdout, told)


def _hand_on(server: Server) -> None:
    while True:
        number, is_known_there = _next(server.told)
        if server.status is not None:  # only the recording is waited for
            os._exit(end_code(server.status))
        if not is_known_there:
            with suppress(ProcessLookupError):
                os.kill(server.pid, number)


def _next(told: Sequence[signal.Signals]) -> tuple[int, bool]:
    """Wait for a signal; gives whether the server has it already, as far as this system says so."""
    if not hasattr(signal, "sigwaitinfo"):  # macOS
        return signal.sigwait(told), False
    info = signal.sigwaitinfo(told)
    return info.si_signo, info.si_code == _OF_THE_KERNEL


def end_like(status: int) -> int:
    """End as the server did: by the signal that ended it, or with the status that this gives."""
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it has left its own core
        with suppress(OSError, ValueError):  # SIGKILL has no handler to take away
            signal.signal(-status, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [-status])
        os.kill(os.getpid(), -status)
    return end_code(status)


def end_code(status: int) -> int:
    return 128 - status if status < 0 else status
