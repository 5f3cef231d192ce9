"""Messages made of content blocks, as a request of Anthropic's Messages API repeats them.

https://platform.claude.com/docs/en/api/messages. Results of the client's tools come in the user's
messages and are messages of their own here. Other formats of blocks hand in how to read a block.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from abs_replay.decoders.content_blocks import Block, answer, blocks, failed, parts
from abs_replay.decoders.events import Call, Message, Said, Served, composed
from abs_replay.decoders.fields import items, obj, text
from abs_replay.decoders.histories import LONGEST, remember

type Reading = Callable[[Mapping[str, Any]], Mapping[str, Any]]

READ: Final[dict[tuple[str, Reading, str], tuple[Message, ...]]] = {}


@dataclass(frozen=True, slots=True)
class History:
    """What a request repeats.

    `prefill` are words that the reply is to go on from; `waiting` the calls that the vendor's server has
    not answered yet, by id; `compacted` says that the vendor's summary stands in front.
    """

    messages: tuple[Message, ...] = ()
    prefill: str = ""
    waiting: Mapping[str, Call] = field(default_factory=dict)
    compacted: bool = False

    @property
    def remarks(self) -> tuple[str, ...]:
        return ("the reply goes on from the request's last words",) if self.prefill else ()

    def reply(self, found: Sequence[Block], base: str, at: str) -> Message:
        """Compose the reply. The API gives what follows a prefill; the message's words are both."""
        made = parts(found, base, waiting=self.waiting)
        first = made[0] if made else None
        if self.prefill and isinstance(first, Said) and isinstance(first.content, str):
            made[0] = Said(self.prefill + first.content, first.at)
        elif self.prefill:
            made.insert(0, Said(self.prefill, at))
        return composed("assistant", made, at)


def _as_it_is(block: Mapping[str, Any]) -> Mapping[str, Any]:
    return block


def history(body: Mapping[str, Any], read: Reading = _as_it_is) -> History:
    """Read a request's `system` and `messages`; `read` puts a block into Anthropic's shape."""
    values = [(i, value) for i, value in enumerate(items(body.get("messages"))) if obj(value)]
    first = values[0][1] if values else {}
    prefill = _prefill(values[-1][1], read) if values else ""
    found = list(_system(body.get("system"), read))
    waiting: dict[str, Call] = {}
    for index, value in values[:-1] if prefill else values:
        told = _remembered(value, f"request.messages[{index}]", read, waiting)
        _wait(waiting, told)
        found += told
    return History(tuple(found), prefill, waiting, _is_compacted(first))


def _is_compacted(first: Mapping[str, Any]) -> bool:
    found = items(first.get("content"))
    return first.get("role") == "assistant" and any(obj(one).get("type") == "compaction" for one in found)


def _prefill(value: Mapping[str, Any], read: Reading) -> str:
    """Give the words of an assistant's message that stands last and holds nothing else.

    What else a reply may be resumed from (pause_turn) holds calls, and was told when it came.
    """
    if value.get("role") != "assistant":
        return ""
    found = [block.value for block in _blocks(value.get("content"), read)]
    words = [one.get("text") if one.get("type") == "text" else None for one in found]
    return "".join(one for one in words if isinstance(one, str)) if None not in words else ""


def _system(value: Any, read: Reading) -> Iterator[Message]:
    found = parts(_blocks(value, read), "request.system", "\n")
    if found:
        yield composed("system", found, "request.system")


def _blocks(content: Any, read: Reading) -> list[Block]:
    if isinstance(content, str):
        return blocks(content)
    return [Block(read(block.value), block.first, block.last) for block in blocks(content)]


def _wait(waiting: dict[str, Call], told: Iterable[Message]) -> None:
    """Keep which calls of the vendor's own tools stand without a result."""
    for message in told:
        for part in message.parts:
            if isinstance(part, Served) and part.call.call_id:
                waiting.pop(part.call.call_id, None)
                if not part.answered:
                    waiting[part.call.call_id] = part.call


def messages(
    value: Mapping[str, Any], at: str, read: Reading = _as_it_is, waiting: Mapping[str, Call] | None = None
) -> tuple[Message, ...]:
    """Read one message; each tool's result in it, and what stands before or behind, is a message."""
    role = text(value.get("role"))
    if role is None:
        return ()
    found: list[Message] = []
    beside: list[Block] = []
    joiner = "" if role == "assistant" else "\n"

    def flush() -> None:
        made = parts(beside, f"{at}.content", joiner, waiting)
        found.extend([composed(role, made, at)] if made else [])
        beside.clear()

    for block in _blocks(value.get("content"), read):
        if block.value.get("type") == "tool_result" and role != "assistant":
            flush()
            found.append(_told(block.value, f"{at}.content[{block.first}]"))
        else:
            beside.append(block)
    flush()
    return tuple(found) or (Message(role, at=at),)


def _told(value: Mapping[str, Any], at: str) -> Message:
    content = answer(value.get("content"))
    call_id, error = text(value.get("tool_use_id")), failed(value, content)
    return Message("tool", content, call_id=call_id, at=at, error=error)


def _remembered(
    value: Mapping[str, Any], at: str, read: Reading, waiting: Mapping[str, Call]
) -> tuple[Message, ...]:
    """Read a message, or give what was read of its equal: each request repeats its history."""
    shown = repr(value)  # tells 1 from true, which compare equal
    known = READ.get((at, read, shown))
    if known is not None:
        return known
    told = messages(value, at, read, waiting)
    if len(shown) <= LONGEST and _stands_alone(shown, told):
        remember(READ, (at, read, shown), told)
    return told


def _stands_alone(shown: str, told: tuple[Message, ...]) -> bool:
    """Say whether a message is read alike wherever it stands.

    Results of the vendor's tools may belong to calls of earlier messages, and what is shown of a number
    with a fraction is not all that was sent.
    """
    served = any(isinstance(part, Served) for message in told for part in message.parts)
    return not served and "Decimal(" not in shown
