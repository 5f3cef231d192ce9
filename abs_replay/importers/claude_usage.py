"""What each answer in a log of Claude Code cost, counted as on Anthropic's wire.

An entry of an answer has its counters as far as they were known when its block came: `input_tokens` without
what was read from the cache or written to it, `output_tokens` of a beginning. A `result` has the sum of the
answers before it: where its input is theirs, the output that it has more is theirs, and is noted at the last.
https://docs.claude.com/en/docs/claude-code/headless
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from abs_replay.decoders.fields import obj, text
from abs_replay.importers import loose_messages
from abs_replay.trace import Usage


@dataclass(slots=True)
class _Counted:
    """An answer's counters; `below` is whether an agent below gave it, `turn` behind how many results."""

    usage: Usage
    below: bool
    turn: int


def counted(entries: Iterable[Mapping[str, Any]]) -> dict[str, Usage]:
    """Count every answer of a session once, by the message's id, in however many entries it came."""
    found: dict[str, _Counted] = {}
    turn = 0
    for entry in entries:
        body = obj(entry.get("message"))
        usage = loose_messages.usage((entry if entry.get("type") == "result" else body).get("usage"))
        if entry.get("type") == "result":
            _complete(list(found.values()), usage, turn)
            turn += 1
        elif entry.get("type") == "assistant" and usage and (id_ := text(body.get("id"))):
            below = bool(entry.get("isSidechain") is True or text(entry.get("parent_tool_use_id")))
            before = found[id_].usage if id_ in found else usage
            found[id_] = _Counted(_larger(before, usage), below, turn)
    return {id_: one.usage for id_, one in found.items()}


def _larger(one: Usage, other: Usage) -> Usage:
    return Usage(
        max(one.input_tokens, other.input_tokens),
        max(one.output_tokens, other.output_tokens),
        max(one.cached_tokens, other.cached_tokens),
    )


def _complete(answers: list[_Counted], whole: Usage | None, turn: int) -> None:
    """Note what a result counts beyond its answers; it sums its turn or all, with agents below or without."""
    groups = (
        [one for one in answers if (all_turns or one.turn == turn) and (deep or not one.below)]
        for all_turns in (False, True)
        for deep in (False, True)
    )
    for group in groups if whole else ():
        made = sum(one.usage.output_tokens for one in group)
        asked = sum(one.usage.input_tokens for one in group)
        if whole and group and asked == whole.input_tokens and made <= whole.output_tokens:
            last = group[-1]
            more = last.usage.output_tokens + whole.output_tokens - made
            last.usage = replace(last.usage, output_tokens=more)
            return
