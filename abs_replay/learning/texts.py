"""Where two texts differ, part by part, and a pattern that finds such a part by the words around it."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_TOKEN = re.compile(r"\w+|\s|[^\w\s]")
_MOST = 4_000_000  # pairs of tokens that are compared; more are one part
_NEAR = 3  # so few equal words between two parts make them one
_BEFORE, _AFTER = 32, 16  # characters
_WORD = re.compile(r"\w{2}")
_IN_WORD = re.compile(r"[\w-]")


@dataclass(frozen=True, slots=True)
class Part:
    """What stands at `start` of one text, and in the other in its place; `before` and `after` are equal."""

    start: int
    then: str
    now: str
    before: str
    after: str


def parts(then: str, now: str) -> tuple[Part, ...]:
    """The parts in which two texts differ, whole words each, in order."""
    spans = _joined(then, [*_spans(then, now)])
    return tuple(_part(then, now, span) for span in _joined(then, [_whole(then, now, s) for s in spans]))


def replaced(then: str, chosen: Collection[Part]) -> str:
    """The first text with these parts as the second has them."""
    pieces, at = [], 0
    for part in sorted(chosen, key=lambda each: each.start):
        pieces += [then[at : part.start], part.now]
        at = part.start + len(part.then)
    return "".join([*pieces, then[at:]])


def pattern_for(seen: Sequence[Part]) -> str | None:
    """A pattern for parts that follow the same words; None where nothing around them tells them apart."""
    values = [value for part in seen for value in (part.then, part.now)]
    before, after = _common_end([part.before for part in seen]), _common_start([p.after for p in seen])
    if not before and all(part.start == 0 for part in seen):
        start = "^"
    elif _WORD.search(before):
        start = _escaped(before)
    else:
        return None
    repeat = "*" if "" in values else "+"
    if all(re.fullmatch(r"[\w-]*", value) for value in values):
        return _checked(f"{start}[\\w-]{repeat}")
    if not any(re.search(r"\s", value) for value in values):
        return _checked(f"{start}\\S{repeat}")
    line = after.partition("\n")[0]
    if any("\n" in value for value in values):
        return _checked(f"{start}[\\s\\S]*?{_escaped(after)}") if after.strip() else None
    return _checked(f"{start}[^\\n]*?{_escaped(line)}" if _WORD.search(line) else f"{start}[^\\n]*")


def _escaped(text: str) -> str:
    """Escape what a pattern obeys, and no more: rules are read by people."""
    return re.sub(r"[\\.^$*+?{}\[\]|()]", r"\\\g<0>", text)


def _checked(pattern: str) -> str | None:
    return None if re.fullmatch(pattern, "") else pattern


type _Span = tuple[int, int, int, int]  # from and to in the one, from and to in the other


def _spans(then: str, now: str) -> Iterator[_Span]:
    left, right = _TOKEN.findall(then), _TOKEN.findall(now)
    least = min(len(left), len(right))
    head = next((n for n in range(least) if left[n] != right[n]), least)
    tail = next((n for n in range(least - head) if left[-1 - n] != right[-1 - n]), least - head)
    inner, other = left[head : len(left) - tail], right[head : len(right) - tail]
    ends, others = _ends(left), _ends(right)
    codes = [("replace", 0, len(inner), 0, len(other))]
    if len(inner) * len(other) <= _MOST:
        codes = list(SequenceMatcher(None, inner, other, autojunk=False).get_opcodes())
    for tag, i, j, k, m in codes:
        if tag != "equal" and (i, k) != (j, m):
            yield ends[head + i], ends[head + j], others[head + k], others[head + m]


def _ends(tokens: Sequence[str]) -> list[int]:
    ends = [0]
    for token in tokens:
        ends.append(ends[-1] + len(token))
    return ends


def _joined(then: str, spans: Sequence[_Span]) -> list[_Span]:
    """Parts of one line with hardly a word between them are one: a sentence, written anew."""
    joined: list[_Span] = []
    for span in spans:
        gap = then[joined[-1][1] : span[0]] if joined else "\n"
        if "\n" not in gap and len(re.findall(r"\w+", gap)) < _NEAR:
            joined[-1] = (joined[-1][0], span[1], joined[-1][2], span[3])
        else:
            joined.append(span)
    return joined


def _whole(then: str, now: str, span: _Span) -> _Span:
    """Let a part begin and end with its word: the rest of an id may be equal by chance."""
    a, b, c, d = span
    while a and c and then[a - 1] == now[c - 1] and _IN_WORD.match(then[a - 1]):
        a, c = a - 1, c - 1
    while b < len(then) and d < len(now) and then[b] == now[d] and _IN_WORD.match(then[b]):
        b, d = b + 1, d + 1
    return a, b, c, d


def _part(then: str, now: str, span: _Span) -> Part:
    a, b, c, d = span
    before = _common_end([then[max(0, a - _BEFORE) : a], now[max(0, c - _BEFORE) : c]])
    line = before.rpartition("\n")[2]
    before = line if _WORD.search(line) else before
    return Part(a, then[a:b], now[c:d], before, _common_start([then[b : b + _AFTER], now[d : d + _AFTER]]))


def _common_start(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    same = next((n for n, each in enumerate(first) if each != last[n]), len(first))
    return first[:same]


def _common_end(texts: Sequence[str]) -> str:
    return _common_start([text[::-1] for text in texts])[::-1]
