"""What another tool kept as words alone is listed, shown and graded like what was recorded, and stays."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from abs_replay.cli import cli
from abs_replay.derivation import traces_of
from abs_replay.store import Store

FIXTURES = Path(__file__).parents[2] / "fixtures" / "importers"
FILES = ("messages/chats.jsonl", "tau-bench/airline.json", "inspect/orders.eval", "langfuse/trace-tr-1.json")

SESSION = """\
session: Cancel
abs_version: "0.2"
behaviors:
  - {actor: user, action: says, content: "Cancel R1, please."}
  - {actor: assistant, action: calls, target: cancel, evaluations: [{type: tool_call}]}
  - {actor: tool, action: responds, target: cancel}
  - {actor: assistant, action: informs}
"""


def abs_(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, list(map(str, arguments)))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "store.duckdb"
    monkeypatch.setenv("ABS_STORE", str(path))
    assert abs_("import", *(FIXTURES / name for name in FILES)).exit_code == 0
    return path


def test_it_is_told_what_was_imported_and_what_is_missing(tmp_path: Path) -> None:
    result = abs_("import", FIXTURES / FILES[1], "--store", tmp_path / "x.duckdb")
    assert result.output.splitlines() == [
        f"{FIXTURES / FILES[1]}: tau-bench, 2 traces",
        "  no times were kept: the steps have none (2 times)",
    ]


def test_it_is_listed_and_shown(store: Path) -> None:
    listed = json.loads(abs_("ls", "traces", "--format", "json").stdout)
    ids = [one["id"] for one in (listed if isinstance(listed, list) else listed["traces"])]
    assert len(ids) == 8
    shown = abs_("show", "airline").output
    assert "0 exchanges" in shown
    assert "2 traces" in shown
    assert "Cancel R1, please." in "".join(abs_("show", id_).output for id_ in ids)


def test_it_is_graded(store: Path, tmp_path: Path) -> None:
    document = tmp_path / "cancel.abs.yaml"
    document.write_text(SESSION, encoding="utf-8")
    (trace, _) = Store(store).traces(Store(store).recording("airline").id)
    result = abs_("grade", document, "--trace", trace.id, "--session-for", "Cancel", "--format", "json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["result"]) == (0, "passed"), result.output
    assert report["totals"]["evaluations"]["passed"] == 1


def test_it_stays_whatever_decoders_become(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Store(store).traces()
    monkeypatch.setattr("abs_replay.decoders.version", lambda: "another")
    notices: list[str] = []
    assert sorted(map(str, traces_of(Store(store), notice=notices.append))) == sorted(map(str, before))
    assert Store(store).traces() == before
    assert not notices


def test_importing_it_again_changes_nothing(store: Path) -> None:
    before = Store(store).traces()
    again = abs_("import", *(FIXTURES / name for name in FILES))
    assert again.output.count("already there") == len(FILES) + 1
    assert Store(store).traces() == before
