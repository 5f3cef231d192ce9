"""Results that do not name their call by its id, given to the calls before them.

Protocols whose calls have no ids tell results apart by the tool's name and by order; clients leave
ids out that were there, or write one where the name belongs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from abs_replay.decoders.events import Call, Message


def attributed(history: Iterable[Message]) -> tuple[Message, ...]:
    """Give the history with each tool's message bearing the id and the name of the call that it answers."""
    found: list[Message] = []
    open_: list[Call] = []
    for message in history:
        if message.role == "tool":
            found.append(_attribute(message, open_))
            continue
        if message.calls:
            open_ = list(message.calls)
        found.append(message)
    return tuple(found)


def _attribute(message: Message, open_: list[Call]) -> Message:
    call = _answered(message, open_)
    if call is None:
        return message
    open_.remove(call)
    call_id = message.call_id or call.call_id
    if (call_id, call.name) == (message.call_id, message.name):
        return message
    return replace(message, call_id=call_id, name=call.name)


def _answered(message: Message, open_: Sequence[Call]) -> Call | None:
    """Choose a call by id, else by name, else the first that is open."""
    if message.call_id:
        known = [call for call in open_ if call.call_id == message.call_id]
        if known:
            return known[0]
    free = [call for call in open_ if not (message.call_id and call.call_id)]
    return next((call for call in free if call.name == message.name), free[0] if free else None)
