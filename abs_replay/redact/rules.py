"""What is taken out of exchanges: what is built in, and what an author adds (`redact:`)."""

import importlib
import pathlib
import sys
from collections.abc import Callable
from dataclasses import dataclass

from abs_replay.errors import UsageError
from abs_replay.exchange import Exchange
from abs_replay.plugins import foreign, told
from abs_replay.redact.finders import PERSONAL, Finder, Pattern
from abs_replay.spec.paths import Path, parsed
from abs_replay.spec.redaction import Redaction

type Hook = Callable[[Exchange], Exchange]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a `Redactor`. `headers` are names in lower case; `hook` comes last, and sees no secret."""

    builtin: bool = True
    headers: frozenset[str] = frozenset()
    paths: tuple[Path, ...] = ()
    finders: tuple[Finder, ...] = ()
    hook: Hook | None = None


DEFAULT = Rules()


def rules_of(written: Redaction, folder: pathlib.Path | None = None) -> Rules:
    """The rules that a configuration states; its hook is imported, from its folder, too.

    Raises `UsageError` where the hook can not be loaded.
    """
    finders: list[Finder] = [Pattern(name, pattern) for name, pattern in written.patterns]
    finders += [PERSONAL[kind] for kind in written.pii]
    return Rules(
        written.builtin,
        frozenset(name.lower() for name in written.headers),
        tuple(map(parsed, written.json)),
        tuple(finders),
        _hook(written.hook, folder) if written.hook else None,
    )


def _hook(name: str, folder: pathlib.Path | None) -> Hook:
    module, _, function = name.partition(":")
    if folder is not None and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        with foreign():
            found = getattr(importlib.import_module(module), function)
    except Exception as error:  # the user's own code: whatever it raises is told in one line
        raise UsageError(f"the redaction hook `{name}` can not be loaded: {told(error)}") from error
    if not callable(found):
        raise UsageError(f"the redaction hook `{name}` is no function")
    return found  # type: ignore[no-any-return]
