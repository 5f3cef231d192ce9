"""What a conversation's turns tell, as drafts of steps: history once, echoes once, retries once.

The front's words are what the user said and saw. Words of a model behind an agent are internal,
unless the agent passed them on: then they are one step with both sources. Calls and what tools
answered are shown in either case: an author writes about them.
"""

from abs_replay import exact_json
from abs_replay.assembly.conversations import Conversation, Placed, Seen
from abs_replay.assembly.drafts import Asked, Draft, Moment, moments
from abs_replay.assembly.threads import holds, passes_on, plain, says_the_same
from abs_replay.decoders import Call, Message, Turn
from abs_replay.exchange import Role
from abs_replay.trace import Source, Usage, Visibility


class Narrator:
    """Tells one conversation, exchange by exchange."""

    def __init__(self, conversation: Conversation) -> None:
        self.front = conversation.front
        self.drafts: list[Draft] = []
        self.asked: list[Asked] = []
        self._attempts: dict[tuple[Role, int], list[Draft]] = {}
        self._groups = 0
        self._nested: set[int] = set()
        for moment in moments(conversation):
            self._tell(moment)

    def _tell(self, moment: Moment) -> None:
        placed = moment.placed
        if self._is_hidden(placed):
            if not moment.reply:
                self._hidden(placed)
        elif moment.reply:
            self._answer(placed, moment.time)
        else:
            self._request(placed)

    def _is_hidden(self, placed: Placed) -> bool:
        """Say whether a turn runs behind the front: a model's behind an agent, or a thread within a call."""
        if placed.seen.role is not self.front:
            return True
        within_call = any(asked.told is None for asked in self.asked)
        if self.front is Role.LLM and placed.opens and placed.thread and within_call:
            self._nested.add(placed.thread)
        return placed.thread in self._nested

    # -- the front ------------------------------------------------------------

    def _request(self, placed: Placed) -> None:
        """Tell what a front request says that is new."""
        if placed.retry:
            self._forget(placed)
        self._system(placed)
        self._echoed(placed)
        for message in self._news(placed):
            source = Source(placed.seen.exchange.id, message.at)
            match message.role:
                case "user":
                    self._add(Draft("user", "says", placed.seen.start, content=message.content), source)
                case "tool":
                    self._told(message, placed.seen, source)
                case "assistant":
                    self._imported(message, placed.seen, source)

    def _news(self, placed: Placed) -> tuple[Message, ...]:
        """Give what is new. A further thread (a compacted history) may begin with what was told before."""
        fresh = placed.fresh
        if not (placed.opens and placed.thread):
            return fresh
        last = max((i for i, m in enumerate(fresh) if m.role in ("assistant", "tool")), default=-1)
        return tuple(m for i, m in enumerate(fresh) if i > last or not self._was_told(m))

    def _was_told(self, message: Message) -> bool:
        if message.role == "tool" or message.calls:
            return False  # those are known by their calls
        said = [draft for draft in self.drafts if draft.actor == message.role]
        return any(exact_json.equal(plain(draft.content), plain(message.content)) for draft in said)

    def _answer(self, placed: Placed, time: float) -> None:
        """Tell what the front answered."""
        seen, turn = placed.seen, placed.seen.turn
        assert turn is not None
        made: list[Draft] = []
        if turn.reply and not _is_void(turn):
            made = self._reply(placed, turn.reply, Visibility.USER, time)
        if turn.error and not made:
            made = [self._failure(placed, Visibility.USER)]
        self._attempts[seen.role, placed.thread] = made

    def _imported(self, message: Message, seen: Seen, source: Source) -> None:
        """Tell an assistant's message that only a later request's history shows."""
        if plain(message.content) is not None:
            self._add(Draft("assistant", "responds", seen.start, content=message.content), source)
        self._calls(message.calls, seen, seen.start, shown=True, history=True)

    # -- behind an agent ------------------------------------------------------

    def _hidden(self, placed: Placed) -> None:
        """Tell what a model behind the agent was told and said."""
        seen, turn = placed.seen, placed.seen.turn
        assert turn is not None
        if placed.retry:
            self._forget(placed)
        self._system(placed)
        self._echoed(placed)
        last = len(placed.fresh) - 1
        for index, message in enumerate(placed.fresh):
            source = Source(seen.exchange.id, message.at)
            if message.role == "user":
                self._prompt(message, seen, source, last=index == last)
            elif message.role == "tool":
                self._told(message, seen, source, known_only=placed.opens)
            elif message.role == "assistant" and not placed.opens:
                self._calls(message.calls, seen, seen.start, shown=False, history=True)
        made: list[Draft] = []
        if turn.reply and not _is_void(turn):
            made = self._reply(placed, turn.reply, Visibility.INTERNAL, seen.end)
        if turn.error and not made:
            made = [self._failure(placed, Visibility.INTERNAL)]
        self._attempts[seen.role, placed.thread] = made

    def _prompt(self, message: Message, seen: Seen, source: Source, last: bool) -> None:
        """Find the user's words in a prompt; a prompt of the agent's own is internal."""
        for draft in reversed(self.drafts):
            if draft.actor == "user" and holds(message.content, draft.content):
                draft.sources.append(source)
                return
        if last:
            prompt = Draft("system", "says", seen.start, content=message.content)
            prompt.visibility = Visibility.INTERNAL
            self._add(prompt, source)

    # -- both -----------------------------------------------------------------

    def _add(self, draft: Draft, source: Source) -> Draft:
        draft.sources.append(source)
        self.drafts.append(draft)
        return draft

    def _system(self, placed: Placed) -> None:
        """Tell a system prompt where it is new to the conversation."""
        assert placed.seen.turn is not None
        told = [draft.content for draft in self.drafts if draft.actor == "system"]
        for message in placed.seen.turn.history:
            if message.role == "system" and not any(exact_json.equal(message.content, old) for old in told):
                told.append(message.content)
                source = Source(placed.seen.exchange.id, message.at)
                self._add(Draft("system", "says", placed.seen.start, content=message.content), source)

    def _echoed(self, placed: Placed) -> None:
        """Learn from an echo the ids that a client made up, and the calls that it added."""
        seen = placed.seen
        for message in placed.echoes:
            self._echoed_calls(message, seen)
            if message.role == "tool":
                self._told(message, seen, Source(seen.exchange.id, message.at))

    def _echoed_calls(self, message: Message, seen: Seen) -> None:
        for call in message.calls:
            if any(asked.goes_by(call.call_id) for asked in self.asked):
                continue
            open_ = [asked for asked in self.asked if asked.told is None and not asked.ids]
            known = next((asked for asked in open_ if says_the_same(asked.call, call)), None)
            if known and call.call_id:
                known.ids.add(call.call_id)
            elif known is None:
                self._calls((call,), seen, seen.start, shown=True, history=True)

    def _reply(self, placed: Placed, reply: Message, visibility: Visibility, time: float) -> list[Draft]:
        """Tell a reply: its words, then its calls. Usage stands on the first step of it."""
        seen, turn = placed.seen, placed.seen.turn
        assert turn is not None
        made: list[Draft] = []
        if plain(reply.content) is not None or not reply.calls:
            draft = Draft("assistant", "responds", time, content=reply.content, began=seen.start)
            draft.visibility = visibility
            made.append(self._add(draft, Source(seen.exchange.id, reply.at)))
        made += self._calls(reply.calls, seen, time, shown=visibility is Visibility.USER)
        for draft in made:
            draft.model = draft.model or turn.model
        if made:
            made[0].usage = made[0].usage or turn.usage
            made[0].error = turn.error
            if visibility is Visibility.USER and made[0].action == "responds":
                self._absorb(made[0], seen)
        return made

    def _absorb(self, visible: Draft, seen: Seen) -> None:
        """Merge into an agent's words those of its model that it passed on."""
        for draft in [
            d for d in self.drafts if d.visibility is Visibility.INTERNAL and d.action == "responds"
        ]:
            if draft.time >= seen.start and passes_on(visible.content, draft.content):
                self.drafts.remove(draft)
                visible.sources += draft.sources
                visible.model = visible.model or draft.model
                visible.usage = _sum(visible.usage, draft.usage)

    def _calls(
        self, calls: tuple[Call, ...], seen: Seen, time: float, shown: bool, history: bool = False
    ) -> list[Draft]:
        """Tell calls, each once: the agent's answer may repeat what its model called."""
        group = None
        if len(calls) > 1:
            self._groups += 1
            group = f"p{self._groups}"
        made: list[Draft] = []
        for call in calls:
            source = Source(seen.exchange.id, call.at)
            known = self._known(call, seen, shown, history)
            if known:
                known.shown = known.shown or shown
                known.draft.sources.append(source)
                continue
            draft = Draft("assistant", "calls", time, call.name, None, call.arguments, call.call_id)
            draft.group = group
            made.append(self._add(draft, source))
            self.asked.append(Asked(call, draft, seen.start, shown=shown))
        return made

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

    def _told(self, message: Message, seen: Seen, source: Source, known_only: bool = False) -> None:
        """Tell what a tool answered, as a later request repeats it."""
        asked = self._answered(message)
        if asked and asked.response:
            asked.response.sources.append(source)
            return
        if asked is None and known_only:
            return
        draft = Draft("tool", "responds", seen.start, content=message.content, call_id=message.call_id)
        draft.target = asked.draft.target if asked else message.name
        if asked:
            draft.call_id = asked.draft.call_id
            draft.began = asked.draft.time
            asked.told, asked.response = seen.start, draft
        self._add(draft, source)

    def _answered(self, message: Message) -> Asked | None:
        """Find the call that a tool's message answers: by id, else the first open one of that name."""
        if message.call_id:
            found = [asked for asked in self.asked if asked.goes_by(message.call_id)]
            if found:
                return found[-1]
        open_ = [asked for asked in self.asked if asked.response is None and not asked.call.call_id]
        named = [asked for asked in open_ if message.name in (None, asked.call.name)]
        return named[0] if named else None

    def _failure(self, placed: Placed, visibility: Visibility) -> Draft:
        """Tell that no reply came. It is nobody's words, so no behavior can take it for an answer."""
        seen, turn = placed.seen, placed.seen.turn
        assert turn is not None
        draft = Draft(
            "system", "fails", seen.end, str(seen.exchange.channel), began=seen.start, error=turn.error
        )
        draft.visibility = visibility
        return self._add(draft, Source(seen.exchange.id, "response"))

    def _forget(self, placed: Placed) -> None:
        """Drop what a failed attempt said, now that it is tried again."""
        dropped = self._attempts.pop((placed.seen.role, placed.thread), [])
        self.drafts = [draft for draft in self.drafts if draft not in dropped]
        self.asked = [asked for asked in self.asked if asked.draft not in dropped]


def _is_void(turn: Turn) -> bool:
    """Say whether a reply broke off before it said anything."""
    reply = turn.reply
    return bool(turn.error and reply and plain(reply.content) is None and not reply.calls)


def _sum(left: Usage | None, right: Usage | None) -> Usage | None:
    if left is None or right is None:
        return left or right
    return Usage(left.input_tokens + right.input_tokens, left.output_tokens + right.output_tokens)
