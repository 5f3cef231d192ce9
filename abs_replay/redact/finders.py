"""What an author wants taken out beside secrets: patterns of theirs, and what is about persons.

E-mail addresses, phone numbers (with a country's `+`, or written in the groups of North America), card
numbers (ISO/IEC 7812-1: issuers' prefixes and lengths, and the check digit of Annex B) and IBANs (ISO 13616:
the check digits by ISO/IEC 7064, MOD 97-10).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from abs_replay.predicates.patterns import TIME_LIMIT, compiled
from abs_replay.redact.slices import SLICE, contains, matches, spans

if TYPE_CHECKING:
    import regex

LONGEST = 4096  # bytes of a match; longer ones may be missed where they begin late in a slice

PII = ("email", "phone", "card", "iban")


class TooSlow(Exception):
    """A pattern could not be searched in time; what it would have found is not known."""


class Finder(Protocol):
    """Something that is looked for: its class, where it stands, and from where it may have begun."""

    @property
    def kind(self) -> str: ...
    def spans(self, data: bytes) -> Iterator[tuple[int, int]]: ...
    def begun(self, tail: bytes) -> int | None: ...


class Pattern:
    """An author's pattern; its first group is what is taken out, or all of it where it has none."""

    def __init__(self, kind: str, pattern: str) -> None:
        self.kind, self._pattern = kind, compiled(pattern)

    def spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        at = 0
        for start, stop in spans(data, LONGEST):
            text = data[start:stop].decode("utf-8", "surrogateescape")
            place = _Place(text, start)
            for found in self._found(text):
                begin, end = (place.at(each) for each in found.span(1 if self._pattern.groups else 0))
                if found.span()[0] < found.span()[1] and begin < end and at <= begin < start + SLICE:
                    yield begin, end
                    at = end

    def _found(self, text: str) -> "Iterator[regex.Match[str]]":
        try:
            yield from self._pattern.finditer(text, timeout=TIME_LIMIT, concurrent=True)
        except TimeoutError:
            raise TooSlow(f"the pattern `{self.kind}` took longer than {TIME_LIMIT:g} s") from None

    def begun(self, tail: bytes) -> int | None:
        text = tail.decode("utf-8", "surrogateescape")
        for found in self._pattern.finditer(text, partial=True, timeout=TIME_LIMIT):
            if found.end() == len(text) and found.start() < len(text):
                return _Place(text, 0).at(found.start())
        return None


class _Place:
    """Where the characters of a decoded text stand in its bytes; asked in ascending order it is linear."""

    def __init__(self, text: str, start: int) -> None:
        self._text, self._start, self._ascii = text, start, text.isascii()
        self._character = self._byte = 0

    def at(self, character: int) -> int:
        if self._ascii:
            return self._start + character
        if character < self._character:
            self._character = self._byte = 0
        part = self._text[self._character : character]
        self._byte += len(part.encode("utf-8", "surrogateescape"))
        self._character = character
        return self._start + self._byte


@dataclass(frozen=True)
class Personal:
    """One class of what is about persons; `hint` is in every text that has one."""

    kind: str
    pattern: re.Pattern[bytes]
    hint: bytes = b""
    accept: Callable[[bytes], bool] = bool

    def spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        if self.hint and not contains(data, self.hint):
            return
        for found in matches(self.pattern, data, 512):
            if self.accept(found[0]):
                yield found.span()

    @cached_property
    def _stoppable(self) -> "regex.Pattern[bytes]":
        import regex

        return regex.compile(self.pattern.pattern, regex.VERSION0)

    def begun(self, tail: bytes) -> int | None:
        ends = (m for m in self._stoppable.finditer(tail[-512:], partial=True) if m.end() == len(tail[-512:]))
        found = next((each for each in ends if each.start() < each.end()), None)
        return None if found is None else found.start() + len(tail) - len(tail[-512:])


def _digits(number: bytes) -> bytes:
    return bytes(byte for byte in number if 48 <= byte <= 57)


_CARDS = re.compile(  # prefixes and lengths of the issuers, as they publish them
    rb"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|3[47]\d{13}"
    rb"|3(?:0[0-5]|[689]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}"
)


def is_card(number: bytes) -> bool:
    """Whether it is a card's number: an issuer's prefix and length, and the check digit (Luhn)."""
    digits = _digits(number)
    if _CARDS.fullmatch(digits) is None:
        return False
    doubled = (sum(divmod(2 * (digit - 48), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(digit - 48 for digit in digits[::-2])) % 10 == 0


def is_iban(number: bytes) -> bool:
    """Whether its check digits fit (ISO 13616)."""
    compact = bytes(byte for byte in number.upper() if byte != 32)
    if not 15 <= len(compact) <= 34:
        return False
    return int("".join(str(int(chr(byte), 36)) for byte in compact[4:] + compact[:4])) % 97 == 1


def is_phone(number: bytes) -> bool:
    """Whether it has as many digits as a phone number (E.164)."""
    return 8 <= len(_digits(number)) <= 15


def _edge(characters: bytes) -> bytes:
    """What stands before: none of these characters, or one that belongs to an escape of JSON or a URL."""
    escapes = rb"(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4})|(?<=%[0-9a-fA-F]{2})"
    return rb"(?:(?<![\\" + characters + rb"])|" + escapes + rb")"


PERSONAL = {
    "email": Personal(
        "email",
        re.compile(
            _edge(rb"A-Za-z0-9_.+%-") + rb"[A-Za-z0-9_][A-Za-z0-9_.+%'-]{0,63}"
            rb"@(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.){1,8}[A-Za-z]{2,24}"
        ),
        b"@",
    ),
    "phone": Personal(
        "phone",
        re.compile(
            _edge(rb"\w.+-") + rb"(?:\+[1-9](?:[ ().-]{0,2}\d){7,14}|\(\d{3}\) ?\d{3}[ .-]\d{4}"
            rb"|\d{3}([ .-])\d{3}\1\d{4})(?!\d|[.-]\d)"
        ),
        accept=is_phone,
    ),
    "card": Personal(
        "card",
        re.compile(_edge(rb"\w.+-") + rb"\d(?:[ -]?\d){12,18}(?![\d-]|\.\d)"),
        accept=is_card,
    ),
    "iban": Personal(
        "iban",
        re.compile(_edge(rb"A-Za-z0-9") + rb"[A-Z]{2}\d\d(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])"),
        accept=is_iban,
    ),
}
