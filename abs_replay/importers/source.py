"""A foreign file as importers see it: its name, its bytes, and what they are as text, JSON, lines and YAML.

Views are made once and kept. `json`, `json_lines` and `yaml` are `NOTHING` where the bytes are no such thing,
so that `recognises` may ask for any of them; `need_json` and its like raise a `UsageError` with the line
instead. Nothing that a file holds is executed, and what it expands to is bounded.
"""

import gzip
import io
import json
import re
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from abs_replay.errors import UsageError

LARGEST = 512 * 1024 * 1024  # bytes of a file, and of what a compressed one expands to
_OPENS = re.compile(r"\s*[{\[]")
_TEXT_OR_ODD_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*+"|(NaN|-?Infinity)')
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a JSON Lines file that is not blank; `number` counts from 1."""

    number: int
    value: Any


class _Nothing:
    """Says that the bytes are not what was asked for; null is a value."""

    def __bool__(self) -> bool:
        return False


NOTHING: Final = _Nothing()


class Source:
    """A file's bytes under the name it was given; gzip is undone before."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data = path, data

    @property
    def name(self) -> str:
        """The file's own name, without `.gz`."""
        return self.path.name.removesuffix(".gz")

    @property
    def stem(self) -> str:
        """The name without its endings: what a recording of it is called."""
        name, *_ = self.name.rsplit(".", 1)
        return name.removesuffix(".cassette").removesuffix(".trace") or self.name

    def wrong(self, message: str, line: int | None = None, path: str = "") -> UsageError:
        """Make the error that says where in this file something is wrong, and what."""
        where = f"{self.path}:{line}" if line else str(self.path)
        return UsageError(": ".join(part for part in (where, path, " ".join(message.split())) if part))

    @cached_property
    def text(self) -> str | None:
        """The whole as text, without a byte order mark; None where it is not UTF-8."""
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return None

    @cached_property
    def json(self) -> Any:
        """The one JSON object or list that the file is, with exact numbers, or `NOTHING`."""
        return NOTHING if not self._opens or isinstance(self._json, UsageError) else self._json

    @cached_property
    def json_lines(self) -> "tuple[Line, ...] | _Nothing":
        """The values of a file with one JSON object or list a line, or `NOTHING`."""
        return NOTHING if not self._opens or isinstance(self._json_lines, UsageError) else self._json_lines

    @cached_property
    def yaml(self) -> Any:
        """The value of the first YAML document (see `yaml_values`), or `NOTHING`."""
        return NOTHING if isinstance(self._yaml, UsageError) else self._yaml

    def need_text(self) -> str:
        """Give the text; raises `UsageError`."""
        if self.text is None:
            raise self._no_text
        return self.text

    def need_json(self) -> Any:
        """Give the JSON value; raises `UsageError` with the line."""
        return _given(self._json)

    def need_json_lines(self) -> tuple[Line, ...]:
        """Give the values of a file with one a line; raises `UsageError` with the line."""
        lines: tuple[Line, ...] = _given(self._json_lines)
        return lines

    def need_yaml(self) -> Any:
        """Give the YAML value; raises `UsageError` with the line."""
        return _given(self._yaml)

    @property
    def _no_text(self) -> UsageError:
        try:
            self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            return self.wrong(f"is not UTF-8 text (byte 0x{self.data[error.start]:02x})", line)
        return self.wrong("is not UTF-8 text")

    @cached_property
    def _opens(self) -> bool:
        """Whether the text begins like an object or a list: a large file that does not is not parsed."""
        return _OPENS.match(self.text or "") is not None

    @cached_property
    def _json(self) -> Any:
        return self._parsed(self.text, None) if self.text is not None else self._no_text

    @cached_property
    def _json_lines(self) -> "tuple[Line, ...] | UsageError":
        if self.text is None:
            return self._no_text
        lines = []
        # Not splitlines(): JSON text may hold U+2028 and its like unescaped.
        for number, text in enumerate(io.StringIO(self.text, newline="\n"), 1):
            if text.isspace():
                continue
            value = self._parsed(text, number)
            if isinstance(value, UsageError):
                return value
            lines.append(Line(number, value))
        return tuple(lines) or self.wrong("is empty")

    def _parsed(self, text: str, line: int | None) -> Any:
        from abs_replay.decoders import fields  # here, as below: who reads traces alone needs none of it

        try:
            return fields.parse(text)
        except json.JSONDecodeError as error:
            return self.wrong(f"is no JSON ({error.msg}, column {error.colno})", line or error.lineno)
        except ValueError as error:
            return self.wrong(f"is no JSON that can be read ({error})", line or _odd_number(text))

    @cached_property
    def _yaml(self) -> Any:
        if self.text is None:
            return self._no_text
        from abs_replay.importers import yaml_values

        try:
            return yaml_values.read(self.text)
        except yaml_values.BadYaml as error:
            return self.wrong(f"is no YAML that can be read ({error})", error.line)


def _odd_number(text: str) -> int | None:
    """The line of the first word for a number that JSON does not have."""
    words = (found for found in _TEXT_OR_ODD_NUMBER.finditer(text) if found[1])
    return next((text.count("\n", 0, found.start()) + 1 for found in words), None)


def _given(value: Any) -> Any:
    if isinstance(value, UsageError):
        raise value
    return value


def open_source(path: Path | str) -> Source:
    """Read a file, and undo gzip; raises `UsageError` for what can not be read, or is too large."""
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST:
            raise UsageError(f"{path}: is larger than {LARGEST >> 20} MiB; split it")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: can not be read ({error.strerror}); name a file or a folder") from None
    return Source(path, _expanded(path, data) if data.startswith(_GZIP) else data)


def _expanded(path: Path, data: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            plain = file.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: is no gzip that can be read ({error}); compress it anew") from None
    if len(plain) > LARGEST:
        raise UsageError(f"{path}: expands to more than {LARGEST >> 20} MiB; split it")
    return plain
