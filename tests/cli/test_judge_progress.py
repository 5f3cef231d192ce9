"""A bar where somebody looks, and nothing anywhere else."""

import io
import sys

import pytest

from abs_replay.cli.judge_progress import Bar, progress_of
from abs_replay.judgement import Usage


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_counts_calls_and_money_of_all_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    bar = progress_of(ci=False)
    assert isinstance(bar, Bar)
    for calls in (2, 3):
        bar.begin(calls)
        for _ in range(calls):
            bar.one(Usage(1, 10, 1, 0.5))
        bar.end()
    text = shown.getvalue()
    for part in ("asking the judge", "2/2", "3/3", "$1.00", "$2.50"):
        assert part in text


def test_there_is_none_in_a_pipe_or_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert progress_of(ci=True) is None
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert progress_of(ci=False) is None
