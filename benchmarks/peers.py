"""Peers with an environment of their own, so that what they pin is nobody else's business.

`make bench` makes it from the dependency group `bench`. A peer that is not there is said, not passed over.
"""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
BIN = Path(os.environ.get("ABS_BENCH_PEERS", ROOT / ".venv-peers")) / "bin"


class NoPeer(Exception):
    """A peer can not be run, so nothing can be said about it."""


def peer(package: str) -> Path:
    """Give the interpreter of the peers' environment; raises `NoPeer` unless the package is there."""
    python = BIN / "python"
    if not python.exists():
        raise NoPeer(
            f"{package}: there is no {BIN.parent}; make bench makes it, ABS_BENCH_PEERS names another"
        )
    found = subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False)
    if found.returncode:
        raise NoPeer(f"{package}: can not be imported in {BIN.parent}; pip install --group bench mends it")
    return python


def version(package: str) -> str:
    """Give the version of a package of the peers' environment."""
    program = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run(
        [BIN / "python", "-c", program], capture_output=True, check=True, text=True
    ).stdout.strip()
