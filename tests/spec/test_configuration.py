"""The configuration file: where it is found, what it holds, what is refused (DESIGN §9)."""

from pathlib import Path

import pytest

from abs_replay.errors import SpecError, UsageError
from abs_replay.spec.configuration import NAME, Configuration, find, load
from abs_replay.spec.redaction import Redaction


def test_without_a_file_the_configuration_is_empty(tmp_path: Path) -> None:
    found = find(tmp_path)
    assert found == Configuration() or found.file is not None  # a file above the temporary folder


def test_the_nearest_file_upward_is_read(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / NAME).write_text("aliases: { Outer: [x] }\n")
    (tmp_path / "a" / NAME).write_text(
        "aliases: { Inner: [y, z] }\nadapters: { ours: {adapter: aws} }\nagent: { url: u }\n"
    )
    found = find(inner)
    assert (found.file, found.aliases) == (tmp_path / "a" / NAME, {"Inner": ("y", "z")})
    assert found.adapters == ("ours",)
    assert found.settings["agent"] == {"url": "u"}


def test_where_conversations_bear_their_ids_is_read(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("conversation: { header: x-chat, body: chat.id }\n")
    assert find(tmp_path).conversation == {"header": "x-chat", "body": "chat.id"}


def test_what_is_to_be_redacted_is_read(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(
        "redact:\n  builtin: false\n  headers: [x-a]\n  json: [$.a, 'b[*].c']\n  pii: [card, iban]\n"
        "  patterns: [{ name: ours, pattern: 'C-[0-9]+' }]\n  hook: hooks:scrub\n"
    )
    assert find(tmp_path).redact == Redaction(
        False, ("x-a",), ("$.a", "b[*].c"), (("ours", "C-[0-9]+"),), ("card", "iban"), "hooks:scrub"
    )


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
        ("redact: [x]\n", 1, "redact"),
        ("redact: { header: [x] }\n", 1, "redact.header"),
        ("redact:\n  builtin: maybe\n", 2, "redact.builtin"),
        ("redact:\n  headers: x-a\n", 2, "redact.headers"),
        ("redact:\n  headers:\n  - x-a\n  - 1\n", 4, "redact.headers[1]"),
        ("redact:\n  pii: [mail]\n", 2, "redact.pii[0]"),
        ("redact:\n  json:\n  - $.a\n  - a b\n", 4, "redact.json[1]"),
        ("redact:\n  json: [$]\n", 2, "redact.json[0]"),
        ("redact:\n  hook: nowhere\n", 2, "redact.hook"),
        ("redact:\n  patterns: x\n", 2, "redact.patterns"),
        ("redact:\n  patterns:\n  - name: a\n", 3, "redact.patterns[0]"),
        ("redact:\n  patterns:\n  - name: auth\n    pattern: x\n", 3, "redact.patterns[0].name"),
        ("redact:\n  patterns:\n  - name: ours\n    pattern: (\n", 4, "redact.patterns[0].pattern"),
        ("redact:\n  patterns:\n  - name: ours\n    pattern: x*\n", 4, "redact.patterns[0].pattern"),
        ("redact:\n  patterns:\n  - name: ours\n    pattern: 1\n", 4, "redact.patterns[0].pattern"),
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
