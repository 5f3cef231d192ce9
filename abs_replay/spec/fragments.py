"""Fragments: lending them, and expanding `include` before everything else (SEMANTICS D3, D4)."""

from collections.abc import Iterator, Mapping, Sequence

from abs_replay.errors import Problem
from abs_replay.exact_json import Json
from abs_replay.spec.places import Document, Path, meant
from abs_replay.values import dataclass

DEEPEST = 50
MOST_BEHAVIORS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """An entry of `behaviors` or of a fragment, with the place where its author wrote it."""

    document: Document
    path: Path
    value: Mapping[str, Json]

    def problem(self, path: Path, message: str) -> Problem:
        return self.document.problem((*self.path, *path), message)


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """A named list of entries; `scope` is what its own `include` sees."""

    name: str
    entries: tuple[Placed, ...]
    lent: bool


type Scope = Mapping[str, Fragment]


def entries(document: Document, path: Path, value: Json) -> tuple[Placed, ...]:
    """The entries of a list that are mappings; the others are reported by the document's check."""
    items = value if isinstance(value, list) else []
    return tuple(
        Placed(document, (*path, index), item)
        for index, item in enumerate(items)
        if isinstance(item, Mapping)
    )


def of_document(document: Document, *, lent: bool = False) -> dict[str, Fragment]:
    """The fragments that a document holds."""
    value = document.value
    held = value.get("fragments") if isinstance(value, Mapping) else None
    if not isinstance(held, Mapping):
        return {}
    return {name: Fragment(name, entries(document, ("fragments", name), held[name]), lent) for name in held}


def lend(documents: Sequence[Document]) -> tuple[dict[str, Fragment], list[Problem]]:
    """Join the fragments of the documents that only lend; two of one name are a problem (D3)."""
    lent: dict[str, Fragment] = {}
    problems: list[Problem] = []
    for document in documents:
        for name, fragment in of_document(document, lent=True).items():
            if name in lent:
                problems.append(document.problem(("fragments", name), f"the fragment `{name}` is lent twice"))
            lent.setdefault(name, fragment)
    return lent, problems


class Expansion:
    """Expands `include` for one session; `problems` holds what could not be expanded."""

    def __init__(self, own: Scope, lent: Scope) -> None:
        self._lent = lent
        self._all = {**lent, **own}
        self.visited: set[int] = set()
        self.problems: list[Problem] = []
        self._left = MOST_BEHAVIORS

    def behaviors(self, placed: Sequence[Placed]) -> tuple[Placed, ...]:
        """Give the session's behaviors with every fragment in its place."""
        return tuple(behavior for entry in placed for behavior in self._expand(entry, self._all, (), entry))

    def check(self, fragments: Sequence[Fragment]) -> None:
        """Expand those fragments that nothing has included, for their problems only."""
        for fragment in fragments:
            if id(fragment) not in self.visited:
                self.visited.add(id(fragment))
                for entry in fragment.entries:
                    list(self._expand(entry, self._scope(fragment), (fragment,), entry))

    def _scope(self, fragment: Fragment) -> Scope:
        return self._lent if fragment.lent else self._all

    def _expand(
        self, entry: Placed, scope: Scope, chain: tuple[Fragment, ...], top: Placed
    ) -> Iterator[Placed]:
        name = entry.value.get("include")
        if "include" not in entry.value:
            yield entry
        elif isinstance(name, str) and name not in scope:
            message = f"no fragment is called `{name}`: {meant(name, list(scope))}"
            self._report(entry.problem(("include",), message))
        elif isinstance(name, str):
            yield from self._include(scope[name], chain, top)

    def _include(self, fragment: Fragment, chain: tuple[Fragment, ...], top: Placed) -> Iterator[Placed]:
        self.visited.add(id(fragment))
        names = [included.name for included in (*chain, fragment)]
        if fragment in chain:
            message = f"fragments include each other: {' -> '.join(names[chain.index(fragment) :])}"
            self._report(top.problem(("include",), message))
        elif len(chain) >= DEEPEST:
            self._report(top.problem(("include",), f"fragments include each other more than {DEEPEST} deep"))
        else:
            for entry in fragment.entries:
                yield from self._counted(entry, (*chain, fragment), top)

    def _counted(self, entry: Placed, chain: tuple[Fragment, ...], top: Placed) -> Iterator[Placed]:
        self._left -= 1
        if self._left > 0:
            yield from self._expand(entry, self._scope(chain[-1]), chain, top)
        elif self._left == 0:
            self._report(top.problem(("include",), f"expands to more than {MOST_BEHAVIORS} behaviors"))

    def _report(self, problem: Problem) -> None:
        if problem not in self.problems:
            self.problems.append(problem)
