"""What `docs/grading.md` shows of flips: its commands over the session that it shows, causes and flags."""

import re
import shlex
from pathlib import Path

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.comparison import Cause
from abs_replay.grading import Settings, grade, select_given
from abs_replay.importers import trace_file
from abs_replay.judgement import Answer
from abs_replay.spec.loader import load
from abs_replay.store import Store
from abs_replay.testing import FakeJudge
from abs_replay.verdicts import Grading, Report
from tests.test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "grading.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTION = TEXT[TEXT.index("## What flipped") : TEXT.index("## The history")]


def keep_two_gradings() -> None:
    """The session that is shown, and the same with the threshold that the text speaks of."""
    (session,), (trace,) = (blocks(PAGE, language) for language in ("yaml", "json"))
    Path("cups.json").write_text(trace, encoding="utf-8")
    judge = FakeJudge(lambda question: Answer(0.8, "as the test says", "fake", fingerprint="fake"))
    for nth, threshold in enumerate(("0.7", "0.9"), 1):
        Path("cups.abs.yaml").write_text(session.replace("0.7", threshold), encoding="utf-8")
        selection = select_given(
            list(trace_file.read(Path("cups.json"))), load([Path("cups.abs.yaml")]).sessions
        )
        runs = grade(selection, Settings(judge=judge))
        Store(Path("cups.duckdb")).save_grading(Grading(f"g-{nth}", nth, Report(runs)))


def test_the_commands_that_are_shown_say_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    keep_two_gradings()
    (commands,) = blocks(PAGE, "console")
    said = [
        (run(cli, shlex.split(command)[1:]), capsys.readouterr().out) for command in commands.splitlines()
    ]
    assert [status for status, _ in said] == [0, 0, 1, 0]
    (shown,) = [text for text in blocks(PAGE, "text") if "→" in text]
    assert said[0][1].startswith(shown)
    assert Path("comment.md").read_text(encoding="utf-8").startswith("**❌ 1 of 3 evaluations flipped**")


def test_every_cause_is_explained_by_its_name() -> None:
    table = SECTION.split("|---|---|\n")[1].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == [
        cause.name.lower() for cause in sorted(Cause, key=_as_shown)
    ]


def _as_shown(cause: Cause) -> int:
    """By what is usual; old gradings and the rest come last."""
    return [*(one for one in Cause if one not in (Cause.RULE, Cause.OTHER)), Cause.RULE, Cause.OTHER].index(
        cause
    )


@pytest.mark.parametrize("command", ["diff", "grade", "trials"])
def test_the_flags_that_are_explained_are_there(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(cli, [command, "--help"])
    told = capsys.readouterr().out
    gates = {"--fail-on", "--min-pass-rate", "--bound", "--margin"}
    assert gates <= set(re.findall(r"--[a-z-]+", SECTION))
    assert all(flag in told for flag in (gates if command != "trials" else {"--k"}))
