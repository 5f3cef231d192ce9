"""Why a tool failed, as logs of Inspect tell it."""

import json
from pathlib import Path
from typing import Any

import pytest

from abs_replay.importers import Source, read

CALL = {"id": "c1", "function": "look", "arguments": {}}


def errors(document: Any) -> list[str | None]:
    imported = read("inspect", Source(Path("log.json"), json.dumps(document).encode()))
    return [step.error for trace in imported.traces for step in trace.steps if step.actor == "tool"]


ERRORS = pytest.mark.parametrize(
    ("error", "told"),
    [
        ({"type": "timeout", "message": "took 30 s"}, "timeout: took 30 s"),
        ({"type": "permission", "message": ""}, "permission"),
        ({"message": "took 30 s"}, "took 30 s"),
        ({}, None),
        (None, None),
    ],
)


@ERRORS
def test_a_message_says_of_which_kind_a_failure_was(error: Any, told: str | None) -> None:
    asked = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    answered = {"role": "tool", "tool_call_id": "c1", "function": "look", "content": "", "error": error}
    sample = {"id": 1, "messages": [{"role": "user", "content": "Hi"}, asked, answered]}
    assert errors({"eval": {}, "status": "success", "samples": [sample]}) == [told]


@ERRORS
def test_an_event_says_of_which_kind_a_failure_was(error: Any, told: str | None) -> None:
    event = {"event": "tool", "timestamp": "2026-05-01T10:00:00Z", **CALL, "result": "", "error": error}
    assert errors({"events": [event]}) == [told]
