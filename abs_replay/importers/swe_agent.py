"""Trajectories of SWE-agent, `.traj`: an object with a `history` of messages and a `trajectory` of steps.

https://swe-agent.com/latest/usage/trajectories, versions 0.6 to 1.1. Where the model called functions its
calls stand in the history. Before that it wrote a command into its words: that is told as a call of
`shell`, and the next message, which is what came out, as its answer. A demonstration is a prompt, not the
user's words.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from abs_replay.decoders import Call, Message
from abs_replay.decoders.fields import items, obj, parse_or_none, text
from abs_replay.importers import loose_messages
from abs_replay.importers.imported import Imported
from abs_replay.importers.source import Source
from abs_replay.importers.telling import TIMELESS, Facts, Teller, tagged

_SHELL: Final = "shell"
_COMMANDS: Final = "a command stood in the model's words: it is told as a call of `shell`"


def recognises(source: Source) -> bool:
    """Whether the file is a `.traj`, or an object with a history of messages of agents."""
    if '"history"' not in (source.text or "") and '"trajectory"' not in (source.text or ""):
        return False
    found = obj(source.json)
    first = obj((items(found.get("history")) or [None])[0])
    step = obj((items(found.get("trajectory")) or [None])[0])
    return ("role" in first and ("agent" in first or source.name.endswith(".traj"))) or (
        {"action", "observation"} <= step.keys()
    )


def read(source: Source) -> Imported:
    """Read the one conversation; raises `UsageError`."""
    document = source.need_json()
    if not isinstance(document, dict):
        raise source.wrong("expected an object with a `history`")
    history = [obj(value) for value in items(document.get("history"))]
    steps = [obj(value) for value in items(document.get("trajectory"))]
    if not any(history) and not any(steps):
        raise source.wrong("expected a `history` of messages, or a `trajectory` of steps")
    config = _config(document)
    teller = Teller()
    told = _told(history, [step.get("execution_time") for step in steps]) if any(history) else _bare(steps)
    remarks = [TIMELESS]
    for message, facts in told:
        model = text(obj(obj(config.get("agent")).get("model")).get("name"))
        teller.tell(message, replace(facts, model=model) if message.role == "assistant" else facts)
        remarks += [_COMMANDS for call in message.calls if call.name == _SHELL and call.call_id is None]
    return Imported(traces=(teller.trace(tagged(_tags(document, config))),), remarks=tuple(remarks))


def _config(document: Mapping[str, Any]) -> Mapping[str, Any]:
    value = document.get("replay_config")
    return obj(parse_or_none(value) if isinstance(value, str) else value)


def _told(history: list[Mapping[str, Any]], times: list[Any]) -> Iterator[tuple[Message, Facts]]:
    durations = iter(times)
    awaited = False
    for value in history:
        if value.get("is_demo") is True:
            yield Message("system", _words(value)), Facts(hidden=True)
        elif value.get("role") == "assistant":
            yield _answer(value), Facts()
            awaited = True
        elif awaited:
            awaited = False
            yield _observation(value), Facts(took_ms=_ms(next(durations, None)))
        else:
            for message in loose_messages.messages(value):
                yield message, Facts()


def _answer(value: Mapping[str, Any]) -> Message:
    action = text(value.get("action"))
    if action is None or value.get("tool_calls"):
        found = loose_messages.messages(value)
        return found[0] if found else Message("assistant")
    words = text(value.get("thought")) or text(value.get("content"))
    return Message("assistant", words, (Call(_SHELL, {"command": action}),))


def _observation(value: Mapping[str, Any]) -> Message:
    ids = [id_ for id_ in items(value.get("tool_call_ids")) if isinstance(id_, str)]
    return Message("tool", _words(value), call_id=ids[0] if ids else text(value.get("tool_call_id")))


def _words(value: Mapping[str, Any]) -> Any:
    found = loose_messages.messages(value)
    return found[0].content if found else None


def _bare(steps: list[Mapping[str, Any]]) -> Iterator[tuple[Message, Facts]]:
    for step in steps:
        call = Call(_SHELL, {"command": text(step.get("action")) or ""})
        yield Message("assistant", text(step.get("thought")), (call,)), Facts()
        yield Message("tool", step.get("observation")), Facts(took_ms=_ms(step.get("execution_time")))


def _ms(seconds: Any) -> float | None:
    try:
        return round(float(seconds) * 1000, 3)
    except (TypeError, ValueError, OverflowError):
        return None


def _tags(document: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    info = obj(document.get("info"))
    yield "environment", text(document.get("environment"))
    yield "instance", text(obj(config.get("problem_statement")).get("id"))
    yield "exit_status", text(info.get("exit_status"))
    yield from obj(info.get("model_stats")).items()
