"""What `abs ls` leaves out: by tags, and by words or a pattern of the name."""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import click


def options[Command: Callable[..., Any]](command: Command) -> Command:
    """Give a command `--tag` and `--name`."""
    command = click.option(
        "--name",
        "named",
        metavar="WORDS",
        help="Only those whose name has these words, or fits `refund*lamp`.",
    )(command)
    return click.option(
        "--tag", "tags", multiple=True, metavar="KEY[=VALUE]", help="Only those with that tag; may repeat."
    )(command)


def fits(document: Any, tags: Sequence[str], named: str | None) -> bool:
    """Whether a listed recording or trace has all these tags and that name, in whatever case."""
    return all(_has(document["tags"], tag) for tag in tags) and _is_called(document["name"], named)


def _has(tags: Mapping[str, str], wanted: str) -> bool:
    key, equals, value = wanted.partition("=")
    return tags.get(key) == value if equals else key in tags


def _is_called(name: str | None, wanted: str | None) -> bool:
    if wanted is None:
        return True
    called, pattern = (name or "").casefold(), wanted.casefold()
    if any(each in pattern for each in "*?["):
        return fnmatchcase(called, pattern)
    return all(word in called for word in pattern.split())
