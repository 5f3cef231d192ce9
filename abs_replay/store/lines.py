"""Rows as lines of JSON, for a spool: what waits to be written, and what is open.

What comes back from a line is a row that the store takes and from which its readers make an exchange again:
a file may be torn, damaged or written by others, and one line of it must not keep all others out.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from abs_replay.exchange import Recording
from abs_replay.store.rows import (
    BODIES,
    EXCHANGE_COLUMNS,
    RECORDING_COLUMNS,
    SLICE,
    Row,
    exchange_of,
    json_pieces,
    recording_of,
    recording_row,
)
from abs_replay.store.texts import quoted, storable

# What JSON makes of a value that is none of ours.
_FOREIGN = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "VARCHAR": str,
    "DOUBLE": (float, int),
    "INTEGER": int,
    "BIGINT": int,
    "BOOLEAN": bool,
    "BLOB": bytes,
}
_LARGEST = {"INTEGER": 2**31, "BIGINT": 2**63}
_NEEDED = ("recording", "id", "digest", "started_at", "method", "redacted", "request_bytes", "target")


def exchange_line(row: Row) -> str:
    """A row as one line of JSON, bodies in base64."""
    return b"".join(exchange_pieces(row)).decode()


def exchange_pieces(row: Row) -> Iterator[bytes]:
    """That line in pieces of about 1 MiB at most: to encode more at once keeps every thread waiting."""
    values = dict(zip(EXCHANGE_COLUMNS, row, strict=True))
    bodies = {name: body for name in BODIES if (body := values.pop(name)) is not None}
    *pieces, last = json_pieces(values)
    yield from (*pieces, last.removesuffix(b"}"))
    for name, body in bodies.items():
        yield f', "{name}": "'.encode()
        for start in range(0, len(body), SLICE):
            yield base64.b64encode(body[start : start + SLICE])
        yield b'"'
    yield b"}"


def row_of_line(line: str | bytes) -> Row:
    """The row of a line that `exchange_line` wrote; raises `ValueError` for a torn or a foreign one."""
    try:
        values = json.loads(line)
        for name in BODIES:
            if values.get(name) is not None:
                values[name] = base64.b64decode(values[name])
        values = storable(values | {"target": quoted(values["target"])})
        row = tuple(values.get(column) for column in EXCHANGE_COLUMNS)
        if not (
            all(map(_fits, EXCHANGE_COLUMNS.values(), row))
            and all(values[name] is not None for name in _NEEDED)
        ):
            raise ValueError("values of other types")
        exchange_of(row)
    except _FOREIGN as error:
        raise ValueError("no exchange") from error
    return row


def _fits(type_: str, value: Any) -> bool:
    """Whether a column of this type takes a value."""
    if value is None:
        return True
    fits, largest = isinstance(value, _TYPES[type_]), _LARGEST.get(type_)
    return fits and (largest is None or -largest <= value < largest)


def recording_line(recording: Recording) -> str:
    """A recording as a line of a spool, which `row_of_line` of exchanges takes for none."""
    return json.dumps({"begins": dict(zip(RECORDING_COLUMNS, recording_row(recording), strict=True))})


def recording_of_line(line: bytes) -> Recording | None:
    """The recording of such a line; None for any other line, and for a torn one."""
    if not line.startswith(b'{"begins"'):
        return None
    try:
        values = json.loads(line)["begins"]
        row = [values[column] for column in RECORDING_COLUMNS]
        known = values["id"] is not None and values["started_at"] is not None
        return recording_of(row) if known and all(map(_fits, RECORDING_COLUMNS.values(), row)) else None
    except _FOREIGN:
        return None
