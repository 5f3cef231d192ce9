"""Loading what was written out gives the same session: as JSON, and as YAML by another writer.

There is no writer of sessions in the package, because none is needed: `Template.document.value` is what the
author wrote, in plain values, and JSON of it is a document (SEMANTICS D1).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from abs_replay.errors import SpecError
from abs_replay.exact_json import Json, Number, dumps
from abs_replay.spec.loader import load
from abs_replay.spec.session import Session
from abs_replay.spec.variables import Sources, Template
from abs_replay.spec.yaml_nodes import read
from tests.conftest import REPOSITORY

CASES = REPOSITORY / "tests" / "conformance"
FILES = sorted(CASES.rglob("session.abs.yaml"))[::3]  # enough to meet every part of the format


class _Dumper(yaml.SafeDumper):
    """Quotes every text, since PyYAML leaves plain what YAML 1.2 reads as a number; repeats no anchor."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, '"'))
_Dumper.add_representer(
    Number, lambda dumper, number: dumper.represent_scalar("tag:yaml.org,2002:float", number.text)
)


def as_yaml(values: Sequence[Json]) -> str:
    return yaml.dump_all(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def as_json(values: Sequence[Json]) -> str:
    return "\n---\n".join(map(dumps, values))


def resolved(template: Template) -> Session:
    """The session with a value for every reference, as far as it goes; wherever its file lies."""
    row = {name: f"value of {name}" for name in template.references()}
    return replace(template.resolve(Sources(row=row)), file=None)


@pytest.mark.parametrize("write", [as_json, as_yaml])
def test_loading_what_was_written_out_gives_the_same_sessions(
    tmp_path: Path, write: Callable[[Sequence[Json]], str]
) -> None:
    file, same = tmp_path / "again.abs.yaml", 0
    for original in FILES:
        try:
            templates = load([original]).sessions
            sessions = [resolved(template) for template in templates]
        except SpecError:
            continue
        file.write_text(
            write([document.value for document in read(original.read_bytes(), "").documents]),
            encoding="utf-8",
        )
        assert [resolved(template) for template in load([file]).sessions] == sessions, original
        same += len(sessions)
    assert same > 30


def test_a_template_gives_back_its_document(tmp_path: Path) -> None:
    text = 'session: S\nabs_version: "0.2"\nbehaviors:\n  - { actor: user, action: says, content: 1.50 }\n'
    (tmp_path / "s.abs.yaml").write_text(text)
    (template,) = load([tmp_path / "s.abs.yaml"]).sessions
    written = dumps(template.document.value)
    assert json.loads(written)["behaviors"][0] == {"actor": "user", "action": "says", "content": 1.5}
    assert '"content":1.50' in written
