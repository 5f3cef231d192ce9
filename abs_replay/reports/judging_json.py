"""What judges did, as JSON in a report, and back: of one verdict, and of the whole grading."""

from collections.abc import Mapping
from typing import Any

from abs_replay.exact_json import Json
from abs_replay.judgement import Judging, Usage
from abs_replay.verdicts import Judged


def judged(found: Judged | None) -> dict[str, Json] | None:
    """What a verdict rests on; null where no judge decides it."""
    if found is None:
        return None
    return {
        "question": found.question,
        "fingerprint": found.judge,
        "scores": found.scores,
        "unstable": found.unstable,
        **usage(found.usage),
    }


def judging(found: Judging | None) -> dict[str, Json] | None:
    """How many questions were asked, and what each judge took; null where there were none."""
    if found is None:
        return None
    return {
        "questions": found.asked + found.kept + found.unanswered,
        "asked": found.asked,
        "kept": found.kept,
        "unanswered": found.unanswered,
        "models": [{"judge": name, **usage(used)} for name, used in found.models.items()],
        **usage(found.usage),
    }


def usage(used: Usage) -> dict[str, Json]:
    """Calls, tokens, and US dollars, null where they are not known."""
    return {
        "calls": used.calls,
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cost": used.cost,
    }


def read_judged(value: Mapping[str, Any] | None) -> Judged | None:
    """Read what `judged` wrote."""
    if value is None:
        return None
    scores = tuple(map(float, value["scores"]))
    return Judged(
        value["question"], value["fingerprint"], scores, bool(value["unstable"]), _read_usage(value)
    )


def read_judging(value: Mapping[str, Any] | None) -> Judging | None:
    """Read what `judging` wrote."""
    if value is None:
        return None
    models = {str(each["judge"]): _read_usage(each) for each in value["models"]}
    return Judging(int(value["asked"]), int(value["kept"]), int(value["unanswered"]), models)


def _read_usage(value: Mapping[str, Any]) -> Usage:
    cost = value["cost"]
    calls, input_, output = (int(value[name]) for name in ("calls", "input_tokens", "output_tokens"))
    return Usage(calls, input_, output, None if cost is None else float(cost))
