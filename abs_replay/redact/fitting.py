"""What an author's rules find, fitted into JSON so that it stays JSON.

A number becomes a text, escapes are taken whole, and of what goes over quotes only the values are taken.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property

from abs_replay.redact.bodies import Edit

type Of = Callable[[bytes], bytes]  # a placeholder for a secret

_TEXT = re.compile(rb'"([^"\\\n]*+(?:\\.[^"\\\n]*+)*+)"')
_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_NUMBER = re.compile(rb"-?\d[\d.eE+-]*")
_IN_NUMBER = b"0123456789.eE+-"
_NAME_BEFORE = re.compile(rb'(\\{1,7}")\s{0,8}:\s{0,8}\Z')
_IS_NAME = re.compile(rb"\s*:")


class Fitting:
    """The texts of one body, if it is of JSON."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        begins = data[:64].lstrip()[:1]
        self._is_json = (
            begins in (b"{", b"[", b'"')
            or data.startswith((b"data:", b"event:", b"id:"))
            or _NUMBER.fullmatch(data) is not None
        )

    @cached_property
    def _texts(self) -> list[tuple[int, int]]:
        return [found.span(1) for found in _TEXT.finditer(self._data)] if self._is_json else []

    def edits(self, start: int, stop: int, of: Of) -> Iterator[Edit]:
        """The edits that take out what stands there."""
        data = self._data
        if not self._is_json:
            yield start, stop, of(data[start:stop])
        elif (text := self._text_at(start)) and stop <= text[1]:
            yield self._in_text(text, start, stop, of)
        else:
            yield from self._over(start, stop, of)

    def _text_at(self, place: int) -> tuple[int, int] | None:
        index = bisect_right(self._texts, (place, len(self._data))) - 1
        return self._texts[index] if index >= 0 and place <= self._texts[index][1] else None

    def _in_text(self, text: tuple[int, int], start: int, stop: int, of: Of) -> Edit:
        data = self._data
        for escape in _ESCAPE.finditer(data, max(text[0], start - 4096), text[1]):
            if escape.start() >= stop:
                break
            start = escape.start() if escape.start() < start < escape.end() else start
            stop = escape.end() if escape.start() < stop < escape.end() else stop
        name = _NAME_BEFORE.search(data, max(text[0], start - 32), start)
        if name and _NUMBER.fullmatch(data[start:stop]) and data[stop : stop + 1] not in _IN_NUMBER:
            return start, stop, name[1] + of(data[start:stop]) + name[1]  # a number in JSON inside of JSON
        return start, stop, of(data[start:stop])

    def _over(self, start: int, stop: int, of: Of) -> Iterator[Edit]:
        """What is no part of one text: the values that stand there, numbers or texts."""
        data, texts, at = self._data, self._texts, start
        index = max(0, bisect_right(texts, (start, len(data))) - 1)
        for begin, end in (each for each in texts[index:] if each[1] >= start):
            yield from self._numbers(at, min(begin, stop), of)
            if begin >= stop:
                return
            if not _IS_NAME.match(data, end + 1) and max(begin, start) < min(end, stop):
                yield self._in_text((begin, end), max(begin, start), min(end, stop), of)
            at = end + 1
        yield from self._numbers(at, stop, of)

    def _numbers(self, start: int, stop: int, of: Of) -> Iterator[Edit]:
        """Numbers outside of texts that are touched, each as a whole, as a text."""
        data = self._data
        while start < stop and start > 0 and data[start] in _IN_NUMBER and data[start - 1] in _IN_NUMBER:
            start -= 1
        for found in _NUMBER.finditer(data, start):
            if found.start() >= stop:
                return
            yield *found.span(), b'"' + of(found[0]) + b'"'
