"""Where something stands in a document (SEMANTICS D8): its path, its line, and a problem there."""

from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import islice
from typing import NamedTuple

from abs_replay.errors import Problem
from abs_replay.exact_json import Json
from abs_replay.values import dataclass

type Path = tuple[str | int, ...]

MOST_PROBLEMS = 1000  # of a file


@dataclass(slots=True)
class Node:
    """One YAML value with its line (from 1). `entries` are a list's items or a mapping's pairs.

    `size` counts the values in it, those behind aliases each time they are meant.
    """

    line: int
    kind: str  # "scalar", "list" or "mapping"
    tag: str | None = None
    text: str = ""
    plain: bool = False
    entries: list["Entry"] = field(default_factory=list)
    size: int = 1
    by_key: dict[str, "Entry"] = field(default_factory=dict)  # filled when first asked


class Entry(NamedTuple):
    """An item of a list, or a pair of a mapping; `line` is that of the item or the key."""

    line: int
    key: Node | None
    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One document of a file; `index` counts from 0 without the empty ones."""

    file: str
    index: int
    root: Node
    value: Json

    def problem(self, path: Path, message: str) -> Problem:
        return Problem(message, self.file, self.line(path), written(path, self.index))

    def line(self, path: Path) -> int:
        """The first line of the key or list item at `path`, or of what is there on the way to it."""
        node, line = self.root, self.root.line
        for step in path:
            entry = _entry(node, step)
            if entry is None:
                return line
            node, line = entry.node, entry.line
        return line

    def stands_for(self, path: Path, meant: str) -> None:
        """Let what stands at `path`, under a key of a mapping, be found under the key that was meant, too."""
        *above, key = path
        node: Node | None = self.root
        for step in above:
            node = entry.node if node and (entry := _entry(node, step)) else None
        if node and (entry := _entry(node, key)):
            node.by_key[meant] = entry


def _entry(node: Node, step: str | int) -> Entry | None:
    if isinstance(step, int):
        is_there = node.kind == "list" and step < len(node.entries)
        return node.entries[step] if is_there else None
    if len(node.by_key) == 0:
        for entry in reversed(node.entries):  # of a key that is there twice, the first counts
            if entry.key:
                node.by_key[entry.key.text] = entry
    return node.by_key.get(step)


def written(path: Path, index: int = 0) -> str:
    """Write a path: `behaviors[0].with.id`, from a file's second document on with its number."""
    text = f"document[{index}]" if index else ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


_LONGEST_WORD = 100  # characters; comparing takes time by their square
_MOST_COMPARED = 50
_MOST_LISTED = 20


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word that was probably meant; `cutoff` (to 1) is how like it must be."""
    if len(word) > _LONGEST_WORD:
        return None
    from difflib import get_close_matches

    words = tuple(known)
    if len(words) > _MOST_COMPARED:
        words = tuple(islice((one for one in words if one.startswith(word[:1])), _MOST_COMPARED))
    found = get_close_matches(word, [one for one in words if len(one) <= _LONGEST_WORD], n=1, cutoff=cutoff)
    return found[0] if found else None


def meant(word: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown word: the near miss, or all that is known."""
    near = nearest(word, known)
    if near:
        return f"did you mean `{near}`?"
    more = f" and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else ""
    return f"known: {', '.join(known[:_MOST_LISTED])}{more}" if known else "none is known here"


class TooMany(Exception):
    """So much is wrong in one file that nobody would read on."""


class Reporter:
    """Collects what is wrong, and what has no effect, in one document; raises `TooMany` at some point."""

    def __init__(
        self, document: Document, problems: list[Problem], warnings: list[Problem] | None = None
    ) -> None:
        self.document = document
        self.problems = problems
        self.warnings = [] if warnings is None else warnings

    def problem(self, path: Path, message: str) -> None:
        self._add(self.problems, path, message)

    def warning(self, path: Path, message: str) -> None:
        self._add(self.warnings, path, message)

    def _add(self, found: list[Problem], path: Path, message: str) -> None:
        if len(found) >= MOST_PROBLEMS:
            raise TooMany
        found.append(self.document.problem(path, message))
