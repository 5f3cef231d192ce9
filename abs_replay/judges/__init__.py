"""Judges: what answers the questions that need a model, one module each with `open_judge(settings)`.

`settings` are lists of texts by name; what a judge can not do with them is a `UsageError`.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module

from abs_replay.judgement import Judge

JUDGES = {
    "recorded": "abs_replay.judges.recorded",
}


def open_judge(name: str, settings: Mapping[str, Sequence[str]]) -> Judge:
    """Make the judge of that name."""
    judge: Judge = import_module(JUDGES[name]).open_judge(settings)
    return judge
