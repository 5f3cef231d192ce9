"""Which exchanges belong to one conversation.

The front is the agent channel where it speaks, else the model's. A front request joins by an
explicit id (the answer it goes on from, `x-abs-session`, a configured key, a session the protocol
names), else by the longest common history, else by trace id (W3C traceparent), else it opens a
conversation. What runs behind an agent joins the conversation whose id it bears, within whose exchange
it ran, whose thread it continues, or whose words it carries, in that order, each rule choosing among
what those before it left. What no model asked a tool for belongs where it lies, or nearly lies, in time.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

from abs_replay.assembly.conversations import Conversation, user_texts
from abs_replay.assembly.known import Known
from abs_replay.assembly.nearness import NEAR_MS, Awaiting, Running, Times, why_near
from abs_replay.assembly.pairing import agreement, same_use
from abs_replay.assembly.sightings import Seen, by_time
from abs_replay.assembly.threads import best
from abs_replay.decoders import Message
from abs_replay.exchange import Role


def group(everything: Iterable[Seen]) -> list[Conversation]:
    """Sort exchanges into conversations; those that say nothing are left out."""
    ordered = sorted(everything, key=by_time)
    by_role = {role: [s for s in ordered if s.turn and s.role is role] for role in Role}
    front = Role.AGENT if by_role[Role.AGENT] else Role.LLM
    agents = Known(front)
    for one in by_role[front]:
        _join(agents, one)
    found = list(agents.all)
    if front is Role.AGENT:
        found += _behind(agents, by_role[Role.LLM])
    tools, times = _Near(found), Times(found)
    for one in (s for s in ordered if not s.turn and s.decoded.protocol):
        near, running = tools.of(one)
        _place_use(found, near, one, running, times)
    return [conversation for conversation in found if conversation.members]


def _join(known: Known, one: Seen) -> None:
    """Put a front turn into the conversation that it continues, one that leaves it, or a new one."""
    place = known.continued(one)
    if place is None:
        home, thread, fit = Conversation(one.key, known.front), None, None
        known.add(home)
    elif place.leaving:
        home, thread, fit = place.home.branch(place.thread, place.leaving)
        known.add(home)
    else:
        home = place.home
        thread, fit = (place.thread, place.fit) if place.fit else (None, None)
    known.learn(home, home.place(one, thread, fit), one)


def _behind(agents: Known, turns: Iterable[Seen]) -> list[Conversation]:
    """Place what models were asked behind agents, and give the conversations of those that no agent asked."""
    running, others = Running(agents.all), Known(Role.LLM)
    for one in turns:
        open_ = running.at(one.start)
        near = [] if one.key or one.trace_id else open_
        home = _home_of_turn(near or agents.all, one, set(map(id, open_)))
        if home:
            home.place(one)
        else:
            _join(others, one)
    return others.all


type _Test = Callable[[Conversation], float]


def _narrow(pool: list[Conversation], *tests: _Test) -> tuple[list[Conversation], bool]:
    """Keep, test by test, those that score best; a test that none passes changes nothing."""
    told = False
    for test in tests:
        if told and len(pool) == 1:
            break
        scores = [test(conversation) for conversation in pool]
        highest = max(scores, default=0.0)
        if highest > 0:
            told = True
            pool = [c for c, score in zip(pool, scores, strict=True) if score == highest]
    return pool, told


def _open_to(found: Iterable[Conversation], one: Seen) -> list[Conversation]:
    """Give the conversation that an explicit id names, else those that it does not rule out."""
    if not one.key:
        return list(found)
    named = [c for c in found if c.key == one.key]
    return named or [c for c in found if not c.key]


def _home_of_turn(agents: Sequence[Conversation], one: Seen, running: set[int]) -> Conversation | None:
    asked = _Words(one.messages)
    pool, told = _narrow(
        _open_to(agents, one),
        lambda c: bool(one.key and c.key == one.key),
        lambda c: one.trace_id in c.trace_ids,
        lambda c: id(c) in running,
        lambda c: asked.shared(c.asked_by(one)),
        lambda c: _thread_fit(c, one),
        lambda c: id(c) in running and not c.ran_behind(one),
    )
    return max(pool, key=lambda c: c.before(one.start)) if told else None


def _thread_fit(conversation: Conversation, one: Seen) -> float:
    found = best(conversation.threads.get(Role.LLM, []), one.messages, one.retried, one.begun)
    return found[1].shared + found[1].quality / 10 if found else 0.0


class _Words:
    """The user's words that a model's request carries."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._texts = list(user_texts(messages))
        self._joined = "\0".join(self._texts)

    def shared(self, said: Sequence[str]) -> float:
        """Count the user's last words to the front, the very last first, that stand here, if that does."""
        if not said or not self._texts:
            return 0.0
        last = said[0]
        # One word alone ("yes") may stand in any prompt.
        same = last == self._texts[0]
        if not same and not (" " in last and self._hold(last)):
            return 0.0
        return 1000.0 * same + 1 + sum(map(self._hold, said[1:]))

    def _hold(self, words: str) -> bool:
        return words in self._joined


class _Near:
    """The conversations that an exchange of a tool channel can belong to, all where that is unclear."""

    def __init__(self, found: list[Conversation]) -> None:
        self._found = found
        self._running = Running([c for c in found if c.front is Role.AGENT])
        self._awaiting = Awaiting(found)

    def of(self, one: Seen) -> tuple[list[Conversation], set[int]]:
        """Give them, and which conversations (by `id`) have a front that is asking."""
        running = self._running.at(one.start)
        open_ = set(map(id, running))
        if one.key or one.trace_id or not one.uses:
            return (self._found if one.key or one.trace_id else running or self._found), open_
        if not running:
            awaiting = self._awaiting.at(one.start)
            running = awaiting if any(_carried_out(c, one) for c in awaiting) else self._found
        return running, open_


def _place_use(
    found: list[Conversation], near: list[Conversation], one: Seen, running: set[int], times: Times
) -> None:
    """Put an exchange of a tool channel where it belongs; it opens one only where no turns were seen."""
    pool, told = _narrow(
        _open_to(near, one),
        lambda c: bool(one.key and c.key == one.key),
        lambda c: bool(c.trace_ids) and one.trace_id in c.trace_ids,
        lambda c: id(c) in running,
        lambda c: _carried_out(c, one),
        lambda c: _awaits(c, one),
    )
    if not told:
        pool = times.within(pool, one) or pool
    pool, named = _narrow(pool, lambda c: one.decoded.session in c.sessions)
    if told or not times.are_known(pool):
        if pool:
            max(pool, key=lambda c: c.before(one.start)).use(one)
        elif one.uses:
            found.append(Conversation(one.key, Role.TOOL))
            found[-1].use(one)
        return
    home, gap, side = times.nearest(pool, one)
    if named or not one.uses or gap <= NEAR_MS:
        home.use(one, why_near(gap, side) if one.uses and not named else "")


def _carried_out(conversation: Conversation, one: Seen) -> float:
    """Give how surely this carried out a call that the conversation waits for."""
    if not one.uses or one.start < conversation.front_start:
        return 0
    calls = conversation.open_calls(one.start)
    return max((agreement(call, use)[0] for call in calls for use in one.uses), default=0)


def _awaits(conversation: Conversation, one: Seen) -> bool:
    """Say whether more calls like this wait here than were carried out: equal ones are shared out."""
    if not one.uses:
        return False
    since = conversation.before(one.start)
    late = takewhile(lambda seen: seen.start >= since, reversed(conversation.uses))
    earlier = [use for seen in late for use in seen.uses]
    for use in one.uses:
        asked = sum(agreement(call, use)[0] > 0 for call in conversation.open_calls(one.start))
        done = sum(same_use(use, other) for other in earlier)
        if asked > done:
            return True
    return False
