"""What is independent of what: several traces of one scenario are trials of it, not evidence of their own.

A scenario is a session with one row of its data, played against one agent. Where nobody played it, as in
traffic that was recorded, it is one only if the user begins alike. Where all traces are of one scenario, what
is said is said of that one, and each trace is a unit.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from abs_replay import exact_json
from abs_replay.comparison.statistics import Sample
from abs_replay.verdicts import Run


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is tried again where a session is played again: `bindings` is its row, as JSON; `user` names what
    the user says, where that is not the session's to say."""

    session: str
    agent: str | None = None
    row: int | None = None
    bindings: str = "{}"
    user: str | None = None

    @property
    def label(self) -> str:
        """Its name for people: the session, with its row where it has one."""
        row = f"row {self.row}" if self.row is not None else "" if self.bindings == "{}" else self.bindings
        return " · ".join(part for part in (self.session, self.agent, row) if part)


def scenario_of(run: Run) -> Scenario:
    user = None if was_played(run) else next(iter(run.said), None)
    if not run.bindings:
        return Scenario(run.session, run.agent, run.row, user=user)
    ordered = {name: run.bindings[name] for name in sorted(run.bindings)}
    return Scenario(run.session, run.agent, run.row, exact_json.dumps(ordered), user)


def was_played(run: Run) -> bool:
    """Whether the session was played to make the trace: what the user says is the session's then."""
    return run.agent is not None or run.row is not None


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a trace: a verdict that passed (1) or not (0), a change of one, a difference of scores."""

    scenario: Scenario
    trace: str
    value: float


def sampled(values: Iterable[Value]) -> Sample:
    """Sum values by their units."""
    kept = list(values)
    several = len({each.scenario for each in kept}) > 1
    units: defaultdict[Hashable, list[float]] = defaultdict(list)
    for each in kept:
        units[each.scenario if several else each.trace].append(each.value)
    sums, sizes = tuple(map(sum, units.values())), tuple(map(len, units.values()))
    return Sample(sums, sizes, "scenario" if several else "trace")
