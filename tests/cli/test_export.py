"""`abs export` writes what the store holds, and never over a file unasked."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from abs_replay.cassette import loads
from abs_replay.cli import cli
from abs_replay.errors import StoreError, UsageError
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role, Upstream
from abs_replay.importers import trace_file
from abs_replay.store import IMPORTED, Store
from abs_replay.trace import Step, Trace

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


FIXTURES = Path(__file__).parents[2] / "fixtures" / "importers"


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """A store with conversations that no exchange shows."""
    path = tmp_path / "words.duckdb"
    file = FIXTURES / "tau-bench" / "airline.json"
    assert CliRunner().invoke(cli, ["import", str(file), "--store", str(path)]).exit_code == 0
    return path


@pytest.mark.parametrize(
    ("format_", "ending", "counted"),
    [
        ("traces", ".trace.jsonl", "2 traces, 8 steps"),
        ("parquet", ".steps.parquet", "2 traces, 8 steps"),
        ("otel", ".otlp.json", "2 traces, 8 steps"),
    ],
)
def test_conversations_are_written_in_every_format_of_traces(
    words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str, ending: str, counted: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = export("airline", "--store", words, "--format", format_)
    assert result.output == f"airline{ending}: {counted}\n"
    assert (tmp_path / f"airline{ending}").stat().st_size > 0


def test_exported_traces_are_those_of_the_store(words: Path, tmp_path: Path) -> None:
    output = tmp_path / "x.trace.jsonl"
    assert export("last", "--store", words, "--format", "traces", "--output", output).exit_code == 0
    assert trace_file.read(output) == Store(words).traces()


def test_one_trace_is_written_by_the_beginning_of_its_id(words: Path) -> None:
    trace = Store(words).traces()[1]
    result = export(trace.id[:8], "--store", words, "--format", "traces", "--output", "-")
    assert result.stdout == trace_file.write([trace])
    assert result.stderr == "-: 1 trace, 2 steps\n"


@pytest.mark.parametrize("format_", ["cassette", "har"])
def test_traces_alone_are_no_exchanges_and_nothing_is_written(
    words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for ref, message in (("airline", "no exchanges"), (Store(words).traces()[0].id, "export its recording")):
        result = export(ref, "--store", words, "--format", format_)
        assert isinstance(result.exception, UsageError)
        assert message in str(result.exception)
    assert not list(tmp_path.glob("*.json"))
    assert not list(tmp_path.glob("*.har"))


def test_traces_alone_are_nothing_to_replay(words: Path) -> None:
    result = CliRunner().invoke(cli, ["replay", "--recording", "last", "--store", str(words), "--", "true"])
    assert isinstance(result.exception, UsageError)
    assert "nothing to replay" in str(result.exception)


def test_exchanges_are_written_as_an_archive(store: Path) -> None:
    result = export("first", "--store", store, "--format", "har", "--output", "-")
    (entry,) = json.loads(result.stdout)["log"]["entries"]
    assert entry["request"]["postData"]["text"] == '{"n":0}'


def test_a_recording_without_conversations_has_no_traces_to_write(store: Path) -> None:
    result = export("first", "--store", store, "--format", "traces", "--output", "-")
    assert isinstance(result.exception, UsageError)
    assert "holds no conversation" in str(result.exception)


def test_the_help_says_what_is_lost() -> None:
    shown = " ".join(export("--help").output.split())
    assert "HAR 1.2; lost: chunks and their times" in shown


def test_an_unknown_recording_is_a_user_error(store: Path) -> None:
    assert isinstance(export("nobody", "--store", store).exception, StoreError | UsageError)


def test_where_chooses_traces_of_the_recording_and_no_exchanges(store: Path) -> None:
    said = Step(1, "user", "says", content="Hi")
    traces = tuple(Trace(f"t-{n}", (said,) * n, recording="r1") for n in (1, 2))
    Store(store).save_traces("r1", traces, "d", IMPORTED)
    call = ("--store", store, "--output", "-", "--where", "steps > 1")

    chosen = export(*call, "--format", "traces")
    none = export(*call[:-1], "steps > 9", "--format", "traces")

    assert [json.loads(line)["trace"] for line in chosen.stdout.splitlines()] == ["t-2"]
    assert "--where: it holds of none of the 2 traces" in str(none.exception)
    assert "--where chooses traces, and --format cassette writes exchanges" in str(export(*call).exception)
