"""Messages of Claude Code, as three of its writers keep them.

Its session logs (`~/.claude/projects/*/*.jsonl`), its `--output-format stream-json`, and dumps of what its
SDK sends and receives (`{"messages": [{"direction", "message"}]}`): each line or entry has a `type`, and
`user` and `assistant` have a message of Anthropic's API. https://docs.claude.com/en/docs/claude-code/headless
and .../agent-sdk. An answer comes in as many lines as it has blocks. What agents below it say is internal.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from abs_replay.decoders import Message, anthropic_messages
from abs_replay.decoders.fields import items, obj, text
from abs_replay.importers import claude_usage, loose_messages
from abs_replay.importers.imported import Imported
from abs_replay.importers.source import Source
from abs_replay.importers.telling import TIMELESS, Facts, Teller, moment, tagged
from abs_replay.trace import Trace, Usage

_KINDS: Final = ("user", "assistant")
type _Entry = Mapping[str, Any]


def recognises(source: Source) -> bool:
    """Whether lines, or entries with a direction, are of Claude Code's types."""
    if '"assistant"' not in (source.text or ""):
        return False
    if directed := _directed(source.json):
        return _is_ours(directed)
    lines = source.json_lines  # a log of one line is JSON, too
    return isinstance(lines, tuple) and _is_ours([obj(line.value) for line in lines])


def _lines(source: Source) -> list[_Entry]:
    if source.path.suffix == ".json":
        source.need_json()  # says what is wrong with it as such
    lines = source.json_lines if source.json else source.need_json_lines()
    return [obj(line.value) for line in lines] if isinstance(lines, tuple) else []


def _directed(document: Any) -> list[_Entry]:
    entries = [obj(entry) for entry in items(obj(document).get("messages"))]
    return [obj(entry["message"]) for entry in entries if "direction" in entry and "message" in entry]


def _is_ours(entries: Iterable[_Entry]) -> bool:
    told = [entry for entry in entries if entry.get("type") in _KINDS]
    return bool(told) and all({"role", "content"} <= obj(entry.get("message")).keys() for entry in told)


def read(source: Source) -> Imported:
    """Read every session; raises `UsageError`."""
    entries = _directed(source.json) or _lines(source)
    if not any(entry.get("type") in _KINDS for entry in entries):
        raise source.wrong("expected entries of type user and assistant, with a message each")
    traces = [_session(those) for those in _by_session(entries)]
    told = tuple(trace for trace in traces if trace.steps)
    timeless = [trace for trace in told if all(step.at_ms is None for step in trace.steps)]
    return Imported(traces=told, remarks=(TIMELESS,) * len(timeless))


def _by_session(entries: Iterable[_Entry]) -> Iterator[list[_Entry]]:
    """Sort entries by their session; what the client sends names it `default`, and belongs to the next."""
    sessions: dict[str, list[_Entry]] = {}
    waiting: list[_Entry] = []
    for entry in entries:
        id_ = text(entry.get("sessionId")) or text(entry.get("session_id"))
        if id_ in (None, "default"):
            waiting.append(entry)
            continue
        sessions.setdefault(str(id_), []).extend((*waiting, entry))
        waiting = []
    yield from sessions.values()
    if waiting:
        last = list(sessions.values())
        if last:
            last[-1].extend(waiting)
        else:
            yield waiting


@dataclass(slots=True)
class _Answer:
    """An answer that is still coming, block by block."""

    id: str | None
    entry: _Entry
    blocks: list[Any] = field(default_factory=list)


def _session(entries: list[_Entry]) -> Trace:
    teller, tags = Teller(), dict[str, Any]()
    costs = claude_usage.counted(entries)
    answer: _Answer | None = None
    for entry in entries:
        body = obj(entry.get("message"))
        if entry.get("type") == "assistant":
            if answer is None or answer.id is None or answer.id != text(body.get("id")):
                _tell(teller, answer, costs)
                answer = _Answer(text(body.get("id")), entry)
            answer.entry = entry
            answer.blocks += _blocks(body)
        elif entry.get("type") == "user" and entry.get("isMeta") is not True:
            _tell(teller, answer, costs)
            answer = None
            for message in anthropic_messages.messages(body, ""):
                teller.tell(message, _facts(entry))
        tags |= _about(entry)
    _tell(teller, answer, costs)
    return teller.trace(tagged(tags.items()))


def _blocks(body: _Entry) -> list[Any]:
    content = body.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else items(content)


def _tell(teller: Teller, answer: _Answer | None, costs: dict[str, Usage]) -> None:
    """Tell an answer; what it cost is told once, where a tool's result stands between its blocks too."""
    if answer is None:
        return
    body = obj(answer.entry.get("message"))
    whole = {"role": "assistant", "content": answer.blocks}
    found = anthropic_messages.messages(whole, "") or (Message("assistant"),)
    cost = costs.pop(answer.id, None) if answer.id else loose_messages.usage(body.get("usage"))
    facts = replace(_facts(answer.entry), model=text(body.get("model")), usage=cost)
    for message in found:
        teller.tell(message, facts)


def _facts(entry: _Entry) -> Facts:
    hidden = bool(entry.get("isSidechain") is True or text(entry.get("parent_tool_use_id")))
    return Facts(moment(entry.get("timestamp")), hidden=hidden)


def _about(entry: _Entry) -> dict[str, Any]:
    """What lines say beside the words."""
    if entry.get("type") == "system" and entry.get("subtype") == "init":
        return {"claude_code": entry.get("claude_code_version"), "cwd": entry.get("cwd")}
    if entry.get("type") == "result":
        keys = ("subtype", "is_error", "num_turns", "total_cost_usd")
        return {key: entry.get(key) for key in keys}
    if "version" in entry and "cwd" in entry:
        return {
            "claude_code": entry.get("version"),
            "cwd": entry.get("cwd"),
            "branch": entry.get("gitBranch"),
        }
    return {}
