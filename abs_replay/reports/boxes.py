"""A box with a heading and a table of four columns, drawn to a width in cells."""

from collections.abc import Iterator, Sequence

from abs_replay.reports.cells import cell_len, centred, cut, fitted, painted, right, wrapped
from abs_replay.values import dataclass

LEAST_WIDTH = 40
USUAL_WIDTH = 60
NARROW = 30  # cells for the text of a step; with fewer it is wrapped, and reasons span the columns
MOST_TEXT_LINES = 3
MOST_LINES = 12  # of one reason; JSON has it whole


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `below` are texts that are wrapped on the lines after it."""

    mark: str
    text: str
    symbol: str = ""
    word: str = ""
    mood: str = ""  # a key of COLOURS
    indent: int = 0
    below: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        return " " * (self.indent * 2) + ("└─ " if self.indent else "") + self.text

    @property
    def hang(self) -> int:
        """How far the lines below are indented."""
        return self.indent * 2 + 3 if self.indent else 2


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the heading: `Result:  ✅ PASSED`."""

    name: str
    value: str
    mood: str = ""


@dataclass(frozen=True, slots=True)
class Box:
    """A title, what is known of the whole, and the rows."""

    title: str
    facts: tuple[Fact, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """The inner widths of the four columns, blanks at their edges included."""

    mark: int
    text: int
    symbol: int
    word: int

    @property
    def widths(self) -> tuple[int, int, int, int]:
        return self.mark, self.text, self.symbol, self.word

    @property
    def narrow(self) -> bool:
        return self.text < NARROW

    @property
    def inner(self) -> int:
        return sum(self.widths) + 3


def draw(box: Box, width: int, colour: bool = False) -> str:
    """Draw a box as wide as its content needs, within `width` (40 at least)."""
    columns = _columns(box, max(width, LEAST_WIDTH))
    return "\n".join([*_head(box, columns, colour), *_body(box.rows, columns, colour)]) + "\n"


def _head(box: Box, columns: Columns, colour: bool) -> Iterator[str]:
    yield _rule("┌─┐", [columns.inner])
    yield f"│{fitted('  ' + box.title, columns.inner)}│"
    yield _rule("├─┤", [columns.inner])
    names = max(len(fact.name) for fact in box.facts) + 3
    for fact in box.facts:
        for nth, line in enumerate(wrapped(fact.value, columns.inner - names - 3)):
            name = f"{fact.name}:" if nth == 0 else ""
            value = painted(fitted(line, columns.inner - names - 2), fact.mood, colour)
            yield f"│  {name:<{names}}{value}│"
    yield _rule("├┬┤", columns.widths)


def _body(rows: Sequence[Row], columns: Columns, colour: bool) -> Iterator[str]:
    result = "Result" if columns.symbol > len("Result") else ""
    yield _cells(columns, (" #", "Step", result, ""))
    yield _rule("├┼┤", columns.widths)
    for row in rows:
        yield from _row(row, columns, colour)
    yield _rule("└┴┘", columns.widths)


def _row(row: Row, columns: Columns, colour: bool) -> Iterator[str]:
    lines = _indented(row.shown, row.hang, columns.text - 2, MOST_TEXT_LINES if columns.narrow else 1)
    yield _cells(columns, (row.mark, lines[0], row.symbol, row.word), row.mood if colour else "")
    yield from (_cells(columns, ("", line, "", "")) for line in lines[1:])
    for text in row.below:
        for line in _below(text, row.hang, columns):
            yield _spanning(columns, line) if columns.narrow else _cells(columns, ("", line, "", ""))


def _below(text: str, margin: int, columns: Columns) -> list[str]:
    width = columns.inner - columns.mark - 3 if columns.narrow else columns.text - 2
    return _indented(" " * margin + text, margin, width, MOST_LINES)


def _indented(text: str, margin: int, width: int, most: int) -> list[str]:
    """Wrap text that is indented already, the further lines by `margin`; past `most` lines cut it."""
    if most == 1:
        return [text]
    start = len(text) - len(text.lstrip(" "))
    margin = min(margin, width // 3)
    lines = wrapped(text[start:], width - margin)
    lines = [" " * min(start, margin) + lines[0], *(" " * margin + line for line in lines[1:])]
    return lines if len(lines) <= most else [*lines[: most - 1], cut(f"{lines[most - 1]} …", width)]


def _spanning(columns: Columns, text: str) -> str:
    width = columns.inner - columns.mark - 1
    return f"│{' ' * columns.mark}│ {fitted(text, width - 2)} │"


def _cells(columns: Columns, texts: tuple[str, str, str, str], mood: str = "") -> str:
    mark, text, symbol, word = texts
    cells = (
        f"{right(mark, columns.mark - 1)} ",
        f" {fitted(text, columns.text - 2)} ",
        painted(centred(symbol, columns.symbol), mood, bool(mood)),
        painted(f"{right(word, columns.word - 1)} ", mood, bool(mood)),
    )
    return f"│{'│'.join(cells)}│"


def _rule(corners: str, widths: Sequence[int]) -> str:
    return corners[0] + corners[1].join("─" * width for width in widths) + corners[2]


def _columns(box: Box, most: int) -> Columns:
    mark = max(max((len(row.mark) for row in box.rows), default=0), 2) + 2
    word = max(max((len(row.word) for row in box.rows), default=0), 5) + 2
    symbol = 8 if most >= USUAL_WIDTH else 4
    others = mark + symbol + word + 5  # the five upright lines
    total = min(max(_wanted(box, others), USUAL_WIDTH), most)
    return Columns(mark, total - others, symbol, word)


def _wanted(box: Box, others: int) -> int:
    names = max(len(fact.name) for fact in box.facts) + 3
    facts = [cell_len(fact.value) + names + 5 for fact in box.facts]
    shown = [cell_len(row.shown) + others + 2 for row in box.rows]
    below = [cell_len(text) + row.hang + others + 2 for row in box.rows for text in row.below]
    return max([*facts, *shown, *below, cell_len(box.title) + 5])
