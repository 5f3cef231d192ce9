"""A saved report is somebody's file: before it is shown, each field must hold what its type says."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeAliasType, get_args, get_origin, get_type_hints

from abs_replay.verdicts import Report

WORDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number", type(None): "null"}

hints_of = cache(get_type_hints)


def checked(report: Report) -> Report:
    """Give the report back; raises `ValueError` with the first field that holds something else."""
    for problem in _problems(report, Report, ""):
        raise ValueError(f"it is no report of `abs grade --format json`: {problem}")
    return report


def _problems(value: Any, hint: Any, at: str) -> Iterator[str]:
    if isinstance(hint, TypeAliasType):  # Json: anything
        return
    if is_dataclass(hint) and isinstance(hint, type):
        for one in fields(value):
            yield from _problems(getattr(value, one.name), hints_of(hint)[one.name], f"{at}.{one.name}")
    elif get_origin(hint) in (tuple, frozenset) and get_args(hint)[-1] is Ellipsis:
        for nth, item in enumerate(value):
            yield from _problems(item, get_args(hint)[0], f"{at}[{nth}]")
    elif get_origin(hint) in (dict, Mapping):
        for key, item in value.items():
            yield from _problems(item, get_args(hint)[1], f"{at}.{key}")
    elif not _is(value, hint):
        yield f"{at.removeprefix('.')} must be {_words(hint)}"


def _is(value: Any, hint: Any) -> bool:
    if isinstance(hint, UnionType):
        return any(_is(value, one) for one in get_args(hint))
    if get_origin(hint) is frozenset:
        return True  # read out of fields that are checked themselves
    return isinstance(value, hint) and not (isinstance(value, bool) and hint is not bool)


def _words(hint: Any) -> str:
    kinds = get_args(hint) or (hint,)
    return " or ".join(WORDS.get(kind, kind.__name__) for kind in kinds)
