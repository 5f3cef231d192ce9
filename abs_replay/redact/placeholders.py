"""What stands for a secret, and which secrets are looked for in other places, too."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import quote_from_bytes

from abs_replay.redact.slices import contains, places, spans

PLACEHOLDER = re.compile(rb"<([a-z][a-z-]{1,19}):(\d{1,9})>")  # `matching.renaming` reads them, too
_MAY_BE_PART_OF_ONE = re.compile(rb"<?[\w-]*:?\d*>?")

# A secret is sought elsewhere only where it can not be a common word: so long, and with a digit.
SOUGHT_FROM = {"auth": 8, "key": 12, "cookie": 16, "field": 12}
SOUGHT_WITHOUT_DIGIT = 24
SOUGHT_AT_ONCE = 512  # the latest; each costs a search of every body
LONGEST_SOUGHT = 8192
FEW = 24  # so many are sought one by one in all of a text

_WORD = bytes(range(48, 58)) + bytes(range(65, 91)) + bytes(range(97, 123)) + b"+/=_.~%-"
_WORDS = bytes(byte if byte in _WORD else 32 for byte in range(256))


class Placeholders:
    """The placeholders given so far, by secret: `<class:ordinal>`, never anything made of the secret."""

    def __init__(self) -> None:
        self._given: dict[bytes, bytes] = {}
        self._counts: Counter[str] = Counter()
        self.sought: dict[bytes, bytes] = {}
        self._forms: dict[bytes, tuple[bytes, ...]] = {}
        self._odd: set[bytes] = set()  # those sought that are no single word
        self.learned = 0  # how often one was added to those
        self.news = False  # whether there is a secret to be sought that was not there before

    def of(self, kind: str, secret: bytes) -> bytes:
        """The placeholder of a secret; a placeholder's is itself."""
        if known := PLACEHOLDER.fullmatch(secret):
            self._counts[known[1].decode()] = max(self._counts[known[1].decode()], int(known[2]))
            return secret
        if not secret.strip():
            return secret
        if secret not in self._given:
            self._counts[kind] += 1
            self._given[secret] = f"<{kind}:{self._counts[kind]}>".encode()
        if _is_sought(kind, secret):
            self._seek(secret)
        return self._given[secret]

    def found(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Where those stand in a text that are sought: from where to where, with the placeholder."""
        for secret in self._present(data):
            for at in places(data, secret):
                yield at, at + len(secret), self.sought[secret]

    def begun(self, data: bytes, least: int) -> Iterator[int]:
        """From where a text's end is the beginning of one that is sought, at least so many bytes of it."""
        for secret in self.sought:
            at = data.rfind(secret[:least], max(0, len(data) - len(secret)))
            if at >= 0 and secret.startswith(data[at:]):
                yield at

    def _present(self, data: bytes) -> list[bytes]:
        """Those sought that may stand in a text. Many are sought in its long words alone, which are few."""
        if len(self.sought) <= FEW or len(data) < 256:
            return [secret for secret in self.sought if contains(data, secret)]
        words = b" ".join(_long_words(data))
        return [each for each in self.sought if contains(data if each in self._odd else words, each)]

    def _seek(self, secret: bytes) -> None:
        is_new = self.sought.pop(secret, None) is None
        self.news |= is_new
        self.learned += is_new
        placeholder = self._given[secret]
        if secret not in self._forms:
            self._forms[secret] = _forms(secret)
            self._odd.update(form for form in self._forms[secret] if b" " in form.translate(_WORDS))
        for form in self._forms[secret]:
            self.sought.pop(form, None)
            self.sought[form] = placeholder  # the latest stand last
        while len(self.sought) > SOUGHT_AT_ONCE:
            gone = next(iter(self.sought))
            del self.sought[gone]
            self._odd.discard(gone)
            self._forms.pop(gone, None)


def _long_words(data: bytes) -> Iterator[bytes]:
    least = min(SOUGHT_FROM.values())
    for start, stop in spans(data, LONGEST_SOUGHT):
        yield from (each for each in data[start:stop].translate(_WORDS).split() if len(each) >= least)


def _forms(secret: bytes) -> tuple[bytes, ...]:
    """How a secret is written: as it is, in a URL, and in JSON."""
    if PLACEHOLDER.search(secret):
        return (secret,)
    in_url = quote_from_bytes(secret, safe="").encode()
    in_json = json.dumps(secret.decode("utf-8", "replace"), ensure_ascii=False)[1:-1].encode()
    return tuple(dict.fromkeys((secret, in_url, in_json)))


def _is_sought(kind: str, secret: bytes) -> bool:
    if b":" in secret and _MAY_BE_PART_OF_ONE.fullmatch(secret):
        return False
    if kind not in SOUGHT_FROM:  # what an author's pattern finds is found by it elsewhere, too
        return False
    has_digit = any(byte in b"0123456789" for byte in secret)
    return (SOUGHT_FROM[kind] if has_digit else SOUGHT_WITHOUT_DIGIT) <= len(secret) <= LONGEST_SOUGHT
