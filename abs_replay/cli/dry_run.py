"""`abs grade --dry-run`: which questions a judge would be asked, ready to be answered by hand."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from abs_replay.exact_json import Json

if TYPE_CHECKING:
    from abs_replay.asking import Open
    from abs_replay.judgement import Question


def written(found: "Open", format_: str, warnings: Sequence[Json]) -> str:
    """Write how many questions are open; as JSON the questions themselves, each to be filled in.

    Filled in (`score` 0 to 1 and `reason`), the JSON is a file for `--judge-answers`.
    """
    if format_ != "json":
        return _counted(found) + "\n"
    from abs_replay.reports import json_report

    return json_report.write(
        {
            "result": "dry_run",
            "count": len(found.questions),
            "at_least": not found.exact,
            "warnings": warnings,
            "questions": [_question(question) for question in found.questions],
        }
    )


def _counted(found: "Open") -> str:
    count = len(found.questions)
    text = f"{count} question{'' if count == 1 else 's'} would be asked"
    if found.exact:
        return text
    return f"at least {text}: more follow from the answers to those of matches_when"


def _question(question: "Question") -> dict[str, Json]:
    places = [{"session": one.session, "trace": one.trace, "at": one.at} for one in question.places]
    from abs_replay.spec.schema_texts import OF_TYPE

    fields: dict[str, Json] = {
        "type": question.type,
        "asks": OF_TYPE.get(question.type),
        "criteria": question.criteria,
        "prompt": question.prompt,
        "adapter": question.adapter,
        "evidence": question.evidence,
    }
    given = {key: value for key, value in fields.items() if value is not None}
    return {"digest": question.digest, "places": places, **given, "score": None, "reason": None}
