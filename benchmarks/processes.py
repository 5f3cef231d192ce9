"""Servers under test: started as processes on free ports, with the CPU time that each has used."""

import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

BIN = Path(sys.executable).parent
TICK = os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(command: Sequence[str], port: int) -> Iterator[int]:
    """Run a command until it listens on `port`; give its process id; stop it with SIGINT."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        _wait_for(process, command, port)
        yield process.pid
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _wait_for(process: subprocess.Popen[bytes], command: Sequence[str], port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"{shlex.join(command)} ended: {process.communicate()[1].decode()[-2000:]}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"{shlex.join(command)} does not listen on {port}")


def resident_mib(pid: int) -> float:
    """Give the memory of a process that is in use now, from /proc."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def cpu_seconds(pid: int) -> float:
    """Give user and system time of a process, all its threads, from /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK
