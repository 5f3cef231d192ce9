"""Whatever a file holds, it loads and resolves, or says what is wrong: never a traceback."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from abs_replay.errors import SpecError
from abs_replay.exact_json import Number
from abs_replay.spec import checks, rule_checks
from abs_replay.spec.loader import load
from abs_replay.spec.session import Session
from abs_replay.spec.variables import Sources

_TYPES = sorted(rule_checks.TYPES)
_KEYS = sorted(
    {*checks.DOCUMENT, *checks.BEHAVIOR, "include", "x-a", "type", "match", "order"}
    | {key for model in rule_checks.TYPES.values() for key in rule_checks.keys(model)}
)
_TEXTS = ["", "user", "assistant", "calls", "f", "x", "{{x}}", "({{x}}", "{{x}} == 1", "(", "0.2", *_TYPES]
_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(_TEXTS))
_ANYTHING = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5)
    ),
    max_leaves=8,
)

type Draw = Callable[[st.SearchStrategy[Any]], Any]


# What fits under a key, so that many of the documents are valid ones.
_FITTING: dict[str, Any] = {
    **dict.fromkeys(("blocking", "case_sensitive", "ordered", "every"), "{{x}}"),
    **dict.fromkeys(("threshold", "min", "max", "max_steps"), "{{a.b}}"),
    **dict.fromkeys(("value", "criteria", "reason", "target", "content", "query"), "{{ x }} and {{a.b}}"),
    **{key: {"actor": "user", "target": "{{x}}"} for key in ("match", "after")},
    **{key: {"const": ["{{x}}"]} for key in ("with", "schema")},
    "pattern": "^{{x}}+$",
    "when": "{{x}} == '{{a.b}}'",
    "order": [{"actor": "user"}],
    "evaluations": [],
    "matches_when": {"type": "regex", "pattern": "{{x}}"},
}


def _some(draw: Draw, keys: list[str]) -> dict[str, Any]:
    """A few of the keys, mostly with what fits under them."""
    chosen = draw(st.lists(st.sampled_from(keys), max_size=3, unique=True))
    anything = draw(st.integers(0, 9)) == 0
    return {
        key: draw(_ANYTHING) if anything else _FITTING[key] for key in chosen if anything or key in _FITTING
    }


@st.composite
def _rules(draw: Draw, level: Mapping[str, Any]) -> Any:
    kind = draw(st.sampled_from(sorted({*level} - {"expected"})))
    model = rule_checks.TYPES[kind]
    needed = {**_FITTING, "criteria": "c", "ground_truth": "self", "id": "i", "variable": "x", "min": 1}
    needed["evaluations"] = [{"type": "llm_judge", "criteria": "{{x}}"}]
    known = rule_checks.keys(model)
    required = {field.alias or name for name, field in model.model_fields.items() if field.is_required()}
    fitting = {key: needed[key] for key in ({*required, "criteria", "min"} & {*known}) - {"type", "behavior"}}
    return {**fitting, **_some(draw, list(known)), "type": kind}


@st.composite
def _behaviors(draw: Draw) -> Any:
    return {
        **_some(draw, sorted(checks.BEHAVIOR)),
        "actor": "assistant",
        "action": "calls",
        "capture": {"x": draw(_ANYTHING)},
        "evaluations": draw(st.lists(_rules(rule_checks.STEP), max_size=2)),
    }


@st.composite
def _documents(draw: Draw) -> Any:
    return {
        **_some(draw, sorted(checks.DOCUMENT)),
        "session": "S",
        "fragments": {"f": draw(st.lists(_behaviors(), max_size=2))},
        "behaviors": [*draw(st.lists(_behaviors(), min_size=1, max_size=3)), {"include": "f"}],
        "evaluations": draw(st.lists(_rules(rule_checks.SESSION), max_size=2)),
    }


def _all_of_it(folder: Path, document: Any, value: Any) -> list[Session]:
    file = folder / "s.abs.yaml"
    file.write_text(json.dumps(document))
    row = {"x": value, "a": {"b": Number("1.50")}}
    return [session.resolve(Sources(row=row)) for session in load([file]).sessions]


@given(document=st.one_of(_documents(), _ANYTHING), value=_ANYTHING)
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_document_resolves_or_every_problem_has_a_place(
    tmp_path_factory: pytest.TempPathFactory, document: Any, value: Any
) -> None:
    folder = tmp_path_factory.getbasetemp()
    try:
        sessions = _all_of_it(folder, document, value)
    except SpecError as error:
        unplaced = [p for p in error.problems if not (p.file and p.line and p.message)]
    else:
        unplaced = [session for session in sessions if not session.behaviors]  # type: ignore[misc]
    assert not unplaced
