"""Pictures, sounds and files inside JSON: named by what they hold, not copied into every step.

The same bytes have the same name, however a client wrote their base64.
"""

import base64
import binascii
import hashlib
from functools import lru_cache

from abs_replay.exact_json import Json


@lru_cache(64)  # each request repeats its history
def named(data: str) -> dict[str, Json]:
    """Name bytes that stand in a text as base64: how many they are, and the start of their digest."""
    return name(plain(data))


def name(data: bytes) -> dict[str, Json]:
    """Name bytes: how many they are, and the start of their digest."""
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()[:16]}


def plain(text: str) -> bytes:
    """Undo a text's base64, in whichever alphabet; a text that is none as it stands."""
    # Both alphabets are in use (RFC 4648 §4 and §5): clients echo in the other one than servers write.
    bare = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return text.encode("utf-8", "surrogatepass")
