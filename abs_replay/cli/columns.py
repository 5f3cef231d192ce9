"""Lists in columns, and times, sizes and lengths in a few characters."""

from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len

from abs_replay.reports import Screen
from abs_replay.reports.cells import cut, escaped, painted, right

GAP = "  "
IDS = ("ID", "RECORDING", "TRACE")
LEAST_ID = 8  # cells; whoever reads an id back takes its beginning
LEAST_LAST = 24  # cells of the last column, which may be cut
# Left out one after the other where a screen is too narrow for all.
SPARE = (
    *("SENT", "GOT", "SIZE", "TOOK", "LENGTH", "RECORDING", "STARTED", "OUTCOME", "SESSION"),
    *("CHANNEL", "TRACES", "MADE", "RUNS", "NOTE"),
)


def columns(headings: Sequence[str], rows: Sequence[Sequence[str]], screen: Screen | None) -> str:
    """A heading and a line a row; a heading that ends in `>` makes its column stand on the right.

    Control characters are escaped. Lines fit the screen: ids are shortened, spare columns left out, the
    rest is cut. Where there is no screen, all is whole.
    """
    names = [heading.rstrip(">") for heading in headings]
    cells = [names, *([escaped(cell) for cell in row] for row in rows)]
    widths = _widths(cells)
    if screen is not None and sum(widths) + len(GAP) * (len(widths) - 1) > screen.width:
        cells = _shortened(cells)
        shown = _that_fit(names, _widths(cells), screen.width)
        cells = [[row[index] for index in shown] for row in cells]
        headings, widths = [headings[index] for index in shown], _widths(cells)
    lines = [_line(row, widths, headings) for row in cells]
    if screen is not None:
        lines = [cut(line, screen.width) for line in lines]
        lines[0] = painted(lines[0], "quiet", screen.colour)
    return "".join(f"{line}\n" for line in lines)


def _widths(cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cell_len, column)) for column in zip(*cells, strict=True)]


def _shortened(cells: Sequence[Sequence[str]]) -> list[list[str]]:
    """The cells with the shortest beginnings of ids that tell them apart."""
    made = []
    for name, *values in zip(*cells, strict=True):
        length = LEAST_ID
        while name in IDS and len({value[:length] for value in values}) < len(set(values)):
            length += 1
        made.append([name, *(value[:length] if name in IDS else value for value in values)])
    return [list(row) for row in zip(*made, strict=True)]


def _that_fit(names: Sequence[str], widths: Sequence[int], width: int) -> list[int]:
    """The columns that are shown."""
    shown = list(range(len(names)))
    for spare in SPARE:
        *others, last = shown
        least = (
            sum(widths[index] for index in others) + min(widths[last], LEAST_LAST) + len(GAP) * len(others)
        )
        if least <= width:
            break
        shown = [index for index in shown if names[index] != spare]
    return shown


def _line(row: Sequence[str], widths: Sequence[int], headings: Sequence[str]) -> str:
    places = zip(row, widths, headings, strict=True)
    return GAP.join(
        right(cell, width) if heading.endswith(">") else cell + " " * (width - cell_len(cell))
        for cell, width, heading in places
    ).rstrip()


MADE_UP_S = 86_400.0  # files without times count from 0: nobody recorded on the first day of 1970


def moment(seconds: float | None) -> str:
    """A time in the user's own zone, to the second; none where nobody knows it, or it was made up."""
    if seconds is None or 0 <= seconds < MADE_UP_S:
        return "–"
    try:
        return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):  # a file may claim any time
        return f"{seconds:g}"


def size(count: int | None) -> str:
    """Bytes, as kB, MB or GB from a thousand on."""
    if count is None:
        return "–"
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 999.5:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} GB"


def length(milliseconds: float | None) -> str:
    """A length of time: 320 ms, 4.2 s, 3 min 20 s, 2 h 5 min."""
    if milliseconds is None:
        return "–"
    if milliseconds < 999.5:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 59_950:
        return f"{milliseconds / 1000:.1f} s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours else f"{minutes} min {seconds} s"
