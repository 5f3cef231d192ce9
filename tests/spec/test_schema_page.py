"""The page of every key: complete, and the same as the one in `docs/`."""

import re
from pathlib import Path

import pytest

from abs_replay.spec import checks, rule_types, rules
from abs_replay.spec.schema import document_schema
from abs_replay.spec.schema_page import page

DOCS = Path(__file__).parents[2] / "docs" / "evaluations.md"


def test_the_page_in_docs_is_what_the_command_prints(request: pytest.FixtureRequest) -> None:
    made = page(document_schema())
    if request.config.getoption("--update-golden"):
        DOCS.write_text(made, encoding="utf-8")
    assert DOCS.read_text(encoding="utf-8") == made, "make it anew with --update-golden"


def test_every_evaluator_has_its_heading_and_each_of_its_keys_a_line() -> None:
    sections = re.split(r"^### `(\w+)`$", page(document_schema()), flags=re.MULTILINE)
    by_name = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert set(by_name) == set(rule_types.BUILT_IN)
    for name, model in rule_types.BUILT_IN.items():
        own = {field.alias or key for key, field in model.model_fields.items()} - set(rules.Rule.model_fields)
        if issubclass(model, rules.TextMetric):
            unknown = {"variant": rules.VARIANTS[name], "metric": rules.METRICS[name]}
            own -= {key for key, known in unknown.items() if not known}
        assert set(re.findall(r"^\| `(\w+)` \|", by_name[name], re.MULTILINE)) == own, name


def test_every_key_that_the_loader_knows_is_on_the_page() -> None:
    made = page(document_schema())
    known = [*checks.DOCUMENT, *checks.BEHAVIOR, *checks.DATASET, *rules.Rule.model_fields]
    assert [key for key in known if f"| `{key}` |" not in made] == []


def test_a_bar_in_a_text_does_not_break_the_table() -> None:
    schema = document_schema()
    schema["properties"]["session"]["description"] = "this | that"
    assert "| `session` | text | this \\| that |" in page(schema)
