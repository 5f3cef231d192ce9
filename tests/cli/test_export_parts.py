"""`abs export` writes parts of a recording: a conversation each, or what a replay used."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from abs_replay.cassette import loads
from abs_replay.cli import cli
from abs_replay.errors import UsageError
from abs_replay.exchange import Body, Channel, Exchange, Mark, Recording, Request, Response, Role
from abs_replay.store import Store

LLM = Channel(Role.LLM, "openai")


def asked(id_: str, at: float, text: str) -> Exchange:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    message = {"role": "assistant", "content": f"echo {text}"}
    said = json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": message}]}).encode()
    kind = (("content-type", "application/json"),)
    request = Request("POST", "/v1/chat/completions", kind, Body(body))
    return Exchange(id_, LLM, at, request, Response(200, kind, Body(said)), ended_ms=5.0)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "store.duckdb"
    stored = Store(path)
    stored.begin(Recording("r1", "shop", 0.0, marks=(Mark(500.0, "the lamp"),)))
    health = Exchange("h", LLM, 900.0, Request("GET", "/v1/models"), Response(200))
    stored.append("r1", [asked("a", 1.0, "hello"), asked("b", 100.0, "a bed"), asked("c", 501.0, "a lamp")])
    stored.append("r1", [health])
    return path


def export(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["export", *map(str, arguments)])


def ids(path: Path) -> list[str]:
    return [exchange.id for exchange in loads(path.read_text(encoding="utf-8")).exchanges]


def report(tmp_path: Path, *used: object) -> Path:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"used": used}), encoding="utf-8")
    return path


def test_each_conversation_gets_a_cassette_under_its_name(store: Path, tmp_path: Path) -> None:
    result = export("--store", store, "--split-by", "conversation", "--output", tmp_path / "my.cassette.json")
    assert result.exit_code == 0, result.exception
    files = {file.name: ids(file) for file in tmp_path.glob("my*")}
    assert files == {
        "my-1.cassette.json": ["a"],
        "my-2.cassette.json": ["b"],
        "my-the-lamp.cassette.json": ["c"],
        "my-rest.cassette.json": ["h"],
    }
    assert f"{tmp_path / 'my-1.cassette.json'}: 1 exchange (llm:openai 1)\n" in result.output
    whole = Store(store).recording("last")
    assert loads((tmp_path / "my-1.cassette.json").read_text(encoding="utf-8")).recording == whole


def test_what_is_split_is_named_after_the_recording_and_never_written_over(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert export("--store", store, "--split-by", "conversation").exit_code == 0
    assert ids(tmp_path / "shop-1.cassette.json") == ["a"]
    again = export("--store", store, "--split-by", "conversation")
    assert isinstance(again.exception, UsageError)
    assert "shop-1.cassette.json exists" in str(again.exception)


def test_only_what_a_replay_used_is_written(store: Path, tmp_path: Path) -> None:
    output = tmp_path / "used.cassette.json"
    result = export("--store", store, "--only-used", report(tmp_path, "c", "h"), "--output", output)
    assert result.exit_code == 0, result.exception
    assert sorted(ids(output)) == ["c", "h"]


def test_what_was_used_can_be_split(store: Path, tmp_path: Path) -> None:
    output = tmp_path / "x.json"
    used = report(tmp_path, "b", "h")
    arguments = ("--only-used", used, "--split-by", "conversation", "--output", output)
    assert export("--store", store, *arguments).exit_code == 0
    assert sorted(file.name for file in tmp_path.glob("x-*")) == ["x-1.cassette.json", "x-rest.cassette.json"]


def test_what_a_real_replay_reports_is_what_is_exported(store: Path, tmp_path: Path) -> None:
    said = tmp_path / "said.json"
    arguments = ["replay", "--recording", "last", "--store", str(store), "--report", str(said), "--", "true"]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    result = export("--store", store, "--only-used", said, "--output", tmp_path / "none.cassette.json")
    assert "0 exchanges" in result.output
    assert "holds no exchange" in result.output


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"used": 1}', "\udcff"])
def test_what_is_no_report_is_a_user_error(store: Path, tmp_path: Path, text: str) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    result = export("--store", store, "--only-used", path)
    assert isinstance(result.exception, UsageError)
    assert "is no report" in str(result.exception)


def test_a_report_of_another_recording_is_refused(store: Path, tmp_path: Path) -> None:
    result = export("--store", store, "--only-used", report(tmp_path, "a", "y"))
    assert isinstance(result.exception, UsageError)
    assert "names 1 exchange that recording shop does not hold" in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--split-by", "conversation", "--format", "har"], "can not be done with --format har"),
        (["--split-by", "conversation", "--output", "-"], "can not be done to standard output"),
        (["--format", "traces", "--only-used"], "--only-used chooses exchanges, and --format traces"),
    ],
)
def test_what_does_not_go_together_is_a_user_error(
    store: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    more = [report(tmp_path)] if arguments[-1] == "--only-used" else []
    result = export("--store", store, *arguments, *more)
    assert isinstance(result.exception, UsageError)
    assert said in str(result.exception)


def test_another_archive_can_hold_only_what_was_used(store: Path, tmp_path: Path) -> None:
    used = report(tmp_path, "a")
    result = export("--store", store, "--only-used", used, "--format", "har", "--output", "-")
    assert len(json.loads(result.stdout)["log"]["entries"]) == 1
