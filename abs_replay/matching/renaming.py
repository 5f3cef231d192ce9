"""Equality up to a one-to-one renaming of values that are made afresh in every run.

Renamed are UUIDs, date-times, protocol ids (`call_…`, `msg_…`), traceparents, multipart boundaries,
secrets, and plain dates in system text; never numbers. `Shape` is a request with such values taken out:
two requests are equal up to renaming if their texts are equal and their values correspond.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from abs_replay.exchange import Request, header
from abs_replay.matching.canonical import Canonical, text_of

type Value = tuple[str, str]  # class, and the value itself
type Pair = tuple[str, str, str]  # class, recorded, asked

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
# A UUID without dashes still shows its version and variant; a digest as long seldom does (RFC 9562 §4).
_HEX = r"[0-9a-f]{12}[1-8][0-9a-f]{3}[89ab][0-9a-f]{15}"
_TRACE = r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}"
_PREFIXES = (
    "call|msg|chatcmpl|cmpl|resp|req|run|thread|step|asst|toolu|tooluse|srvtoolu|fc|rs|gen|ctc|mcp|batch|conv"
)
# Letters and digits both: `run_20241130` is a number with a name, `call_customers` is a word.
_ID = rf"(?P<prefix>{_PREFIXES})[_-](?:{_UUID}|(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{{6,}})"
_CLOCK = r"\d\d(?::|%3A)\d\d(?:(?::|%3A)\d\d(?:[.,]\d{1,9})?)?"
_TIME = (
    rf"\d{{4}}-\d\d-\d\d(?:T|%20|[ +]){_CLOCK}(?:Z|(?:[+-]|%2B)\d\d(?::|%3A)?\d\d)?"
    rf"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{{2}} \d{{4}} \d\d:\d\d:\d\d GMT"
)
_SECRET = r"<[a-z][a-z-]{1,19}:\d+>"  # as `redact` writes them

# Before a value stands no letter or digit, unless it is that of an escape (`\n`) in JSON's text.
_START, _WORD_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))", r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf]))"
_FRESH = re.compile(
    rf"{_START}(?:(?P<trace>{_TRACE})|(?P<uuid>{_UUID})|(?P<hex>{_HEX})|(?P<time>{_TIME}))(?![A-Za-z0-9])"
    rf"|{_WORD_START}(?P<id>{_ID})(?![A-Za-z0-9_])"
    rf"|\ue000(?P<date>[^\ue001]*)\ue001"
    rf"|(?P<secret>{_SECRET})"
)

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY = r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? )?"
_DATE = re.compile(
    rf"(?<!\d)(?:\d{{4}}-\d\d-\d\d(?!(?:T| )?\d\d:)"
    rf"|{_DAY}{_MONTH} \d{{1,2}},? \d{{4}}|{_DAY}\d{{1,2}} {_MONTH} \d{{4}}"
    r"|\d{1,2}[/.]\d{1,2}[/.]\d{4})(?:,? (?:at )?\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?)?(?!\d)"
)

# A run is played faster than it was recorded, and clocks move on: requests a minute apart then may carry
# the same time now. So times correspond one to one within a request, not over the whole run.
CLOCKS = frozenset(("time", "date"))


_RENAMED_CHARACTERS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_:.+%"
_SECRETS = re.compile(_SECRET)


def fingerprint(form: Canonical) -> bytes:
    """What no renaming changes, found a hundred times faster than a shape: equal shapes have equal ones."""
    text = f"{form.method} {form.target}\n{form.body}"
    return text.encode("utf-8", "surrogatepass").translate(None, _RENAMED_CHARACTERS)


def hides_secrets(form: Canonical) -> bool:
    """Say whether a redacted secret stands in a request."""
    return bool(_SECRETS.search(form.target) or _SECRETS.search(form.body))


def is_secret(*texts: str | None) -> bool:
    """Say whether texts are equal but for which secret of a kind stands in them."""
    return None not in texts and len({_SECRETS.sub(_kind_only, text or "") for text in texts}) == 1


def _kind_only(secret: re.Match[str]) -> str:
    return secret[0].partition(":")[0]


@dataclass(frozen=True, slots=True)
class Shape:
    """A request's text with a mark in the place of each fresh value, and the values in order."""

    text: str
    values: tuple[Value, ...]


def shape(request: Request, form: Canonical) -> Shape:
    """Take the fresh values out of a request."""
    text = f"{form.method} {form.target}\n{_marked_body(form)}"
    values: list[Value] = []
    boundary = _boundary(request)
    if boundary and "multipart" not in _keys(form.document):  # where a body has parts, it is not in them
        text = text.replace(boundary, "\ue010boundary\ue011")
        values.append(("boundary", boundary))

    def mark(match: re.Match[str]) -> str:
        kind = _kind(match)
        values.append((kind, match["date"] if kind == "date" else match[0]))
        return f"\ue010{kind}\ue011"

    return Shape(_FRESH.sub(mark, text), tuple(values))


def constant(of: Shape) -> tuple[str, ...]:
    """What stands between the fresh values of a request, in order."""
    return tuple(re.split("\ue010[^\ue011]*\ue011", of.text))


def holds(form: Canonical, pieces: tuple[str, ...]) -> bool:
    """Say whether a request has all of these in order, as it must to have the same shape; much faster."""
    text, at = f"{form.method} {form.target}\n{form.body}", 0
    if not (text.startswith(pieces[0]) and text.endswith(pieces[-1])):
        return False
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def _keys(document: Any) -> Iterable[str]:
    return document if isinstance(document, dict) else ()


def _kind(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    if match["id"]:
        return f"id {match['prefix']}"
    return f"secret {match['secret'][1:].partition(':')[0]}" if kind == "secret" else kind


def _boundary(request: Request) -> str | None:
    found = re.search(r'boundary="?([^";]+)', header(request.headers, "content-type") or "")
    return found[1] if found else None


# -- plain dates in system text


def _marked_body(form: Canonical) -> str:
    """The canonical body with plain dates marked where a system prompt says them."""
    document = form.document
    if not isinstance(document, dict) or "jsonrpc" in document or not _DATE.search(form.body):
        return form.body
    marked = dict(document)
    for key in ("system", "instructions", "systemInstruction", "system_instruction"):
        if key in marked:
            marked[key] = _marked(marked[key])
    for key in ("messages", "input"):
        if isinstance(marked.get(key), list):
            marked[key] = [_marked(item) if _is_system(item) else item for item in marked[key]]
    return text_of(marked)


def _is_system(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") in ("system", "developer")


def _marked(value: Any) -> Any:
    match value:
        case str():
            return _DATE.sub("\ue000\\g<0>\ue001", value)
        case dict():
            return {key: _marked(item) for key, item in value.items()}
        case list():
            return [_marked(item) for item in value]
    return value


# -- correspondence


@dataclass(slots=True)
class Bindings:
    """Which recorded value each asked one stands for, in one scope; one to one."""

    recorded: dict[Value, str] = field(default_factory=dict)
    asked: dict[Value, str] = field(default_factory=dict)

    def admit(self, pairs: Iterable[Pair], known: Callable[[str], bool]) -> bool:
        """Say whether these pairs agree with each other and all before; what is `known` keeps its name."""
        here = Bindings()
        for kind, recorded, asked in pairs:
            # Today's date may well be some order's date too; a test must not fail on that day alone.
            if recorded != asked and kind != "date" and known(asked):
                return False
            if not here._agrees(kind, recorded, asked):
                return False
            if kind not in CLOCKS and not self._agrees(kind, recorded, asked):
                return False
            here.add([(kind, recorded, asked)])
        return True

    def _agrees(self, kind: str, recorded: str, asked: str) -> bool:
        return (
            self.recorded.get((kind, asked), recorded) == recorded
            and self.asked.get((kind, recorded), asked) == asked
        )

    def add(self, pairs: Iterable[Pair]) -> None:
        """Keep these pairs for the rest of the scope."""
        for kind, recorded, asked in pairs:
            self.recorded[kind, asked] = recorded
            self.asked[kind, recorded] = asked

    def keep(self, pairs: Iterable[Pair]) -> None:
        """Keep those pairs that hold for the whole scope: all but times."""
        self.add(pair for pair in pairs if pair[0] not in CLOCKS)


def correspond(recorded: Shape, asked: Shape) -> tuple[Pair, ...] | None:
    """Pair the values of two requests that are equal but for them, or None."""
    if not any(kind.startswith("secret") for kind, _ in recorded.values):
        return _paired(recorded.values, asked.values) if recorded.text == asked.text else None
    gaps = _gaps(recorded.text, asked.text)
    if gaps is None:
        return None
    outside, inside = _apart(asked, gaps)
    secrets = [value for value in recorded.values if value[0].startswith("secret")]
    others = tuple(value for value in recorded.values if not value[0].startswith("secret"))
    if any(not secret or re.search(r'[\s"&]', secret) for secret in inside):
        return None
    pairs = _paired(others, outside)
    hidden = tuple((kind, value, secret) for (kind, value), secret in zip(secrets, inside, strict=True))
    return None if pairs is None else pairs + hidden


def _paired(recorded: tuple[Value, ...], asked: tuple[Value, ...]) -> tuple[Pair, ...] | None:
    if [kind for kind, _ in recorded] != [kind for kind, _ in asked]:
        return None
    return tuple((kind, then, now) for (kind, then), (_, now) in zip(recorded, asked, strict=True))


def _gaps(recorded: str, asked: str) -> list[tuple[int, int]] | None:
    """Where in the asked text the secrets stand that the recorded text only marks."""
    first, *rest = re.split("\ue010secret [^\ue011]*\ue011", recorded)
    if not asked.startswith(first):
        return None
    gaps, at = [], len(first)
    for number, piece in enumerate(rest, start=1):
        last = number == len(rest)
        end = len(asked) - len(piece) if last else asked.find(piece, at)
        if end < at or not asked.startswith(piece, end):
            return None
        gaps.append((at, end))
        at = end + len(piece)
    return gaps


def _apart(asked: Shape, gaps: list[tuple[int, int]]) -> tuple[tuple[Value, ...], list[str]]:
    """Divide asked values into those outside the gaps, and the gaps' own text with its values restored."""
    boundaries = [value for value in asked.values if value[0] == "boundary"]
    values = iter(value for value in asked.values if value[0] != "boundary")
    outside, inside, at = list(boundaries), [], 0
    for start, end in [*gaps, (len(asked.text), len(asked.text))]:
        outside += [next(values) for _ in re.findall("\ue010(?!boundary)", asked.text[at:start])]
        inside.append(re.sub("\ue010[^\ue011]*\ue011", lambda _: next(values)[1], asked.text[start:end]))
        at = end
    return tuple(outside), inside[:-1]
