"""What `docs/grading.md` shows works, against the scripted judge."""

import json
import re
import shlex
from pathlib import Path

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.judges.builtin import KEYS
from fixtures.judges.running import running
from tests.test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "grading.md"
type Captured = pytest.CaptureFixture[str]


@pytest.mark.processes
def test_the_commands_that_are_shown_grade_once_and_then_carry_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [*(key for keys in KEYS.values() for key in keys), "ABS_STORE"]:
        monkeypatch.delenv(name, raising=False)
    (session,), (trace,), (commands,) = (blocks(PAGE, language) for language in ("yaml", "json", "sh"))
    Path("cups.abs.yaml").write_text(session, encoding="utf-8")
    Path("cups.json").write_text(trace, encoding="utf-8")
    with running() as url:
        monkeypatch.setenv("ABS_JUDGE_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("ABS_JUDGE_MODEL", "judge")
        said = []
        for command in commands.splitlines():
            assert run(cli, shlex.split(command)[1:]) == 0, capsys.readouterr().err
            said.append(capsys.readouterr().out)
        _, dry, first, second, history, shown = said
        assert dry.startswith("2 questions would be asked\n  openai judge: 2 questions, 2 calls, ")
        assert "2 questions asked" in first
        for line in blocks(PAGE, "text")[0].splitlines():
            assert line in second
        assert len(history.splitlines()) == 3
        assert re.search(r"judge: openai judge \(.*\)\n", shown)

        grade = ["grade", "cups.abs.yaml", "--store", "cups.duckdb"]
        Path("cups.abs.yaml").write_text(session.replace("0.7", "0.9"), encoding="utf-8")
        assert run(cli, [*grade, "--dry-run"]) == 0
        assert capsys.readouterr().out == "0 questions would be asked, 2 are answered already\n"
        assert run(cli, [*grade, "--judge-votes", "3", "--format", "json"]) == 0
        report = json.loads(capsys.readouterr().out)
    assert (report["judge"]["asked"], report["judge"]["calls"], report["asked"]) == (2, 4, 2)
    assert report["judge"].keys() - {"models"} <= _fields()
    (judged, *_) = [each["judged"] for each in report["runs"][0]["steps"][1]["evaluations"] if each["judged"]]
    assert (judged["scores"], judged["unstable"], judged["calls"]) == ([1.0, 1.0, 1.0], False, 2)


def _fields() -> set[str]:
    table = PAGE.read_text(encoding="utf-8").split("| field | |")[1].split("\n\n")[0]
    return set(re.findall(r"`(\w+)`", table))
