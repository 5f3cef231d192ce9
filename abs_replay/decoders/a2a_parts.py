"""What a message or an artifact of A2A holds: texts, data, files.

https://a2a-protocol.org/latest/specification/#part. Until version 0.3 parts say their `kind` (before 0.2
their `type`); since 1.0 the member that is there says it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from abs_replay.decoders import media
from abs_replay.decoders.events import Message, Said
from abs_replay.decoders.fields import items, obj, text
from abs_replay.exact_json import Json

_BYTES: Final = ("bytes", "fileWithBytes", "raw")
_ASIDE: Final = ("metadata",)


def parts_of(value: Mapping[str, Any]) -> list[Json]:
    """Give what the parts of a message or an artifact say: texts, and structures."""
    # The HTTP binding of 0.3 calls the parts of a message its content.
    found = items(value.get("parts")) or items(value.get("content"))
    return [_part(part) for part in found if isinstance(part, dict)]


def _part(part: Mapping[str, Any]) -> Json:
    kind = part.get("kind") or part.get("type")
    words = part.get("text")
    if isinstance(words, str) and kind in (None, "text"):
        return words
    if "data" in part and kind in (None, "data"):
        data = part["data"]
        # The HTTP binding of 0.3 wraps it once more.
        return data["data"] if isinstance(data, dict) and list(data) == ["data"] else data  # type: ignore[no-any-return]
    return {key: _member(key, value) for key, value in part.items() if key not in _ASIDE}


def _member(key: str, value: Any) -> Json:
    """Name a file's bytes instead of copying them."""
    if key in _BYTES and isinstance(value, str):
        return media.named(value)
    if key == "file" and isinstance(value, dict):
        return {name: _member(name, item) for name, item in value.items()}
    return value  # type: ignore[no-any-return]


def content(said: Sequence[Json]) -> Json:
    """Give what parts say together: one text where all are texts, which stand on lines of their own."""
    if len(said) <= 1:
        return said[0] if said else None
    texts = [part for part in said if isinstance(part, str)]
    return "\n".join(texts) if len(texts) == len(said) else list(said)


def appended(before: list[Json], more: Iterable[Json]) -> list[Json]:
    """Give an artifact's parts with those of a further chunk, whose text goes on where it stopped."""
    found = list(before)
    for number, part in enumerate(more):
        if number == 0 and found and isinstance(part, str) and isinstance(found[-1], str):
            found[-1] = f"{found[-1]}{part}"
        else:
            found.append(part)
    return found


def said(value: Mapping[str, Any], at: str) -> Said | None:
    """Give what a message says; None where it has no parts."""
    found = parts_of(value)
    return Said(content(found), at) if found else None


def message(value: Mapping[str, Any], at: str) -> Message:
    """Give a message of a task's history, or a user's."""
    role = "user" if (text(value.get("role")) or "user").lower().endswith("user") else "assistant"
    return Message(role, content(parts_of(obj(value))), at=at)
