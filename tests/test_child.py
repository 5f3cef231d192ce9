"""The program under test gets its variables, is ended with grace, and its status is passed on."""

import signal
import sys
import time
from pathlib import Path

import pytest

from abs_replay.child import exit_status, find, finish, start
from abs_replay.errors import UsageError

pytestmark = pytest.mark.processes


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_the_command_sees_our_environment_and_the_added_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM_OUTSIDE", "a")
    process = start(
        python("import os; raise SystemExit(os.environ['FROM_OUTSIDE'] + os.environ['ADDED'] != 'ab')"),
        {"ADDED": "b"},
    )
    process.wait()
    assert finish(process) == 0


def test_standard_output_is_left_alone(capfd: pytest.CaptureFixture[str]) -> None:
    process = start(python("print('out', flush=True)"), {})
    process.wait()
    assert finish(process) == 0
    assert capfd.readouterr() == ("out\n", "")


def test_a_command_that_does_not_exist_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"can not run 'no-such-command-at-all': No such file"):
        start(["no-such-command-at-all"], {})


def test_whether_a_command_can_be_run_is_known_before_it_is(tmp_path: Path) -> None:
    find([])
    find(["sh"])
    find([sys.executable])
    (tmp_path / "data").write_text("")
    with pytest.raises(UsageError, match="no executable file"):
        find([str(tmp_path / "data")])
    with pytest.raises(UsageError, match="No such file"):
        find(["no-such-command"])


def test_the_status_of_an_ended_command_is_its_own() -> None:
    process = start(python("raise SystemExit(7)"), {})
    process.wait()
    assert finish(process) == 7


def test_a_running_command_is_terminated_and_its_signal_is_its_status() -> None:
    process = start(python("import time; time.sleep(30)"), {})
    assert finish(process) == 128 + signal.SIGTERM


def test_a_command_that_does_not_listen_is_killed_after_its_grace() -> None:
    code = "import signal, sys, time; signal.signal(15, signal.SIG_IGN); time.sleep(30)"
    process = start(python(code), {})
    time.sleep(0.3)
    assert finish(process, grace_s=0.2) == 128 + signal.SIGKILL


def test_a_command_that_was_told_already_may_end_by_itself() -> None:
    process = start(python("import time; time.sleep(0.3); raise SystemExit(3)"), {})
    assert finish(process, told=True) == 3


@pytest.mark.parametrize(
    ("command", "failed", "expected"), [(0, False, 0), (0, True, 1), (7, False, 7), (7, True, 7)]
)
def test_the_commands_status_comes_before_ours(command: int, failed: bool, expected: int) -> None:
    assert exit_status(command, failed) == expected
