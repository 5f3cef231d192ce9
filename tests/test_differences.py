"""`docs/differences.md` points at what shows each difference: cases that name the rule, tests that exist."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance_cases import OWN

ROOT = Path(__file__).parent.parent
ROWS = [line for line in (ROOT / "docs" / "differences.md").read_text("utf-8").splitlines() if "`" in line]


def rows() -> Iterator[tuple[set[str], list[str]]]:
    """Give the rules of each row and what is said to show it."""
    for line in ROWS:
        cells = re.split(r"(?<!\\)\|", line)
        if len(cells) == 6:
            yield set(re.findall(r"[A-Z]\d+", cells[3])), re.findall(r"`([^`]+)`", cells[4])


@pytest.mark.parametrize(("rules", "shown_by"), list(rows()))
def test_every_difference_is_shown_by_a_case_of_its_rule_or_a_test(
    rules: set[str], shown_by: list[str]
) -> None:
    assert rules
    assert shown_by
    for name in shown_by:
        if name.startswith("test_"):
            assert any(f"def {name}(" in path.read_text("utf-8") for path in ROOT.glob("tests/*/test_*.py"))
        else:
            assert rules & set(json.loads((OWN / name / "expected.json").read_text("utf-8"))["rules"]), name


def test_there_are_differences() -> None:
    assert len(list(rows())) > 40
