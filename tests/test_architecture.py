"""The house stands as drawn: layers, sizes, registries, cold imports."""

import ast
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from abs_replay.cli import COMMANDS, cli

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "abs_replay"
HEAVY = ("mitmproxy", "duckdb", "openai", "uvicorn")


@dataclass(frozen=True, slots=True)
class Module:
    """What is asked of one: its path, its lines, what it says of itself, and how long its functions are."""

    path: str
    lines: int
    docstring: str | None
    functions: tuple[tuple[int, str], ...]


@pytest.fixture(scope="module")
def modules() -> tuple[Module, ...]:
    return tuple(module(path) for path in sorted(PACKAGE.rglob("*.py")))


def module(path: Path) -> Module:
    text, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    sizes = [
        ((each.end_lineno or 0) - each.lineno + 1, f"{name}:{each.lineno} {each.name}") for each in functions
    ]
    return Module(name, text.count("\n"), ast.get_docstring(tree), tuple(sizes))


def test_no_module_is_longer_than_300_lines(modules: Sequence[Module]) -> None:
    assert {each.path: each.lines for each in modules if each.lines > 300} == {}


def test_no_function_is_longer_than_60_lines_and_most_are_short(modules: Sequence[Module]) -> None:
    sizes = sorted(function for each in modules for function in each.functions)

    assert [where for size, where in sizes if size > 60] == []
    assert sizes[int(len(sizes) * 0.9)][0] <= 30
    assert sizes[len(sizes) // 2][0] <= 10


def test_every_module_says_what_it_is_for(modules: Sequence[Module]) -> None:
    assert [each.path for each in modules if not each.docstring] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    command = import_module(COMMANDS[name][0]).command
    assert isinstance(command, click.Command)

    result = CliRunner().invoke(cli, [name, "--help"])

    assert result.exit_code == 0
    assert f"abs {name}" in result.output.split("\n", 2)[2], "an example stands in the help text"


def test_help_loads_nothing_heavy() -> None:
    program = "import sys; from abs_replay.cli import cli; cli.main(['--help'], standalone_mode=False)"

    assert loaded_by(program) == []


def test_loading_all_command_modules_loads_nothing_heavy() -> None:
    assert loaded_by(f"import sys, {', '.join(module for module, _ in COMMANDS.values())}") == []


def test_grading_a_file_loads_only_what_that_takes(tmp_path: Path) -> None:
    evaluation = {"type": "contains", "value": "way"}
    informs = {"actor": "assistant", "action": "informs", "evaluations": [evaluation]}
    session = {"session": "S", "behaviors": [informs]}
    trace = {"session": "S", "steps": [{"seq": 1, "actor": "assistant", "action": "says", "content": "way"}]}
    (tmp_path / "s.abs.json").write_text(json.dumps(session), encoding="utf-8")
    (tmp_path / "t.trace.json").write_text(json.dumps(trace), encoding="utf-8")
    files = [str(tmp_path / "s.abs.json"), "--traces", str(tmp_path / "t.trace.json")]
    program = (
        f"import sys; from abs_replay.cli import cli; cli.main(['grade', *{files!r}], standalone_mode=False)"
    )

    assert loaded_by(program, (*HEAVY, "regex", "difflib", "jsonschema", "abs_replay.comparison")) == []


def loaded_by(program: str, names: Sequence[str] = HEAVY) -> list[str]:
    report = f"print('loaded', *[name for name in {names!r} if name in sys.modules], file=sys.stderr)"
    run = subprocess.run(
        [sys.executable, "-c", f"{program}\n{report}"], capture_output=True, text=True, timeout=60, check=True
    )
    return run.stderr.strip().splitlines()[-1].split()[1:]


def test_the_decoders_contract_names_every_decoder() -> None:
    contract = (ROOT / ".importlinter").read_text(encoding="utf-8")
    decoders = import_module("abs_replay.decoders").DECODERS

    for decoder in decoders.values():
        assert f"    {decoder.__name__}\n" in contract
