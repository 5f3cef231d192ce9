"""The key `match:` of a configuration: what is read of it, and what is said where it is wrong."""

from pathlib import Path

import pytest

from abs_replay.errors import SpecError
from abs_replay.exchange import Channel, Role
from abs_replay.spec.configuration import load
from abs_replay.spec.ignoring import Ignore, Matching
from abs_replay.spec.paths import parsed


def said(folder: Path, text: str) -> Matching:
    path = folder / "abs.config.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path).match


def test_without_the_key_nothing_is_ignored_and_the_mode_is_left_to_the_command(tmp_path: Path) -> None:
    assert said(tmp_path, "agent: x\n") == Matching()


def test_each_rule_names_a_place_a_pattern_and_a_channel(tmp_path: Path) -> None:
    text = """
match:
  mode: loose
  ignore:
    - json: $.metadata.user_id
    - {query: nonce, channel: "tool:Orders"}
    - {json: "messages[*].content", pattern: 'session \\d+'}
    - header: Authorization
    - pattern: 'run-\\d+'
"""
    assert said(tmp_path, text) == Matching(
        "loose",
        (
            Ignore(json=parsed("metadata.user_id")),
            Ignore(query="nonce", channel="tool:Orders"),
            Ignore(json=parsed("messages[*].content"), pattern=r"session \d+"),
            Ignore(header="Authorization"),
            Ignore(pattern=r"run-\d+"),
        ),
    )


def test_a_rule_concerns_every_channel_those_of_a_role_or_one() -> None:
    orders, model = Channel(Role.TOOL, "Orders"), Channel(Role.LLM, "openai")
    assert Ignore(query="a").concerns(orders)
    assert Ignore(query="a", channel="tool").concerns(orders)
    assert Ignore(query="a", channel="tool:Orders").concerns(orders)
    assert not Ignore(query="a", channel="tool:Other").concerns(orders)
    assert not Ignore(query="a", channel="tool").concerns(model)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("match: 3", "match: must be a mapping of mode, ignore"),
        ("match: {ignored: []}", "match.ignored: unknown key `ignored`: did you mean `ignore`?"),
        ("match: {x: []}", "match.x: unknown key `x`: known: mode, ignore"),
        ("match: {mode: exact}", "match.mode: must be one of strict, canonical, loose"),
        ("match: {ignore: a}", "match.ignore: must be a list of rules"),
        (
            "match: {ignore: [a]}",
            "match.ignore[0]: must be a mapping of json, query, header, pattern, channel",
        ),
        ("match: {ignore: [{channel: llm}]}", "must name one of json, query, header, or a pattern"),
        ("match: {ignore: [{json: a, query: b}]}", "must name one of json, query, header, or a pattern"),
        ("match: {ignore: [{jsn: a, query: b}]}", "unknown key `jsn`: did you mean `json`?"),
        ("match: {ignore: [{query: 3}]}", "match.ignore[0].query: must be text"),
        ("match: {ignore: [{query: ''}]}", "match.ignore[0].query: must be text"),
        ("match: {ignore: [{json: 'a b'}]}", "match.ignore[0].json: is no path: "),
        ("match: {ignore: [{pattern: '('}]}", "match.ignore[0].pattern: can not be compiled: "),
        ("match: {ignore: [{pattern: 'a*'}]}", "matches the empty text, so it would be everywhere"),
        ("match: {ignore: [{header: user-agent}]}", "does not count anyway; those that do: authorization, "),
        ("match: {ignore: [{query: a, channel: model}]}", "must be agent, llm, tool, or one of these with"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        said(tmp_path, text)
    assert message in str(error.value)
    assert "abs.config.yaml:1: " in str(error.value)
