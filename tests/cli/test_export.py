"""`abs export` writes what the store holds, and never over a file unasked."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from abs_replay.cassette import loads
from abs_replay.cli import cli
from abs_replay.errors import StoreError, UsageError
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role, Upstream
from abs_replay.store import Store

LLM = Channel(Role.LLM, "openai")
ABS = "from abs_replay.cli import main; main()"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.duckdb"
    stored = Store(path)
    for number, name in enumerate(("first", "../re fund/ü")):
        recording = Recording(f"r{number}", name, float(number), upstreams=(Upstream(LLM, "https://h/v1"),))
        stored.begin(recording)
        request = Request("POST", "/v1/chat/completions", (), Body(b'{"n":%d}' % number))
        answer = Response(200, (), Body(b'{"ok":true}'))
        stored.append(recording.id, [Exchange(f"x{number}", LLM, float(number), request, answer)])
    return path


def export(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["export", *map(str, arguments)])


def test_the_last_recording_is_written_under_a_name_that_leads_nowhere_else(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = export("--store", store)
    assert result.output == "re-fund-ü.cassette.json: 1 exchange (llm:openai 1)\n"
    cassette = loads((tmp_path / "re-fund-ü.cassette.json").read_text(encoding="utf-8"))
    assert cassette.recording == Store(store).recording("last")
    assert cassette.exchanges == Store(store).exchanges("r1")


def test_a_recording_is_chosen_by_name(store: Path, tmp_path: Path) -> None:
    output = tmp_path / "mine.json"
    assert export("first", "--store", store, "--output", output).exit_code == 0
    assert [one.id for one in loads(output.read_text(encoding="utf-8")).exchanges] == ["x0"]


def test_a_file_that_exists_is_kept_unless_forced(store: Path, tmp_path: Path) -> None:
    output = tmp_path / "mine.json"
    output.write_text("precious")
    refused = export("--store", store, "--output", output)
    assert isinstance(refused.exception, UsageError)
    assert "--force" in str(refused.exception)
    assert output.read_text() == "precious"
    assert export("--store", store, "--output", output, "--force").exit_code == 0
    assert output.read_text().startswith("{")


def test_a_folder_that_does_not_exist_is_said_in_one_line(store: Path, tmp_path: Path) -> None:
    result = export("--store", store, "--output", tmp_path / "none" / "x.json")
    assert isinstance(result.exception, UsageError)
    assert "can not be written" in str(result.exception)


def test_what_was_there_stays_where_the_disk_takes_no_more(store: Path, tmp_path: Path) -> None:
    output = tmp_path / "out" / "mine.json"
    output.parent.mkdir()
    output.write_text("precious")
    script = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (100, 100)); {ABS}"
    command = [
        sys.executable,
        "-c",
        script,
        "export",
        "--store",
        str(store),
        "--output",
        str(output),
        "--force",
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (result.returncode, result.stderr) == (2, f"abs: {output} can not be written: File too large\n")
    assert [(file.name, file.read_text()) for file in output.parent.iterdir()] == [("mine.json", "precious")]


def test_a_pipe_may_be_written_to(store: Path) -> None:
    command = [sys.executable, "-c", ABS, "export", "--store", str(store)]
    result = subprocess.run(
        [*command, "--output", "/dev/stdout", "--force"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert loads(result.stdout.rpartition("/dev/stdout:")[0]).exchanges == Store(store).exchanges("r1")


def test_an_unknown_recording_is_a_user_error(store: Path) -> None:
    assert isinstance(export("nobody", "--store", store).exception, StoreError | UsageError)
