"""A key that is nearly a known one is told once, and what stands under it is checked."""

from pathlib import Path

import pytest

from abs_replay.errors import SpecError
from abs_replay.spec.loader import load

HEAD = 'session: S\nabs_version: "0.2"\n'
USER = "  - { actor: user, action: says }\n"


def told(folder: Path, text: str) -> list[str]:
    (folder / "a.abs.yaml").write_text(text)
    with pytest.raises(SpecError) as caught:
        load(folder / "a.abs.yaml")
    return [f"{one.line}: {one.path}: {one.message}" for one in caught.value.problems]


def unknown(line: int, path: str, near: str) -> str:
    return f"{line}: {path}: unknown key `{path.rpartition('.')[2]}`: did you mean `{near}`?"


def test_one_slip_hides_no_other_below_it(tmp_path: Path) -> None:
    text = (
        f"{HEAD}behaviours:\n{USER}"
        "  - actor: assistent\n"
        "    acton: responds\n"
        "    evaluatons:\n"
        '      - { typ: regex, patern: "(" }\n'
        "  - { inclde: nothing }\n"
        "evaluations:\n"
        "  - { type: never, match: { acton: says, target: 1 } }\n"
        "  - { type: all_of, evalutions: [{ type: nevr }] }\n"
    )
    found = told(tmp_path, text)
    assert found[:3] == [
        unknown(3, "behaviours", "behaviors"),
        "5: behaviors[1].actor: unknown actor `assistent`: did you mean `assistant`?",
        unknown(6, "behaviors[1].acton", "action"),
    ]
    assert found[3:7] == [
        unknown(7, "behaviors[1].evaluatons", "evaluations"),
        unknown(8, "behaviors[1].evaluations[0].typ", "type"),
        unknown(8, "behaviors[1].evaluations[0].patern", "pattern"),
        "8: behaviors[1].evaluations[0].pattern: no valid pattern: missing ), unterminated subpattern"
        " at position 0",
    ]
    assert found[7:9] == [
        unknown(9, "behaviors[2].inclde", "include"),
        "9: behaviors[2].include: no fragment is called `nothing`: none is known here",
    ]
    assert found[9:11] == [
        unknown(11, "evaluations[0].match.acton", "action"),
        "11: evaluations[0].match.target: must be text",
    ]
    assert len(found) == 13


def test_fragments_criteria_and_data_sets_are_looked_through(tmp_path: Path) -> None:
    text = (
        f"{HEAD}dataset: {{ id: d, pth: x.csv }}\n"
        "fragmets:\n"
        "  hello:\n"
        "    - { actor: assistant, acton: asks, matches_whn: { type: regex, pattrn: '(' } }\n"
        f"behaviors:\n{USER}"
    )
    assert told(tmp_path, text) == [
        unknown(3, "dataset.pth", "path"),
        unknown(4, "fragmets", "fragments"),
        unknown(6, "fragments.hello[0].acton", "action"),
        unknown(6, "fragments.hello[0].matches_whn", "matches_when"),
        unknown(6, "fragments.hello[0].matches_when.pattrn", "pattern"),
        "6: fragments.hello[0].matches_when.pattern: no valid pattern: missing ), unterminated subpattern"
        " at position 0",
    ]


def test_what_is_missing_is_not_told_beside_its_near_miss(tmp_path: Path) -> None:
    assert told(tmp_path, f"{HEAD}behaviors:\n  - {{ actor: user, actionable: says }}\n") == [
        unknown(4, "behaviors[0].actionable", "action")
    ]


def test_a_key_beside_the_one_that_it_is_like_is_no_second_one(tmp_path: Path) -> None:
    text = f"{HEAD}behaviors:\n{USER}behaviours: 3\nx-behaviors: 3\n"
    assert told(tmp_path, text) == [unknown(5, "behaviours", "behaviors")]


def test_two_slips_of_one_key_are_both_told(tmp_path: Path) -> None:
    found = told(tmp_path, f"{HEAD}behaviours:\n{USER}behavors:\n{USER}")
    assert found == [unknown(3, "behaviours", "behaviors"), unknown(5, "behavors", "behaviors")]


def test_what_a_rule_lacks_is_not_told_beside_what_is_a_little_like_it(tmp_path: Path) -> None:
    step = "  - { actor: assistant, action: informs, evaluations: [{ type: regex, patt: x }] }\n"
    assert told(tmp_path, f"{HEAD}behaviors:\n{step}") == [
        unknown(4, "behaviors[0].evaluations[0].patt", "pattern")
    ]


def test_fragments_that_are_no_mapping_are_told_once(tmp_path: Path) -> None:
    found = told(tmp_path, f"{HEAD}fragments: [1]\nbehaviors:\n{USER}")
    assert found == ["3: fragments: must be a mapping"]
