"""The configuration file: where it is found, what it holds, what is refused (DESIGN §9)."""

from pathlib import Path

import pytest

from abs_replay.errors import SpecError, UsageError
from abs_replay.spec.configuration import NAME, Configuration, find, load


def test_without_a_file_the_configuration_is_empty(tmp_path: Path) -> None:
    found = find(tmp_path)
    assert found == Configuration() or found.file is not None  # a file above the temporary folder


def test_the_nearest_file_upward_is_read(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / NAME).write_text("aliases: { Outer: [x] }\n")
    (tmp_path / "a" / NAME).write_text(
        "aliases: { Inner: [y, z] }\nadapters: { ours: {} }\nagent: { url: u }\n"
    )
    found = find(inner)
    assert (found.file, found.aliases) == (tmp_path / "a" / NAME, {"Inner": ("y", "z")})
    assert found.adapters == ("ours",)
    assert found.settings["agent"] == {"url": "u"}


def test_where_conversations_bear_their_ids_is_read(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("conversation: { header: x-chat, body: chat.id }\n")
    assert find(tmp_path).conversation == {"header": "x-chat", "body": "chat.id"}


@pytest.mark.parametrize("text", ["", "# comment\n", "x-team: us\n", "judge: {}\ndefaults: { a: 1 }\n"])
def test_a_file_may_leave_everything_out(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    assert find(tmp_path).aliases == {}


@pytest.mark.parametrize(
    ("text", "line", "path"),
    [
        ("agent: {}\nalias: {}\n", 2, "alias"),
        ("aliases: [a]\n", 1, "aliases"),
        ("aliases:\n  A: b\n", 2, "aliases.A"),
        ("aliases:\n  A: [1]\n", 2, "aliases.A"),
        ("conversation: x\n", 1, "conversation"),
        ("conversation:\n  headers: x\n", 2, "conversation.headers"),
        ("conversation:\n  body: 1\n", 2, "conversation.body"),
        ("- a\n", 1, ""),
        ("agent: {}\n---\nagent: {}\n", 3, "document[1]"),
        ("agent: [\n", 2, ""),
        ("agent: 1\nagent: 2\n", 2, "agent"),
    ],
)
def test_what_is_wrong_in_it_is_told_with_its_place(tmp_path: Path, text: str, line: int, path: str) -> None:
    (tmp_path / NAME).write_text(text)
    with pytest.raises(SpecError) as raised:
        find(tmp_path)
    assert [(problem.line, problem.path) for problem in raised.value.problems] == [(line, path)]


def test_the_nearest_known_key_is_named(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("alias: {}\n")
    with pytest.raises(SpecError, match="did you mean `aliases`"):
        find(tmp_path)


def test_a_file_that_can_not_be_opened_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can not be read: Is a directory"):
        load(tmp_path)
