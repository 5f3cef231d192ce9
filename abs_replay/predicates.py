"""What it means that a text, a JSON value or a pattern fits: pure, and blind to rules and steps.

Alignment and the evaluators share these, so that a behavior and an evaluation never disagree on
what `with`, `contains` or `regex` mean. Values come in as parsed JSON; nothing is changed.
"""

import re
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from re import _parser as re_parser  # type: ignore[attr-defined]  # see `_translated`
from typing import Any

import regex

from abs_replay.exact_json import Json, dumps, equal, loads

TIME_LIMIT = 1.0  # seconds for one search of an author's pattern (SEMANTICS E3)
_LINE_ENDS = {ord("\n"): "\\n", ord("\r"): "\\r"}


class Undecided(Exception):
    """A predicate that is neither true nor false: the time limit, or a pattern no engine takes."""


# -- values as text and as structure --


@lru_cache(maxsize=128)
def normalised(text: str, *, fold: bool) -> str:
    """Bring text into the form in which `contains` compares (SEMANTICS E2)."""
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    return composed.casefold() if fold else composed


def contains(text: str, part: str, *, case_sensitive: bool = False) -> bool:
    """Find `part` in `text` after NFC and, unless told otherwise, case folding (SEMANTICS E2)."""
    fold = not case_sensitive
    return normalised(part, fold=fold) in normalised(text, fold=fold)


def as_text(content: Json) -> str:
    """Write content the way text rules search it: compact JSON, null as the empty text (E2)."""
    if isinstance(content, str):
        return content
    return "" if content is None else dumps(content)


def structured(content: Json) -> Json:
    """Give the object or list that a text wholly is, and anything else as it is (SEMANTICS A6, E4)."""
    return _parsed(content) if isinstance(content, str) else content


@lru_cache(maxsize=128)
def _parsed(text: str) -> Json:
    bare = text.strip()
    if bare[:1] + bare[-1:] not in ("{}", "[]"):
        return text
    try:
        value: Json = loads(bare)
    except (ValueError, ArithmeticError, RecursionError):
        return text
    return value


def arguments_of(arguments: Json) -> Json:
    """Give a call's arguments as the object they stand for: none are `{}` (SEMANTICS A5)."""
    if arguments is None or arguments == "":
        return {}
    parsed = structured(arguments)
    return parsed if isinstance(parsed, Mapping) else arguments


def shown(value: Json, limit: int = 80) -> str:
    """Quote a value for a reason, on one line and visibly shortened."""
    try:
        text = f'"{value[: limit + 1]}"' if isinstance(value, str) else dumps(value)
    except RecursionError:
        return f"{json_type(value)} nested too deep to show"
    whole = len(value) <= limit if isinstance(value, str) else len(text) <= limit
    return (text if whole else f"{text[:limit]}…").translate(_LINE_ENDS)


# -- JSON values --


def fits(wanted: Mapping[str, Json], observed: Json, *, strict: bool = False) -> bool:
    """Check arguments against `with`, or with `strict` against `with_only` (SEMANTICS A5)."""
    return equal(wanted, observed) if strict else _partly(wanted, observed)


def _partly(wanted: Mapping[str, Json], observed: Json) -> bool:
    if not isinstance(observed, Mapping):
        return False
    for key, value in wanted.items():
        if key not in observed:
            return False
        found = observed[key]
        if not (_partly(value, found) if isinstance(value, Mapping) else equal(value, found)):
            return False
    return True


def misfit(wanted: Mapping[str, Json], observed: Json, *, strict: bool = False, path: str = "") -> str | None:
    """Say in a few words where arguments differ from what `fits` wants; None where they do not."""
    if not isinstance(observed, Mapping):
        return f"{path or 'the arguments'}: expected an object, observed {shown(observed)}"
    for key, value in wanted.items():
        place = f"{path}.{key}" if path else key
        if key not in observed:
            return f"{place}: expected {shown(value)}, observed no such key"
        if isinstance(value, Mapping):
            inner = misfit(value, observed[key], strict=strict, path=place)
            if inner:
                return inner
        elif not equal(value, observed[key]):
            return f"{place}: expected {shown(value)}, observed {shown(observed[key])}"
    extra = next((key for key in observed if key not in wanted), None) if strict else None
    return None if extra is None else f"{path + '.' if path else ''}{extra}: expected no such key"


def json_type(value: Json) -> str:
    """Name the JSON type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "object"
    return "list" if isinstance(value, Sequence) else "number"


def same_structure(wanted: Json, observed: Json) -> bool:
    """Check contents for structural compatibility (SEMANTICS A6): words are never compared."""
    return unlike(structured(wanted), structured(observed)) is None


def unlike(wanted: Json, observed: Json, path: str = "the content") -> str | None:
    """Say where the structure differs; None where it does not. Texts are taken as they are."""
    if isinstance(wanted, Mapping) and isinstance(observed, Mapping):
        for key, value in wanted.items():
            if key not in observed:
                return f"{path} has no {shown(key)}"
            inner = unlike(value, observed[key], f"{path}.{key}")
            if inner:
                return inner
        return None
    kinds = json_type(wanted), json_type(observed)
    return None if kinds[0] == kinds[1] else f"{path} is {kinds[1]}, expected {kinds[0]}"


# -- patterns --


def search(pattern: str, text: str) -> bool:
    """Search `text` for a pattern in Python's `re` language, under the time limit (SEMANTICS E3).

    Raises `Undecided` when the limit is reached or the pattern can not be compiled.
    """
    try:
        return compiled(pattern).search(text, timeout=TIME_LIMIT) is not None
    except TimeoutError:
        message = f"the pattern {shown(pattern)} took longer than {TIME_LIMIT:g} s on {shown(text, 40)}"
        raise Undecided(message) from None


@lru_cache(maxsize=512)
def compiled(pattern: str) -> "regex.Pattern[str]":
    """Compile a pattern of the `re` language for the engine that can be stopped."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `[[a]` means in `re` what it says; we keep that meaning
            parsed = re_parser.parse(pattern)
        return regex.compile(_translated(parsed, parsed.state.flags), regex.VERSION0)
    except (re.error, regex.error, RecursionError, OverflowError) as error:
        raise Undecided(f"the pattern {shown(pattern)} can not be compiled: {error}") from None


# `re` can not be interrupted, `regex` can; but what `re` accepts means something else there in
# places (`[[:x:]]`, `x{e}`, `\w` on marks, `\s`, `\B` of an empty text). So a pattern is read by
# the parser of `re` and written anew, every construct in a form that both take alike.

_WORD = r"\p{L}\p{nt=De}\p{nt=Di}\p{nt=Nu}_"  # what `str.isalnum` says, and the underscore
_SETS: Mapping[str, tuple[str, str]] = {  # category: (Unicode, ASCII)
    "DIGIT": (r"\p{Nd}", "0-9"),
    "SPACE": (r"\s\x1c-\x1f", r" \t\n\r\f\v"),
    "WORD": (_WORD, "a-zA-Z0-9_"),
}
_EMPTY_HAS_NO_EDGE = "" if re.search(r"\B", "") else r"(?!\A\Z)"
_REPEATS = {"MAX_REPEAT": "", "MIN_REPEAT": "?", "POSSESSIVE_REPEAT": "+"}


def _translated(nodes: Any, flags: int) -> str:
    return "".join(_WRITERS[str(operation)](str(operation), value, flags) for operation, value in nodes)


def _character(code: int) -> str:
    return chr(code) if code < 128 and chr(code).isalnum() else f"\\U{code:08x}"


def _cased(text: str, flags: int) -> str:
    return f"(?i:{text})" if flags & re.IGNORECASE else text


def _literal(name: str, code: int, flags: int) -> str:
    written = _character(code)
    return _cased(f"[^{written}]" if name == "NOT_LITERAL" else written, flags)


def _any(_: str, __: None, flags: int) -> str:
    return "(?s:.)" if flags & re.DOTALL else r"[^\n]"


def _category(name: str, flags: int) -> str:
    return _SETS[name.rpartition("_")[2]][bool(flags & re.ASCII)]


def _set(_: str, items: Sequence[tuple[object, Any]], flags: int) -> str:
    """Write a class as an alternation, since a negated category has no form inside brackets."""
    plain, pieces, negated = "", [], False
    for kind, value in items:
        match str(kind):
            case "NEGATE":
                negated = True
            case "LITERAL":
                plain += _character(value)
            case "RANGE":
                plain += f"{_character(value[0])}-{_character(value[1])}"
            case _ if "_NOT_" in str(value):
                pieces.append(f"[^{_category(str(value), flags)}]")
            case _:
                plain += _category(str(value), flags)
    pieces += [f"[{plain}]"] if plain else []
    if negated and not pieces[:-1] and plain:
        return _cased(f"[^{plain}]", flags)
    either = "|".join(pieces)
    return _cased(f"(?!{either})(?s:.)" if negated else f"(?:{either})", flags)


def _branch(_: str, value: tuple[None, Sequence[Any]], flags: int) -> str:
    return f"(?:{'|'.join(_translated(branch, flags) for branch in value[1])})"


def _group(_: str, value: tuple[int | None, int, int, Any], flags: int) -> str:
    number, added, removed, inner = value
    return f"{'(?:' if number is None else '('}{_translated(inner, (flags | added) & ~removed)})"


def _repeat(name: str, value: tuple[int, int, Any], flags: int) -> str:
    least, most, inner = value
    bound = "" if most == re_parser.MAXREPEAT else int(most)
    return f"(?:{_translated(inner, flags)}){{{least},{bound}}}{_REPEATS[name]}"


def _look(name: str, value: tuple[int, Any], flags: int) -> str:
    direction, inner = value
    return f"(?{'<' if direction < 0 else ''}{'=' if name == 'ASSERT' else '!'}{_translated(inner, flags)})"


def _at(_: str, place: object, flags: int) -> str:
    word = f"[{_category('WORD', flags)}]"
    lines = bool(flags & re.MULTILINE)
    return {
        "AT_BEGINNING": "(?m:^)" if lines else r"\A",
        "AT_BEGINNING_STRING": r"\A",
        "AT_END": "(?m:$)" if lines else r"(?=\n?\Z)",
        "AT_END_STRING": r"\Z",
        "AT_BOUNDARY": f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))",
        "AT_NON_BOUNDARY": f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}){_EMPTY_HAS_NO_EDGE})",
    }[str(place)]


def _conditional(_: str, value: tuple[int, Any, Any], flags: int) -> str:
    number, met, otherwise = value
    return f"(?({number}){_translated(met, flags)}|{_translated(otherwise or (), flags)})"


_WRITERS: Mapping[str, Callable[[str, Any, int], str]] = {
    "LITERAL": _literal,
    "NOT_LITERAL": _literal,
    "ANY": _any,
    "IN": _set,
    "CATEGORY": lambda _, value, flags: _set("", [("CATEGORY", value)], flags),
    "BRANCH": _branch,
    "SUBPATTERN": _group,
    "MAX_REPEAT": _repeat,
    "MIN_REPEAT": _repeat,
    "POSSESSIVE_REPEAT": _repeat,
    "ATOMIC_GROUP": lambda _, value, flags: f"(?>{_translated(value, flags)})",
    "ASSERT": _look,
    "ASSERT_NOT": _look,
    "FAILURE": lambda _, __, ___: "(?!)",
    "AT": _at,
    "GROUPREF": lambda _, number, flags: _cased(f"(?:\\{number})", flags),
    "GROUPREF_EXISTS": _conditional,
}
