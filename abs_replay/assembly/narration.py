"""What a conversation's turns tell, as drafts of steps: history once, echoes once, retries once.

The front's words are what the user said and saw. Words of a model behind an agent are internal,
unless the agent passed them on: then they are one step with both sources. Calls and what tools
answered are shown in either case: an author writes about them. Thoughts are internal always.
"""

from dataclasses import dataclass, field

from abs_replay import exact_json
from abs_replay.assembly.conversations import Conversation, Placed
from abs_replay.assembly.drafts import Draft, Moment, Note, moments
from abs_replay.assembly.ledger import Ledger, added
from abs_replay.assembly.sightings import Seen
from abs_replay.assembly.threads import holds, plain
from abs_replay.decoders import Call, Message, Part, Said, Served, Thought, Turn
from abs_replay.exact_json import Json
from abs_replay.exchange import Role
from abs_replay.trace import Source, Visibility

type _Thread = tuple[Role, int]


@dataclass(slots=True)
class _Attempt:
    """What the last request of a thread came to, and the attempts before that failed."""

    seen: Seen
    made: list[Draft] = field(default_factory=list)
    failed: list[Note] = field(default_factory=list)


class Narrator:
    """Tells one conversation, exchange by exchange."""

    def __init__(self, conversation: Conversation) -> None:
        self.front = conversation.front
        self.ledger = Ledger()
        self._attempts: dict[_Thread, _Attempt] = {}
        self._nested: set[int] = set()
        self._systems: list[Json] = []
        self._marked: set[int] = set()  # turns whose segment's first step is told
        for moment in moments(conversation):
            self._tell(moment)

    def _tell(self, moment: Moment) -> None:
        placed, told = moment.placed, len(self.ledger.drafts)
        if self._is_hidden(placed):
            if not moment.reply:
                self._hidden(placed)
        elif moment.reply:
            self._answer(placed, moment.time, Visibility.USER)
        else:
            self._request(placed)
        if placed.segment and id(placed) not in self._marked and len(self.ledger.drafts) > told:
            self._marked.add(id(placed))
            self.ledger.drafts[told].segment = placed.segment

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
        for message in placed.fresh:
            match message.role:
                case "user":
                    draft = Draft("user", "says", seen.start, content=message.content)
                    self.ledger.add(draft, seen.sources(message), "the request brings it")
                case "tool":
                    self.ledger.told(message, seen)
                case "assistant":
                    self._imported(message, seen)

    def _begin(self, placed: Placed) -> None:
        if placed.retry:
            self._forget(placed)
        self._system(placed)
        self._echoed(placed)

    def _imported(self, message: Message, seen: Seen) -> None:
        """Tell an assistant's message that only a later request's history shows."""
        if plain(message.content) is not None:
            draft = Draft("assistant", "responds", seen.start, content=message.content)
            self.ledger.add(draft, seen.sources(message), "only the request's history shows it")
        self._calls(message.calls, seen, seen.start, shown=True, history=True)

    # -- behind an agent ------------------------------------------------------

    def _hidden(self, placed: Placed) -> None:
        """Tell what a model behind the agent was told and said."""
        seen = placed.seen
        self._begin(placed)
        last = len(placed.fresh) - 1
        for index, message in enumerate(placed.fresh):
            if message.role == "user":
                self._prompt(message, seen, last=index == last)
            elif message.role == "tool":
                self.ledger.told(message, seen, known_only=placed.opens)
            elif message.role == "assistant" and not placed.opens:
                self._calls(message.calls, seen, seen.start, shown=False, history=True)
        self._answer(placed, seen.end, Visibility.INTERNAL)

    def _prompt(self, message: Message, seen: Seen, last: bool) -> None:
        """Find the user's words in a prompt; a prompt of the agent's own is internal."""
        for draft in reversed(self.ledger.drafts):
            if draft.actor == "user" and holds(message.content, draft.content):
                draft.show(seen.sources(message), "the agent's prompt to the model holds it")
                return
        if last:
            self._prompted(message, seen, "the agent's own prompt")

    # -- both -----------------------------------------------------------------

    def _prompted(self, message: Message, seen: Seen, why: str) -> None:
        prompt = Draft("system", "says", seen.start, content=message.content)
        prompt.visibility = Visibility.INTERNAL
        self.ledger.add(prompt, seen.sources(message), why)

    def _system(self, placed: Placed) -> None:
        """Tell a system prompt where it is new to the conversation."""
        for message in placed.seen.systems:
            if not any(exact_json.equal(message.content, old) for old in self._systems):
                self._systems.append(message.content)
                draft = Draft("system", "says", placed.seen.start, content=message.content)
                self.ledger.add(draft, placed.seen.sources(message), "the request brings it")

    def _echoed(self, placed: Placed) -> None:
        """Learn from an echo the ids that a client made up, and the calls that it added."""
        seen = placed.seen
        before = self._attempts.get((seen.role, placed.thread))
        for message in placed.echoes:
            for call in message.calls:
                self.ledger.echoed(call, seen)
            if message.role == "tool":
                self.ledger.told(message, seen)
            elif before and not message.calls:
                self._noted(message, seen, before.made)

    @staticmethod
    def _noted(message: Message, seen: Seen, made: list[Draft]) -> None:
        said = next((draft for draft in made if draft.action == "responds"), None)
        if said:
            same = exact_json.equal(plain(said.content), plain(message.content))
            how = "the next request repeats it" if same else "the next request repeats it, edited"
            said.notes.append(Note("echo", seen.exchange.id, message.at, how))

    def _answer(self, placed: Placed, time: float, visibility: Visibility) -> None:
        """Tell what came back, or that nothing did."""
        seen, turn = placed.seen, placed.seen.turn
        assert turn is not None
        before = self._attempts.get((seen.role, placed.thread))
        attempt = _Attempt(seen, failed=before.failed if before and placed.retry else [])
        self._attempts[seen.role, placed.thread] = attempt
        if turn.reply and not _is_void(turn):
            attempt.made = self._reply(placed, turn.reply, visibility, time)
        if turn.error and not attempt.made:
            attempt.made = [self._failure(placed, visibility)]
        if attempt.made and attempt.failed:
            first = next((draft for draft in attempt.made if draft.action != "thinks"), attempt.made[0])
            first.notes += attempt.failed
            first.retries = len(attempt.failed)
        if visibility is Visibility.USER:
            for draft in attempt.made:
                if draft.action == "responds" and draft.actor == "assistant":
                    self.ledger.absorb(draft, seen)

    def _reply(self, placed: Placed, reply: Message, visibility: Visibility, time: float) -> list[Draft]:
        """Tell a reply, part by part. Usage stands on the first step of it that is no thought."""
        seen, turn = placed.seen, placed.seen.turn
        assert turn is not None
        shown = visibility is Visibility.USER
        parts = reply.parts or _parts(reply)
        group = self.ledger.group() if sum(isinstance(part, Call) for part in parts) > 1 else None
        made: list[Draft] = []
        known: list[Draft] = []
        for part in parts:
            match part:
                case Said() | Thought():
                    made.append(self._said(part, seen, time, visibility, reply))
                case Call():
                    draft, new = self.ledger.call(part, seen, time, group, shown)
                    (made if new else known).append(draft)
                case Served():
                    made += self.ledger.served(part, seen, time)
        for draft in made:
            if draft.actor == "assistant":
                draft.model = draft.model or turn.model
        said = next((draft for draft in made if draft.action != "thinks"), None)
        if said or made:
            first = said or made[0]
            first.error = first.error or turn.error
        for draft in [*([said] if said else []), *made, *known][:1]:
            draft.usage = added(draft.usage, turn.usage)
        return made

    def _said(
        self, part: Said | Thought, seen: Seen, time: float, visibility: Visibility, reply: Message
    ) -> Draft:
        sources = tuple(Source(one.exchange, part.at or one.at) for one in seen.sources(reply)[:1])
        sources += seen.sources(reply)[1:]
        if isinstance(part, Thought):
            draft = Draft("assistant", "thinks", time, content=part.text, began=seen.start)
            draft.visibility = Visibility.INTERNAL
            return self.ledger.add(draft, sources, "the reply shows what the model thought")
        draft = Draft("assistant", "responds", time, content=part.content, began=seen.start)
        draft.visibility = visibility
        return self.ledger.add(draft, sources, "the reply says it")

    def _calls(
        self, calls: tuple[Call, ...], seen: Seen, time: float, shown: bool, history: bool = False
    ) -> None:
        """Tell calls that a request's history shows."""
        group = self.ledger.group() if len(calls) > 1 else None
        for call in calls:
            self.ledger.call(call, seen, time, group, shown, history)

    def _failure(self, placed: Placed, visibility: Visibility) -> Draft:
        """Tell that no reply came. It is nobody's words, so no behavior can take it for an answer."""
        seen, turn = placed.seen, placed.seen.turn
        assert turn is not None
        draft = Draft(
            "system", "fails", seen.end, str(seen.exchange.channel), began=seen.start, error=turn.error
        )
        draft.visibility = visibility
        return self.ledger.add(draft, (Source(seen.exchange.id, "response"),), "no answer came")

    def _forget(self, placed: Placed) -> None:
        """Drop what a failed attempt said, now that it is tried again."""
        attempt = self._attempts.get((placed.seen.role, placed.thread))
        if attempt is None:
            return
        self.ledger.drop(attempt.made)
        turn = attempt.seen.turn
        why = (turn and turn.error) or "its client says that it asks again"
        attempt.failed.append(
            Note("retry", attempt.seen.exchange.id, "response", f"{why}; it was tried again")
        )
        attempt.made = []


def _parts(reply: Message) -> tuple[Part, ...]:
    """Give the parts of a plain message: its words, then its calls."""
    said = () if plain(reply.content) is None and reply.calls else (Said(reply.content, reply.at),)
    return (*said, *reply.calls)


def _is_void(turn: Turn) -> bool:
    """Say whether a reply broke off before it said anything."""
    reply = turn.reply
    return bool(turn.error and reply and plain(reply.content) is None and not reply.calls and not reply.parts)
