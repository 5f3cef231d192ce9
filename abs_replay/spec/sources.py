"""What gives a reference its value: captures, the dataset row, `--var`, the environment (SEMANTICS V1)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple, cast

from abs_replay.errors import UsageError
from abs_replay.exact_json import Json, loads
from abs_replay.spec.references import is_name
from abs_replay.values import dataclass

PREFIX = "ABS_VAR_"
ENVIRONMENT = "the environment"
# What all references of a session may come to: captures that repeat each other double at every line.
MOST_RESOLVED = 16 * 1024 * 1024  # characters
_OF_A_VALUE = 64  # characters that a value other than text counts for


@dataclass(frozen=True, slots=True)
class Sources:
    """Values from outside. `row` is a dataset row or a trace's bindings, its keys dotted or plain;
    `recorded` are the `vars` kept with a trace (V5); `environment` may be all of `os.environ`."""

    row: Mapping[str, Json] = field(default_factory=dict)
    variables: Mapping[str, Json] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    recorded: Mapping[str, Json] = field(default_factory=dict)


class Missing(Exception):
    """No source has a value; the message names the variable and what was looked at (V3)."""


class Capture(NamedTuple):
    """The variables that one behavior captures; `at` is its place."""

    at: str
    values: Mapping[str, Json]


class Scope(NamedTuple):
    """All that a reference at one place can see, the first one winning.

    `captures` stand in session order, the nearest last; `outside` is what `outside` gives.
    """

    captures: tuple[Capture, ...]
    outside: tuple[tuple[str, Mapping[str, Json]], ...]

    def look_up(self, name: str) -> Json:
        """Give the value of a reference; raises `Missing`."""
        captures = [(f"the capture of {c.at}", c.values) for c in reversed(self.captures)]
        for label, values in (*captures, *self.outside):
            splits = _splits(name, values)
            for head, rest in splits:
                found = _walk(values[head], rest)
                if found is not _NOTHING:
                    return cast(Json, found)
            if splits:
                raise Missing(self._message(name, f"{label} has `{splits[0][0]}`, but not that part of it; "))
        raise Missing(self._message(name, ""))

    def _message(self, name: str, reason: str) -> str:
        captured = [key for capture in self.captures for key in capture.values]
        looked_at = [f"captures before it ({_list(captured)})"]
        looked_at += [f"{label} ({_list(values)})" for label, values in self.outside if label != ENVIRONMENT]
        looked_at.append(f"{PREFIX}{name.partition('.')[0]} in the environment")
        return f"{{{{{name}}}}} has no value: {reason}looked at {', '.join(looked_at)}"


def outside(sources: Sources, dataset: str | None) -> tuple[tuple[str, Mapping[str, Json]], ...]:
    """The sources behind the captures, each with its name, in the order of V1."""
    # Rows of a dataset file have plain columns: `{{cases.city}}` is `city` of the dataset `cases`.
    columns = {f"{dataset}.{column}": value for column, value in sources.row.items()} if dataset else {}
    environment = {
        key.removeprefix(PREFIX): value
        for key, value in sources.environment.items()
        if key.startswith(PREFIX)
    }
    return (
        ("the dataset row", {**columns, **sources.row}),
        ("--var", sources.variables),
        ("the recording's variables", sources.recorded),
        (ENVIRONMENT, environment),
    )


def _splits(name: str, values: Mapping[str, Json]) -> list[tuple[str, tuple[str, ...]]]:
    """The ways to read a name as a key and a walk behind it, the longest key first: `cases.city`, `cases`."""
    parts = name.split(".")
    splits = [(".".join(parts[:end]), tuple(parts[end:])) for end in range(len(parts), 0, -1)]
    return [(head, rest) for head, rest in splits if head in values]


_NOTHING = object()


def _walk(value: Json, rest: Sequence[str]) -> object:
    for part in rest:
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list | tuple) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return _NOTHING
    return value


class TooLarge(Exception):
    """References multiply what they stand for."""


class Allowance:
    """How much the references of one session may still come to."""

    def __init__(self) -> None:
        self._left = MOST_RESOLVED

    def take(self, value: Json) -> None:
        """Count a value that is about to be written once more; raises `TooLarge`."""
        waiting = [value]
        while waiting:
            one = waiting.pop()
            self._left -= len(one) if isinstance(one, str) else _OF_A_VALUE
            if self._left < 0:
                limit = f"{MOST_RESOLVED >> 20} MiB"
                raise TooLarge(f"the values of its references come to more than {limit}: capture less")
            if isinstance(one, Mapping):
                waiting += one.values()
            elif isinstance(one, list | tuple):
                waiting += one


def _list(names: Collection[str]) -> str:
    shown = sorted(set(names))
    return ", ".join(shown[:8]) + (", …" if len(shown) > 8 else "") or "none"


def parse_variables(texts: Sequence[str]) -> dict[str, Json]:
    """Read `--var name=value` and `--var name:=JSON` (V7); raises `UsageError`."""
    return dict(map(_variable, texts))


def _variable(text: str) -> tuple[str, Json]:
    name, equals, value = text.partition("=")
    typed = name.endswith(":")
    name = name.removesuffix(":")
    if not equals or not is_name(name):
        raise UsageError(f"--var {text!r}: expected NAME=VALUE or NAME:=JSON")
    if not typed:
        return name, value
    try:
        return name, cast(Json, loads(value))
    except (ValueError, ArithmeticError, RecursionError):
        raise UsageError(f"--var {text!r}: what follows := is no JSON; NAME=VALUE gives text") from None
