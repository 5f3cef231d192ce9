"""`abs import` says what became of each file, keeps what it can, and its status tells whether all is in."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run

FIXTURES = Path(__file__).parents[2] / "fixtures" / "importers"
ORDER = str(FIXTURES / "vcr" / "order.yaml")

type Abs = Callable[..., tuple[int, str, str]]


@pytest.fixture
def abs_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Abs:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ABS_STORE", raising=False)

    def abs_(*arguments: str) -> tuple[int, str, str]:
        status = run(cli, arguments)
        return status, *capsys.readouterr()

    return abs_


def test_a_file_is_told_with_its_format_its_channels_and_remarks(abs_: Abs) -> None:
    status, out, err = abs_("import", ORDER)
    assert (status, err) == (0, "")
    first, *remarks = out.splitlines()
    assert first == f"{ORDER}: vcr, 3 exchanges (llm:openai 2, tool:orders.example 1)"
    assert any("written as compact JSON" in remark for remark in remarks)
    assert abs_("import", ORDER) == (0, f"{first}, already there\n", "")


def test_what_is_imported_is_listed_and_graded(abs_: Abs, tmp_path: Path) -> None:
    abs_("import", ORDER, "--session", "S", "--tag", "from=ci", "--name", "mine")
    assert "mine" in abs_("ls")[1]
    assert "from=ci" in abs_("ls")[1]
    (tmp_path / "s.abs.yaml").write_text(
        'session: S\nabs_version: "0.2"\nbehaviors:\n'
        '  - { actor: user, action: says, content: "Where is order 17?" }\n'
        "  - { actor: assistant, action: responds, evaluations: [{ type: regex, pattern: 'leaves|left' }] }\n"
    )
    status, out, _ = abs_("grade", "s.abs.yaml", "--format", "json")
    assert [run["result"] for run in json.loads(out)["runs"]] == ["passed", "passed"]
    assert status == 0


def test_remarks_are_counted(abs_: Abs) -> None:
    _, out, _ = abs_("import", str(FIXTURES / "nock" / "order.json"))
    assert "  a body was kept as parsed values; it is written as compact JSON (2 times)\n" in out


def test_a_folder_is_walked_and_what_nobody_knows_is_listed(abs_: Abs, tmp_path: Path) -> None:
    for name in ("notes.txt", "broken.har"):
        (tmp_path / name).write_text("words")
    (tmp_path / "a.yaml").write_bytes(Path(ORDER).read_bytes())
    status, out, err = abs_("import", ".", "--store", "../s.duckdb")
    assert status == 0
    assert err.splitlines() == [
        "abs: broken.har:1: is no JSON (Expecting value, column 1)",
        "abs: no importer recognises notes.txt",
    ]
    assert out.splitlines()[-1] == "1 recording in ../s.duckdb: 3 exchanges, 0 traces; 1 file can not be read"


def test_a_file_that_was_named_and_fails_is_status_2_though_others_are_in(abs_: Abs, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("words")
    status, _, err = abs_("import", ORDER, "notes.txt", "missing.yaml")
    assert status == 2
    assert err.splitlines() == [
        "abs: notes.txt: no importer recognises it; say which with --as",
        "abs: missing.yaml: can not be read (No such file or directory); name a file or a folder",
    ]
    assert "order" in abs_("ls")[1]


def test_a_folder_of_nothing_is_status_2_and_makes_no_store(abs_: Abs, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert abs_("import", "empty") == (2, "", "abs: no file there\n")
    (tmp_path / "empty" / "x").write_text("")
    assert abs_("import", "empty")[0] == 2
    assert not (tmp_path / ".abs").exists()


def test_a_format_may_be_said_and_an_unknown_one_lists_those_there_are(abs_: Abs) -> None:
    status, _, err = abs_("import", ORDER, "--as", "har")
    assert (status, err.count("\n")) == (2, 1)
    assert "order.yaml:1: is no JSON" in err
    status, _, err = abs_("import", ORDER, "--as", "hra")
    assert (status, err.count("\n")) == (2, 1)
    assert "no importer reads 'hra'; known are cassette, trace, vcr" in err


@pytest.mark.parametrize("arguments", [("--tag", "x"), ("--channel", "x=y")])
def test_a_flag_that_makes_no_sense_is_one_line(abs_: Abs, arguments: tuple[str, ...]) -> None:
    status, _, err = abs_("import", ORDER, *arguments)
    assert (status, err.count("\n")) == (2, 1)
    assert f"abs: {arguments[0]}" in err


def test_the_help_tells_every_format(abs_: Abs) -> None:
    from abs_replay.importers import IMPORTERS

    _, out, _ = abs_("import", "--help")
    assert all(f"\n  {name} " in out for name in IMPORTERS)


def test_a_name_in_a_file_leads_out_of_no_folder(abs_: Abs, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.cassette.json").write_text(
        json.dumps({"abs_cassette": 1, "name": "../../evil", "id": "1", "exchanges": []})
    )
    assert abs_("import", "in/x.cassette.json")[0] == 0
    assert abs_("export", "last")[0] == 0
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["evil.cassette.json"]


@pytest.mark.processes
def test_what_is_imported_is_replayed_to_a_client(abs_: Abs, tmp_path: Path) -> None:
    abs_("import", ORDER)
    client = (
        "import os, json, urllib.request as u\n"
        'said = {"role": "user", "content": "Where is order 17?"}\n'
        'asked = json.dumps({"model": "small-1", "messages": [said], "stream": True}).encode()\n'
        'print(u.urlopen(os.environ["OPENAI_BASE_URL"] + "/chat/completions", asked).read().decode())\n'
    )
    command = [
        sys.executable,
        "-c",
        "from abs_replay.cli import main; main()",
        "replay",
        "--recording",
        "order",
    ]
    done = subprocess.run(
        [*command, "--", sys.executable, "-c", client],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(FIXTURES.parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert 'data: {"id":"chatcmpl-2","choices":[{"index":0,"delta":{"content":"it left."}' in done.stdout


def test_the_traces_of_what_is_imported_are_listed_at_once(abs_: Abs) -> None:
    abs_("import", ORDER)
    status, out, err = abs_("ls", "traces")
    assert (status, err) == (0, "")
    assert "Where is order 17?" in out
    assert abs_("show", "last", "--trace")[2] == ""


def test_under_a_configuration_that_can_not_be_used_nothing_is_imported(abs_: Abs, tmp_path: Path) -> None:
    """It says what is a secret here, too."""
    (tmp_path / "abs.config.yaml").write_text("conversation: 7\n")
    status, _, errors = abs_("import", ORDER)
    assert (status, "conversation: must be a mapping" in errors) == (2, True)
    (tmp_path / "abs.config.yaml").unlink()
    assert abs_("ls", "traces")[0] == 2  # there is no store yet


def test_a_damaged_file_is_told_with_what_is_wrong_with_it(abs_: Abs, tmp_path: Path) -> None:
    good = '{"messages": [{"role": "user", "content": "Hi"}]}\n'
    (tmp_path / "cut.jsonl").write_text(good + '{"messages": [')
    wrong = "cut.jsonl:2: is no JSON (Expecting value, column 15)"
    status, _, err = abs_("import", "cut.jsonl")
    assert (status, err) == (2, f"abs: {wrong}; so no importer recognises it; say which with --as\n")
    status, _, err = abs_("import", ".")
    assert (status, err) == (2, f"abs: no importer recognises cut.jsonl\n  {wrong}\n")
