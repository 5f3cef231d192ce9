"""`abs schema`: what the loader takes, the schema takes; unknown keys it does not (SEMANTICS D2)."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from abs_replay import exact_json
from abs_replay.cli import cli
from abs_replay.errors import SpecError
from abs_replay.evaluators import EVALUATORS
from abs_replay.spec import checks, schema_texts
from abs_replay.spec.configuration import find
from abs_replay.spec.loader import load
from abs_replay.spec.rule_types import BUILT_IN
from abs_replay.spec.schema import document_schema
from abs_replay.spec.yaml_nodes import read

REPOSITORY = Path(__file__).parents[2]
SHARED = Path(os.environ.get("ABS_SHARED", REPOSITORY.parent / "shared"))
ROOTS = (SHARED / "conformance", REPOSITORY / "tests" / "conformance", REPOSITORY / "fixtures")
# Many lie in two of the folders: each is looked at once.
FILES = sorted({file.read_bytes(): file for root in ROOTS for file in root.rglob("*.abs.yaml")}.values())
SCHEMA = document_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def problems_of(file: Path) -> list[str]:
    try:
        load([file], find(file.parent))
    except SpecError as error:
        return [problem.message for problem in error.problems]
    return []


def documents_of(file: Path) -> list[Any]:
    parsed = read(file.read_bytes(), str(file))
    return [json.loads(exact_json.dumps(document.value)) for document in parsed.documents]


def errors(document: Any) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(document)]


def session(step: Any = None, chain: Any = None, **more: Any) -> dict[str, Any]:
    behavior = {"actor": "assistant", "action": "calls", "evaluations": [step] if step else []}
    return {"session": "S", "behaviors": [behavior], "evaluations": [chain] if chain else [], **more}


@pytest.mark.skipif(len(FILES) < 100, reason="the conformance cases are not here")
def test_every_valid_document_of_the_cases_is_valid_and_none_with_an_unknown_key() -> None:
    taken, refused = 0, 0
    for file in FILES:
        found = problems_of(file)
        if not found:
            documents = documents_of(file)
            assert [(str(file), error) for document in documents for error in errors(document)] == []
            taken += 1
        elif any("unknown key" in message for message in found):
            assert any(errors(document) for document in documents_of(file)), file
            refused += 1
    assert taken > 100
    assert refused > 2


def test_it_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def types_of(level: str) -> set[str]:
    return set(SCHEMA["$defs"][f"{level}_evaluation"]["properties"]["type"]["enum"])


def test_it_knows_the_types_of_the_registry_and_no_others() -> None:
    assert types_of("step") | types_of("session") == set(EVALUATORS) == set(BUILT_IN)
    assert "sequence" not in types_of("step")
    assert "contains" not in types_of("session")


def test_everything_is_described() -> None:
    assert set(schema_texts.OF_TYPE) == set(BUILT_IN)
    for name, definition in SCHEMA["$defs"].items():
        for key, field in definition.get("properties", {}).items():
            assert field.get("description") or name.endswith("_evaluation"), (name, key)
    assert all(field["description"] for field in SCHEMA["properties"].values())
    of_models = {name for model in BUILT_IN.values() for name in model.model_json_schema()["properties"]}
    assert set(schema_texts.OF_EVALUATION) <= of_models
    tables = {*checks.DOCUMENT, *checks.BEHAVIOR, *checks.DATASET, *checks.INCLUDE}
    assert set(schema_texts.OF_DOCUMENT) - tables == {"type", *checks.MATCHES_WHEN.values()}


@pytest.mark.parametrize(
    "document",
    [
        session({"type": "llm_judge", "criteria": "c", "threshold": "{{t}}", "blocking": "{{ b.c }}"}),
        session({"type": "tool_call", "with": "{{arguments}}", "ordered": False, "x-a": [1]}),
        session({"type": "custom", "id": "mine", "anything": {"goes": 1}}),
        session(chain={"type": "count", "match": {"actor": "tool", "x-why": 1}, "min": "{{n}}", "max": 3.0}),
        session({"type": "rouge", "ground_truth": "self", "variant": "rouge2", "metric": "{{m}}"}),
        session({"type": "any_of", "evaluations": [{"type": "contains", "value": "a"}]}, **{"x-owner": "me"}),
        session(abs_version=0.2),
        {"fragments": {"f": [{"actor": "user", "action": "says"}, {"include": "g"}]}, "abs_version": "0.2"},
    ],
)
def test_what_authors_may_write_is_taken(document: Any) -> None:
    assert errors(document) == []


@pytest.mark.parametrize(
    "document",
    [
        session({"type": "contains", "valeu": "a"}),
        session({"type": "contains"}),
        session({"type": "contain", "value": "a"}),
        session({"type": "llm_judge", "criteria": "c", "threshold": 2}),
        session({"type": "llm_judge", "criteria": "c", "threshold": "high"}),
        session({"type": "contains", "value": "a", "when": None}),
        session({"type": "sequence", "order": [{"actor": "user"}]}),
        session({"type": "bleu", "ground_truth": "x", "metric": "recall"}),
        session({"type": "f1", "ground_truth": "x", "metric": "recal"}),
        session({"type": "all_of", "evaluations": [{"type": "never", "match": {"actor": "a"}}]}),
        session(chain={"type": "never", "match": {}}),
        session(chain={"type": "never", "match": {"actr": "user"}}),
        session(abs_version="0.3"),
        session(sesion="S"),
        {"session": "S", "behaviors": []},
        {"session": "S", "fragments": {}},
        {"session": "S", "behaviors": [{"actor": "user"}]},
        {"session": "S", "behaviors": [{"actor": "a", "action": "calls", "with": {}, "with_only": {}}]},
        {"session": "S", "behaviors": [{"actor": "a", "action": "b", "matches_when": {"type": "regex"}}]},
    ],
)
def test_what_the_loader_refuses_in_a_mapping_is_refused(document: Any, tmp_path: Path) -> None:
    assert errors(document) != []
    file = tmp_path / "s.abs.yaml"
    file.write_text(json.dumps(document))
    assert problems_of(file) != []


def test_the_command_prints_it() -> None:
    printed = CliRunner().invoke(cli, ["schema"])
    assert printed.exit_code == 0
    assert json.loads(printed.output) == SCHEMA
