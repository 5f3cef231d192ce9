"""Which verdict of one grading belongs to which of the other.

Runs are paired by session and trace (several traces of one name by what was observed), those of a renamed
session by trace, and those that `abs run` played once each time, which makes a new trace, by what they
played. Within a run an evaluation is first looked for where it stood, then wherever its behavior went, so
that a behavior added above moves nothing; only then is it taken for an edited one.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from abs_replay import exact_json
from abs_replay.comparison.scenarios import Scenario, scenario_of
from abs_replay.verdicts import MATCH, BehaviorResult, Run, Status, Verdict


@dataclass(frozen=True, slots=True)
class Check:
    """One verdict in its run. A behavior's match has type `match` and no verdict."""

    run: Run
    at: str
    type: str
    status: Status
    reason: str
    label: str = ""
    verdict: Verdict | None = None
    behavior: Hashable = None  # what tells its behavior from others, wherever it stands
    step: int | None = None

    @property
    def session(self) -> str:
        return self.run.session

    @property
    def trace(self) -> str:
        return self.run.trace

    @property
    def fingerprint(self) -> str:
        return self.verdict.fingerprint if self.verdict else ""

    @property
    def question(self) -> str:
        """What its fingerprint says of its question alone; nothing in gradings of before."""
        question, decision, _ = self.fingerprint.partition(".")
        return question if decision else ""

    @property
    def judged(self) -> bool:
        """Whether a judge had a say, be it in a part."""
        return self.verdict is not None and _judged(self.verdict)


def _judged(verdict: Verdict) -> bool:
    return verdict.judge is not None or any(map(_judged, verdict.children))


type Pairs[T] = list[tuple[T | None, T | None]]


def paired_runs(before: Iterable[Run], after: Iterable[Run]) -> Pairs[Run]:
    """Pair runs of one session and trace; a run of one grading alone has None beside it.

    A session that the other grading does not have was renamed where a trace has one alone each time.
    """
    before, after = tuple(before), tuple(after)
    renamed = _sole_sessions(before, after) & _sole_sessions(after, before)
    once = _played_once(before) & _played_once(after)
    unclear = _unclear(before, after)
    return paired(
        before,
        after,
        [
            lambda run: (*_name(run), run.trace_digest) if run.trace_digest else None,
            lambda run: _name(run) if _name(run) not in unclear else None,
            lambda run: run.trace if run.trace in renamed else None,
            lambda run: scenario if (scenario := _played(run)) in once else None,
        ],
    )


def _name(run: Run) -> tuple[str, str]:
    return run.session, run.trace


def several(runs: Iterable[Run]) -> set[tuple[str, str]]:
    """The names, session and trace, that several runs have."""
    return {name for name, count in Counter(map(_name, runs)).items() if count > 1}


def _unclear(before: Sequence[Run], after: Sequence[Run]) -> set[tuple[str, str]]:
    """The names by which, once what was observed has paired its runs, not as many are left on both sides."""
    names = several(before) | several(after)
    sides = [
        Counter((_name(run), run.trace_digest) for run in runs if _name(run) in names)
        for runs in (before, after)
    ]
    left = [Counter[tuple[str, str]](), Counter[tuple[str, str]]()]
    for side, other, rest in zip(sides, sides[::-1], left, strict=True):
        for (name, digest), count in side.items():
            rest[name] += count - min(count, other[name, digest] if digest else 0)
    return {name for name in names if 0 < left[0][name] != left[1][name] > 0}


def _played(run: Run) -> Scenario | None:
    """What was played, whatever the agent is called, whose address is often another each time."""
    return None if run.agent is None else replace(scenario_of(run), agent=None)


def _played_once(runs: Sequence[Run]) -> set[Scenario]:
    """Which trial belongs to which of another grading can not be told where there are several."""
    counts = Counter(scenario for run in runs if (scenario := _played(run)))
    return {scenario for scenario, count in counts.items() if count == 1}


def _sole_sessions(runs: Sequence[Run], others: Sequence[Run]) -> set[str]:
    """The traces that one session alone judged, of a name that no run of the other grading has."""
    elsewhere = {run.session for run in others}
    sessions: defaultdict[str, set[str]] = defaultdict(set)
    for run in runs:
        sessions[run.trace].add(run.session)
    return {trace for trace, names in sessions.items() if len(names) == 1 and not names & elsewhere}


def paired[T](before: Sequence[T], after: Sequence[T], keys: Sequence[Callable[[T], Hashable]]) -> Pairs[T]:
    """Pair by the first key, the rest by the second, and so on; equal keys pair in their order.

    A key that is None pairs with nothing. What is in `before` alone comes last.
    """
    firsts = [keys[0](one) for one in before]
    if firsts == [keys[0](one) for one in after] and None not in firsts:
        return list(zip(before, after, strict=True))
    partners: dict[int, int] = {}
    left, right = list(range(len(before))), list(range(len(after)))
    for key in keys:
        waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        for place in left:
            waiting[key(before[place])].append(place)
        for place in right:
            wanted = key(after[place])
            if wanted is not None and waiting.get(wanted):
                partners[place] = waiting[wanted].popleft()
        right = [place for place in right if place not in partners]
        left = sorted(place for queue in waiting.values() for place in queue)
    pairs: Pairs[T] = [
        (before[partners[place]] if place in partners else None, new) for place, new in enumerate(after)
    ]
    return pairs + [(before[place], None) for place in left]


def behavior_key(step: BehaviorResult) -> Hashable:
    """What tells a behavior from others, wherever it stands."""
    content = step.content
    plain = content is None or isinstance(content, str)
    return step.actor, step.action, step.target, step.id, content if plain else (exact_json.dumps(content),)


KEYS: Sequence[Callable[[Check], Hashable]] = (
    lambda check: (check.at, check.behavior, check.type, check.fingerprint),
    lambda check: (check.behavior, check.fingerprint) if check.fingerprint else None,
    lambda check: (check.behavior, check.question) if check.question else None,
    lambda check: (check.at, check.behavior, check.type),
    lambda check: (check.behavior, check.type),
    lambda check: (check.at, check.type),
)

MATCH_KEYS: Sequence[Callable[[Check], Hashable]] = (
    lambda check: (check.at, check.behavior),
    lambda check: check.behavior,
    lambda check: check.at,
)


def evaluations_of(run: Run | None) -> list[Check]:
    if run is None:
        return []
    of_steps = [
        _check(run, verdict, behavior_key(step), step.step)
        for step in run.steps
        for verdict in step.evaluations
    ]
    return of_steps + [_check(run, verdict, None, None) for verdict in run.chain_evaluations]


def _check(run: Run, verdict: Verdict, behavior: Hashable, step: int | None) -> Check:
    what = verdict.at, verdict.type, verdict.status, verdict.reason, verdict.label
    return Check(run, *what, verdict, behavior, step)


def matches_of(run: Run) -> list[Check]:
    return [
        Check(
            run,
            step.at,
            "match",
            Status.FAILED if run.fails(step) else MATCH[step.status],
            step.near or (f"step {step.step}" if step.step is not None else step.status.value),
            " ".join(part for part in (step.actor, step.action, step.target) if part),
            behavior=behavior_key(step),
            step=step.step,
        )
        for step in run.steps
    ]
