"""The best alignment of one turn's required behaviors (SEMANTICS A8, A12): rows against positions.

As many rows as possible take a position, in order, without crossing; among those the rows' positions
compare row by row, an untaken one last, and the smallest wins. Two things bend that:

- rows of one unordered block may cross each other inside one parallel block of positions;
- a tool response needs the call it answers to be taken by a row before it, and uses it up.

An upper bound that ignores the second and bends the first is a table of bit rows (the bit-parallel
longest common subsequence, which holds for any relation). A depth-first search in A8's order of
preference under that bound is exact, and goes straight ahead wherever the bound is tight.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from abs_replay.alignment.masks import bits

EFFORT = 20_000  # nodes after which the search takes what looks best instead of what is


class Row(NamedTuple):
    """A required behavior: what it could take, and its part in the two bends.

    `block` numbers its unordered block. `needs_call` marks a response that must answer a taken call,
    but for the positions in `free`.
    """

    mask: int
    block: int | None = None
    needs_call: bool = False
    free: int = 0


class Positions(NamedTuple):
    """The turn's steps: parallel blocks as masks, and what is known of calls and their responses.

    Calls are bits. `gives` has the call that each position is, `uses` the call that it answers and
    so uses up, `answers` for each call the mask of positions that may answer it. `given` are the
    calls that rows of earlier turns took.
    """

    length: int
    parallel: tuple[int, ...]
    gives: tuple[int, ...]
    uses: tuple[int, ...]
    answers: tuple[int, ...]
    given: int


class _State(NamedTuple):
    """Where a search stands: the next row, the first free position, and the open parallel block."""

    row: int
    floor: int
    calls: int
    base: int = 0  # the floor when the open block was entered
    inside: int = 0  # the open block's positions
    used: int = 0
    block: int | None = None


class _TooMuch(Exception):
    """The effort is spent."""


def best_alignment(rows: Sequence[Row], positions: Positions) -> tuple[int | None, ...]:
    """Give each row's position, or None."""
    search = _Search(rows, positions)
    wanted = search.bound(0, 0)
    try:
        while (found := search.reach(wanted)) is None:  # none at all can always be reached
            wanted -= 1
    except _TooMuch:
        return search.by_eye()
    return found


class _Search:
    def __init__(self, rows: Sequence[Row], positions: Positions) -> None:
        self.rows = rows
        self.at = positions
        self._bounds = _bounds(rows, positions)
        self._hopeless: dict[_State, int] = {}  # state -> the least number that it can't reach
        self._ahead = _ahead(positions)
        self._spent = 0

    def bound(self, row: int, floor: int) -> int:
        """Give a number that the rows from `row` on can't exceed on the positions from `floor` on."""
        return (self._bounds[row] & ((1 << (self.at.length - floor)) - 1)).bit_count()

    def reach(self, wanted: int) -> tuple[int | None, ...] | None:
        """Find the preferred alignment that takes exactly `wanted` positions."""
        path: list[tuple[_State, int, Iterator[tuple[int | None, _State]]]] = []
        taken: list[int | None] = []
        state, missing = _State(0, 0, self.at.given), wanted
        path.append((state, missing, self._options(state, missing)))
        while path:
            state, missing, options = path[-1]
            if missing == 0:
                return (*taken, *[None] * (len(self.rows) - len(taken)))
            choice = next(options, None)
            if choice is None:
                self._hopeless[state] = missing
                path.pop()
                continue
            position, after = choice
            left = missing - (position is not None)
            known = self._hopeless.get(after)
            if known is None or left < known:
                self._spend()
                del taken[len(path) - 1 :]
                taken.append(position)
                path.append((after, left, self._options(after, left)))
        return None

    def by_eye(self) -> tuple[int | None, ...]:
        """Take for each row what loses least under the bound: good, not proven best."""
        state, taken = _State(0, 0, self.at.given), list[int | None]()
        for _ in self.rows:
            position, after = next(self._options(state, 0))
            skipped = self._skip(state)
            if self._open(skipped) > self._open(after) + (position is not None):
                position, after = None, skipped
            taken.append(position)
            state = after
        return tuple(taken)

    def _spend(self) -> None:
        self._spent += 1
        if self._spent > EFFORT:
            raise _TooMuch

    def _open(self, state: _State) -> int:
        """Bound what can still be taken; an open block gives its earlier positions back."""
        continues = state.row < len(self.rows) and state.block is not None
        inside = continues and self.rows[state.row].block == state.block
        return self.bound(state.row, state.base if inside else state.floor)

    def _options(self, state: _State, missing: int) -> Iterator[tuple[int | None, _State]]:
        """Give the choices for a row in order of preference: earliest position first, none last."""
        for position in bits(self._takable(state)):
            after = self._take(state, position)
            if 1 + self._open(after) >= missing:
                yield position, after
            elif self.rows[state.row].block is None:
                break  # a later position leaves even less
        skipped = self._skip(state)
        if self._open(skipped) >= missing:
            yield None, skipped

    def _skip(self, state: _State) -> _State:
        return _State(
            state.row + 1, state.floor, state.calls, state.base, state.inside, state.used, state.block
        )

    def _takable(self, state: _State) -> int:
        row = self.rows[state.row]
        allowed = -1 << state.floor
        if row.block is not None and row.block == state.block:
            allowed |= state.inside & ~state.used & (-1 << state.base)
        if row.needs_call:
            answering = row.free
            for call in bits(state.calls):
                answering |= self.at.answers[call]
            allowed &= answering
        return row.mask & allowed

    def _take(self, state: _State, position: int) -> _State:
        row, bit = self.rows[state.row], 1 << position
        used_up = self.at.uses[position] if row.needs_call else 0
        calls = (state.calls | self.at.gives[position]) & ~used_up
        floor = max(state.floor, position + 1)
        inside = next((mask for mask in self.at.parallel if mask & bit), 0) if row.block is not None else 0
        if not inside:
            return _State(state.row + 1, floor, calls & self._ahead[min(floor, self.at.length)])
        stays = row.block == state.block and inside == state.inside
        base = state.base if stays else state.floor
        calls &= self._ahead[min(base, self.at.length)]
        used = (state.used if stays else 0) | bit
        return _State(state.row + 1, floor, calls, base, inside, used, row.block)


def _bounds(rows: Sequence[Row], positions: Positions) -> list[int]:
    """Give for each row the bits at which one more position lets one more row match, mirrored.

    With L(i, p) the most that rows i.. can match on positions p.., L(i, p) - L(i, p + 1) is 0 or 1;
    bit (count - 1 - p) of the i-th entry is that difference.
    """
    column, bounds = -1, [0]
    for row in reversed(rows):
        mirrored = _mirrored(_widened(row, positions), positions.length)
        column = (column + (column & mirrored)) | (column & ~mirrored)
        bounds.append(~column)
    return bounds[::-1]


def _widened(row: Row, positions: Positions) -> int:
    """Let a row of an unordered block stand anywhere in a parallel block where it has one place.

    Any order inside the block can then be sorted, so the bound stays above it.
    """
    if row.block is None:
        return row.mask
    return row.mask | sum(block for block in positions.parallel if block & row.mask)


def _mirrored(mask: int, count: int) -> int:
    return int(f"{mask:0{count}b}"[::-1], 2)


def _ahead(positions: Positions) -> list[int]:
    """Give for each position the calls that are answered there or later: others need no memory."""
    ends = [0] * (positions.length + 1)
    for call, answering in enumerate(positions.answers):
        ends[answering.bit_length()] |= 1 << call
    for position in range(positions.length - 1, -1, -1):
        ends[position] |= ends[position + 1]
    return [*ends[1:], 0]
