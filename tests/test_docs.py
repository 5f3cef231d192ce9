"""What the README and `docs/` show is true: documents load, traces are read, and one judges the other."""

import re
from pathlib import Path

import pytest

from abs_replay.importers import trace_file
from abs_replay.scoring import evaluate
from abs_replay.spec.loader import load
from abs_replay.spec.variables import Sources
from abs_replay.verdicts import Result

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)\)")


def blocks(page: Path, language: str) -> list[str]:
    return [text for found, text in BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


SESSIONS = [(page.name, text) for page in PAGES for text in blocks(page, "yaml")]


@pytest.mark.parametrize(("name", "text"), SESSIONS, ids=[name for name, _ in SESSIONS])
def test_a_session_that_is_shown_loads_without_a_warning(name: str, text: str, tmp_path: Path) -> None:
    document = tmp_path / "shown.abs.yaml"
    document.write_text(text, encoding="utf-8")

    assert load([document]).warnings == ()


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
