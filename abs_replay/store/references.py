"""How a user names a thing in the store: id, name, `last`, `last~1`, or the beginning of an id."""

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from abs_replay.errors import StoreError

KINDS = ("recording", "exchange", "trace", "grading")


def resolve(ref: str, things: Sequence[tuple[str, str | None]], kind: str, path: Path) -> int:
    """The index of the thing (id, name) that `ref` names; `things` go from oldest to newest.

    Raises `StoreError` for nothing, naming what is near, and for a beginning that several share.
    """
    ids = [id_ for id_, _ in things]
    if (back := _back(ref)) is not None and back < len(things):
        return len(things) - 1 - back
    for exact in (ids, [name for _, name in things]):
        if ref in exact:
            return len(things) - 1 - exact[::-1].index(ref)
    starting = [index for index, id_ in enumerate(ids) if ref and id_.startswith(ref)]
    if len({ids[index] for index in starting}) == 1:
        return starting[-1]
    if starting:
        several = ", ".join(ids[index] for index in starting[:5]) + (", .." if len(starting) > 5 else "")
        raise StoreError(f"{kind} {ref!r} could be {several}: write more of it")
    raise StoreError(f"no {kind} {ref!r} in {path}: {_hint(ref, things, kind)}")


def is_place(ref: str) -> bool:
    """Whether a reference counts from the newest: `last`, `last~1`."""
    return _back(ref) is not None


def _back(ref: str) -> int | None:
    found = re.fullmatch(r"last(?:~(\d{1,9}))?", ref)
    return int(found[1] or 0) if found else None


def _hint(ref: str, things: Sequence[tuple[str, str | None]], kind: str) -> str:
    words = list(dict.fromkeys(word for id_, name in reversed(things) for word in (name, id_) if word))
    if not words:
        return f"it has no {kind}s" if kind in KINDS else "it is empty"
    if is_place(ref):
        return f"it has only {len(things)} {kind}s"
    command = f"abs ls {kind}s" if kind in KINDS else "abs ls"
    near = difflib.get_close_matches(ref, words, n=3, cutoff=0.5) or words[:3]
    return f"is it {' or '.join(near)}? `{command}` lists them"
