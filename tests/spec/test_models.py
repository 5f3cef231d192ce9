"""Our models of rules take what pydantic's of the same fields take, and come to the same values."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from abs_replay.exact_json import Number
from abs_replay.spec import rules
from abs_replay.spec.models import Model, declared
from abs_replay.spec.rule_types import BUILT_IN
from abs_replay.spec.twins import twin

MODELS: list[type[Model]] = [
    *dict.fromkeys((*rules.STEP_RULES, *rules.SESSION_RULES, *rules.ANY_LEVEL)),
    rules.Selector,
    rules.MatchesWhen,
]
TEXTS = st.sampled_from(["", "x", "user", "f1", *BUILT_IN])
LEAVES = st.one_of(
    TEXTS,
    st.text(max_size=3),
    st.just("\ud800"),
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 2, 10**30, 0.5, 1.5, -0.5, float("nan"), Number("0.5"), b"x"]),
)
SELECTORS = st.dictionaries(st.sampled_from(["actor", "action", "target", "other"]), TEXTS, max_size=2)
VALUES = st.one_of(
    LEAVES,
    SELECTORS,
    st.lists(SELECTORS, max_size=2),
    st.lists(SELECTORS, max_size=2).map(tuple),
    st.dictionaries(st.one_of(TEXTS, st.integers()), LEAVES, max_size=2),
)


@st.composite
def documents(draw: st.DrawFn) -> tuple[type[Model], dict[str, Any]]:
    """A model, and keys of which most are its own and most values fit."""
    model = draw(st.sampled_from(MODELS))
    of_type = [name for name, one in BUILT_IN.items() if one is model] or ["contains"]
    data = {key: draw(VALUES) for key in draw(st.lists(st.sampled_from([*_keys(model), "y"]), max_size=4))}
    fitting = {
        field.key: draw(_fitting(field)) for field in model.model_fields.values() if field.is_required()
    }
    return model, {
        **fitting,
        **data,
        **({"type": draw(st.sampled_from(of_type))} if draw(st.booleans()) else {}),
    }


def _keys(model: type[Model]) -> list[str]:
    return [field.key for field in model.model_fields.values()]


def _fitting(field: Any) -> st.SearchStrategy[Any]:
    return {str: st.sampled_from(["x", "\ud800"]), int: st.just(1), rules.Selector: SELECTORS}.get(
        field.annotation, VALUES
    )


def plain(value: Any) -> Any:
    """Values of either kind of model as values that compare, -0 and NaN and all."""
    if isinstance(value, Model):
        return {name: plain(item) for name, item in vars(value).items()}
    if isinstance(value, BaseModel):
        return {name: plain(item) for name, item in {**vars(value), **(value.model_extra or {})}.items()}
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return type(value), repr(value)


def _outcome(model: type[Model] | type[BaseModel], data: dict[str, Any]) -> Any:
    try:
        return plain(model.model_validate(data))
    except ValidationError as error:
        return str(error)


@given(documents())
def test_both_take_the_same_and_make_the_same_of_it(document: tuple[type[Model], dict[str, Any]]) -> None:
    model, data = document
    assert _outcome(model, data) == _outcome(twin(model), data)


@given(documents())
def test_both_are_written_the_same(document: tuple[type[Model], dict[str, Any]]) -> None:
    model, data = document
    try:
        theirs = twin(model).model_validate(data)
    except ValidationError:
        return
    for way in (True, False):
        written = model.model_validate(data).model_dump(by_alias=way, exclude_none=way, exclude=("when",))
        assert written.keys() == theirs.model_dump(by_alias=way, exclude_none=way, exclude={"when"}).keys()


@pytest.mark.parametrize(
    "data",
    [
        {"type": "contains", "value": "\ud800"},
        {"type": "contains", "value": "x", "when": "\ud800"},
        {"type": "contains", "value": ""},
        {"type": "contains", "value": "x", "threshold": 1},
        {"type": "contains", "value": "x", "threshold": True},
        {"type": "contains", "value": "x", "threshold": float("nan")},
        {"type": "contains", "value": "x", "blocking": 1},
        {"type": "contains", "value": "x", "weight": 1},
        {"type": "regex", "value": "x"},
        {"type": "tool_call", "with": {"\ud800": 1}},
        {"type": "tool_call", "with": {1: 1}},
        {"type": "tool_call", "with": []},
        {"type": "sequence", "order": []},
        {"type": "sequence", "order": ({"actor": "user"},)},
        {"type": "sequence", "order": [{"actor": "user", "who": "x"}, None]},
        {"type": "within", "after": {}, "match": None, "max_steps": 0},
        {"type": "within", "after": {}, "match": {}, "max_steps": True},
        {"type": "within", "after": {}, "match": {}, "max_steps": 1.0},
        {"type": "within", "after": {}, "match": {}, "max_steps": 10**30},
        {"type": "expected", "behavior": "pay", "after": {"target": "Orders"}},
        {"type": "custom", "id": "a", "after": {"target": 1}},
        "contains",
    ],
)
def test_both_say_the_same_of(data: Any) -> None:
    model = BUILT_IN.get(data["type"] if isinstance(data, dict) else data)
    assert isinstance(model, type)
    assert issubclass(model, Model)
    assert _outcome(model, data) == _outcome(twin(model), data)


@pytest.mark.parametrize("kind", ["contains", "exact_match", 1, None])
def test_both_say_the_same_of_a_word_that_is_none_of_those_known(kind: Any) -> None:
    data = {"type": kind, "value": "x"}
    assert _outcome(rules.MatchesWhen, data) == _outcome(twin(rules.MatchesWhen), data)


def test_the_rules_of_judges_are_written_the_same_value_for_value() -> None:
    data = {
        "type": "custom",
        "id": "a",
        "weights": [None, Number("1.50")],
        "inner": {"none": None},
        "none": None,
    }
    theirs = twin(rules.Custom).model_validate(data).model_dump(by_alias=True, exclude_none=True)
    assert (
        rules.Custom.model_validate(data).model_dump(by_alias=True, exclude_none=True, exclude=()) == theirs
    )


def test_the_rule_of_installed_evaluators_has_the_fields_of_the_built_in_ones() -> None:
    assert rules.Rule.model_json_schema() == {**rules.BuiltIn.model_json_schema(), "title": "Rule"}
    fields = {
        name: field.default for name, field in rules.BuiltIn.model_fields.items() if not field.is_required()
    }
    assert {n: f.default for n, f in rules.Rule.model_fields.items() if not f.is_required()} == fields


def test_there_is_nothing_else_that_the_rules_load_when_asked() -> None:
    with pytest.raises(AttributeError, match="Ruler"):
        rules.Ruler  # noqa: B018


def test_a_model_can_not_be_changed_and_says_what_it_holds() -> None:
    selector = rules.Selector(actor="user")
    assert selector.words == "user does anything"
    with pytest.raises(AttributeError, match="frozen"):
        selector.actor = "tool"  # type: ignore[misc]
    assert repr(selector) == "Selector(actor='user', action=None, target=None)"


def test_models_are_equal_by_kind_and_values_not_by_what_was_worked_out() -> None:
    asked, unasked = rules.Selector(actor="user"), rules.Selector(actor="user")
    assert asked.words
    assert asked == unasked
    assert asked != rules.Selector(actor="tool")
    assert rules.Never(type="never", match=asked) != rules.Eventually(type="eventually", match=asked)
    assert asked != "user does anything"


def test_a_model_of_unchecked_values_lacks_what_is_missing() -> None:
    rule = rules.Contains.model_construct(type="contains")
    assert rule.case_sensitive is False
    with pytest.raises(AttributeError, match="value"):
        _ = rule.value


def test_an_open_model_keeps_further_keys_checked_or_not() -> None:
    data = {"type": "custom", "id": "a", "weights": [1]}
    assert rules.Custom.model_validate(data) == rules.Custom.model_construct(**data)
    assert rules.Custom.model_validate(data).model_extra == {"weights": [1]}


def test_what_pydantic_takes_and_ours_does_not_is_told() -> None:
    class Words(Model):
        words: tuple[str, ...] = declared(min_length=1)

    with pytest.raises(TypeError, match="Words does not take"):
        Words.model_validate({"words": iter(["a"])})


def test_a_document_that_is_in_order_is_loaded_and_resolved_without_pydantic() -> None:
    code = """
import sys
from abs_replay.spec.rule_checks import TYPES
TYPES["within"].model_validate(
    {"type": "within", "after": {"actor": "user"}, "match": {}, "max_steps": 1, "threshold": 1}
)
assert "pydantic" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
