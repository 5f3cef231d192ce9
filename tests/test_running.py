"""Running recordings find each other's recorder by a note beside the store."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from abs_replay.errors import RecordingError
from abs_replay.running import Running, noted, running


def note(recording: str = "a" * 32, process: int | None = None) -> Running:
    return Running(recording, "chat", os.getpid() if process is None else process, "http://127.0.0.1:1", "t")


def test_a_note_is_found_while_the_block_runs_and_gone_after_it(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    with noted(store, note()):
        assert running(store) == (note(),)
    assert running(store) == ()
    assert list(tmp_path.iterdir()) == []


def test_nobody_else_may_read_the_token(tmp_path: Path) -> None:
    with noted(tmp_path / "s", note()):
        (path,) = tmp_path.iterdir()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_latest_to_begin_comes_first(tmp_path: Path) -> None:
    first, second = note("a" * 32), note("b" * 32)
    with noted(tmp_path / "s", first), noted(tmp_path / "s", second):
        for number, path in enumerate(sorted(tmp_path.iterdir())):
            os.utime(path, (number, number))
        assert running(tmp_path / "s") == (second, first)


@pytest.fixture
def gone() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_note_of_a_process_that_is_gone_counts_for_nothing(tmp_path: Path, gone: int) -> None:
    with noted(tmp_path / "s", note(process=gone)):
        assert running(tmp_path / "s") == ()


def test_who_begins_takes_away_the_notes_that_killed_recorders_of_that_store_left(
    tmp_path: Path, gone: int
) -> None:
    with (
        noted(tmp_path / "s", note("a" * 32, gone)),
        noted(tmp_path / "other", note("a" * 32, gone)),
        noted(tmp_path / "s", note("b" * 32)),
        noted(tmp_path / "s", note("c" * 32)),
    ):
        names = sorted(path.name for path in tmp_path.iterdir())
        assert names == [f"other.{'a' * 12}.running", f"s.{'b' * 12}.running", f"s.{'c' * 12}.running"]


def test_a_note_of_someone_elses_process_counts(tmp_path: Path) -> None:
    with noted(tmp_path / "s", note(process=1)):
        assert running(tmp_path / "s") == (note(process=1),)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"recording": "a"}', '{"a": 1}', "3"])
def test_what_is_no_whole_note_counts_for_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.x.running").write_text(text)
    assert running(tmp_path / "s") == ()


def test_notes_of_another_store_in_the_folder_are_not_taken(tmp_path: Path) -> None:
    with noted(tmp_path / "sx", note()):
        assert running(tmp_path / "s[x]") == ()
        assert running(tmp_path / "s") == ()


def test_a_store_whose_name_has_wildcards_finds_its_own(tmp_path: Path) -> None:
    with noted(tmp_path / "s[1]*", note()):
        assert running(tmp_path / "s[1]*") == (note(),)


def test_a_folder_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="can not be written"), noted(tmp_path / "no" / "s", note()):
        raise AssertionError
