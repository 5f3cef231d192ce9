"""What does not count is taken out of requests, and nothing else is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.exact_json import Json
from abs_replay.exchange import Body, Channel, Request, Role
from abs_replay.matching.canonical import canonical
from abs_replay.matching.ignored import reduced, without
from abs_replay.predicates import patterns
from abs_replay.spec.ignoring import Ignore
from abs_replay.spec.paths import parsed

LLM = Channel(Role.LLM, "openai")


def key(
    body: Json | bytes = b"", target: str = "/x", ignore: tuple[Ignore, ...] = ()
) -> tuple[str, str, str]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return canonical(Request("POST", target, body=Body(data)), LLM, ignore).key


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("a.b", {"a": {"c": 2}, "l": [{"b": 3}, {"b": 4}], "b": 5}),
        ("l[0]", {"a": {"b": 1, "c": 2}, "l": [{"b": 4}], "b": 5}),
        ("l[*].b", {"a": {"b": 1, "c": 2}, "l": [{}, {}], "b": 5}),
        ("$..b", {"a": {"c": 2}, "l": [{}, {}]}),
        ("a.*", {"a": {}, "l": [{"b": 3}, {"b": 4}], "b": 5}),
        ("a.b.c", {"a": {"b": 1, "c": 2}, "l": [{"b": 3}, {"b": 4}], "b": 5}),
        ("nothing", {"a": {"b": 1, "c": 2}, "l": [{"b": 3}, {"b": 4}], "b": 5}),
    ],
)
def test_a_path_takes_out_what_it_leads_to(path: str, left: Json) -> None:
    document = {"a": {"b": 1, "c": 2}, "l": [{"b": 3}, {"b": 4}], "b": 5}
    assert reduced(document, parsed(path), None) == left
    assert document["b"] == 5  # what came in is left as it was


def test_a_pattern_is_taken_out_of_texts_at_its_path_alone() -> None:
    document = {"a": ["run-1 x", {"k": "run-2"}, 3], "b": "run-3"}
    assert reduced(document, parsed("a"), r"run-\d+") == {"a": [" x", {"k": ""}, 3], "b": "run-3"}


def test_a_whole_document_may_be_ignored() -> None:
    assert reduced({"a": 1}, (), None) is None


def test_a_pattern_without_a_place_counts_in_body_path_and_query() -> None:
    rule = (Ignore(pattern=r"run-\d+"),)
    assert key({"a": "run-1"}, "/run-1/x?q=run-1", rule) == key({"a": "run-2"}, "/run-2/x?q=run-2", rule)
    assert key(b"text run-1", ignore=rule) == key(b"text run-2", ignore=rule)
    assert key({"a": "run-x"}, ignore=rule) != key({"a": "run-y"}, ignore=rule)


def test_a_parameter_is_ignored_by_name_or_in_what_a_pattern_matches() -> None:
    assert key(target="/x?n=1&a=2", ignore=(Ignore(query="n"),)) == key(target="/x?a=2")
    assert key(target="/x?n=1", ignore=(Ignore(query="n"),)) == key(target="/x")
    rule = (Ignore(query="n", pattern=r"\d+"),)
    assert key(target="/x?n=a1", ignore=rule) == key(target="/x?n=a2", ignore=rule)
    assert key(target="/x?n=a1", ignore=rule) != key(target="/x?n=b1", ignore=rule)
    assert key(target="/x?m=1", ignore=rule) != key(target="/x?m=2", ignore=rule)


def test_a_rule_of_another_channel_or_of_a_header_changes_no_form() -> None:
    rules = (Ignore(json=parsed("a"), channel="tool"), Ignore(header="authorization"))
    assert key({"a": 1}, ignore=rules) == key({"a": 1})


def test_a_pattern_that_takes_too_long_counts_as_if_it_were_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patterns, "TIME_LIMIT", 0.01)
    slow, text = r"(a|aa)+$", "a" * 64 + "b"
    assert without(text, [slow, "b"]) == "a" * 64


def test_a_pattern_that_could_be_slow_but_is_not_is_taken_out() -> None:
    assert without("x" + "a" * 40, [r"(a|aa)+$"]) == "x"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


@given(JSON, st.sampled_from(["a", "a.b", "$..a", "[*].b", "..[0]", "*.c"]))
def test_taking_out_again_what_is_at_names_changes_nothing(document: Json, path: str) -> None:
    once = reduced(document, parsed(path), None)
    if "[0]" not in path:  # the next in a list takes the place of the first
        assert reduced(once, parsed(path), None) == once


@given(JSON)
def test_what_no_path_leads_to_stays(document: Json) -> None:
    assert reduced(document, parsed("zz.y"), None) == document
