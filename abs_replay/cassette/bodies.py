"""Bodies as a cassette shows them, and back to the very bytes.

A body is, whichever comes first and gives the bytes back:

    {"json": .., "style": "spaced ascii"}            JSON (compact where no style is named)
    {"events": [{"event": .., "data": ..}, ..]}      server-sent events, one a line
    {"text": "one line" or ["several", "lines"]}     UTF-8
    {"base64": ".."}                                 anything else

and, where they say something, `at` (the body came in one chunk, at these ms), `chunks` ("120@3.5
98@4": bytes@ms) or `event_chunks` ("1@3.5 2@4": events@ms), and `size` (its length on the wire,
if it was cut).
"""

import base64
import math
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any

from abs_replay.cassette.layout import Line
from abs_replay.exchange import Body, Chunk
from abs_replay.json_styles import STYLES, reviewable, styled, write, write_each, write_fast

_WHITE = " \t\r\n"
_FIELDS = ("event", "data", "id", "retry")
_EVENT_KEYS, _OTHER_KEYS = frozenset((*_FIELDS, "pad")), frozenset(("raw", "rest"))
_EVENT_STARTS = ("data:", "event:", "id:", "retry:", ":")


class BadBody(ValueError):
    """A body document that can not be read; the message says which key and why."""


def body_document(body: Body) -> dict[str, Any]:
    """Show a body; `read_body` of it is the same body."""
    try:
        text = body.data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body.data).decode(), **_cut(body), **_chunks(body)}
    shown = _as_json(text) or _as_events(text) or _as_text(text)
    document = {**shown, **_cut(body), **(_event_chunks(body, shown) or _chunks(body))}
    if "json" in shown:  # found by writing it
        return document
    return document if read_body(document) == body else {**_as_text(text), **_cut(body), **_chunks(body)}


def read_body(document: dict[str, Any]) -> Body:
    """Give the body that a document shows; raises `BadBody`."""
    kinds = [kind for kind in _READERS if kind in document]
    if len(kinds) != 1:
        raise BadBody(f"expected exactly one of {', '.join(_READERS)}")
    _check_keys(document, kinds[0])
    try:
        pieces = _READERS[kinds[0]](document)
    except BadBody:
        raise
    except (ValueError, RecursionError) as error:
        raise BadBody(f"{kinds[0]}: {error}") from None
    data = b"".join(pieces)
    size = document.get("size")
    if size is not None and (type(size) is not int or size < 0):
        raise BadBody("size: expected a whole number")
    return Body(data, _read_chunks(document, data, pieces), size)


# -- writing


def _as_json(text: str) -> dict[str, Any] | None:
    core = text.strip(_WHITE)
    found = styled(core) if core else None
    if found is None:
        return None
    value, style = found
    start = len(text) - len(text.lstrip(_WHITE))
    before, after = text[:start], text[start + len(core) :]
    around = {"style": style if style != "compact" else "", "before": before, "after": after}
    return {"json": value, **{key: said for key, said in around.items() if said}}


def _as_events(text: str) -> dict[str, Any] | None:
    eol = "\r\n" if "\r\n\r\n" in text else "\n"
    if not text.startswith(_EVENT_STARTS) or eol * 2 not in text:
        return None
    colon = ": " if "data: " in text else ":"
    *parts, rest = text.split(eol * 2)
    style = _stream_style(parts, eol, colon)
    events = [_event(part, eol, colon) for part in parts]
    _show_json(events, style)
    events += [Line(rest=rest)] if rest else []
    how = {
        "style": style if style != "compact" else "",
        "eol": "crlf" if eol == "\r\n" else "",
        "colon": ":" if colon == ":" else "",
    }
    return {**{key: said for key, said in how.items() if said}, "events": events}


def _stream_style(parts: list[str], eol: str, colon: str) -> str:
    for part in parts:
        for line in part.split(eol):
            name, _, value = line.partition(colon)
            if name == "data" and value.startswith("{") and (found := styled(value.rstrip(" "))):
                return found[1]
    return "compact"


def _event(part: str, eol: str, colon: str) -> Line:
    event = Line()
    for line in part.split(eol):
        name, found, value = line.partition(colon)
        if not found or name not in _FIELDS or name in event:
            return Line(raw=part)
        event[name] = value
    return event


def _show_json(events: list[Line], style: str) -> None:
    """Show data as JSON where the style writes it back; all in one call, since a stream has hundreds."""
    # Anthropic pads the end of its data lines; `pad` keeps them readable as JSON all the same.
    bare = [(event, event["data"].rstrip(" ")) for event in events if "data" in event]
    read = [(event, text, reviewable(text)) for event, text in bare if text.startswith(("{", "["))]
    found = [(event, text, value) for event, text, value in read if value is not None]
    written = write_each([value for _, _, value in found], style)
    for (event, text, value), again in zip(found, written, strict=True):
        if again == text:
            pad = len(event["data"]) - len(text)
            event |= {"data": value, **({"pad": pad} if pad else {})}


def _as_text(text: str) -> dict[str, Any]:
    lines = text.split("\n")
    return {"text": lines if len(lines) > 1 else text}


def _cut(body: Body) -> dict[str, Any]:
    return {} if body.size is None else {"size": body.size}


def _chunks(body: Body) -> dict[str, Any]:
    if len(body.chunks) == 1 and body.chunks[0].end == len(body.data):
        return {"at": body.chunks[0].at_ms}
    ends = [0, *(chunk.end for chunk in body.chunks)]
    sizes = [end - start for start, end in pairwise(ends)]
    marks = [f"{size}@{_ms(chunk.at_ms)}" for size, chunk in zip(sizes, body.chunks, strict=True)]
    return {"chunks": " ".join(marks)} if marks else {}


def _ms(number: float) -> str:
    text = repr(float(number))
    return text.removesuffix(".0")


def _event_chunks(body: Body, shown: dict[str, Any]) -> dict[str, Any] | None:
    """Count events instead of bytes where no chunk splits an event; edits by hand then stay right."""
    if "events" not in shown or len(body.chunks) < 2:
        return None
    ends = accumulate(len(piece) for piece in _read_events(shown))
    index = {end: number for number, end in enumerate(ends, start=1)}
    counts = [0, *(index.get(chunk.end, 0) for chunk in body.chunks)]
    if any(after <= before for before, after in pairwise(counts)) or counts[-1] != len(index):
        return None
    marks = [
        f"{after - before}@{_ms(chunk.at_ms)}"
        for (before, after), chunk in zip(pairwise(counts), body.chunks, strict=True)
    ]
    return {"event_chunks": " ".join(marks)}


# -- reading


def _read_json(document: dict[str, Any]) -> list[bytes]:
    data = _written(document["json"], _style(document))
    before, after = document.get("before", ""), document.get("after", "")
    if not isinstance(before, str) or not isinstance(after, str):
        raise BadBody("before, after: expected text")
    return [before.encode() + data + after.encode() if before or after else data]


def _written(value: Any, style: str) -> bytes:
    try:
        return write_fast(value, style)
    except (ValueError, RecursionError):
        return write(value, style).encode()


def _style(document: dict[str, Any]) -> str:
    style = document.get("style", "compact")
    if not isinstance(style, str) or style not in STYLES:
        raise BadBody(f"style: expected one of {', '.join(STYLES)}")
    return style


def _read_events(document: dict[str, Any]) -> list[bytes]:
    eol = "\r\n" if document.get("eol") == "crlf" else "\n"
    colon, events = ":" if document.get("colon") == ":" else ": ", document["events"]
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise BadBody("events: expected a list of objects")
    for number, event in enumerate(events):
        _check_event(event, f"events[{number}]")
    values = [event["data"] for event in events if not isinstance(event.get("data", ""), str)]
    texts = iter(write_each(values, _style(document)))
    return [_event_text(event, eol, colon, texts).encode() for event in events]


def _check_event(event: dict[str, Any], where: str) -> None:
    """Refuse what would not be an event on the wire: in a file edited by hand it is a slip of the pen."""
    known = _EVENT_KEYS if event.keys() <= _EVENT_KEYS else _OTHER_KEYS
    if not event.keys() <= known or (known is _OTHER_KEYS and len(event) != 1):
        raise BadBody(f"{where}: expected {', '.join(sorted(_EVENT_KEYS))}, or `raw` or `rest` alone")
    for key, value in event.items():
        if key not in ("data", "pad") and not isinstance(value, str):
            raise BadBody(f"{where}.{key}: expected text")


def _event_text(event: dict[str, Any], eol: str, colon: str, texts: Iterator[str]) -> str:
    """Write an event; `texts` gives its data where that is JSON."""
    data = event.get("data", "")
    written = (data if isinstance(data, str) else next(texts)) + " " * _pad(event)
    if "raw" in event or "rest" in event:
        return f"{event['raw']}{eol}{eol}" if "raw" in event else str(event["rest"])
    lines = [f"{name}{colon}{written if name == 'data' else event[name]}" for name in event if name != "pad"]
    return eol.join(lines) + eol + eol


def _pad(event: dict[str, Any]) -> int:
    pad = event.get("pad", 0)
    if type(pad) is not int or not 0 <= pad <= 65536:
        raise BadBody("pad: expected the number of blanks after the data")
    return pad


def _read_text(document: dict[str, Any]) -> list[bytes]:
    text = document["text"]
    lines = text if isinstance(text, list) else [text]
    if not all(isinstance(line, str) for line in lines):
        raise BadBody("text: expected text, or a list of lines")
    return ["\n".join(lines).encode()]


def _read_base64(document: dict[str, Any]) -> list[bytes]:
    if not isinstance(document["base64"], str):
        raise BadBody("base64: expected text")
    return [base64.b64decode(document["base64"], validate=True)]


_READERS = {"json": _read_json, "events": _read_events, "text": _read_text, "base64": _read_base64}
_TIMES = ("at", "chunks", "event_chunks")
_MORE_KEYS = {"json": ("style", "before", "after"), "events": ("style", "eol", "colon")}
_KEYS = {kind: frozenset((kind, "size", *_TIMES, *_MORE_KEYS.get(kind, ()))) for kind in _READERS}


def _check_keys(document: dict[str, Any], kind: str) -> None:
    if not document.keys() <= _KEYS[kind]:
        known = ", ".join(sorted(_KEYS[kind]))
        raise BadBody(f"{min(document.keys() - _KEYS[kind])}: unknown key; known are {known}")
    if sum(key in document for key in _TIMES) > 1:
        raise BadBody(f"expected one of {', '.join(_TIMES)}")


def _read_chunks(document: dict[str, Any], data: bytes, pieces: list[bytes]) -> tuple[Chunk, ...]:
    if "at" in document:
        return (Chunk(len(data), _number(document["at"], "at")),)
    if "chunks" in document:
        counts, times = _marks(document["chunks"], "chunks")
        return tuple(map(Chunk, accumulate(counts), times))
    if "event_chunks" not in document:
        return ()
    counts, times = _marks(document["event_chunks"], "event_chunks")
    ends = [0, *accumulate(len(piece) for piece in pieces)]
    if "events" not in document or sum(counts) != len(pieces) or min(counts, default=1) < 0:
        raise BadBody(f"event_chunks: counts {sum(counts)} events, not the {len(pieces)} of `events`")
    return tuple(Chunk(ends[count], time) for count, time in zip(accumulate(counts), times, strict=True))


def _marks(text: Any, key: str) -> tuple[list[int], list[float]]:
    try:
        pairs = [mark.split("@") for mark in text.split()]
        return [int(count) for count, _ in pairs], [_finite(float(time)) for _, time in pairs]
    except (AttributeError, ValueError):
        raise BadBody(f'{key}: expected counts and ms, as in "120@3.5 98@4"') from None


def _number(value: Any, key: str) -> float:
    if isinstance(value, bool | str | list | dict) or value is None:
        raise BadBody(f"{key}: expected a number")
    try:
        return _finite(float(value))
    except OverflowError:
        raise BadBody(f"{key}: expected a number") from None


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise BadBody("a time is a number of ms")
    return number
