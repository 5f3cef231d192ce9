"""Flags, variables and keys of a configuration that say who judges, as commands take them."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run as call
from fixtures.judges.services import Services, serving
from tests.scripted_agent import listening, says

SESSION = """session: Cups
abs_version: "0.2"
behaviors:
  - { actor: user, action: says, content: Which cup? }
  - actor: assistant
    action: informs
    evaluations: [{ type: llm_judge, criteria: "contains: blue"%s }]
evaluations: [{ type: llm_judge, criteria: "contains: cup" }]
"""
STEPS = [
    {"seq": 1, "actor": "user", "action": "says", "content": "Which cup?"},
    {"seq": 2, "actor": "assistant", "action": "responds", "content": "The blue cup."},
]
KEYS = ("OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "AZURE_", "AWS_", "ABS_")
SECRET = "azure-key"

type Abs = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def _server() -> Iterator[Services]:
    with serving() as server:
        yield server


@pytest.fixture
def server(_server: Services) -> Services:
    _server.asked.clear()
    return _server


@pytest.fixture
def abs_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Abs:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(KEYS)]:
        monkeypatch.delenv(name)
    Path("cups.abs.yaml").write_text(SESSION % "", encoding="utf-8")
    Path("t.trace.json").write_text(json.dumps({"trace": "t-1", "steps": STEPS}), encoding="utf-8")

    def abs_(*arguments: str) -> tuple[int, str, str]:
        status = call(cli, arguments)
        return status, *capsys.readouterr()

    return abs_


GRADE = ("grade", "cups.abs.yaml", "--traces", "t.trace.json", "--format", "json")


def flags(server: Services, key: str = SECRET) -> tuple[str, ...]:
    """As the runner's document shows them for a Foundry resource."""
    address = ("--judge-base-url", f"{server.url}/openai/v1", "--judge-api-key", key)
    return (*address, "--judge-api-key-header", "api-key", "--judge-model", "gpt-4o-mini")


def evaluations(out: str) -> list[dict[str, Any]]:
    (run,) = json.loads(out)["runs"]
    return [*run["steps"][1]["evaluations"], *run["chain_evaluations"]]


def reasons(out: str) -> list[str]:
    return [each["reason"] for each in evaluations(out)]


def stored(file: str) -> str:
    """Every value of a store."""
    with duckdb.connect(file, read_only=True) as connection:
        tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        rows = [connection.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in tables]
    return repr(rows)


def rows(select: str, file: str) -> list[Any]:
    with duckdb.connect(file, read_only=True) as connection:
        return connection.execute(select).fetchall()


def test_flags_name_an_endpoint_a_key_its_header_and_a_model(abs_: Abs, server: Services) -> None:
    status, out, err = abs_(*GRADE, *flags(server))
    assert (status, err) == (0, "")
    assert [each["judge"] for each in evaluations(out)] == ["openai gpt-4o-mini"] * 2
    assert len(server.asked) == 2
    for path, headers, body in server.asked:
        assert (path, headers["api-key"], body["model"]) == (
            "/openai/v1/chat/completions",
            SECRET,
            "gpt-4o-mini",
        )


def test_a_run_is_judged_by_the_same_flags(abs_: Abs, server: Services) -> None:
    with listening(lambda _: says("The blue cup.")) as (url, _):
        status, out, _ = abs_(
            "run", "cups.abs.yaml", "--agent", url, "--format", "json", *flags(server), "--judge-votes", "3"
        )
    assert status == 0
    assert [each["score"] for each in evaluations(out)] == [1, 1]
    assert len(server.asked) == 6
    kept = stored(".abs/store.duckdb")
    assert "contains: blue" in kept
    assert SECRET not in kept
    (grading,) = json.loads(abs_("ls", "gradings", "--format", "json")[1])
    attempts = rows("SELECT grading, count(*) FROM attempts GROUP BY ALL", ".abs/store.duckdb")
    assert attempts == [(grading["id"], 6)]


def test_variables_say_the_same_and_flags_go_before_them_and_they_before_the_file(
    abs_: Abs, server: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("abs.config.yaml").write_text("judge: {model: of-file, votes: 2, concurrency: 1}\n")
    monkeypatch.setenv("ABS_JUDGE_BASE_URL", f"{server.url}/openai/v1")
    monkeypatch.setenv("ABS_JUDGE_API_KEY", SECRET)
    monkeypatch.setenv("ABS_JUDGE_API_KEY_HEADER", "api-key")
    assert abs_(*GRADE)[0] == 0
    monkeypatch.setenv("ABS_JUDGE_MODEL", "of-variable")
    monkeypatch.setenv("ABS_JUDGE_VOTES", "1")
    assert abs_(*GRADE)[0] == 0
    assert abs_(*GRADE, "--judge-model", "of-flag")[0] == 0
    models = [body["model"] for _, _, body in server.asked]
    assert models == ["of-file"] * 4 + ["of-variable"] * 2 + ["of-flag"] * 2


def test_a_variable_that_makes_no_sense_is_one_line(abs_: Abs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABS_JUDGE_VOTES", "many")
    status, out, err = abs_(*GRADE)
    assert status == 2
    assert "ABS_JUDGE_VOTES" in err
    assert json.loads(out)["result"] == "usage"


@pytest.mark.parametrize("key", ["wrong-key-123", "wrong\nkey-123", "schlüssel-123"])
def test_a_key_is_in_nothing_that_is_said(abs_: Abs, server: Services, key: str) -> None:
    status, out, err = abs_(*GRADE, *flags(server, key), "--store", "s.duckdb")
    assert status == 1
    assert "key" in "".join(reasons(out))
    assert "123" not in out + err
    assert "123" not in stored("s.duckdb")


ADAPTERS = [
    (("--adapter", "azur"), "", "", "--adapter azur: no adapter is called `azur`: did you mean `azure`?"),
    (("--adapter", "llm_judge=nobody"), "", "", "no adapter is called `nobody`"),
    ((), ", adapter: azur", "", "cups.abs.yaml:7: behaviors[1].evaluations[0].adapter: no adapter is called"),
    ((), "", "adapters: {llm_judge: azur}\n", "abs.config.yaml:1: adapters.llm_judge: no adapter is called"),
    ((), "", "judge: {adapter: azur}\n", "abs.config.yaml:1: judge.adapter: no adapter is called `azur`"),
]


@pytest.mark.parametrize(("given", "rule", "file", "message"), ADAPTERS)
def test_an_unknown_adapter_is_an_error_before_anything_is_asked(
    abs_: Abs, server: Services, given: tuple[str, ...], rule: str, file: str, message: str
) -> None:
    Path("cups.abs.yaml").write_text(SESSION % rule, encoding="utf-8")
    Path("abs.config.yaml").write_text(file)
    with listening(lambda _: says("The blue cup.")) as (url, asked):
        for command in (GRADE[:4], ("run", "cups.abs.yaml", "--agent", url)):
            status, out, err = abs_(*command, *flags(server), *given)
            assert (status, out, err.count("\n")) == (2, "", 1)
            assert message in err
        assert asked == []
    assert server.asked == []


def test_an_adapter_has_the_settings_of_its_own_service(
    abs_: Abs, server: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("ABS_JUDGE_BASE_URL", "http://127.0.0.1:9/v1")  # of the built-in judge, not of Azure
    Path("abs.config.yaml").write_text("adapters: {azure: {deployment: mine}}\n")
    status, out, _ = abs_(*GRADE, "--adapter", "llm_judge=azure")
    assert status == 0
    assert {each["judge"] for each in evaluations(out)} == {"azure mine"}
    assert {path.split("?")[0] for path, _, _ in server.asked} == {
        "/openai/deployments/mine/chat/completions"
    }


def test_a_rule_names_its_own_judge_and_one_that_lacks_its_key_says_so(abs_: Abs, server: Services) -> None:
    Path("cups.abs.yaml").write_text(SESSION % ", adapter: aws", encoding="utf-8")
    status, out, _ = abs_(*GRADE, *flags(server))
    assert status == 1
    first, second = evaluations(out)
    assert (first["status"], second["status"]) == ("error", "passed")
    assert "the judge aws needs a model: set BEDROCK_EVALUATOR_MODEL_ID" in first["reason"]


def test_files_of_answers_go_before_a_live_judge(abs_: Abs, server: Services) -> None:
    answer = {"session": "Cups", "at": "evaluations[0]", "score": 0.25, "reason": "By hand.", "judge": "ann"}
    Path("a.json").write_text(json.dumps(answer))
    status, out, _ = abs_(*GRADE, *flags(server), "--judge-answers", "a.json")
    assert status == 1
    assert [each["judge"] for each in evaluations(out)] == ["openai gpt-4o-mini", "ann"]
    assert len(server.asked) == 1


def test_without_any_judge_a_verdict_says_how_one_is_configured(abs_: Abs) -> None:
    status, out, _ = abs_(*GRADE)
    assert status == 1
    for reason in reasons(out):
        assert "no judge configured: set OPENAI_API_KEY" in reason
        assert "--judge-base-url" in reason
