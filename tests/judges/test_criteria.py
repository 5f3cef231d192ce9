"""Criteria as a numbered list."""

from typing import Any

import pytest

from abs_replay.judges.criteria import numbered

LONG = "The answer names the delivery date only where a tool has told it before,"


@pytest.mark.parametrize(
    ("criteria", "before", "single"),
    [
        ("Friendly, invents no date", "", ["Friendly, invents no date"]),
        ("  Friendly  \n", "", ["Friendly"]),
        ("- Friendly\n- Short", "", ["Friendly", "Short"]),
        ("1. Friendly\n2) Short\n(3) True", "", ["Friendly", "Short", "True"]),
        ("a) Friendly\nb) Short", "", ["Friendly", "Short"]),
        ("* Friendly\r\n* Short\r\n", "", ["Friendly", "Short"]),
        ("• Friendly\n\n• Short", "", ["Friendly", "Short"]),
        (
            "About refunds:\n- Friendly\n- Short,\n  but whole",
            "About refunds:",
            ["Friendly", "Short, but whole"],
        ),
        ("- Friendly:\n  - greets\n  - thanks\n- Short", "", ["Friendly: - greets - thanks", "Short"]),
        ("Friendly\nShort", "", ["Friendly", "Short"]),
        ("friendly\nshort", "", ["friendly", "short"]),
        ("Friendly.\n\nshort", "", ["Friendly.", "short"]),
        (f"{LONG}\nand says so.\nShort", "", [f"{LONG} and says so.", "Short"]),
        (f"{LONG}\nShort", "", [LONG, "Short"]),
        ("- Friendly, and only that", "", ["- Friendly, and only that"]),
        ("Costs 3.5 or\n- nothing", "", ["Costs 3.5 or", "- nothing"]),
        (["Friendly", " Short ", "", 3], "", ["Friendly", "Short"]),
        (None, "", []),
        ("", "", []),
        (7, "", []),
    ],
)
def test_lists_and_lines_are_criteria_of_their_own(criteria: Any, before: str, single: list[str]) -> None:
    assert numbered(criteria) == (before, tuple(single))
