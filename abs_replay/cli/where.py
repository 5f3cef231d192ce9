"""`--where SQL`: traces chosen by a condition over the columns of the view `traces` (`abs sql --schema`)."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from abs_replay.errors import UsageError

if TYPE_CHECKING:
    from abs_replay.store import Store
    from abs_replay.trace import Trace


def option[Command: Callable[..., Any]](command: Command) -> Command:
    """Give a command `--where`."""
    return click.option(
        "--where", metavar="SQL", help="Only traces of which this holds: \"tags->>'ticket' = '42'\"."
    )(command)


def holding(store: "Store", condition: str | None) -> Callable[[Any], bool] | None:
    """Whether the condition holds of a trace as `abs ls` lists it; None without a condition."""
    if condition is None:
        return None
    holds = _explained(lambda: store.traces_where(condition))
    return lambda document: holds.get((document["recording"] or "", document["id"]), False)


def fitting(traces: Sequence["Trace"], condition: str | None, store: "Store | None") -> Sequence["Trace"]:
    """The traces of which the condition holds; those of files, where no store is given, by themselves.

    Raises `UsageError` in one line.
    """
    if condition is None:
        return traces
    from abs_replay.store.querying import where

    holds = _explained(lambda: where(traces, condition) if store is None else store.traces_where(condition))
    unknown = [trace.id for trace in traces if (trace.recording or "", trace.id) not in holds]
    if unknown:
        raise UsageError(
            f"--where: {len(unknown)} of the traces, {unknown[0]} for one, could not be kept in the store: "
            "try again when nobody else holds it"
        )
    found = [trace for trace in traces if holds[trace.recording or "", trace.id]]
    if traces and not found:
        raise UsageError(f"--where: it holds of none of the {len(traces)} traces: {condition}")
    return found


def _explained(holds: Callable[[], dict[tuple[str, str], bool]]) -> dict[tuple[str, str], bool]:
    try:
        return holds()
    except UsageError as error:
        raise UsageError(f"--where: {error}") from None
