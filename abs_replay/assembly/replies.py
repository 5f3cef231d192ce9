"""What came back to requests: told part by part, once, whatever it took to get it.

An attempt that failed and was tried again is dropped, and counted on what came of it. An answer that was
cut short and gone on from is one answer, as the last request for it shows it.
"""

from dataclasses import dataclass, field

from abs_replay.assembly.conversations import Placed
from abs_replay.assembly.drafts import Draft, Note
from abs_replay.assembly.ledger import Ledger, added
from abs_replay.assembly.sightings import Seen
from abs_replay.assembly.threads import plain
from abs_replay.decoders import Call, Message, Part, Said, Thought, Turn
from abs_replay.exchange import Role
from abs_replay.trace import Source, Visibility

type _Thread = tuple[Role, int]


@dataclass(slots=True)
class Attempt:
    """What the last request of a thread came to, and the attempts before that failed."""

    seen: Seen
    made: list[Draft] = field(default_factory=list)
    failed: list[Note] = field(default_factory=list)


class Replies:
    """Tells what came back, thread by thread."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._attempts: dict[_Thread, Attempt] = {}

    def before(self, placed: Placed) -> Attempt | None:
        """Give what the thread's last request came to."""
        return self._attempts.get((placed.seen.role, placed.thread))

    def forget(self, placed: Placed) -> None:
        """Drop what a failed attempt said, now that it is tried again."""
        attempt = self.before(placed)
        assert attempt is not None  # a retry stands behind what it tries again, in the same thread
        self.ledger.drop(attempt.made)
        turn = attempt.seen.turn
        why = (turn and turn.error) or "its client says that it asks again"
        attempt.failed.append(
            Note("retry", attempt.seen.exchange.id, "response", f"{why}; it was tried again")
        )
        attempt.made = []

    def tell(self, placed: Placed, time: float, visibility: Visibility) -> None:
        """Tell what came back, or that nothing did."""
        seen, turn, before = placed.seen, placed.seen.turn, self.before(placed)
        assert turn is not None
        attempt = Attempt(seen, failed=before.failed if before and placed.retry else [])
        self._attempts[seen.role, placed.thread] = attempt
        reply = None if _is_void(turn) else turn.reply
        if reply:
            attempt.made = self._reply(placed, reply, visibility, time)
        if turn.error and not any(map(_is_said, attempt.made)):
            attempt.made.append(self._failure(placed, visibility, counted=bool(reply)))
        if turn.compacts:
            attempt.made.append(self._compaction(placed))
        if attempt.failed and attempt.made:
            first = next((one for one in attempt.made if one.action != "thinks"), attempt.made[-1])
            first.notes += attempt.failed
            first.retries = len(attempt.failed)
        if placed.resumed and before:
            self._go_on(before, attempt)
        if visibility is Visibility.USER:
            for draft in attempt.made:
                if draft.action == "responds" and draft.actor == "assistant":
                    self.ledger.absorb(draft, seen)

    def _go_on(self, before: Attempt, attempt: Attempt) -> None:
        """Put an answer that was cut short into the one that begins with it."""
        begun, whole = _words(before), _words(attempt)
        if begun is None or whole is None:
            return
        self.ledger.drop([begun])
        whole.began = begun.began
        whole.usage = added(begun.usage, whole.usage)
        whole.show(begun.sources, "an answer that was cut short, which this one goes on from")

    def _reply(self, placed: Placed, reply: Message, visibility: Visibility, time: float) -> list[Draft]:
        """Tell a reply, part by part. Usage stands on the first step of the model's that is no thought."""
        seen, turn = placed.seen, placed.seen.turn
        assert turn is not None
        shown = visibility is Visibility.USER
        parts = parts_of(reply)
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
                case _:
                    draft, more = self.ledger.served(part, seen, time)
                    made += more
                    known.append(draft)
        for draft in made:
            if draft.actor == "assistant":
                draft.model = draft.model or turn.model
        said = next(filter(_is_said, made), None)
        if said:
            said.error = said.error or turn.error
        own = [draft for draft in made if draft.actor == "assistant"]
        for draft in [*([said] if said else []), *own, *known][:1]:
            draft.usage = added(draft.usage, turn.usage)
        return made

    def _said(
        self, part: Said | Thought, seen: Seen, time: float, visibility: Visibility, reply: Message
    ) -> Draft:
        sources = shown_by(part, reply, seen)
        if isinstance(part, Thought):
            draft = Draft("assistant", "thinks", time, content=part.text, began=seen.start)
            draft.visibility = Visibility.INTERNAL
            return self.ledger.add(draft, sources, "the reply shows what the model thought")
        draft = Draft("assistant", "responds", time, content=part.content, began=seen.start)
        draft.visibility = visibility
        return self.ledger.add(draft, sources, "the reply says it")

    def _failure(self, placed: Placed, visibility: Visibility, counted: bool) -> Draft:
        """Tell that no reply came. It is nobody's words, so no behavior can take it for an answer. Usage
        stands here where it was not `counted` on a step before."""
        seen, turn = placed.seen, placed.seen.turn
        assert turn is not None
        draft = Draft(
            "system", "fails", seen.end, str(seen.exchange.channel), began=seen.start, error=turn.error
        )
        draft.visibility, draft.model = visibility, turn.model
        draft.usage = None if counted else turn.usage
        why = "what came is no reply" if seen.exchange.response else "no answer came"
        return self.ledger.add(draft, (Source(seen.exchange.id, "response"),), why)

    def _compaction(self, placed: Placed) -> Draft:
        """Tell that the model was paid to sum up what was said: no words, but tokens."""
        seen, turn = placed.seen, placed.seen.turn
        assert turn is not None
        draft = Draft("system", "compacts", seen.end, str(seen.exchange.channel), began=seen.start)
        draft.visibility, draft.model, draft.usage = Visibility.INTERNAL, turn.model, turn.usage
        return self.ledger.add(draft, (Source(seen.exchange.id, "response"),), "the history was compacted")


def parts_of(message: Message) -> tuple[Part, ...]:
    """Give a message's parts; of a plain one its words, then its calls."""
    if message.parts:
        return message.parts
    said = () if plain(message.content) is None and message.calls else (Said(message.content, message.at),)
    return (*said, *message.calls)


def shown_by(part: Said | Thought, message: Message, seen: Seen) -> tuple[Source, ...]:
    """Give what shows a part of a message."""
    first, *more = seen.sources(message)
    return (Source(first.exchange, part.at or first.at), *more)


def _words(attempt: Attempt) -> Draft | None:
    return next((draft for draft in attempt.made if draft.action == "responds"), None)


def _is_said(draft: Draft) -> bool:
    """Say whether a step is an answer of the model's, or a call: no thought, nor what a tool answered it."""
    return draft.actor == "assistant" and draft.action != "thinks"


def _is_void(turn: Turn) -> bool:
    """Say whether a reply broke off before it said anything."""
    reply = turn.reply
    return bool(turn.error and reply and plain(reply.content) is None and not reply.calls and not reply.parts)
