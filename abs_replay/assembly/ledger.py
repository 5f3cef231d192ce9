"""What was told of a conversation so far: its steps in the making, and its calls with their answers.

A call and its answer may be seen several times, and stand once: they are found by id, else by name and
arguments, else by name and what is still open.
"""

from abs_replay.assembly.drafts import Asked, Draft, Note
from abs_replay.assembly.sightings import Seen
from abs_replay.assembly.threads import passes_on, says_the_same
from abs_replay.decoders import Call, Message, Served
from abs_replay.trace import Source, Usage, Visibility

_REPEATED = "a request's history repeats it"


class Ledger:
    """Steps and calls, in the order in which they were told."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self.asked: list[Asked] = []
        self._groups = 0

    def add(self, draft: Draft, sources: tuple[Source, ...], text: str) -> Draft:
        draft.show(sources, text)
        self.drafts.append(draft)
        return draft

    def drop(self, dropped: list[Draft]) -> None:
        """Take back what was told."""
        self.drafts = [draft for draft in self.drafts if draft not in dropped]
        self.asked = [asked for asked in self.asked if asked.draft not in dropped]

    def group(self) -> str:
        """Name a further group of calls made side by side."""
        self._groups += 1
        return f"p{self._groups}"

    def call(
        self,
        call: Call,
        seen: Seen,
        time: float,
        group: str | None = None,
        shown: bool = False,
        history: bool = False,
        again: bool = False,
    ) -> tuple[Draft, bool]:
        """Tell a call once, and say whether it is new: an agent's answer may repeat what its model called.

        `again` where any earlier call of that id is this one, in `history` as in paused replies.
        """
        source = Source(seen.exchange.id if history else seen.answered_by, call.at)
        known = self._known(call, seen, shown, history or again)
        if known:
            known.shown = known.shown or shown
            what = _REPEATED if history else f"{seen.exchange.channel} shows it too"
            known.draft.show((source,), what)
            return known.draft, False
        draft = Draft("assistant", "calls", time, call.name, None, call.arguments, call.call_id, group=group)
        what = "a request's history shows the call" if history else "the reply asks for the call"
        self.asked.append(Asked(call, draft, seen.start, shown=shown))
        return self.add(draft, (source,), what), True

    def served(
        self, part: Served, seen: Seen, time: float, history: bool = False
    ) -> tuple[Draft, list[Draft]]:
        """Tell a call that the answering side carried out itself, and its result if that was seen; give
        the call, and which of both are new."""
        draft, new = self.call(part.call, seen, time, history=history, again=True)
        asked = next(one for one in reversed(self.asked) if one.draft is draft)
        asked.told = asked.told or time
        made = [draft] if new else []
        sources = (Source(seen.exchange.id if history else seen.answered_by, part.at),)
        if asked.response and part.answered:
            asked.response.show(sources, _REPEATED if history else "a reply holds it again")
        elif part.answered:
            result = Draft("tool", "responds", time, part.call.name, part.content, call_id=part.call.call_id)
            result.error, asked.response = part.error, result
            why = "a request's history shows it" if history else "the reply holds the call's result"
            made.append(self.add(result, sources, why))
        return draft, made

    def _known(self, call: Call, seen: Seen, shown: bool, history: bool) -> Asked | None:
        """Find a call that the conversation has already: by its id, else behind the agent's answer.

        Simple agents give one id again and again; in an answer, an id is known only while its call
        is open or where it was made within that very exchange.
        """
        for asked in reversed(self.asked):
            recent = asked.told is None or asked.since >= seen.start
            if asked.goes_by(call.call_id) and call.name == asked.call.name and (recent or history):
                return asked
        within = [a for a in self.asked if shown and not a.shown and a.since >= seen.start]
        return next((asked for asked in within if says_the_same(call, asked.call)), None)

    def echoed(self, call: Call, seen: Seen) -> None:
        """Learn from an echo the id that a client made up, or a call that it added."""
        found = next((asked for asked in self.asked if asked.goes_by(call.call_id)), None)
        if found is None:
            open_ = [asked for asked in self.asked if asked.told is None and not asked.ids]
            found = next((asked for asked in open_ if says_the_same(asked.call, call)), None)
            if found and call.call_id:
                found.ids.add(call.call_id)
        if found is None:
            self.call(call, seen, seen.start, shown=True, history=True)
            return
        by = "" if found.call.call_id == call.call_id else ", by another id"
        found.draft.notes.append(Note("echo", seen.exchange.id, call.at, f"the next request repeats it{by}"))

    def cut(self, call: Call, seen: Seen) -> None:
        """Note that a client left a call out of what it repeats: what answers the same call later does
        not answer this one."""
        for asked in self.asked:
            if asked.told is None and asked.goes_by(call.call_id) and asked.response is None:
                asked.told, asked.cut = seen.start, True
                text = "the next request leaves the call out"
                asked.draft.notes.append(Note("echo", seen.exchange.id, "request", text))

    def made_again(self) -> list[Asked]:
        """Give the calls that a client left out, that nothing answered, and that the model made again:
        they were carried out then, and are one call for whoever counts calls."""
        return [
            asked
            for place, asked in enumerate(self.asked)
            if asked.cut
            and asked.response is None
            and any(says_the_same(asked.call, later.call) for later in self.asked[place + 1 :])
        ]

    def told(self, message: Message, seen: Seen, known_only: bool = False) -> None:
        """Tell what a tool answered, as a later request repeats it."""
        asked, sources = self._answered(message), seen.sources(message)
        if asked and asked.response:
            asked.response.show(sources, _REPEATED)
            return
        if asked is None and known_only:
            return
        draft = Draft("tool", "responds", seen.start, content=message.content, call_id=message.call_id)
        draft.target = asked.draft.target if asked else message.name
        draft.error = message.error
        if asked:
            draft.call_id = asked.draft.call_id
            draft.began = asked.draft.time
            asked.told, asked.response = seen.start, draft
        self.add(draft, sources, "the request tells the model")

    def _answered(self, message: Message) -> Asked | None:
        """Find the call that a tool's message answers: by id, else the first open one of that name."""
        if message.call_id:
            found = [asked for asked in self.asked if asked.goes_by(message.call_id)]
            if found:
                return found[-1]
        # SDKs leave ids out of what they send back (Ollama's), and make them up where there were none.
        open_ = [a for a in self.asked if a.response is None and not (message.call_id and a.call.call_id)]
        named = [asked for asked in open_ if message.name in (None, asked.call.name)]
        return named[0] if named else None

    def absorb(self, visible: Draft, seen: Seen) -> None:
        """Merge into an agent's words those of its model that it passed on."""
        inner = [d for d in self.drafts if d.visibility is Visibility.INTERNAL and d.action == "responds"]
        for draft in inner:
            if draft.time >= seen.start and passes_on(visible.content, draft.content):
                self.drafts.remove(draft)
                visible.show(draft.sources, "the model said it before the agent did")
                visible.notes += [note for note in draft.notes if note.kind not in ("shown", "merged")]
                visible.retries += draft.retries
                visible.model = visible.model or draft.model
                visible.usage = added(visible.usage, draft.usage)


def added(left: Usage | None, right: Usage | None) -> Usage | None:
    """Add what was counted."""
    if left is None or right is None:
        return left or right
    return left + right
