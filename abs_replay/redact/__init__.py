"""Secrets out of an exchange, before anything is written or matched.

A secret becomes a placeholder of its class and ordinal, `<auth:1>`; equal ones get equal placeholders, so
that a wrong key beside the right one stays a different request. A `Redactor` remembers what it has seen:
a secret found in a header is replaced wherever else it stands, in that exchange and in later ones.

Found are: credentials in headers (the scheme word stays), values of cookies, whatever stands behind a name of
a secret (`names`), passwords in URLs, and what looks like a token of a known vendor (`vendors`), in any text,
body and WebSocket message, plain, gzip, deflate, br or zstd, in UTF-16 and UTF-32, in the escapes
of JSON and URLs, in base64, and in Amazon's event streams. A body is searched joined, so a chunk boundary
hides nothing; so are the words of a stream's events, where each carries a part of a secret. The result is
as valid as what came: lengths, checksums, JSON, and chunk ends, which are mapped.

`Rules` add headers, JSON paths, patterns, what is about persons, and a hook. Of what is not whole (it runs
still, broke off, or was cut) the end is held back where it may be a secret's beginning.
Not looked into: bodies in other encodings, or in br or zstd without their libraries; what comes to more
than 64 MiB; base64 of more than 4 MiB; pictures and sound.
"""

from abs_replay.exchange import Exchange
from abs_replay.redact.placeholders import PLACEHOLDER
from abs_replay.redact.redactor import Redactor
from abs_replay.redact.rules import DEFAULT, Rules, rules_of

__all__ = ["DEFAULT", "PLACEHOLDER", "Redactor", "Rules", "redact", "rules_of"]


def redact(exchange: Exchange) -> Exchange:
    """Take the secrets out of one exchange that stands for itself."""
    return Redactor().redact(exchange)
