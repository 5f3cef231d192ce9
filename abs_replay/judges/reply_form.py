"""The form of a judge's reply: a JSON schema that every vendor's strict mode takes.

Keys are in the order in which a model must write them: evidence before reasoning before verdict, and the
score after all of it. There are no limits of numbers or lengths in it, which strict modes refuse: `reply`
checks those. It is the same for every question, so that a vendor compiles it once.
"""

from collections.abc import Mapping
from typing import Any, Final

NAME: Final = "judgement"
VERDICTS: Final = ("met", "not_met", "cannot_judge")


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


SCHEMA: Final[Mapping[str, Any]] = _object(
    criteria={
        "type": "array",
        "description": "One entry for each numbered criterion, in their order",
        "items": _object(
            criterion={"type": "integer", "description": "The number of the criterion"},
            evidence=_text("What the record says to it, quoted; empty where it says nothing"),
            reasoning=_text("Why, ending with VERDICT, a colon, and MET, NOT MET or CANNOT JUDGE"),
            verdict={"type": "string", "enum": list(VERDICTS)},
        ),
    },
    score={"type": ["number", "null"], "description": "0 to 1; null where it can not be judged"},
    cannot_judge={"type": ["string", "null"], "description": "What is missing to judge; else null"},
)
