"""Verbs that the format does not have are allowed, and warned of: no recording has them (SEMANTICS A3)."""

from pathlib import Path

import pytest

from abs_replay.spec.loader import load
from abs_replay.trace import ACTIONS

HEAD = 'session: S\nabs_version: "0.2"\nbehaviors:\n  - { actor: user, action: says }\n'


def warnings(folder: Path, text: str) -> list[str]:
    (folder / "a.abs.yaml").write_text(HEAD + text)
    return [f"{one.path}: {one.message}" for one in load(folder / "a.abs.yaml").warnings]


def test_a_verb_of_no_family_is_warned_of(tmp_path: Path) -> None:
    (told,) = warnings(tmp_path, "  - { actor: assistant, action: answers }\n")
    assert told == (
        "behaviors[1].action: `answers` is no verb known here: it matches only steps that say the same; "
        "words are says, asks, responds, informs, greets, clarifies, confirms, rejects, suggests, shows; "
        "work is calls, submits, retrieves, stores, updates"
    )


@pytest.mark.parametrize("verb", ["Says", "respond", "hand_off"])
def test_a_verb_that_is_nearly_one_is_told_with_it(tmp_path: Path, verb: str) -> None:
    (told,) = warnings(tmp_path, f"  - {{ actor: assistant, action: {verb} }}\n")
    assert "say the same; did you mean `" in told


def test_a_selector_of_such_a_verb_is_warned_of(tmp_path: Path) -> None:
    text = (
        "evaluations:\n"
        "  - { type: never, match: { actor: assistant, action: answers } }\n"
        "  - { type: sequence, order: [{ action: says }, { action: '{odd}' }] }\n"
    )
    first, second = warnings(tmp_path, text)
    assert first.startswith("evaluations[0].match.action: `answers` is no verb known here: it selects only")
    assert second.startswith("evaluations[1].order[1].action: `{odd}` is no verb known here")


def test_no_verb_of_the_format_and_no_reference_is_warned_of(tmp_path: Path) -> None:
    text = "".join(f"  - {{ actor: system, action: {verb} }}\n" for verb in ACTIONS)
    assert warnings(tmp_path, text + "  - { actor: user, action: '{{verb}}' }\n") == []


def test_every_verb_of_the_format_is_told_to_authors() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sessions.md").read_text(encoding="utf-8")
    told = page[page.index("All verbs of speaking") : page.index("A call matches by")]
    assert [verb for verb in ACTIONS if verb not in told] == []
