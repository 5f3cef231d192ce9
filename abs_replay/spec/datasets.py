"""Dataset files, one row a run (SEMANTICS V7): `.json` (a list), `.jsonl`, `.csv` (text values)."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from json import JSONDecodeError
from pathlib import Path

from abs_replay.errors import Problem, SpecError, UsageError
from abs_replay.exact_json import DuplicateKey, Json, loads
from abs_replay.spec.places import MOST_PROBLEMS

type Row = dict[str, Json]


def read_rows(file: Path | str) -> tuple[Row, ...]:
    """Read all rows, keys being columns: `city`, which a session calls `{{cases.city}}`.

    Raises `SpecError` with every row that is none, `UsageError` for a file that can not be read.
    """
    file = Path(file)
    read = _READERS.get(file.suffix.lower())
    if read is None:
        raise UsageError(f"{file}: a dataset is a {', '.join(_READERS)} file")
    rows: list[Row] = []
    problems: list[Problem] = []
    for line, value in read(_text(file)):
        if isinstance(value, Mapping):
            rows.append(dict(value))
        else:
            problems.append(Problem(value, str(file), line))
        if len(problems) == MOST_PROBLEMS:
            break
    if not rows and not problems:
        problems.append(Problem("holds no rows", str(file)))
    if problems:
        raise SpecError(problems)
    return tuple(rows)


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file}: can not be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SpecError([Problem(f"is not UTF-8: byte {error.start}", str(file))]) from None


# What a reader gives: a line (from 1) and a row, or what is wrong there.
type _Read = Iterator[tuple[int, Mapping[str, Json] | str]]


def _json(text: str) -> _Read:
    try:
        value = loads(text, strict=True)
    except (ValueError, RecursionError) as error:
        yield _no_json(error)
        return
    if not isinstance(value, list):
        yield 1, "a .json dataset is a list of objects"
        return
    for index, row in enumerate(value):
        yield 1, row if isinstance(row, Mapping) else f"item {index} of the list is no object"


def _jsonl(text: str) -> _Read:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = loads(line, strict=True)
        except (ValueError, RecursionError) as error:
            yield number, _no_json(error)[1]
        else:
            yield number, value if isinstance(value, Mapping) else "a row is an object"


def _no_json(error: ValueError | RecursionError) -> tuple[int, str]:
    """What is wrong with a JSON text, and in which line of it, from 1."""
    if isinstance(error, JSONDecodeError):
        return error.lineno, f"no valid JSON: {error.msg}, column {error.colno}"
    reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return error.line if isinstance(error, DuplicateKey) else 1, f"no valid JSON: {reason}"


def _csv(text: str) -> _Read:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            if cells and columns is None:
                columns = cells
                if len(set(columns)) < len(columns):
                    yield line, "two columns have one name"
            elif cells and columns is not None:
                yield line, _csv_row(columns, cells)
            line = reader.line_num + 1
    except csv.Error as error:
        yield line, _csv_error(error)


def _csv_error(error: csv.Error) -> str:
    if "field limit" not in str(error):
        return f"no valid CSV: {error}"
    most = f"{csv.field_size_limit():,}"
    return f"a value has more than {most} characters: close the quotation mark, or write a .jsonl dataset"


def _csv_row(columns: list[str], cells: list[str]) -> Mapping[str, Json] | str:
    if len(cells) != len(columns):
        return f"has {len(cells)} values, and the header {len(columns)} columns"
    return dict(zip(columns, cells, strict=True))


_READERS: Mapping[str, Callable[[str], _Read]] = {".json": _json, ".jsonl": _jsonl, ".csv": _csv}
