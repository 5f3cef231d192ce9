"""Threads of messages: which request continues which, and what it says that is new.

A stateless API gets the whole history with each request. A request continues a thread when its
messages begin with those that the thread asked last; then only what stands behind them, and behind
the echo of the last reply, is new. Echoes come back edited: text dropped beside calls, calls left
out, ids made up. So an echo is known by its call ids, else its calls, else its text, else its place.
Where a client leaves calls and results out of its history, the words alone are compared.
System text is no link, and its change is no break.

A history that leaves a thread before its end, behind an answer that was seen here, is a branch: a message
was edited, or an answer asked for again. One that begins otherwise and goes on from the thread's end was
cut or summed up. One that shares only words that nobody saw answered (examples in a prompt, a history
from before) is neither.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from abs_replay import exact_json
from abs_replay.decoders import Call, Message
from abs_replay.exact_json import Json

EXACT, EDITED, DROPPED, UNSEEN = 3, 2, 1, 0  # how an echo fits a reply, best first; no reply was seen


def plain(content: Json) -> Json:
    """Give content as it compares: text without outer blanks, nothing and empty text alike."""
    if isinstance(content, str):
        return content.strip() or None
    return content


def _words(content: Json) -> Json:
    """Give an assistant's content as it compares: blanks apart. Texts that a thought or a call stood
    between are joined by nothing where a client drops that, and by a line break elsewhere."""
    return "".join(content.split()) or None if isinstance(content, str) else content


def passes_on(text: Json, part: Json) -> bool:
    """Say whether an agent's words are, or carry, its model's; nothing is passed on as nothing."""
    return holds(text, part) or (plain(text) is None and plain(part) is None)


def holds(text: Json, part: Json) -> bool:
    """Say whether content is, or carries, other content."""
    text, part = plain(text), plain(part)
    if isinstance(text, str) and isinstance(part, str):
        return part in text
    return part is not None and exact_json.equal(text, part)


def opening(messages: Sequence[Message]) -> tuple[str, str] | None:
    """Give what histories that fit each other have in common at once: the first message, if it is words."""
    words = plain(messages[0].content) if messages and messages[0].role in ("user", "system") else None
    return (messages[0].role, words) if isinstance(words, str) else None


def same_call(left: Call, right: Call) -> bool:
    """Say whether two messages show one call, by its id or by what it says: clients make up ids."""
    by_id = left.call_id is not None and left.call_id == right.call_id
    return by_id or says_the_same(left, right)


def says_the_same(left: Call, right: Call) -> bool:
    """Say whether two calls have one name and equal arguments."""
    return left.name == right.name and exact_json.equal(left.arguments, right.arguments)


def echo(reply: Message, message: Message) -> int:
    """Say how well a message repeats a reply; 0 where it is no assistant's."""
    if message.role != "assistant":
        return 0
    if reply.calls or message.calls:
        known = any(same_call(left, right) for left in reply.calls for right in message.calls)
    else:
        known = _same_words(reply.content, message.content)
    return EXACT if known else EDITED


def _same_words(left: Json, right: Json) -> bool:
    # Most clients repeat it to the letter.
    return (isinstance(left, str) and left == right) or exact_json.equal(_words(left), _words(right))


def same(left: Message, right: Message) -> bool:
    """Say whether two requests hold one message; what was read once is one object."""
    if left is right:
        return True
    if left.role != right.role:
        return False
    if left.role == "assistant":
        return echo(left, right) == EXACT
    if left.role == "tool" and left.call_id and right.call_id:
        return left.call_id == right.call_id
    return exact_json.equal(plain(left.content), plain(right.content))


def mark(message: Message) -> int:
    """Give a number that is one for messages which `same` takes for one, but for made-up ids of calls."""
    if message.calls:
        return hash((message.role, tuple(map(_called, message.calls))))
    if message.role == "tool" and message.call_id:
        return hash((message.role, message.call_id))
    content = (_words if message.role == "assistant" else plain)(message.content)
    # As text, 1 and true differ.
    return hash((message.role, content if isinstance(content, str) else (repr(content),)))


def _called(call: Call) -> object:
    return call.call_id or (call.name, repr(call.arguments))


@dataclass(frozen=True, slots=True, order=True)
class Fit:
    """How messages continue a thread: how many they share, and how well the reply is repeated.

    What is new starts at `start`; `echoes` are the messages that repeat the reply; `again` where the
    whole is a retry, `resumed` where the answer before was cut short, and is gone on from. `segment` says
    what became of the history, where it does not go on (`Step.segment`); `prelude` is then what stands
    before, in place of what was said. `onward` where the messages are all new, since the other side keeps
    the old.
    """

    shared: int
    quality: int
    start: int = field(compare=False)
    echoes: tuple[Message, ...] = field(compare=False, default=())
    again: bool = field(compare=False, default=False)
    resumed: bool = field(compare=False, default=False)
    segment: str | None = field(compare=False, default=None)
    prelude: tuple[Message, ...] = field(compare=False, default=())
    onward: bool = field(compare=False, default=False)


@dataclass(frozen=True, slots=True)
class Asking:
    """One request of a thread: where in its history the news began, and when it was made.

    `again` where it tried again what the request before had tried.
    """

    start: int
    made_at: float
    again: bool = False


@dataclass(frozen=True, slots=True)
class Leaving:
    """Where a history leaves a thread: at which of its requests, having how many messages in common."""

    shared: int
    number: int


@dataclass(slots=True, eq=False)
class Thread:
    """What was asked last, and what came back; `failed` where that failed in a way that passes.

    `log` are its requests since its history began, or was cut or summed up. `parent` is the answer
    that the last one said to go on from.
    """

    asked: tuple[Message, ...] = ()
    reply: Message | None = None
    failed: bool = False
    log: list[Asking] = field(default_factory=list)
    parent: str | None = None
    shortened: bool = False

    def fit(self, messages: Sequence[Message], retried: bool = False, begun: str | None = None) -> Fit | None:
        """Say how messages continue this thread, or None where they do not.

        The very same request again is a retry if the one before failed, or says that it is one; it goes
        on from the answer if it gives that as what the reply has `begun` with; else it opens another
        conversation.
        """
        length = len(self.asked)
        if not messages or not self.asked or not same(self.asked[0], messages[0]):
            return None
        # Messages that were read once are one object, which is seen at once.
        alike = len(messages) >= length and (
            messages[:length] == self.asked or all(map(same, self.asked, messages))
        )
        if not alike:
            return self._without_calls(messages)
        if len(messages) == length:
            return self._asked_again(retried, begun)
        if self.reply:
            return self._with_echo(messages[length:])
        return Fit(length, UNSEEN if messages[length].role == "assistant" else EXACT, length)

    def _asked_again(self, retried: bool, begun: str | None) -> Fit | None:
        length, reply = len(self.asked), self.reply
        if self.failed or retried:
            return Fit(length, EXACT, length, again=True)
        if begun and reply and not reply.calls and _words(reply.content) == _words(begun):
            return Fit(length, EXACT, length, resumed=True)
        return None

    def _with_echo(self, behind: Sequence[Message]) -> Fit:
        """Find the reply in what stands behind the old request, up to the user's next words.

        Calls that the reply's sender made by itself may stand before it, and are part of the echo.
        """
        assert self.reply is not None
        length, reply = len(self.asked), self.reply
        turn = tuple(takewhile(lambda message: message.role != "user", behind))
        place = next((i for i, message in enumerate(turn, 1) if echo(reply, message) == EXACT), 0)
        if not place:
            place = len(tuple(takewhile(lambda message: message.role == "assistant", turn)))
            quality = EDITED if place else DROPPED
        else:
            quality = EXACT
            more = takewhile(lambda message: message.role == "assistant", turn[place:])
            place += len(tuple(more))
        return Fit(length, quality, length + place, turn[:place])

    def _without_calls(self, messages: Sequence[Message]) -> Fit | None:
        """Fit a history from which the client left out calls and what tools answered: words alone."""
        known = (*self.asked, self.reply) if self.reply else ()
        words = [message for message in known if message.role != "tool" and not message.calls]
        whole = len(words) >= 2 and words[-1] is self.reply
        if whole and len(words) < len(messages) and all(map(same, words, messages)):
            return Fit(len(words), DROPPED, len(words))
        return None

    def is_tried_again(self, messages: Sequence[Message], retried: bool) -> bool:
        """Say whether the very messages that the last request brought come once more, since that failed."""
        asked = self.asked[-len(messages) :] if messages else ()
        return (self.failed or retried) and asked == tuple(messages)

    def leaves(self, messages: Sequence[Message]) -> Leaving | None:
        """Say where messages leave this thread, or None where they do not, or before any answer."""
        shared = sum(1 for _ in takewhile(lambda pair: same(*pair), zip(self.asked, messages, strict=False)))
        number = max((i for i, asking in enumerate(self.log) if asking.start <= shared), default=0)
        while number and self.log[number].again:
            number -= 1
        return Leaving(shared, number) if number else None

    def tail(self, messages: Sequence[Message], compacted: bool = False) -> Fit | None:
        """Say how messages that begin otherwise go on from this thread's end; they may begin with the
        reply itself where the vendor `compacted` what was before."""
        places = range(len(messages) - 1, -1, -1)
        place = next((i for i in places if self._ends(messages, i, compacted)), None)
        if place is None:
            return None
        pairs = zip(reversed(self.asked), reversed(messages[:place]), strict=False)
        begin = place - sum(1 for _ in takewhile(lambda pair: same(*pair), pairs))
        more = sum(1 for _ in takewhile(lambda one: one.role == "assistant", messages[place:]))
        start = place + more
        segment = "rewritten" if begin else None if self.shortened else "compacted"
        fit = Fit(place - begin, EXACT, start, tuple(messages[place:start]))
        return replace(fit, segment=segment, prelude=tuple(messages[:begin]))

    def _ends(self, messages: Sequence[Message], place: int, compacted: bool) -> bool:
        """Say whether the reply stands at a place, surely: behind what it answered, or by its calls' ids."""
        reply, message = self.reply, messages[place]
        if reply is None or message.role != "assistant" or echo(reply, message) != EXACT:
            return False
        if place and self.asked and same(self.asked[-1], messages[place - 1]):
            return True
        if compacted and not place:
            return True
        told = {call.call_id: call for call in reply.calls if call.call_id}
        return any(c.call_id in told and says_the_same(told[c.call_id], c) for c in message.calls)

    def advance(
        self,
        messages: Sequence[Message],
        reply: Message | None,
        failed: bool,
        fit: Fit | None = None,
        made_at: float = 0.0,
    ) -> None:
        """Take in a request and what came back."""
        self.log.append(Asking(fit.start if fit else 0, made_at, bool(fit and fit.again)))
        self.asked, self.reply, self.failed = tuple(messages), reply, failed


def best(
    threads: Sequence[Thread], messages: Sequence[Message], retried: bool = False, begun: str | None = None
) -> tuple[Thread, Fit] | None:
    """Give the thread with the longest common history, the newest among equals."""
    fitting = [(t, fit) for t in threads if (fit := t.fit(messages, retried, begun))]
    return max(reversed(fitting), key=lambda pair: pair[1], default=None)
