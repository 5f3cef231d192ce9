"""`--fail-on`, `--min-pass-rate`, `--bound` and `--margin`: what has to hold for exit status 0."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from abs_replay.errors import UsageError

if TYPE_CHECKING:
    from abs_replay.comparison.gates import Gates

SHARE = click.FloatRange(0, 1)


def gate_options(*bound: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options, with `bound` as the names of the one that chooses what a pass rate is measured by."""
    options = (
        click.option(
            "--fail-on",
            type=click.Choice(("regression", "any")),
            help="Exit with 1 if something got worse, or if anything flipped.",
        ),
        click.option(
            "--min-pass-rate",
            type=SHARE,
            metavar="X",
            help="Exit with 1 if a smaller share of the sessions passed (0.9); undecided ones did not.",
        ),
        click.option(
            *bound,
            "bound",
            type=click.Choice(("lower", "point")),
            help="Measure the pass rate by the lower end of its 95 % interval [default: point].",
        ),
        click.option(
            "--margin",
            type=SHARE,
            metavar="M",
            help="Exit with 1 unless the pass rate fell by less than M, with 95 % certainty.",
        ),
    )

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def gates_of(
    fail_on: str | None, min_pass_rate: float | None, bound: str | None, margin: float | None
) -> "Gates":
    """The gates that the options ask for; raises `UsageError` for a bound of nothing."""
    from abs_replay.comparison.gates import Bound, FailOn, Gates

    if bound is not None and min_pass_rate is None:
        raise UsageError("--bound says what --min-pass-rate is measured by: give --min-pass-rate as well")
    return Gates(
        FailOn(fail_on) if fail_on else None, min_pass_rate, Bound(bound) if bound else Bound.POINT, margin
    )
