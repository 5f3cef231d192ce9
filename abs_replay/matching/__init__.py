"""Which recorded exchanges may answer a request.

First those whose canonical form is the request's (one dictionary look-up). Only if there are none, those
that are equal up to a renaming (`renaming`), found by their shape. `loose` adds those of the same turn:
path, model, roles and the last user's words. Nothing is ever matched by position alone.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any
from zlib import MAX_WBITS, decompressobj, error

from abs_replay.exchange import Channel, Exchange, Headers, Request
from abs_replay.matching.canonical import Canonical, canonical, text_of
from abs_replay.matching.renaming import (
    Pair,
    Shape,
    constant,
    correspond,
    fingerprint,
    hides_secrets,
    holds,
    shape,
)
from abs_replay.spec.ignoring import HEADERS, Ignore


class Match(StrEnum):
    """How alike a request and a recorded one must be."""

    STRICT = "strict"  # equal in canonical form
    CANONICAL = "canonical"  # or up to a one-to-one renaming of fresh values
    LOOSE = "loose"  # or the same turn of the same conversation shape


@dataclass(frozen=True, eq=False)
class Group:
    """Recorded exchanges with the same request, by their numbers, in recorded order.

    `credentials` tells those members apart that were asked with different keys; it is None where all
    used the same one, because then a key does not matter.
    """

    form: Canonical
    request: Request
    members: tuple[int, ...]
    credentials: tuple[str, ...] | None = None

    @cached_property
    def shape(self) -> Shape:
        return shape(self.request, self.form)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A group that may answer, and what stands for what if it does."""

    group: Group
    pairs: tuple[Pair, ...] = ()


class Index:
    """The recorded exchanges of a cassette, by what they answer."""

    def __init__(self, exchanges: Sequence[Exchange], ignore: Sequence[Ignore] = ()) -> None:
        self.exchanges = exchanges
        self._ignore = tuple(ignore)
        self._exact = self._grouped()
        self._raw = {
            _raw_key(exchanges[number].channel, exchanges[number].request): group
            for group in self._exact.values()
            for number in group.members
        }
        self._known: dict[str, bool] = {}

    def _grouped(self) -> dict[tuple[Channel, tuple[str, str, str]], Group]:
        forms: dict[tuple[Channel, tuple[str, str, str]], list[int]] = {}
        first: dict[tuple[Channel, tuple[str, str, str]], Canonical] = {}
        # A cassette's exchanges stand by conversation; what was recorded first is played first.
        for number in sorted(range(len(self.exchanges)), key=lambda n: self.exchanges[n].started_at):
            exchange = self.exchanges[number]
            form = canonical(exchange.request, exchange.channel, self._ignore)
            forms.setdefault((exchange.channel, form.key), []).append(number)
            first.setdefault((exchange.channel, form.key), form)
        return {key: self._group(first[key], members) for key, members in forms.items()}

    def _group(self, form: Canonical, members: list[int]) -> Group:
        requests = [self.exchanges[number].request for number in members]
        channel = self.exchanges[members[0]].channel
        without = {rule.header.lower() for rule in self._ignore if rule.header and rule.concerns(channel)}
        keys = tuple(credential(request.headers, without) for request in requests)
        return Group(form, requests[0], tuple(members), keys if len(set(keys)) > 1 else None)

    # -- looking up

    def same_bytes(self, request: Request, channel: Channel) -> Group | None:
        """The group recorded with these very bytes, which need not be read: the fast case."""
        return self._raw.get(_raw_key(channel, request))

    def form(self, request: Request, channel: Channel) -> Canonical:
        return canonical(request, channel, self._ignore)

    def same_form(self, form: Canonical, channel: Channel) -> Group | None:
        """The group whose canonical form is this one."""
        return self._exact.get((channel, form.key))

    def renamed(self, request: Request, form: Canonical, channel: Channel) -> Iterator[Candidate]:
        """Groups that are equal up to a renaming; whether it agrees with the scope is the player's to ask."""
        alike, secretive = self._alike.get((channel, fingerprint(form)), ()), self._secretive.get(channel, ())
        if not alike and not secretive:
            return
        asked = shape(request, form)
        pieces = constant(asked)
        # Where nothing was made afresh, nothing can be renamed; and most of what is alike says other words.
        similar = [group for group in alike if holds(group.form, pieces)] if asked.values else []
        for group in (*similar, *secretive):
            pairs = correspond(group.shape, asked)
            if pairs:
                yield Candidate(group, pairs)

    def same_turn(self, form: Canonical, channel: Channel) -> Iterator[Candidate]:
        """Groups of the same turn, as `loose` has it."""
        wanted = turn(form)
        if wanted is not None:
            yield from map(Candidate, self._turns.get((channel, wanted), ()))

    def known(self, value: str) -> bool:
        """Say whether a value occurs anywhere in the cassette; such a value is never renamed.

        In capitals a UUID is still the same one (RFC 9562 §4).
        """
        if value not in self._known:
            written = {one.encode("utf-8", "surrogatepass") for one in (value, value.lower(), value.upper())}
            self._known[value] = any(data in text for text in self._texts() for data in written)
        return self._known[value]

    def groups(self, channel: Channel) -> list[Group]:
        """Every group of a channel, in recorded order."""
        return [group for (of, _), group in self._exact.items() if of == channel]

    def _texts(self) -> Iterator[bytes]:
        for exchange in self.exchanges:
            yield exchange.request.target.encode("utf-8", "surrogatepass")
            yield exchange.request.body.data
            if exchange.response is not None:
                yield _plain(exchange.response.body.data)

    @cached_property
    def _alike(self) -> dict[tuple[Channel, bytes], list[Group]]:
        groups: dict[tuple[Channel, bytes], list[Group]] = {}
        for (channel, _), group in self._exact.items():
            if not hides_secrets(group.form):
                groups.setdefault((channel, fingerprint(group.form)), []).append(group)
        return groups

    @cached_property
    def _secretive(self) -> dict[Channel, list[Group]]:
        groups: dict[Channel, list[Group]] = {}
        for (channel, _), group in self._exact.items():
            if hides_secrets(group.form):
                groups.setdefault(channel, []).append(group)
        return groups

    @cached_property
    def _turns(self) -> dict[tuple[Channel, tuple[str, ...]], list[Group]]:
        turns: dict[tuple[Channel, tuple[str, ...]], list[Group]] = {}
        for (channel, _), group in self._exact.items():
            found = turn(group.form)
            if found is not None:
                turns.setdefault((channel, found), []).append(group)
        return turns


def _raw_key(channel: Channel, request: Request) -> tuple[Channel, str, str, bytes]:
    return channel, request.method, request.target, request.body.data


def _plain(data: bytes) -> bytes:
    """Undo gzip as far as the data goes; other encodings hide what they hold."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return decompressobj(16 + MAX_WBITS).decompress(data, 64 * 1024 * 1024)
    except error:
        return data


# -- keys, and turns


def credential(headers: Headers, ignored: Collection[str] = ()) -> str:
    """The key that a request was sent with, or "" where it had none that counts."""
    counting = (value for name, value in headers if name.lower() in HEADERS and name.lower() not in ignored)
    return next(counting, "")


def turn(form: Canonical) -> tuple[str, ...] | None:
    """What `loose` compares: method, path, model, roles and the last user's words; None where no chat."""
    document = form.document
    messages = next(
        (
            document[key]
            for key in ("messages", "input", "contents")
            if isinstance(document, dict) and isinstance(document.get(key), list)
        ),
        None,
    )
    if messages is None:
        return None
    items = [item for item in messages if isinstance(item, dict)]
    roles = [str(item.get("role", item.get("type", ""))) for item in items]
    words = next((_words(item) for item in reversed(items) if item.get("role") == "user"), "")
    return form.method, form.path, str(document.get("model", "")), ",".join(roles), words


def _words(message: dict[str, Any]) -> str:
    return text_of(message.get("content", message.get("parts")))
