"""What the answers of Claude Code cost, as its logs tell it."""

import json
from pathlib import Path
from typing import Any

import pytest

from abs_replay.importers import Source, read, recognise
from abs_replay.trace import Trace, Usage


def imported(*entries: dict[str, Any]) -> Trace:
    lines = "\n".join(json.dumps({"session_id": "s", **entry}) for entry in entries)
    (trace,) = read("claude-code", Source(Path("log.jsonl"), lines.encode())).traces
    return trace


def answer(
    id_: str, usage: dict[str, int], block: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    content = [block or {"type": "text", "text": "Yes."}]
    message = {"id": id_, "role": "assistant", "model": "claude-x", "content": content, "usage": usage}
    return {"type": "assistant", "message": message, **more}


def counters(asked: int, read_: int, written: int, made: int) -> dict[str, int]:
    cached = {"cache_read_input_tokens": read_, "cache_creation_input_tokens": written}
    return {"input_tokens": asked, "output_tokens": made, **cached}


CALL = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
RESULT = {
    "type": "user",
    "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]},
}


def test_what_was_read_from_the_cache_and_written_to_it_went_in() -> None:
    assert imported(answer("m1", counters(3, 100, 20, 7))).usage == Usage(123, 7, 100)


def test_an_answer_in_several_entries_is_counted_once_and_as_its_last_counts_it() -> None:
    first, last = counters(3, 0, 0, 1), counters(3, 0, 0, 40)
    assert imported(answer("m1", first), answer("m1", last, CALL)).usage == Usage(3, 40)
    assert imported(answer("m1", first, CALL), RESULT, answer("m1", last)).usage == Usage(3, 40)


def test_what_a_result_counts_beyond_its_answers_belongs_to_the_last_of_them() -> None:
    result = {"type": "result", "usage": counters(4, 17653, 1215, 415)}
    trace = imported(
        answer("m1", counters(3, 8313, 1027, 0), CALL),
        RESULT,
        answer("m2", counters(1, 9340, 188, 1)),
        result,
    )
    assert trace.usage == Usage(4 + 17653 + 1215, 415, 17653)
    assert [step.usage for step in trace.steps if step.usage] == [
        Usage(9343, 0, 8313),
        Usage(9529, 415, 9340),
    ]


def test_a_result_is_of_its_turn_or_of_all_turns_before_it() -> None:
    turns = [answer("m1", counters(3, 0, 0, 1)), answer("m2", counters(5, 0, 0, 1))]
    first = {"type": "result", "usage": counters(3, 0, 0, 10)}
    for second in (counters(5, 0, 0, 30), counters(8, 0, 0, 40)):
        trace = imported(turns[0], first, turns[1], {"type": "result", "usage": second})
        assert trace.usage == Usage(8, 40)


def test_a_result_that_sums_other_answers_changes_nothing() -> None:
    result = {"type": "result", "usage": counters(99, 0, 0, 415)}
    assert imported(answer("m1", counters(3, 0, 0, 1)), result).usage == Usage(3, 1)


@pytest.mark.parametrize("deep", [True, False])
def test_a_result_sums_with_the_agents_below_or_without(deep: bool) -> None:
    below = answer("m1", counters(7, 0, 0, 2), parent_tool_use_id="c1")
    result = {"type": "result", "usage": counters(10 if deep else 3, 0, 0, 60)}
    trace = imported(below, answer("m2", counters(3, 0, 0, 1)), result)
    assert trace.usage == Usage(10, 60 if deep else 62)


def test_a_session_that_the_sdk_dumped_costs_what_its_result_says(shared: Path) -> None:
    path = shared / "corpus/logfire/tests/otel_integrations/cassettes/test_claude_agent_sdk"
    file = path / "tool_use_conversation.json"
    if not file.exists():
        pytest.skip("the corpus is not here")
    (trace,) = read("claude-code", Source(file, file.read_bytes())).traces
    assert trace.usage == Usage(4 + 17653 + 1215, 415, 17653)


def test_a_log_of_one_line_is_a_log() -> None:
    line = json.dumps({"session_id": "s", **answer("m1", counters(1, 0, 0, 1))}).encode()
    assert recognise(Source(Path("log.jsonl"), line)) == "claude-code"
