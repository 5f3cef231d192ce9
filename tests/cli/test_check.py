"""`abs check`: findings at their lines, in three forms, and the exit status of a job."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from abs_replay.cassette import Cassette, dumps
from abs_replay.cli import cli
from abs_replay.cli.check import command
from abs_replay.cli.failure import run
from abs_replay.exact_json import Json
from abs_replay.exchange import Exchange, Recording, Role
from abs_replay.testing import exchange


def order(number: int, status: int = 200) -> Exchange:
    told: Json = {
        "order": number,
        "status": "shipped and on its way to the customer, who waits for it since Monday",
    }
    target = f"/orders/{number}"
    return exchange(None, told, role=Role.TOOL, method="GET", target=target, status=status, id=f"x-{number}")


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "orders.cassette.json"
    exchanges = (order(1), order(2, status=500), order(1), order(3))
    path.write_text(dumps(Cassette(Recording("r", "orders", 1.0), exchanges)), encoding="utf-8")
    return path


def check(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(command, [str(each) for each in arguments], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.return_value, done.stdout


def test_findings_stand_at_the_line_of_their_exchange(bad: Path) -> None:
    status, output = check(bad)
    lines = output.splitlines()
    assert status == 1
    assert lines[-1] == "1 error, 1 warning"
    file, line, text = lines[0].split(":", 2)
    assert file == str(bad)
    assert '"id": "x-2"' in bad.read_text(encoding="utf-8").split("\n")[int(line)]
    assert text == (
        " error error-status: exchanges[1], GET /orders/2 on tool (id x-2): answered 500, and never better"
    )
    assert "warning duplicate: exchanges[2]" in lines[1]


def test_a_folder_is_looked_through(bad: Path) -> None:
    assert check(bad.parent)[1] == check(bad)[1]


def test_what_is_allowed_is_not_told_everywhere_or_in_one_exchange(bad: Path) -> None:
    assert check(bad, "--allow", "error-status")[0] == 0
    assert check(bad, "--allow", "error-status=x-2")[0] == 0
    assert check(bad, "--allow", "error-status=x-3")[0] == 1


def test_warnings_count_when_strict(bad: Path) -> None:
    allowed = ("--allow", "error-status")
    assert check(bad, *allowed, "--strict")[0] == 1
    assert check(bad, *allowed, "--strict", "--allow", "duplicate")[0] == 0


def test_json_has_a_row_a_finding(bad: Path) -> None:
    first, second = json.loads(check(bad, "--format", "json")[1])["findings"]
    assert first["code"] == "error-status"
    assert first["severity"] == "error"
    assert first["exchange"] == "x-2"
    assert second["code"] == "duplicate"


def test_github_gets_an_annotation_at_the_line(bad: Path) -> None:
    line = check(bad, "--format", "github")[1].splitlines()[0]
    assert line.startswith("::error file=")
    assert "title=abs check%3A error-status::exchanges[1]" in line


def test_age_has_a_unit(bad: Path) -> None:
    assert "old: recorded" in check(bad, "--max-age", "90d")[1]
    assert "old: recorded" not in check(bad, "--max-age", "900y")[1]


def test_the_report_of_a_replay_tells_what_nothing_played(bad: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"used": ["x-1", "x-2"]}), encoding="utf-8")
    assert "unplayed: exchanges[3]" in check(bad, "--report", report)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--allow", "sekret"), "there is no code 'sekret'"),
        (("--max-age", "soon"), "expected a number with d, w or y"),
        (("--report", "HERE/no.json"), "no report of `abs replay --report`"),
        (("HERE/empty",), "there is no *.cassette.json in it"),
        (("HERE/gone.cassette.json",), "can not be read"),
        (("HERE/broken.cassette.json",), "no JSON"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(
    bad: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    (bad.parent / "empty").mkdir()
    (bad.parent / "no.json").write_text("[]", encoding="utf-8")
    (bad.parent / "broken.cassette.json").write_text("{", encoding="utf-8")
    given = [argument.replace("HERE", str(bad.parent)) for argument in arguments]
    assert run(cli, ["check", str(bad), *given]) == 2
    assert message in capsys.readouterr().err
