"""The exchanges of a recording by conversation, as a cassette has them.

A conversation's place depends on how it opens, and on nothing else: it stays where it is when another one is
added or it goes on, and what two branches add seldom meets, so that git can merge it.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from abs_replay.assembly import Account
from abs_replay.cassette import Cassette
from abs_replay.exchange import Exchange, Request


@dataclass(frozen=True, slots=True)
class Conversation:
    """The exchanges of one conversation with its branches, in the order of their starts; `name` as of a mark.

    `known` is False where nothing joins the exchange to any conversation: it stands for itself.
    """

    exchanges: tuple[Exchange, ...]
    name: str | None = None
    known: bool = True


def conversations(exchanges: Sequence[Exchange], account: Account) -> tuple[Conversation, ...]:
    """Part exchanges into conversations, as assembly joined them, in the order in which they began."""
    homes = _homes(account)
    names = {homes.of(trace.id): trace.name for trace in reversed(account.traces) if trace.name}
    ids = {fate.exchange: homes.of(fate.traces[0]) for fate in account.fates if fate.traces}
    parts: dict[str | int, list[Exchange]] = {}
    for number, exchange in enumerate(sorted(exchanges, key=lambda each: each.started_at)):
        parts.setdefault(ids.get(exchange.id, number), []).append(exchange)
    return tuple(
        Conversation(tuple(part), names.get(home) if isinstance(home, str) else None, isinstance(home, str))
        for home, part in parts.items()
    )


class _Homes:
    """Which traces are of one conversation: a branch and what it left, and those that share an exchange."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def of(self, id_: str) -> str:
        while self._parents.get(id_, id_) != id_:
            id_ = self._parents[id_]
        return id_

    def join(self, one: str, other: str) -> None:
        self._parents[self.of(other)] = self.of(one)


def _homes(account: Account) -> _Homes:
    homes = _Homes()
    for trace in account.traces:
        if trace.branch_of:
            homes.join(trace.branch_of.trace, trace.id)
    for fate in account.fates:
        for other in fate.traces[1:]:
            homes.join(fate.traces[0], other)
    return homes


def in_order(parts: Iterable[Conversation]) -> tuple[Conversation, ...]:
    """Order conversations by a digest of their opening; those that open alike by all that is asked."""
    return tuple(sorted(parts, key=_place))


def _place(part: Conversation) -> tuple[str, str, float, str]:
    first = part.exchanges[0]
    requests = [(str(each.channel), each.request) for each in part.exchanges]
    return _digest(requests[:1]), _digest(requests), first.started_at, first.id


def _digest(requests: Iterable[tuple[str, Request]]) -> str:
    digest = hashlib.sha256()
    for channel, request in requests:
        for text in (channel, request.method, request.target):
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        digest.update(hashlib.sha256(request.body.data).digest())
    return digest.hexdigest()


def beginnings(parts: Iterable[Conversation]) -> Iterator[str]:
    """The ids of exchanges with which a conversation begins, of those that may hold a chat's history."""
    for part in parts:
        if any(key in each.request.body.data for each in part.exchanges for key in _HISTORIES):
            yield part.exchanges[0].id


def by_conversation(cassette: Cassette, account: Account) -> Cassette:
    """The same cassette with its exchanges where their conversations have their places."""
    parts = in_order(conversations(cassette.exchanges, account))
    exchanges = tuple(exchange for part in parts for exchange in part.exchanges)
    return replace(cassette, exchanges=exchanges, begins=frozenset(beginnings(parts)))


_HISTORIES = (b'"messages"', b'"input"', b'"contents"')


def numbered(parts: Sequence[Conversation]) -> Mapping[str, tuple[Conversation, ...]]:
    """Conversations by what to call them: their names, or their numbers; what is of none as `rest`."""
    called: dict[str, tuple[Conversation, ...]] = {}
    for number, part in enumerate((part for part in parts if part.known), 1):
        name = part.name or str(number)
        unused = (each for each in (name, f"{name}-{number}") if each not in called)
        called[next(unused, f"conversation-{number}")] = (part,)
    rest = tuple(part for part in parts if not part.known)
    return {**called, **({"rest": rest} if rest else {})}
