"""What the README and `docs/` show is true: documents load, traces are read, and one judges the other."""

import json
import re
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest

from abs_replay.cassette import Cassette, dumps
from abs_replay.errors import UsageError
from abs_replay.exchange import Recording, Role
from abs_replay.importers import open_source, trace_file
from abs_replay.scoring import evaluate
from abs_replay.spec import configuration, faults
from abs_replay.spec.loader import load
from abs_replay.spec.variables import Sources
from abs_replay.testing import exchange
from abs_replay.verdicts import Result

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)\)")


def blocks(page: Path, language: str) -> list[str]:
    return [text for found, text in BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


YAML = [(page.name, text) for page in PAGES for text in blocks(page, "yaml")]
SESSIONS = [(name, text) for name, text in YAML if "session:" in text or "behaviors:" in text]
CONFIGURATIONS = [each for each in YAML if each not in SESSIONS]


@pytest.mark.parametrize(("name", "text"), SESSIONS, ids=[name for name, _ in SESSIONS])
def test_a_session_that_is_shown_loads_without_a_warning(name: str, text: str, tmp_path: Path) -> None:
    document = tmp_path / "shown.abs.yaml"
    document.write_text(text, encoding="utf-8")

    assert load([document]).warnings == ()


@pytest.mark.parametrize(("name", "text"), CONFIGURATIONS, ids=[name for name, _ in CONFIGURATIONS])
def test_a_configuration_that_is_shown_can_be_used(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / configuration.NAME).write_text(text, encoding="utf-8")

    assert configuration.load(tmp_path / configuration.NAME).settings


def test_the_trace_that_is_shown_passes_the_session_that_is_shown(tmp_path: Path) -> None:
    session, trace = tmp_path / "orders.abs.yaml", tmp_path / "orders.trace.json"
    session.write_text(blocks(ROOT / "docs" / "sessions.md", "yaml")[0], encoding="utf-8")
    trace.write_text(blocks(ROOT / "docs" / "traces.md", "json")[0], encoding="utf-8")

    (template,) = load([session]).sessions
    (observed,) = trace_file.read(trace)
    run = evaluate(observed, template.resolve(Sources(row=observed.bindings)), answers={})

    assert run.result is Result.PASSED, [verdict.reason for verdict in run.verdicts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_leads_to_is_there(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))

    assert [target for target in targets if not (page.parent / target).exists()] == []


def module(text: str) -> SimpleNamespace:
    """Run an example as the module that it stands for."""
    names: dict[str, object] = {}
    exec(text, names)
    return SimpleNamespace(**names)


def test_the_decoder_and_the_importer_that_are_shown_make_a_trace_of_a_tape(tmp_path: Path) -> None:
    decoder, importer = map(module, blocks(ROOT / "docs" / "extending.md", "python"))
    asked = {"log": [{"who": "user", "text": "Where is 4711?"}]}
    answered = {"text": "Let me see.", "tools": [{"tool": "look", "input": {"n": 4711}, "id": "c1"}]}
    tape = tmp_path / "tape.json"
    call = {"path": "/acme/ask", "sent": json.dumps(asked), "got": json.dumps(answered)}
    tape.write_text(json.dumps({"acme_tape": [call]}), encoding="utf-8")

    source = open_source(tape)
    assert importer.recognises(source)
    (exchange,) = importer.read(source).exchanges
    assert decoder.claims(exchange)
    turn = decoder.decode(exchange).turn

    assert [message.content for message in turn.history] == ["Where is 4711?"]
    assert (turn.reply.content, turn.reply.calls[0].name) == ("Let me see.", "look")


def test_the_importer_that_is_shown_says_where_a_tape_is_wrong(tmp_path: Path) -> None:
    _, importer = map(module, blocks(ROOT / "docs" / "extending.md", "python"))
    tape = tmp_path / "tape.json"
    tape.write_text('{"acme_tape": [{}]}', encoding="utf-8")

    with pytest.raises(UsageError, match=r"tape.json: acme_tape\[0\]: a call has no path"):
        importer.read(open_source(tape))


def test_a_block_of_python_gets_its_replay_and_a_file_of_faults_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tests" / "cassettes"
    folder.mkdir(parents=True)
    told = Cassette(Recording("r", "refund", 0.0), (exchange(role=Role.TOOL, name="Orders"),))
    (folder / "refund.cassette.json").write_text(dumps(told), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "replay.md"
    module(blocks(page, "python")[0])
    assert "ABS_TOOL_ORDERS_URL" in capsys.readouterr().out

    shown = re.search(r"^    seed: 7\n(?:    .*\n)+", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert shown is not None
    (tmp_path / "faults.yaml").write_text(dedent(shown[0]), encoding="utf-8")
    assert {rule.kind for rule in faults.load(tmp_path / "faults.yaml").rules} == set(faults.KINDS)
