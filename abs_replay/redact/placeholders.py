"""What stands for a secret, and which secrets are looked for in other places, too."""

import re
from collections import Counter
from urllib.parse import quote_from_bytes

PLACEHOLDER = re.compile(rb"<(auth|cookie|key):(\d+)>")
_MAY_BE_PART_OF_ONE = re.compile(rb"<?\w*:?\d*>?")

# A secret is sought elsewhere only where it can not be a common word: so long, and with a digit.
SOUGHT_FROM = {"auth": 8, "key": 12, "cookie": 16}
SOUGHT_WITHOUT_DIGIT = 24
SOUGHT_AT_ONCE = 512  # the latest; each costs a search of every body


class Placeholders:
    """The placeholders given so far, by secret: `<class:ordinal>`, never anything made of the secret."""

    def __init__(self) -> None:
        self._given: dict[bytes, bytes] = {}
        self._counts: Counter[str] = Counter()
        self.sought: dict[bytes, bytes] = {}
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

    def _seek(self, secret: bytes) -> None:
        self.news |= self.sought.pop(secret, None) is None
        placeholder = self._given[secret]
        self.sought[secret] = placeholder  # the latest stand last
        in_url = quote_from_bytes(secret, safe="").encode()
        if in_url != secret and PLACEHOLDER.search(secret) is None:
            self.sought.pop(in_url, None)
            self.sought[in_url] = placeholder
        while len(self.sought) > SOUGHT_AT_ONCE:
            del self.sought[next(iter(self.sought))]


def _is_sought(kind: str, secret: bytes) -> bool:
    if b":" in secret and _MAY_BE_PART_OF_ONE.fullmatch(secret):
        return False
    has_digit = any(byte in b"0123456789" for byte in secret)
    return len(secret) >= (SOUGHT_FROM[kind] if has_digit else SOUGHT_WITHOUT_DIGIT)
