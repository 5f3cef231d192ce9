"""A chat's history, written once: a request's body that goes on from that of an earlier exchange.

    {"as": "x1", "append": [{..}, {..}], "set": {"temperature": 0}, "without": ["tools"], "keep": 5}

is the JSON body of the request of `x1`: of its list of messages the first five (all, where `keep` is not
said), then those appended; of its other fields those set are others, or new at the end, and those `without`
are not there. `style`, `before`, `after` and the chunks are said as in any JSON body. Only an exchange that
stands before may be named, so reading needs no second look, and nothing can go round in a circle.

The writer points only to what gives the very bytes back, and only within a conversation.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from abs_replay.cassette.answers import Answered
from abs_replay.cassette.bodies import BadBody
from abs_replay.cassette.headers import Alike
from abs_replay.exchange import Channel
from abs_replay.json_styles import read, write, write_each

# Where the APIs keep what was said: Chat Completions and Anthropic, Responses, Gemini.
LISTS = ("messages", "input", "contents")
KEYS = frozenset(("as", "keep", "append", "set", "without"))
# A shorter history is easier to read where it stands.
LEAST = 200

type Document = dict[str, Any]


# Which requests may be pointed to: those of a channel, and those of it with the same fields beside the list.
type _Table = tuple[Channel, str, tuple[tuple[str, bytes], ...] | None]


@dataclass(frozen=True, slots=True)
class _Base:
    """A request's JSON to point to: its list and how long that is, a digest of each other field, all keys."""

    id: str
    name: str
    count: int
    fields: dict[str, bytes]
    keys: list[str]


class Pointing:
    """What a writer may point to; it is told of every request's JSON, in the order of the file."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._once = {id_ for id_, count in Counter(ids).items() if count == 1}
        self.headers = Alike()
        self.answers = Answered()
        self._known: dict[_Table, dict[bytes, _Base]] = {}

    def begin(self) -> None:
        """A conversation begins: what stands before it may move, or go."""
        self._known.clear()
        self.headers.begin()
        self.answers.begin()

    def named(self, id_: str) -> str | None:
        """Give an id that names one exchange, None for one that names several."""
        return id_ if id_ in self._once else None

    def shorter(self, id_: str, channel: Channel, value: Any, length: int) -> Document | None:
        """Say a request's JSON by an earlier one; None where nothing fits, or it saves little of `length`."""
        name = list_of(value)
        if name is None:
            return None
        fields = {key: _digest(write(item)) for key, item in value.items() if key != name}
        base = _Base(id_, name, len(value[name]), fields, list(value))
        prefixes = list(_prefixes(value[name]))
        found: list[Document | None] = []
        for table in ((channel, name, None), (channel, name, tuple(fields.items()))):
            known = self._known.setdefault(table, {})
            # The longest that was there before, and of those that have it the first.
            kept = next((n for n in range(len(prefixes), 0, -1) if prefixes[n - 1] in known), 0)
            if kept:
                found.append(_from(known[prefixes[kept - 1]], kept, base, value))
            if id_ in self._once:
                known.update((prefix, base) for prefix in prefixes[kept:])
        best = min((each for each in found if each), key=_length, default=None)
        return best if best and _length(best) + LEAST <= length else None


def list_of(value: Any) -> str | None:
    """The key of a body's messages, or None where it has none."""
    if not isinstance(value, dict):
        return None
    return next((name for name in LISTS if isinstance(value.get(name), list)), None)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _prefixes(messages: list[Any]) -> Iterator[bytes]:
    """A digest for the first message, for the first two, and so on.

    They are digests of what is written, since 1 and true are equal and not the same.
    """
    digest = hashlib.blake2b(digest_size=16)
    for text in write_each(messages, "compact"):
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
        yield digest.digest()


def _length(document: Document) -> int:
    return len(write(document))


def _from(base: _Base, kept: int, new: _Base, value: Document) -> Document | None:
    """Say a value by that of an exchange; None where its keys would stand in another order."""
    changed = [key for key, digest in new.fields.items() if base.fields.get(key) != digest]
    order = [key for key in base.keys if key in value] + [key for key in changed if key not in base.fields]
    if order != new.keys:
        return None
    said = {
        "keep": kept if kept < base.count else None,
        "append": value[new.name][kept:] or None,
        "set": {key: value[key] for key in changed} or None,
        "without": [key for key in base.keys if key not in value] or None,
    }
    return {"as": base.id, **{key: item for key, item in said.items() if item is not None}}


# -- reading


def resolved(document: Document, earlier: bytes) -> Document:
    """Give the JSON that a document says by an earlier body; raises `BadBody`."""
    before = _read(earlier)
    name = list_of(before)
    if name is None:
        raise BadBody(f"as: the request of {document['as']!r} has none of {', '.join(LISTS)} to go on from")
    keep, append, said, without = _checked(document, before, name)
    value = {**before, name: before[name][:keep] + append, **said}
    return {key: item for key, item in value.items() if key not in without}


def _read(data: bytes) -> Any:
    try:
        return read(data)
    except ValueError:
        return None


def _checked(document: Document, before: Document, name: str) -> tuple[int, list[Any], Document, list[str]]:
    keep = document.get("keep", len(before[name]))
    if type(keep) is not int or not 0 <= keep <= len(before[name]):
        raise BadBody(f"keep: expected a number up to {len(before[name])}, which {document['as']!r} has")
    append, said = document.get("append", []), document.get("set", {})
    if not isinstance(append, list):
        raise BadBody("append: expected a list")
    if not isinstance(said, dict) or name in said:
        raise BadBody(f"set: expected an object without {name}, which `append` goes on with")
    without = document.get("without", [])
    if not isinstance(without, list) or not all(type(key) is str for key in without):
        raise BadBody("without: expected a list of keys")
    if any(key == name or key not in before or key in said for key in without):
        raise BadBody(f"without: expected keys of the request of {document['as']!r}, but for {name}")
    return keep, append, said, without
