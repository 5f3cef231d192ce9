"""Searching with an author's pattern: Python's `re` language, under a time limit (SEMANTICS E3).

`re` itself can not be stopped. It searches where the pattern can be seen to end soon on a text of that
length, which is nearly always; else `regex` searches, which can be stopped, with the pattern written
anew for it. It is loaded only then, for it takes a while.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from re import _parser as re_parser  # type: ignore[attr-defined]  # see `_translated`
from typing import TYPE_CHECKING, Any, NamedTuple

from abs_replay.predicates import Undecided, shown
from abs_replay.predicates.patience import this_run

if TYPE_CHECKING:
    import regex

TIME_LIMIT = 1.0  # seconds for one search of an author's pattern
FEW = 10_000_000  # moves of `re`, each far below a microsecond
_WITHOUT_END = 10**9
_REFUSED = (re.error, RecursionError, OverflowError)


def search(pattern: str, text: str) -> bool:
    """Search `text` for a pattern. Raises `Undecided` at the time limit, or for what does not compile."""
    read = _read(pattern)
    if read.moves(len(text)) <= FEW:
        return read.pattern.search(text) is not None
    run, stoppable = this_run(), compiled(pattern)
    if not run.timed_out(pattern, text):
        if run.gives_up(pattern):
            raise Undecided(f"the pattern {shown(pattern)} took too long on other texts; not tried again")
        with suppress(TimeoutError), run.timing(pattern, text):
            return stoppable.search(text, timeout=TIME_LIMIT) is not None
    raise Undecided(f"the pattern {shown(pattern)} took longer than {TIME_LIMIT:g} s on {shown(text, 40)}")


def removed(pattern: str, text: str) -> str:
    """The text without what a pattern matches. Raises `Undecided` as `search` does."""
    read = _read(pattern)
    if read.moves(len(text)) <= FEW:
        return read.pattern.sub("", text)
    try:
        return compiled(pattern).sub("", text, timeout=TIME_LIMIT)
    except TimeoutError:
        raise Undecided(
            f"the pattern {shown(pattern)} took longer than {TIME_LIMIT:g} s on {shown(text, 40)}"
        ) from None


class _Read(NamedTuple):
    """A pattern of `re`, and an upper bound on how it backtracks.

    At each start it follows at most `ways * length ** degree` ways of at most `size` moves each.
    """

    pattern: re.Pattern[str]
    degree: int
    ways: int
    size: int

    def moves(self, length: int) -> int:
        return int((length + 1) ** (self.degree + 1)) * self.ways * self.size


@lru_cache(maxsize=512)
def _read(pattern: str) -> _Read:
    with _errors_of(pattern):
        bound = _bound(re_parser.parse(pattern))
        return _Read(re.compile(pattern), bound.degree, bound.ways, bound.size)


@lru_cache(maxsize=512)
def compiled(pattern: str) -> "regex.Pattern[str]":
    """Compile a pattern of the `re` language for the engine that can be stopped."""
    import regex

    with _errors_of(pattern, (*_REFUSED, regex.error)):
        parsed = re_parser.parse(pattern)
        return regex.compile(_translated(parsed, parsed.state.flags), regex.VERSION0)


@contextmanager
def _errors_of(pattern: str, errors: tuple[type[Exception], ...] = _REFUSED) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `[[a]` means in `re` what it says; we keep that meaning
            yield
    except errors as error:
        raise Undecided(f"the pattern {shown(pattern)} can not be compiled: {_why(error)}") from None


def _why(error: Exception) -> str:
    return "it is nested too deep" if isinstance(error, RecursionError) else str(error)


# -- how a pattern backtracks --


class _Bound(NamedTuple):
    """`ways * length ** degree` ways through a part of a pattern, of `size` moves each."""

    degree: int = 0
    ways: int = 1
    size: int = 1


_ENDLESS = _Bound(ways=_WITHOUT_END)


def _bound(nodes: Any) -> _Bound:
    """Of parts one after the other every way of one is tried with every way of the next."""
    degree, ways, size = 0, 1, 1
    for operation, value in nodes:
        part = _BOUNDS.get(str(operation), lambda _: _Bound())(value)
        degree, ways, size = degree + part.degree, ways * part.ways, size + part.size
        if degree > 8 or ways >= _WITHOUT_END or size >= _WITHOUT_END:
            return _ENDLESS
    return _Bound(degree, ways, size)


def _either(branches: Iterable[Any]) -> _Bound:
    bounds = [_bound(branch or ()) for branch in branches]
    return _Bound(max(b.degree for b in bounds), sum(b.ways for b in bounds) + 1, sum(b.size for b in bounds))


def _repeated(value: tuple[int, int, Any]) -> _Bound:
    least, most, inner = value
    part = _bound(inner)
    if most <= 1:
        return _Bound(part.degree, part.ways + 1, part.size)
    if part.degree or part.ways > 1:
        return _ENDLESS  # ways inside of repeats multiply with each turn
    if most == re_parser.MAXREPEAT:
        return _Bound(1, 1, part.size * (int(least) + 1))
    return _Bound(0, int(most) - int(least) + 1, part.size * int(most))


_BOUNDS: Mapping[str, Callable[[Any], _Bound]] = {
    "BRANCH": lambda value: _either(value[1]),
    "SUBPATTERN": lambda value: _bound(value[3]),
    "MAX_REPEAT": _repeated,
    "MIN_REPEAT": _repeated,
    "POSSESSIVE_REPEAT": _repeated,
    "ATOMIC_GROUP": _bound,
    "ASSERT": lambda value: _bound(value[1]),
    "ASSERT_NOT": lambda value: _bound(value[1]),
    "GROUPREF": lambda _: _Bound(degree=1),  # compares as much as the group holds
    "GROUPREF_EXISTS": lambda value: _either(value[1:]),
}


# -- the same pattern for the other engine --
#
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
