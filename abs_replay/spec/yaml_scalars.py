"""Single values of the YAML 1.2 core schema (SEMANTICS D6; YAML 1.2.2 §10.3): text to JSON.

A plain `no`, `on`, `y`, a date or `1_000` is text. Numbers stay exact. What JSON does not have
raises `ValueError` with the reason.
"""

import re
from collections.abc import Mapping

from abs_replay.exact_json import Json, Number, whole

_CONSTANTS: Mapping[str, Json] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?[0-9]+")
_BASES = ((re.compile(r"0o[0-7]+"), 8), (re.compile(r"0x[0-9a-fA-F]+"), 16))
_FRACTION = re.compile(r"([-+]?)(?:([0-9]+)(\.[0-9]*)?|(\.[0-9]+))([eE][-+]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_TAGS: Mapping[str, tuple[type, ...]] = {
    "null": (type(None),),
    "bool": (bool,),
    "int": (int,),
    "float": (int, Number),
}
CORE = "tag:yaml.org,2002:"


def plain(text: str) -> Json:
    """Read an unquoted scalar."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in "0123456789+-.":
        return text
    if _NO_NUMBER.fullmatch(text):
        raise ValueError(f"{text} is no JSON number")
    try:
        return _number(text)
    except (ValueError, ArithmeticError):
        raise ValueError(f"the number {text[:20]}… is too large") from None


def tagged(text: str, tag: str) -> Json:
    """Read a scalar with a tag of the core schema; every other tag would build an object."""
    if tag in ("!", f"{CORE}str"):
        return text
    wanted = _TAGS.get(tag.removeprefix(CORE)) if tag.startswith(CORE) else None
    if wanted is None:
        raise ValueError(f"the tag {shown(tag)} is refused: documents hold plain values only")
    value = plain(text)
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        raise ValueError(f"{text[:20]!r} does not fit its tag {shown(tag)}")
    return value


def shown(tag: str) -> str:
    """A tag as an author writes it."""
    return tag.replace(CORE, "!!", 1) if tag.startswith(CORE) else tag


def _number(text: str) -> Json:
    if _WHOLE.fullmatch(text):
        return whole(text)
    for form, base in _BASES:
        if form.fullmatch(text):
            return whole(str(int(text[2:], base)))  # one that could not be written is too large
    found = _FRACTION.fullmatch(text)
    return Number(_as_json(*found.groups(""))) if found else text


def _as_json(sign: str, whole: str, fraction: str, bare_fraction: str, exponent: str) -> str:
    # YAML also writes +1.5, 01.5, 1. and .5, which JSON does not; all else stays as written.
    digits = whole.lstrip("0") or "0"
    after = bare_fraction or fraction
    return sign.replace("+", "") + digits + (f"{after}0" if after == "." else after) + exponent
