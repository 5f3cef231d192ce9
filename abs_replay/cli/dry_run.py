"""`abs grade --dry-run`: what a judge would be asked, what that takes; the questions, to answer by hand."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from abs_replay.exact_json import Json
from abs_replay.reports.spending import spent
from abs_replay.reports.totals import plural

if TYPE_CHECKING:
    from abs_replay.asking import Open
    from abs_replay.judgement import Answer, Question
    from abs_replay.judges.chain import Chain
    from abs_replay.judges.panel import Estimate


class KeptOnly:
    """A `Judge` that gives the answers that are there already, and counts them; nobody is asked."""

    def __init__(self, judge: "Chain") -> None:
        self.judge, self.answered = judge, 0

    def ask(self, questions: Sequence["Question"]) -> Mapping[str, "Answer"]:
        """Answer what needs no asking, and leave the rest out."""
        found = self.judge.known(questions)
        self.answered += len(found)
        return found


def written(found: "Open", kept: KeptOnly, format_: str, warnings: Sequence[Json]) -> str:
    """Write how many questions are open; as JSON the questions themselves, each to be filled in.

    Filled in (`score` 0 to 1 and `reason`), the JSON is a file for `--judge-answers`.
    """
    estimate = kept.judge.opened().estimate(found.questions) if found.questions else None
    if format_ != "json":
        return "".join(f"{line}\n" for line in _lines(found, kept.answered, estimate))
    from abs_replay.reports import json_report

    return json_report.write(
        {
            "result": "dry_run",
            "count": len(found.questions),
            "at_least": not found.exact,
            "answered": kept.answered,
            **_estimated(estimate),
            "warnings": warnings,
            "questions": [_question(question) for question in found.questions],
        }
    )


def _lines(found: "Open", answered: int, estimate: "Estimate | None") -> Iterator[str]:
    text = f"{plural(len(found.questions), 'question')} would be asked"
    if answered:
        text += f", {answered} {'is' if answered == 1 else 'are'} answered already"
    yield text if found.exact else f"at least {text}: more follow from the answers to those of matches_when"
    if estimate is None:
        return
    at_least = "" if found.exact else "at least "
    for judge, (count, usage) in estimate.judges.items():
        yield f"  {judge}: {plural(count, 'question')}, {at_least}{spent(usage)}"
    for why, count in estimate.refused.items():
        yield f"  not to be asked: {plural(count, 'question')}, {why}"


def _estimated(estimate: "Estimate | None") -> dict[str, Json]:
    from abs_replay.reports import judging_json

    judges = estimate.judges if estimate else {}
    refused = estimate.refused if estimate else {}
    return {
        "estimates": [
            {"judge": judge, "questions": count, **judging_json.usage(usage)}
            for judge, (count, usage) in judges.items()
        ],
        "not_to_be_asked": [{"why": why, "questions": count} for why, count in refused.items()],
    }


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
