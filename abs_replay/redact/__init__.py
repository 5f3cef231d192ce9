"""Secrets out of an exchange, before anything is written or matched.

A secret becomes a placeholder of its class and ordinal, `<auth:1>`; equal ones get equal placeholders, so
that a wrong key beside the right one stays a different request. A `Redactor` remembers what it has seen:
a secret found in a header is replaced wherever else it stands, in that exchange and in later ones.

Found are: credentials in headers (the scheme word stays), values of cookies, key-like query parameters and
JSON members, passwords in URLs, and what looks like a token of a known vendor, in any text and in bodies,
plain, gzip, deflate, br or zstd. A body is searched joined, so a chunk boundary hides nothing; chunk ends are
mapped. So are the words of a stream's events, where each carries a part of a secret.
Not looked into: bodies in other encodings, in br or zstd without their libraries, and binary event streams.
"""

from abs_replay.exchange import Exchange
from abs_replay.redact.placeholders import PLACEHOLDER
from abs_replay.redact.redactor import Redactor

__all__ = ["PLACEHOLDER", "Redactor", "redact"]


def redact(exchange: Exchange) -> Exchange:
    """Take the secrets out of one exchange that stands for itself."""
    return Redactor().redact(exchange)
