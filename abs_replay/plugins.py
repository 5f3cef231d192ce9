"""What other installed packages add, by entry point: evaluators, report formats, decoders, importers, judges.

Looked up only where it is asked for, so that nothing of it is loaded otherwise. What is wrong
with a package (a built-in name, two of one name, an import that fails) is a `UsageError` in one line.
"""

import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from abs_replay.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

EVALUATORS = "abs_replay.evaluators"
REPORTS = "abs_replay.reports"
DECODERS = "abs_replay.decoders"
IMPORTERS = "abs_replay.importers"
JUDGES = "abs_replay.judges"
_WORDS = {
    EVALUATORS: "evaluator",
    REPORTS: "report format",
    DECODERS: "decoder",
    IMPORTERS: "importer",
    JUDGES: "judge",
}


def names(group: str, built_in: Collection[str]) -> tuple[str, ...]:
    """The names that installed packages add to a group."""
    return tuple(_points(group, built_in))


def versions(group: str, built_in: Collection[str]) -> tuple[str, ...]:
    """The names that installed packages add to a group, each with its package's version."""
    points = _points(group, built_in).items()
    return tuple(f"{name}={point.dist.version if point.dist else '0'}" for name, point in sorted(points))


def load(group: str, name: str, built_in: Collection[str]) -> object | None:
    """Give what the entry point of that name leads to; None where no package has one."""
    point = _points(group, built_in).get(name)
    if point is None:
        return None
    try:
        with foreign():
            found: object = point.load()
    except Exception as trouble:  # another package's code: whatever it raises is told in one line
        raise wrong(group, name, f"can not be loaded: {told(trouble)}") from trouble
    return found


def wrong(group: str, name: str, message: str) -> UsageError:
    """Say what is wrong with an entry point; give its package too, since that is what can be mended."""
    point = _scan(group, tuple(sys.path)).get(name, ())
    packages = " and ".join(sorted({_package(one) for one in point})) or "an installed package"
    return UsageError(f"the {_WORDS[group]} `{name}` of {packages} {message}; mend or uninstall it")


class Ended(Exception):
    """Another package's code wanted to end the process; the cause says how."""


@contextmanager
def foreign() -> Iterator[None]:
    """Around another package's code: what it raises is an `Exception`, also where it says `sys.exit(0)`,
    which would end a command in silence and well. Only Ctrl-C goes through."""
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as trouble:
        raise Ended from trouble


def told(trouble: BaseException) -> str:
    """An exception in one line."""
    if isinstance(trouble, Ended) and trouble.__cause__ is not None:
        return told(trouble.__cause__)
    return " ".join(f"{type(trouble).__name__}: {trouble}".split()).removesuffix(":")


def _points(group: str, built_in: Collection[str]) -> Mapping[str, "EntryPoint"]:
    found = _scan(group, tuple(sys.path))
    for name, points in found.items():
        if name in built_in:
            raise wrong(group, name, "has a name that is built in")
        if len(points) > 1:
            raise wrong(group, name, "is there twice")
    return {name: point for name, (point,) in found.items()}


@lru_cache(maxsize=8)
def _scan(group: str, _: tuple[str, ...]) -> Mapping[str, tuple["EntryPoint", ...]]:
    """Read the metadata of installed packages, once for each `sys.path`."""
    from importlib.metadata import entry_points

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=group):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


def _package(point: "EntryPoint") -> str:
    return f"the package {point.dist.name}" if point.dist else point.value
