"""What a conversation's turns tell, as drafts of steps: history once, echoes once, retries once.

The front's words are what the user said and saw. Words of a model behind an agent are internal,
unless the agent passed them on: then they are one step with both sources. Calls and what tools
answered are shown in either case: an author writes about them. Thoughts are internal always.
"""

from collections.abc import Iterator
from itertools import dropwhile, takewhile
from typing import Final

from abs_replay import exact_json
from abs_replay.assembly.conversations import Conversation, Placed
from abs_replay.assembly.drafts import Draft, Moment, Note, moments
from abs_replay.assembly.echoes import read
from abs_replay.assembly.ledger import Ledger
from abs_replay.assembly.repeats import Repeats
from abs_replay.assembly.replies import Attempt, Replies, parts_of, shown_by
from abs_replay.assembly.sightings import Seen
from abs_replay.assembly.threads import holds, plain, same_call
from abs_replay.decoders import Call, Message, Said, Thought
from abs_replay.exchange import Role
from abs_replay.trace import Visibility

_ADDED: Final = "the request puts it behind what was answered"


class Narrator:
    """Tells one conversation, exchange by exchange."""

    def __init__(self, conversation: Conversation) -> None:
        self.front = conversation.front
        self.ledger = Ledger()
        self._replies = Replies(self.ledger)
        self._nested: set[int] = set()
        self._systems = Repeats()
        self._marked: set[int] = set()  # turns whose segment's first step is told
        self._rewritten: set[int] = set()  # turns that repeat the reply before in other words
        for moment in moments(conversation):
            self._tell(moment)

    def _tell(self, moment: Moment) -> None:
        placed, told = moment.placed, len(self.ledger.drafts)
        if self._is_hidden(placed):
            if not moment.reply:
                self._hidden(placed)
        elif moment.reply:
            self._replies.tell(placed, moment.time, Visibility.USER)
        else:
            self._request(placed)
        segment = placed.segment or ("rewritten" if id(placed) in self._rewritten else None)
        if segment and id(placed) not in self._marked and len(self.ledger.drafts) > told:
            self._marked.add(id(placed))
            self.ledger.drafts[told].segment = segment

    def _is_hidden(self, placed: Placed) -> bool:
        """Say whether a turn runs behind the front: a model's behind an agent, or a thread within a call."""
        if placed.seen.role is not self.front:
            return True
        other = placed.opens and placed.thread and placed.segment in (None, "separate")
        if self.front is Role.LLM and other and any(asked.told is None for asked in self.ledger.asked):
            self._nested.add(placed.thread)
        return placed.thread in self._nested

    # -- the front ------------------------------------------------------------

    def _request(self, placed: Placed) -> None:
        """Tell what a front request says that is new."""
        seen = placed.seen
        self._begin(placed)
        for message in placed.prelude:
            self._prompted(message, seen, "the request says it in place of the history before")
        for message, aside in _news(placed):
            if aside:
                self._aside(message, placed)
                continue
            match message.role:
                case "user":
                    draft = Draft("user", "says", seen.start, content=message.content)
                    self.ledger.add(draft, seen.sources(message), "the request brings it")
                case "tool":
                    self.ledger.told(message, seen)
                case "assistant":
                    self._imported(message, placed)
                case role if role != "system":
                    self._unknown(message, seen)

    def _begin(self, placed: Placed) -> None:
        """Tell what stands before the new messages."""
        if placed.retry:
            self._replies.forget(placed)
        self._systems.begin()
        before = [(place, one) for place, one in placed.asides if place <= 0 and one.role == "system"]
        for _, message in takewhile(lambda aside: aside[0] <= -placed.echoed, before):
            self._system(message, placed.seen)
        self._echoed(placed)
        for _, message in dropwhile(lambda aside: aside[0] <= -placed.echoed, before):
            self._system(message, placed.seen)

    def _aside(self, message: Message, placed: Placed) -> None:
        """Tell what stands between messages: a system message, or what the model's own side did."""
        if message.role == "system":
            self._system(message, placed.seen)
        else:
            self._imported(message, placed)

    def _imported(self, message: Message, placed: Placed) -> None:
        """Tell an assistant's message that only a later request's history shows."""
        seen, parts = placed.seen, parts_of(message)
        group = self.ledger.group() if len(message.calls) > 1 else None
        for part in parts:
            match part:
                case Said():
                    self._remembered(part, message, seen)
                case Thought():
                    self._remembered_thought(part, message, placed)
                case Call():
                    self.ledger.call(part, seen, seen.start, group, shown=True, history=True)
                case _:
                    self.ledger.served(part, seen, seen.start, history=True)

    def _remembered(self, part: Said, message: Message, seen: Seen) -> None:
        if plain(part.content) is not None:
            draft = Draft("assistant", "responds", seen.start, content=part.content)
            self.ledger.add(draft, shown_by(part, message, seen), "only the request's history shows it")

    def _remembered_thought(self, part: Thought, message: Message, placed: Placed) -> None:
        """Tell a thought of a history from before; later, clients repeat those of replies anywhere."""
        if placed.opens and not placed.segment:
            draft = Draft("assistant", "thinks", placed.seen.start, content=part.text)
            draft.visibility = Visibility.INTERNAL
            sources = shown_by(part, message, placed.seen)
            self.ledger.add(draft, sources, "only the request's history shows it")

    # -- behind an agent ------------------------------------------------------

    def _hidden(self, placed: Placed) -> None:
        """Tell what a model behind the agent was told and said."""
        seen = placed.seen
        self._begin(placed)
        last = len(placed.fresh) - 1
        for index, (message, aside) in enumerate(_news(placed)):
            if aside:
                last += 1
                if message.role == "system":
                    self._system(message, seen)
            elif message.role == "user":
                self._prompt(message, seen, last=index == last)
            elif message.role == "tool":
                self.ledger.told(message, seen, known_only=placed.opens)
            elif message.role == "assistant" and not placed.opens:
                self._calls(message.calls, seen)
            elif message.role not in ("assistant", "system"):
                self._unknown(message, seen)
        self._replies.tell(placed, seen.end, Visibility.INTERNAL)

    def _prompt(self, message: Message, seen: Seen, last: bool) -> None:
        """Find the user's words in a prompt; a prompt of the agent's own is internal."""
        for draft in reversed(self.ledger.drafts):
            if draft.actor == "user" and holds(message.content, draft.content):
                draft.show(seen.sources(message), "the agent's prompt to the model holds it")
                return
        if last:
            self._prompted(message, seen, "the agent's own prompt")

    def _calls(self, calls: tuple[Call, ...], seen: Seen) -> None:
        """Tell calls that a request's history shows."""
        group = self.ledger.group() if len(calls) > 1 else None
        for call in calls:
            self.ledger.call(call, seen, seen.start, group, history=True)

    # -- both -----------------------------------------------------------------

    def _prompted(self, message: Message, seen: Seen, why: str) -> None:
        prompt = Draft("system", "says", seen.start, content=message.content)
        prompt.visibility = Visibility.INTERNAL
        self.ledger.add(prompt, seen.sources(message), why)

    def _unknown(self, message: Message, seen: Seen) -> None:
        """Tell words of a role that no API knows: whose they are, only the agent's author can say."""
        why = f"the request brings it, in the unknown role {message.role!r}"
        for draft in self.ledger.drafts:
            again = any(note.at == message.at and note.text == why for note in draft.notes)
            if again and exact_json.equal(draft.content, message.content):
                draft.show(seen.sources(message), why)
                return
        self._prompted(message, seen, why)

    def _system(self, message: Message, seen: Seen) -> None:
        """Tell a system message where the conversation did not have it yet, or not so often."""
        if self._systems.is_further(message.content):
            draft = Draft("system", "says", seen.start, content=message.content)
            self.ledger.add(draft, seen.sources(message), "the request brings it")

    def _echoed(self, placed: Placed) -> None:
        """Learn from an echo the ids that a client made up, and the calls and words that it added or left
        out."""
        seen, before = placed.seen, self._replies.before(placed)
        for message in placed.echoes:
            for call in message.calls:
                self.ledger.echoed(call, seen)
            if message.role == "tool":
                self.ledger.told(message, seen)
        if before:
            self._repeated(placed, before)
            for call in _left_out(before, placed):
                self.ledger.cut(call, seen)

    def _repeated(self, placed: Placed, before: Attempt) -> None:
        """Tell what a client put behind a reply's words, and note what else it made of them."""
        reply = before.seen.turn.reply if before.seen.turn else None
        messages = [message for message in placed.echoes if message.role == "assistant"]
        found = list(read(reply, messages)) if reply else []
        said = next((draft for draft in before.made if draft.action == "responds"), None)
        for one in found:
            if said and one.how:
                said.notes.append(Note("echo", placed.seen.exchange.id, one.message.at, one.how))
            if one.added:
                self._prompted(Message(one.message.role, one.added, at=one.message.at), placed.seen, _ADDED)
        if any(one.rewritten for one in found) and not any(one.is_whole for one in found):
            self._rewritten.add(id(placed))


def _news(placed: Placed) -> Iterator[tuple[Message, bool]]:
    """Give what is new in order, and whether it is an aside. Those before the first message are told
    before, or were in the reply that is repeated; where a conversation opens, there is none."""
    first = 0 if placed.opens and not placed.repeated and not placed.echoes else 1
    asides = [(place, one) for place, one in placed.asides if place >= (first if one.role != "system" else 1)]
    asides.reverse()
    for index, message in enumerate(placed.fresh):
        while asides and asides[-1][0] <= index:
            yield asides.pop()[1], True
        yield message, False
    yield from ((message, True) for _, message in reversed(asides))


def _left_out(before: Attempt, placed: Placed) -> list[Call]:
    """Give the calls of the reply that a client left out of its echo, where it kept others."""
    reply = before.seen.turn.reply if before.seen.turn else None
    if reply is None or len(reply.calls) < 2:
        return []
    kept = [call for message in (*placed.echoes, *placed.fresh) for call in message.calls]
    told = {message.call_id for message in placed.fresh if message.role == "tool"} - {None}
    gone = [c for c in reply.calls if c.call_id not in told and not any(same_call(c, one) for one in kept)]
    return gone if len(gone) < len(reply.calls) else []
