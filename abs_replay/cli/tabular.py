"""Answers of `abs sql` as a table for people, as JSON and as CSV. Times are of UTC."""

import base64
import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

from abs_replay import exact_json
from abs_replay.errors import UsageError
from abs_replay.exact_json import Json

if TYPE_CHECKING:
    from abs_replay.reports import Screen
    from abs_replay.store import Table

MOST_CELLS = 60  # of a value on a screen
NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")


def table(answer: "Table", screen: "Screen | None") -> str:
    """Columns for people: long values are cut on a screen, nothing is where there is none."""
    from abs_replay.cli.columns import columns
    from abs_replay.reports.cells import cut, escaped

    headings = [f"{name}>" if _is_number(kind) else name for name, kind in answer.columns]
    rows = [["–" if value is None else _text(value) for value in row] for row in answer.rows]
    if screen is not None:
        rows = [[cut(escaped(cell), MOST_CELLS) for cell in row] for row in rows]
    return columns(headings, rows, screen)


def as_csv(answer: "Table", harmless: bool) -> str:
    """CSV with a line of names; null is empty. `harmless` escapes what a terminal would obey."""
    from abs_replay.reports.cells import escaped

    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([name for name, _ in answer.columns])
    for row in answer.rows:
        cells = ["" if value is None else _text(value) for value in row]
        writer.writerow([escaped(cell) for cell in cells] if harmless else cells)
    return written.getvalue()


def as_json(answer: "Table") -> list[Json]:
    """An object a row; raises `UsageError` where two columns have one name."""
    names = [name for name, _ in answer.columns]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UsageError(f"two columns are called {twice[0]}, which JSON can not say: name one with AS")
    kinds = [kind for _, kind in answer.columns]
    return [dict(zip(names, map(_json, row, kinds), strict=True)) for row in answer.rows]


def _is_number(kind: str) -> bool:
    return kind.partition("(")[0].removeprefix("U") in NUMBERS and not kind.endswith("]")


def _json(value: Any, kind: str = "") -> Json:
    if kind == "JSON" and isinstance(value, str):
        try:
            return exact_json.loads(value)  # type: ignore[no-any-return]
        except (ValueError, RecursionError):
            return value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | Decimal):
        return value if isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {_text(key): _json(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_json(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else _text(value)


def _text(value: Any) -> str:
    """A value in a cell; bytes as base64."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping | list | tuple):
        return exact_json.dumps(_json(value))
    return str(value)
