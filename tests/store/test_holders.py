"""Who holds a store is said in words that give away nothing of that process."""

import subprocess
import sys

from abs_replay.store.holders import holder_in

KEY = "sk-proj-Abcdefghijklmnop1234567890"


def test_what_another_process_was_given_is_cleaned_before_it_is_cut() -> None:
    waits = "print('.', flush=True); input()"
    for room in (0, 20, 30):
        given = ["--password", "hunter22hunter", "x" * room, KEY]
        with subprocess.Popen(
            [sys.executable, "-c", waits, *given], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout
            process.stdout.readline()
            said = holder_in(f'Could not set lock: held in python (PID {process.pid}) "')
            process.communicate(b"\n")
        assert said is not None
        assert said.startswith(f"process {process.pid} ({sys.executable}")
        assert "hunter22" not in said
        assert "sk-" not in said
