"""Whether a text holds a value, and what stands in the places of a template (SEMANTICS C5)."""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from abs_replay.exact_json import Json, dumps
from abs_replay.predicates import Undecided, shown
from abs_replay.predicates.patterns import TIME_LIMIT
from abs_replay.spec.references import Part, Reference

if TYPE_CHECKING:
    import regex

# Scripts that put no blanks between words: their letters end a word as a blank does.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Yi}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_JOINED = r"\p{Javanese}\p{Balinese}\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}ー々〆"


def in_nfc(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def holds(content: Json, value: Json) -> bool:
    """Say whether content shows a value between non-word characters; an object where all its scalars are."""
    if isinstance(value, Mapping):
        return all(holds(content, item) for item in value.values())
    if isinstance(value, list | tuple):
        return all(holds(content, item) for item in value)
    text, wanted = _written(content), _written(value)
    if not wanted or _stands_in(text, wanted):
        return True
    # In compact JSON a text stands escaped.
    return not isinstance(content, str) and isinstance(value, str) and _stands_in(text, dumps(wanted)[1:-1])


def _written(value: Json) -> str:
    """Text as it is, everything else, null included, as compact JSON (C5; V1)."""
    return in_nfc(value if isinstance(value, str) else dumps(value))


def _stands_in(text: str, wanted: str) -> bool:
    begin = text.find(wanted)
    while begin >= 0:
        end = begin + len(wanted)
        if not (_is_word(text[max(begin - 1, 0) : begin]) or _is_word(text[end : end + 1])):
            return True
        begin = text.find(wanted, begin + 1)
    return False


@lru_cache(maxsize=1024)
def _is_word(letter: str) -> bool:
    return _word().match(letter) is not None


@cache
def _word() -> "regex.Pattern[str]":
    import regex

    return regex.compile(rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{_UNSPACED}{_JOINED}]]", regex.VERSION1)


def fit(template: Sequence[Part], text: str) -> Mapping[str, str] | None:
    """Fit a template to a whole text: what stands for each reference, or None where it does not fit.

    References take the shortest text that fits, the same reference the same text.
    """
    import regex

    names: dict[str, str] = {}
    pattern = "".join(
        regex.escape(in_nfc(part)) if isinstance(part, str) else _slot(part, names) for part in template
    )
    try:
        found = regex.fullmatch(pattern, in_nfc(text), regex.DOTALL, timeout=TIME_LIMIT)
    except TimeoutError:
        raise Undecided(
            f"it took longer than {TIME_LIMIT:g} s to fit a template to {shown(text, 40)}"
        ) from None
    return None if found is None else {name: found[slot] for name, slot in names.items()}


def _slot(part: Reference, names: dict[str, str]) -> str:
    if part.name in names:
        return f"(?P={names[part.name]})"
    names[part.name] = f"r{len(names)}"
    return f"(?P<{names[part.name]}>.*?)"
