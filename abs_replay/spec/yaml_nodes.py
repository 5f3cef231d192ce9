"""YAML 1.2 (and JSON) text to documents whose values know their lines (SEMANTICS D1, D6, D8).

Built on PyYAML's events, so that no PyYAML constructor or resolver ever sees a value. Whatever a
file holds ends as documents and problems, never as a traceback.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import yaml

from abs_replay.errors import Problem
from abs_replay.exact_json import Json
from abs_replay.spec import yaml_scalars
from abs_replay.spec.places import Document, Entry, Node, Path, written
from abs_replay.spec.yaml_text import Stand, decode

DEEPEST = 100
LARGEST = 2 * 1024 * 1024  # bytes
MOST_VALUES = 100_000  # keys included; a second or two to read
MOST_BY_ALIASES = 100_000  # values

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Parsed(NamedTuple):
    """The documents of a file that are not empty, and what is wrong with its YAML."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]


class _Fatal(Exception):
    """Nothing behind this line can be read."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.problem = (message, line)


def read(data: bytes, file: str) -> Parsed:
    """Read a file's bytes; `file` is its name in problems."""
    if len(data) > LARGEST:
        return Parsed((), (Problem(f"larger than {LARGEST >> 20} MiB: split it", file),))
    text, problem = decode(data)
    if problem:
        return Parsed((), (Problem(problem[0], file, problem[1]),))
    documents: list[Document] = []
    problems: list[Problem] = []
    try:
        for root in _roots(text):
            values = _Values(file, len(documents))
            documents.append(Document(file, len(documents), root, values.of(root, ())))
            problems += values.problems
    except _Fatal as fatal:
        problems.append(Problem(fatal.problem[0], file, fatal.problem[1]))
    return Parsed(tuple(documents), tuple(problems))


def _roots(text: str) -> Iterator[Node]:
    """Give the root of each document that is not empty."""
    stand = Stand(text)
    composer = _Composer(stand, text)
    try:
        for event in yaml.parse(stand.text, Loader=_LOADER):
            root = composer.take(event)
            if root and not (root.kind == "scalar" and root.plain and root.text == "" and root.tag is None):
                yield root
    except yaml.MarkedYAMLError as error:
        reason = ": ".join(part for part in (error.context, error.problem) if part)
        raise _Fatal(f"no valid YAML: {reason}", _line(error.problem_mark or error.context_mark)) from None


type _Mark = yaml.error.Mark | yaml._yaml.Mark | None


def _line(mark: _Mark) -> int:
    return mark.line + 1 if mark else 1


class _Composer:
    """Builds nodes from events with a stack of its own: no recursion for a file to exhaust."""

    def __init__(self, stand: Stand, text: str) -> None:
        self._stand = stand
        self._lines = re.split(r"\r\n|\r|\n", text)
        self._stack: list[tuple[Node, Node | None]] = []  # open collections, each with a key that waits
        self._anchors: dict[str, Node] = {}
        self._by_aliases = 0
        self._events = 0

    def take(self, event: yaml.Event) -> Node | None:
        """Take one event; give a document's root when it is complete."""
        line = _line(event.start_mark)
        self._events += not isinstance(event, yaml.CollectionEndEvent)
        if self._events > MOST_VALUES:
            raise _Fatal(f"more than {MOST_VALUES} values: split the file", line)
        match event:
            case yaml.DocumentStartEvent():
                self._anchors.clear()
            case yaml.AliasEvent():
                return self._place(self._alias(event, line), line)
            case yaml.ScalarEvent():
                node = Node(line, "scalar", event.tag, self._stand.restore(event.value, event.style))
                node.plain = event.implicit[0]
                self._name(event, node)
                return self._place(node, line)
            case yaml.CollectionStartEvent():
                self._open(event, line)
            case yaml.CollectionEndEvent():
                node, _ = self._stack.pop()
                node.size += sum(e.node.size + (e.key.size if e.key else 0) for e in node.entries)
                return self._place(node, node.line)
        return None

    def _open(self, event: yaml.CollectionStartEvent, line: int) -> None:
        if len(self._stack) >= DEEPEST:
            raise _Fatal(f"nested more than {DEEPEST} deep", line)
        kind = "list" if isinstance(event, yaml.SequenceStartEvent) else "mapping"
        in_block = bool(self._stack) and self._stack[-1][0].kind == "list" and not event.flow_style
        node = Node(self._dash(event.start_mark) if in_block else line, kind, event.tag)
        self._name(event, node)
        self._stack.append((node, None))

    def _dash(self, mark: _Mark) -> int:
        # An item's line is that of its dash, also where its value begins further down (D8).
        line = _line(mark)
        if mark is None or self._lines[line - 1][: mark.column].strip():
            return line
        # The item's dash is there: without it, this were no list.
        above = line - 1
        while not (content := self._lines[above - 1].strip()) or content.startswith("#"):
            above -= 1
        return above if re.sub(r"\s#.*", "", content).endswith("-") else line

    def _name(self, event: yaml.NodeEvent, node: Node) -> None:
        if event.anchor:
            self._anchors[event.anchor] = node

    def _alias(self, event: yaml.AliasEvent, line: int) -> Node:
        node = self._anchors.get(event.anchor or "")
        if node is None:
            raise _Fatal(f"the alias *{event.anchor} has no anchor before it", line)
        if any(node is opened for opened, _ in self._stack):
            raise _Fatal(f"the alias *{event.anchor} stands inside its own anchor", line)
        self._by_aliases += node.size
        if self._by_aliases > MOST_BY_ALIASES:
            raise _Fatal(f"aliases stand for more than {MOST_BY_ALIASES} values", line)
        return node

    def _place(self, node: Node, line: int) -> Node | None:
        if not self._stack:
            return node
        parent, key = self._stack[-1]
        if parent.kind == "list":
            parent.entries.append(Entry(line, None, node))
        elif key is None:
            self._stack[-1] = (parent, node if node.line == line else _moved(node, line))
        else:
            parent.entries.append(Entry(key.line, key, node))
            self._stack[-1] = (parent, None)
        return None


def _moved(node: Node, line: int) -> Node:
    """A node as an alias means it: the same, at the alias's line."""
    return Node(line, node.kind, node.tag, node.text, node.plain, node.entries, node.size)


class _Values:
    """Turns nodes into JSON values and collects what D6 refuses."""

    def __init__(self, file: str, index: int) -> None:
        self._file = file
        self._index = index
        self._done: dict[int, Json] = {}
        self.problems: list[Problem] = []

    def of(self, node: Node, path: Path, line: int | None = None) -> Json:
        if id(node) not in self._done:
            self._done[id(node)] = self._read(node, path, line or node.line)
        return self._done[id(node)]

    def _read(self, node: Node, path: Path, line: int) -> Json:
        if node.kind == "scalar":
            return self._scalar(node, path, line)
        if node.tag not in (None, "!", f"{yaml_scalars.CORE}{'seq' if node.kind == 'list' else 'map'}"):
            tag = yaml_scalars.shown(node.tag or "")
            self._report(f"the tag {tag} is refused: documents hold plain values only", path, line)
        if node.kind == "list":
            return [self.of(entry.node, (*path, i), entry.line) for i, entry in enumerate(node.entries)]
        return self._mapping(node, path)

    def _scalar(self, node: Node, path: Path, line: int) -> Json:
        try:
            if node.tag is not None:
                return yaml_scalars.tagged(node.text, node.tag)
            return yaml_scalars.plain(node.text) if node.plain else node.text
        except ValueError as error:
            self._report(str(error), path, line)
            return node.text

    def _mapping(self, node: Node, path: Path) -> Json:
        result: dict[str, Json] = {}
        for entry in node.entries:
            assert entry.key is not None  # pairs have one
            here = (*path, entry.key.text)
            problem = self._key_problem(entry.key, result)
            if problem:
                self._report(problem, here, entry.line)
                continue
            result[entry.key.text] = self.of(entry.node, here, entry.line)
        return result

    def _key_problem(self, key: Node, before: dict[str, Json]) -> str | None:
        if key.kind == "scalar" and key.plain and key.text == "<<":
            return "<< is YAML 1.1, which merged mappings: write the keys out"
        if not (key.kind == "scalar" and isinstance(self.of(key, ()), str)):
            return "a key must be text: put it in quotes"
        return f"`{key.text}` is there twice" if key.text in before else None

    def _report(self, message: str, path: Path, line: int) -> None:
        self.problems.append(Problem(message, self._file, line, written(path, self._index)))
