"""What `docs/grading.md` shows of questions in SQL, of labels and of calibration runs as it stands there."""

import json
import re
import shlex
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path

import duckdb
import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.cli.label_files import COLUMNS
from abs_replay.comparison.confusion import Confusion
from abs_replay.store import migrations, querying
from abs_replay.store.views import VIEWS

PAGE = (Path(__file__).parents[1] / "docs" / "grading.md").read_text(encoding="utf-8")
ASKING, LABELS = (
    re.split(r"^## ", PAGE.partition(f"\n## {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    for title in ("Asking your own questions", "Labels and calibration")
)
SQL = re.findall(r"^```sql\n(.*?)^```", ASKING, re.MULTILINE | re.DOTALL)
SHELL = re.findall(r"^```shell\n(.*?)^```", ASKING + LABELS, re.MULTILINE | re.DOTALL)
COMMANDS = [line for block in SHELL for line in block.splitlines()]

SESSION = """
session: Refund
behaviors:
  - {actor: user, action: says}
  - {actor: assistant, action: informs}
evaluations: [{type: llm_judge, criteria: Is it kind?}]
"""


def told(name: str, **more: str) -> str:
    """A conversation of three turns as a line of a file."""
    answered = {"actor": "assistant", "action": "informs", "content": "Here.", **more}
    asked = [{"actor": "user", "action": "says", "content": f"Where is {name}?"}, answered]
    steps = [{"seq": seq, **step} for seq, step in enumerate(asked * 3, 1)]
    trace = {"trace": name, "session": "Refund", "tags": {"channel": "mail"}, "steps": steps}
    return f"{json.dumps(trace)}\n"


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:", config=querying.SHUT_IN) as opened:
        migrations.migrate(opened, 0)
        querying.shut(opened)
        yield opened


def test_there_is_something_to_run() -> None:
    assert (len(SQL) > 3, len(COMMANDS) > 6) == (True, True)


@pytest.mark.parametrize("sql", SQL)
def test_a_query_that_is_shown_is_answered(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    assert querying.run(connection, sql, 20).columns


def test_every_view_is_listed_in_its_own_words() -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|$", ASKING, re.MULTILINE))

    assert {name: text.replace("`", "") for name, text in listed.items()} == {
        view.name: view.about.replace("`", "") for view in VIEWS
    }


def test_every_column_of_a_file_of_labels_is_listed() -> None:
    table = "".join(line for line in LABELS.splitlines() if line.startswith("| `"))

    assert set(COLUMNS) == set(re.findall(r"`(\w+)`", table)) - {"pass", "fail", "unsure"}


def test_the_numbers_that_are_shown_are_so() -> None:
    table = Confusion(91, 4, 4, 1)
    assert "91 passed by both, 4 and 4 by one alone, 1 by none" in " ".join(LABELS.split())
    assert (table.agreement, table.kappa, table.ac1) == pytest.approx((0.92, 0.16, 0.91), abs=5e-3)


def test_the_commands_that_are_shown_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ABS_STORE", raising=False)
    Path("refund.abs.yaml").write_text(SESSION)
    Path("told.jsonl").write_text(told("a") + told("b") + told("c", error="cut off"))
    where = {"session": "Refund", "at": "evaluations[0]", "trace": "a"}
    Path("answers.json").write_text(json.dumps([{**where, "score": 0.2, "reason": "curt", "judge": "ann"}]))
    assert run(cli, ["import", "told.jsonl"]) == 0
    assert run(cli, ["grade", "refund.abs.yaml", "--judge-answers", "answers.json"]) == 1

    for command in COMMANDS:
        arguments = shlex.split(command, comments=True)
        assert arguments.pop(0) == "abs"
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"p friendly enough\n")))
        status = run(cli, arguments)
        assert status in ((0, 1) if arguments[0] == "grade" else (0,)), (command, capsys.readouterr().err)
