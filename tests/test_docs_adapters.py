"""What `docs/adapters.md` shows is so: flags, variables, the table of services, the commands, the example."""

import asyncio
import os
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.cli.grade import command as grade
from abs_replay.cli.run import command as run_command
from abs_replay.exact_json import Json
from abs_replay.judgement import Question
from abs_replay.judges import open_engine
from abs_replay.judges.installed import open_installed
from abs_replay.judges.settings import EngineSettings
from fixtures.judges.services import serving
from tests.test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "adapters.md"
SHOWN = "https://RESOURCE.openai.azure.com"
STEPS: Json = [
    {"seq": 1, "actor": "user", "action": "says", "content": "Which cup?"},
    {"seq": 2, "actor": "assistant", "action": "calls", "target": "shop", "arguments": {}},
    {"seq": 3, "actor": "tool", "action": "responds", "target": "shop", "content": "blue"},
    {"seq": 4, "actor": "assistant", "action": "responds", "content": "Blue, please."},
]


def rows(after: str) -> list[list[str]]:
    """The rows of the first table behind a heading, its head left out."""
    table = PAGE.read_text(encoding="utf-8").split(f"## {after}\n")[1].split("\n|")[1:]
    return [[cell.strip() for cell in line.split("\n")[0].strip("| ").split(" | ")] for line in table][2:]


def test_every_flag_is_told_with_its_variable() -> None:
    text = PAGE.read_text(encoding="utf-8").split("## The services")[0]
    told = dict(re.findall(r"^\| `(--[\w-]+)[^|]*\| (?:`(\w+)`)?", text, re.MULTILINE))
    for command in (grade, run_command):
        options = [one for one in command.params if isinstance(one, click.Option)]
        of_judges = [one for one in options if re.match("--(judge|adapter|max-cost|no-cache)", one.opts[0])]
        assert {one.opts[0]: one.envvar or "" for one in of_judges} == told


def test_each_service_decides_what_the_table_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("abs_replay.judges.azure_token.installed", lambda: True)
    environment = {
        "AZURE_OPENAI_ENDPOINT": "https://a.test",
        "AZURE_OPENAI_API_KEY": "azure-key",
        "AZURE_OPENAI_DEPLOYMENT": "judge",
        "AZURE_AI_PROJECT_ENDPOINT": "https://a.test/api/projects/p",
        "BEDROCK_EVALUATOR_MODEL_ID": "m",
        "AWS_REGION": "eu-west-1",
        "GOOGLE_CLOUD_PROJECT": "p",
        "AIEVALUATOR_API_KEY": "aie-key",
    }
    names = ("azure", "aws", "google", "aievaluator")
    engines = [
        open_engine(name, EngineSettings(api_key="key-123", environment=environment)) for name in names
    ]
    table = rows("The services")
    assert len(table) == 9
    for rule, *cells in table:
        for asked in _questions(re.findall(r"`([^`]+)`", rule)):
            for engine, cell in zip(engines, cells, strict=True):
                assert (engine.refuses(asked) is None) == (cell != "–"), (rule, engine.name)


def _questions(words: list[str]) -> list[Question]:
    """Those that a row is about."""
    evidence: dict[str, Json] = {"steps": STEPS}
    if words == ["criteria"]:
        types = ("llm_judge", "custom", "Fluency", "Violence")
        return [Question("d", "a", type_, "Kind", evidence) for type_ in types]
    if words[0] == "custom":
        evidence["custom"] = {"id": words[1].removeprefix("id: ")}
        words = words[:1]
    return [Question("d", "a", type_, None, evidence) for type_ in words]


def test_the_commands_that_are_shown_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("AZURE_", "ABS_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    judging = ROOT / "docs" / "judging.md"
    Path("cups.abs.yaml").write_text(blocks(judging, "yaml")[0], encoding="utf-8")
    Path("cups.json").write_text(blocks(judging, "json")[0], encoding="utf-8")
    (commands,) = blocks(PAGE, "sh")
    with serving() as server:
        for line in commands.splitlines():
            words = shlex.split(re.sub(r"\bKEY\b", "azure-key", line.replace(SHOWN, server.url)))
            if words[0] == "export":
                for name, _, value in (word.partition("=") for word in words[1:]):
                    monkeypatch.setenv(name, value)
            else:
                assert run(cli, words[1:]) == 0
                assert "judge" in capsys.readouterr().out
        assert len(server.asked) == 5


def test_the_judge_that_is_shown_judges() -> None:
    (code,) = blocks(PAGE, "python")
    module: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), module)
    found = type("Found", (), {"open_engine": staticmethod(module["open_engine"])})
    engine = open_installed("acme", found, EngineSettings(options={"word": "Blue"}))
    asked = Question("d", "a", "custom", None, {"steps": STEPS, "custom": {"id": "acme.polite"}})
    assert asyncio.run(engine.sample(asked, 0)).score == 1
    assert engine.refuses(asked) is None
