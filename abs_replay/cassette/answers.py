"""A response in JSON, said by an earlier one of the same shape: only the values that differ.

    {"as": "x1", "values": {"/id": "chatcmpl-2", "/choices/0/message/content": "Yes."}}

is the JSON body of the response of `x1` with other values at these places (JSON pointers, RFC 6901). The
envelope of an API's answers stands once in a conversation so. `style`, `before`, `after` and the chunks are
said as in any JSON body. As for requests, only an exchange that stands before may be named.
"""

from collections.abc import Iterator
from typing import Any

from jsonpointer import EndOfList, JsonPointer, JsonPointerException

from abs_replay.cassette.bodies import BadBody
from abs_replay.cassette.layout import lay_out
from abs_replay.exchange import Channel
from abs_replay.json_styles import read, write

KEYS = frozenset(("as", "values"))
# What saves less room is easier to read where it stands.
LEAST = 100

type Document = dict[str, Any]


class Answered:
    """What a writer may point to: by channel and shape, the first response of a conversation."""

    def __init__(self) -> None:
        self._known: dict[tuple[Channel, tuple[str, ...]], tuple[str, list[str]]] = {}

    def begin(self) -> None:
        """A conversation begins: what stands before it may move, or go."""
        self._known.clear()

    def shorter(self, id_: str | None, channel: Channel, value: Any) -> Document | None:
        """Say a response's JSON by an earlier one; None where none is alike, or it saves little.

        `id_` is None where the id names several exchanges.
        """
        if not isinstance(value, dict | list):
            return None
        leaves = list(_leaves(value, "", ""))
        key = channel, tuple(shape for _, shape, _ in leaves)
        written = [write(leaf) for _, _, leaf in leaves]
        if key not in self._known:
            if id_ is not None:
                self._known[key] = id_, written
            return None
        named, before = self._known[key]
        both = zip(leaves, written, before, strict=True)
        said = {"as": named, "values": {place: leaf for (place, _, leaf), new, old in both if new != old}}
        if not said["values"]:
            del said["values"]
        return said if _room(said) + LEAST <= _room(value) else None


def _room(value: Any) -> int:
    """How much of a file a body takes, indented as it is there."""
    text = lay_out(value)
    return len(text) + 10 * text.count("\n")


def _leaves(value: Any, place: str, shape: str) -> Iterator[tuple[str, str, Any]]:
    """Every value that holds no other, with its place, and with one that tells a list from an object."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            inner = f"/{key.replace('~', '~0').replace('/', '~1')}"
            yield from _leaves(item, f"{place}{inner}", f"{shape}{inner}")
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(item, f"{place}/{number}", f"{shape}//{number}")
    else:
        yield place, shape, value


# -- reading


def answer_of(document: Document, earlier: bytes) -> Any:
    """Give the JSON that a document says by the body of an earlier response; raises `BadBody`."""
    named, values = document["as"], document.get("values", {})
    if not isinstance(values, dict):
        raise BadBody("values: expected an object of places and their values")
    try:
        found = read(earlier)
    except ValueError:
        raise BadBody(f"as: the response of {named!r} is no JSON") from None
    for place, value in values.items():
        try:
            _put(found, place, value)
        except JsonPointerException:
            raise BadBody(f"values: the response of {named!r} has nothing at {place!r}") from None
    return found


def _put(found: Any, place: str, value: Any) -> None:
    pointer = JsonPointer(place)
    if not place or isinstance(pointer.resolve(found), EndOfList):
        raise JsonPointerException("not within what is there")
    pointer.set(found, value)
