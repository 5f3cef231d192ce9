"""What a client made of a reply when it repeated it: as it was, edited, or with words of its own behind it.

Agents that follow ReAct write what a tool answered behind what the model said, into the model's own
message (https://arxiv.org/abs/2210.03629). The model did not say that, so it is told apart. Blanks are no
words: clients trim them, and join texts by them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from abs_replay import exact_json
from abs_replay.assembly.threads import plain
from abs_replay.decoders import Message

SAME, EDITED = "the next request repeats it", "the next request repeats it, edited"


@dataclass(frozen=True, slots=True)
class Echo:
    """How a message repeats a reply, or the part of it that was not repeated yet.

    `how` is None where it says nothing of the reply's words; `added` is what stands behind them; `rewritten`
    where it says what the reply does not.
    """

    message: Message
    how: str | None
    added: str | None = None
    rewritten: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the reply's words stand in it as they were."""
        return self.how is not None and not self.how.startswith(EDITED)


def read(reply: Message, messages: Iterable[Message]) -> Iterator[Echo]:
    """Say how an assistant's messages, in order, repeat a reply. Words that stand in place of calls alone
    are the client's way to tell of them."""
    if not isinstance(reply.content, str | None):
        yield from (_whole(reply, message) for message in messages)
        return
    words = rest = _squeezed(reply.content or "")
    for message in messages:
        if not isinstance(message.content, str):
            yield Echo(message, None if plain(message.content) is None else EDITED)
            continue
        said = _squeezed(message.content)
        if not said:
            yield Echo(message, None)
        elif said == words or (rest and rest.startswith(said)):
            rest = "" if said == words else rest[len(said) :]
            yield Echo(message, SAME)
        elif words and said.startswith(rest):
            yield Echo(message, f"{SAME}, with words behind it" if rest else None, _behind(message, rest))
            rest = ""
        else:
            how = f"{EDITED}: {len(message.content)} characters for {len(reply.content or '')}"
            yield Echo(message, how, rewritten=bool(words) and said not in words)


def _whole(reply: Message, message: Message) -> Echo:
    """Read the echo of a reply that is no plain text."""
    if plain(message.content) is None:
        return Echo(message, None)
    return Echo(message, SAME if exact_json.equal(reply.content, message.content) else EDITED)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _behind(message: Message, words: str) -> str:
    """Give what stands behind words, which a message begins with but for blanks."""
    text = str(message.content)
    place = 0
    for _ in words:
        while text[place].isspace():
            place += 1
        place += 1
    return text[place:].strip()
