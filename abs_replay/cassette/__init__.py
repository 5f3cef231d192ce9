"""A recording as portable text: one JSON file, for review, git and replay; nothing is lost.

    {"abs_cassette": 1, "name": .., "session": .., "tags": {..}, "id": .., "started": .., "ended": ..,
     "channels": {"llm:openai": "https://api.openai.com/v1"}, "marks": [{"at": .., "name": ..}],
     "exchanges": [{"id", "channel", "started", "request": {..}, "response": {..}, "outcome", ..}]}

`loads(dumps(cassette)) == cassette`, and `dumps(loads(text)) == text` for a text that `dumps` wrote.
What has its usual value is left out. Only a cassette with a WebSocket is of format 2, only one that says
where a conversation begins, or a body by an earlier one (see `histories`), of format 3, only one that says
headers by earlier ones (see `headers`), of format 4, only one that says a response by an earlier one (see
`answers`), of format 5: whoever knows none of it refuses it, and reads the others. A text that can not be
read is a `CassetteError` with its path.
"""

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from abs_replay.cassette.document import (
    Document,
    Wrong,
    checked_url,
    maybe,
    no_json,
    only,
    take,
    texts,
    time,
    time_text,
)
from abs_replay.cassette.exchanges import Earlier, exchange_document, read_channel, read_exchange, said
from abs_replay.cassette.histories import Pointing
from abs_replay.cassette.layout import lay_out, one_line
from abs_replay.cassette.quick import quick
from abs_replay.cassette.scanning import scan
from abs_replay.cassette.usual import usual
from abs_replay.errors import CassetteError
from abs_replay.exchange import Exchange, Mark, Recording, Upstream
from abs_replay.json_styles import parse_at

FORMAT = 5


@dataclass(frozen=True, slots=True)
class Cassette:
    """A recording with its exchanges, in the order of the file.

    `begins` are the ids of those with which a conversation begins, where it is known: what stands behind
    says nothing by what stands before, so that it may be moved, and merged.
    """

    recording: Recording
    exchanges: tuple[Exchange, ...]
    begins: frozenset[str] = frozenset()


# -- writing


def dumps(cassette: Cassette) -> str:
    """Write a cassette as text; the same cassette always gives the same text."""
    recording = cassette.recording
    pointing = Pointing(exchange.id for exchange in cassette.exchanges)
    exchanges = [exchange_document(each, pointing, each.id in cassette.begins) for each in cassette.exchanges]
    return lay_out(
        {
            "abs_cassette": _format(cassette, exchanges),
            "name": recording.name,
            **said(session=recording.session, tags=recording.tags or None),
            "id": recording.id,
            "started": time_text(recording.started_at),
            **said(ended=None if recording.ended_at is None else time_text(recording.ended_at)),
            "channels": {str(upstream.channel): upstream.url for upstream in recording.upstreams},
            **said(marks=[_mark_document(mark) for mark in recording.marks] or None),
            "exchanges": exchanges,
        }
    )


def _format(cassette: Cassette, exchanges: list[Document]) -> int:
    if any("as" in each.get("response", {}).get("body", ()) for each in exchanges):
        return 5
    if any("headers_as" in each.get(side, ()) for each in exchanges for side in ("request", "response")):
        return 4
    if any("begins" in each or "as" in each["request"].get("body", ()) for each in exchanges):
        return 3
    return 2 if any(each.websocket for each in cassette.exchanges) else 1


def _mark_document(mark: Mark) -> Document:
    return {"at": time_text(mark.at), **said(name=mark.name)}


# -- reading


def loads(text: str, source: str = "cassette") -> Cassette:
    """Read a cassette; raises `CassetteError`, which begins with `source` and the path in it."""
    try:
        with _no_collection():
            return _read(text)
    except Wrong as wrong:
        raise CassetteError(f"{source}: {one_line(str(wrong))}") from None


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the collector from searching a tree that only grows: a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _read(text: str) -> Cassette:
    # Editors on Windows may begin a text with a byte order mark.
    text = text.removeprefix("\ufeff")
    exchanges: list[tuple[Exchange, bool]] = []
    earlier = Earlier()

    def taken(document: Document, number: int, place: int) -> int:
        if number == 0:
            _check_format(document)
        found = usual(text, place, earlier) or quick(text, place, earlier)
        if found is not None:
            exchanges.append(found[:2])
            return found[2]
        item, place = parse_at(text, place)
        exchanges.append(read_exchange(item, f"exchanges[{number}]", earlier))
        return place

    document = _parse(text, taken)
    _check_format(document)
    recording = _recording(document)
    for number, item in enumerate(take(document, "exchanges", list, "")):
        exchanges.append(read_exchange(item, f"exchanges[{number}]", earlier))
    begins = frozenset(exchange.id for exchange, begins in exchanges if begins)
    return Cassette(recording, tuple(exchange for exchange, _ in exchanges), begins)


def _parse(text: str, taken: Callable[[Document, int, int], int]) -> Any:
    try:
        return scan(text, taken)
    except json.JSONDecodeError as error:
        raise Wrong("", no_json(error)) from None
    except ValueError as error:
        raise Wrong("", f"no JSON: {error}") from None


def _check_format(document: Any) -> None:
    if not isinstance(document, dict) or "abs_cassette" not in document:
        raise Wrong("", "no cassette: it has no `abs_cassette` (`abs export` writes one)")
    version = take(document, "abs_cassette", int, "")
    if version > FORMAT:
        raise Wrong(
            "", f"cassette format {version} is newer than {FORMAT}, the newest known: upgrade abs-replay"
        )
    if version < 1:
        raise Wrong("abs_cassette", f"there is no format {version}")


_CASSETTE_KEYS = frozenset(
    ("abs_cassette", "name", "session", "tags", "id", "started", "ended", "channels", "marks", "exchanges")
)


def _recording(document: Document) -> Recording:
    only(document, _CASSETTE_KEYS, "")
    upstreams = take(document, "channels", dict, "", {})
    return Recording(
        id=take(document, "id", str, "", ""),
        name=take(document, "name", str, ""),
        started_at=time(document, "started", "", 0.0),
        ended_at=time(document, "ended", "", None),
        session=maybe(document, "session", str, ""),
        tags=texts(maybe(document, "tags", dict, "") or {}, "tags"),
        upstreams=tuple(
            Upstream(read_channel(channel, "channels"), checked_url(url, f"channels.{channel}"))
            for channel, url in texts(upstreams, "channels").items()
        ),
        marks=tuple(
            _read_mark(each, f"marks[{n}]") for n, each in enumerate(take(document, "marks", list, "", []))
        ),
    )


def _read_mark(document: Any, where: str) -> Mark:
    if type(document) is not dict:
        raise Wrong(where, "expected an object")
    only(document, frozenset(("at", "name")), where)
    return Mark(time(document, "at", where), maybe(document, "name", str, where))
