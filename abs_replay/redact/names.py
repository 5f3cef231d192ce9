"""Which names are those of secrets: of headers, parameters, fields, members, elements and variables alike.

A name is read as its words: `openaiApiKey`, `OPENAI_API_KEY` and `openai-api-key` are one. Of some names any
value is a secret, of others (`token`) only one that looks like a credential: streams say `{"token": "Hi"}`.
"""

import re
from enum import Enum
from functools import lru_cache
from urllib.parse import unquote

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SURE = re.compile(
    r"(?:.*_)?(?:passw(?:or)?d|pwd|pass_?phrase|pass_?code|credentials?|connection_?string|assertion"
    r"|auth(?:orization|entication)"
    r"|(?:api|access|admin|auth|encryption|functions|master|private|secret|signing|subscription)_?key"
    r"|(?:access|secret)_?key_?id"
    r"|(?:access|api|app|auth|bearer|bot|client|deploy|id|oauth|personal|private|refresh|secret|security"
    r"|session|webhook)_?token"
    r"|(?:api|app|client|consumer|signing|shared|webhook)_?secret)"
)
_PERHAPS = re.compile(r"(?:.*_)?(?:token|secret|bearer|jwt|account_?key)")
# Cursors of a list, counters, what a model's vocabulary has, MCP's progress: all are there to be read.
_HARMLESS = re.compile(
    r"access_control_.*|(?:.*_)?(?:page|next|prev|previous|continuation|cursor|sync|resume|pagination|progress"
    r"|cancel|cancellation|start|end|stop|first|last|max|min|num|total|count|prompt|completion|input|output"
    r"|cached|reasoning|bos|eos|pad|unk|sep|cls|mask|special|text|per)_?token"
)
_OF_SOMEONE = (
    r"(?:.*_)?(?:account|app|bearer|bot|client|id|refresh|security|service|session|user|webhook)_?key"
)
_PARAMETER = re.compile(r"key|sig|auth|session|(?:x_(?:amz|goog)_)?signature|" + _OF_SOMEONE)
_HEADER = re.compile(r"(?:x_)?(?:key|auth)|" + _OF_SOMEONE)


class Naming(Enum):
    """What a name says of its value."""

    NOTHING = 0
    PERHAPS = 1  # a secret where it looks like a credential
    SECRET = 2


@lru_cache(maxsize=4096)
def naming(name: str) -> Naming:
    """What a name says of its value, wherever it stands."""
    words = _words(name)
    if _HARMLESS.fullmatch(words):
        return Naming.NOTHING
    if _SURE.fullmatch(words):
        return Naming.SECRET
    return Naming.PERHAPS if _PERHAPS.fullmatch(words) else Naming.NOTHING


@lru_cache(maxsize=1024)
def is_of_header(name: str) -> bool:
    """Whether a header's value is a secret, whatever it looks like."""
    return naming(name) is not Naming.NOTHING or _HEADER.fullmatch(_words(name)) is not None


@lru_cache(maxsize=4096)
def is_of_parameter(name: bytes) -> bool:
    """Whether the value of a URL's parameter, or of a form's field, is a secret, whatever it looks like."""
    text = unquote(name.decode("utf-8", "replace"))
    return naming(text) is not Naming.NOTHING or _PARAMETER.fullmatch(_words(text)) is not None


def _words(name: str) -> str:
    return "_".join(_WORD.findall(name)).lower()
