"""However a command fails by a user's doing, one line says so, and the status is 2."""

import subprocess
import sys
from pathlib import Path

import pytest

from abs_replay.exchange import Recording
from abs_replay.store import Store

ABS = [sys.executable, "-c", "from abs_replay.cli import main; main()"]


def run(*arguments: str, stdout: int | None = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    command = [*ABS, *arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["record", "--port", "x"], "abs: Invalid value for '--port': 'x' is not a valid integer range."),
        (["nope"], "abs: No such command 'nope'. (see abs --help)"),
        (["grade"], "abs: Missing argument 'SESSION...'. (see abs grade --help)"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], said: str) -> None:
    ended = run(*arguments)

    assert ended.returncode == 2
    assert ended.stderr.startswith(said)
    assert ended.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_output_that_can_not_be_written_is_one_line(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r-1", "demo", 1.0))
    with open("/dev/full", "w") as full:
        ended = run("ls", "--store", str(store.path), stdout=full.fileno())

    assert ended.returncode == 2
    assert ended.stderr == "abs: the output can not be written (No space left on device)\n"
