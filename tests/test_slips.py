"""What somebody at a notebook gives by mistake is said in one line; where a path is meant, text will do."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from abs_replay.asking import judged
from abs_replay.importers import open_source, trace_file
from abs_replay.judgement import Answer
from abs_replay.judges import recorded
from abs_replay.scoring import evaluate
from abs_replay.spec import configuration, datasets
from abs_replay.spec.loader import load
from abs_replay.spec.variables import Sources
from abs_replay.store import Store
from abs_replay.testing import step, trace

SESSION = 'session: S\nabs_version: "0.2"\nbehaviors: [{ actor: user, action: says, content: hi }]\n'
OBSERVED = trace(step("user", "says", "hi"))


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "s.abs.yaml"
    path.write_text(SESSION)
    return str(path)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"session": "template"}, "session must be of type Session, as template.resolve("),
        ({"session": None}, "not NoneType"),
        ({"trace": "t.trace.json"}, "trace must be of type Trace, as trace_file.read gives them, not str"),
        ({"trace": (OBSERVED,)}, "not tuple"),
        ({"answers": {"x": 5}}, "each of the answers must be of type Answer"),
        ({"answers": [Answer(1, "", "j")]}, "answers must be of type Mapping"),
        ({"policy": True}, "policy must be of type Policy"),
    ],
)
def test_what_evaluate_can_not_use_is_a_type_error_that_says_what_it_needs(
    file: str, given: dict[str, Any], said: str
) -> None:
    (template,) = load(file).sessions
    fine: dict[str, Any] = {"trace": OBSERVED, "session": template.resolve(Sources()), "answers": {}}
    if given.get("session") == "template":
        given = {"session": template}

    assert evaluate(**fine).passed
    with pytest.raises(TypeError, match=re.escape(said)) as raised:
        evaluate(**{**fine, **given})
    assert "\n" not in str(raised.value)


def test_the_same_is_said_where_a_judge_is_asked(file: str) -> None:
    pairs: Any = [(OBSERVED, load(file).sessions[0])]

    with pytest.raises(TypeError, match="session must be of type Session"):
        judged(pairs)


def test_paths_may_be_text(tmp_path: Path, file: str) -> None:
    steps = [{"seq": 1, "actor": "user", "action": "says", "content": "hi"}]
    texts = {
        "t.trace.json": json.dumps({"steps": steps}),
        "rows.csv": "a\n1\n",
        "abs.config.yaml": "aliases: {}\n",
        "answers.json": "[]",
    }
    paths = {name: str(tmp_path / name) for name in texts}
    for name, text in texts.items():
        Path(paths[name]).write_text(text)

    assert [load(one).sessions[0].name for one in (file, Path(file), [file], [Path(file)])] == ["S"] * 4
    assert trace_file.read(paths["t.trace.json"])[0].steps[0].content == "hi"
    assert trace_file.read_text("t.jsonl", texts["t.trace.json"])[0].id == "t:1"
    assert datasets.read_rows(paths["rows.csv"]) == ({"a": "1"},)
    assert configuration.find(str(tmp_path)) == configuration.load(paths["abs.config.yaml"])
    assert recorded.read(paths["answers.json"]).answers == {}
    assert open_source(file).data == SESSION.encode()
    assert Store(str(tmp_path / "s.duckdb")).path == tmp_path / "s.duckdb"
