"""Behaviors against steps: what matched, what did not, and how selectors see the trace (SEMANTICS 3).

`align` is pure. The n-th turn of a session meets the n-th turn of a trace; `compatibility` says
which steps a behavior could take, `best` which it takes, `turns` adds the optional ones, and
`dropping` takes out what requires a skipped one. Here the steps get their behaviors' names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field

from abs_replay.alignment.compatibility import category
from abs_replay.alignment.dropping import NO_JUDGE, Place, aligned_turns
from abs_replay.alignment.planning import plan_of
from abs_replay.alignment.seen import Kinds, Seen
from abs_replay.alignment.turns import TraceTurns
from abs_replay.judgement import Answer, Question
from abs_replay.spec.session import Behavior, Session
from abs_replay.trace import Step, Trace, Visibility
from abs_replay.values import dataclass

__all__ = ["NO_JUDGE", "Alignment", "Place", "Seen", "align"]


@dataclass(slots=True)  # not frozen: as for `verdicts.Verdict`
class Alignment:
    """One place a behavior; the visible steps, annotated; the `seq` of those that nobody took.

    `kinds` is worked out where the session has evaluations of its own, which have selectors.
    """

    places: tuple[Place, ...]
    seen: tuple[Seen, ...]
    extra: tuple[int, ...]
    questions: tuple[Question, ...]
    kinds: Kinds | None = field(compare=False, repr=False)

    def step_of(self, behavior: int) -> Seen | None:
        position = self.places[behavior].position
        return None if position is None else self.seen[position]


def align(trace: Trace, session: Session, answers: Mapping[str, Answer] | None = None) -> Alignment:
    """Align a trace with a session; `answers` are a judge's, by question digest (A7)."""
    internal = Visibility.INTERNAL
    steps = tuple([step for step in trace.steps if step.visibility is not internal])
    turns = TraceTurns(steps, session.aliases, answers or {})
    aligned = aligned_turns(plan_of(session), turns)
    places = tuple(aligned.places())
    seen = _annotated(steps, places, session.behaviors)
    extra = tuple([one.step.seq for one in seen if one.behavior is None and one.actor != "system"])
    kinds = Kinds(seen) if session.evaluations else None
    return Alignment(places, seen, extra, tuple(aligned.questions()), kinds)


def _annotated(
    steps: Sequence[Step], places: Sequence[Place], behaviors: Sequence[Behavior]
) -> tuple[Seen, ...]:
    """Give each step its first taker's action and id, and verbs their plain form otherwise (A11)."""
    takers: dict[int, int] = {}
    for index, place in enumerate(places):
        if place.position is not None:
            takers.setdefault(place.position, index)
    return tuple([_seen(step, takers.get(position), behaviors) for position, step in enumerate(steps)])


def _seen(step: Step, taker: int | None, behaviors: Sequence[Behavior]) -> Seen:
    kind = category(step.action)
    action = step.action
    if taker is not None and (kind in ("communication", "execution") or step.actor == "user"):
        action = behaviors[taker].action
    elif step.actor == "user":
        action = "says"
    elif step.actor == "assistant" and kind in ("communication", "execution"):
        action = "responds" if kind == "communication" else "calls"
    return Seen(step, step.actor, action, step.target, taker, None if taker is None else behaviors[taker].id)
