"""Which evaluations `abs label` asks about."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from abs_replay.comparison.agreement import consensus
from abs_replay.comparison.sampling import stratified
from abs_replay.errors import UsageError
from abs_replay.labels import UNSURE, Evaluated, Label, Labelled, Opinion, Place


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line said; None is whatever there is."""

    session: str | None = None
    evaluation: str | None = None
    trace: str | None = None
    sample: int | None = None
    seed: int = 0
    only_disagreeing: bool = False


def chosen(labelled: Labelled, wanted: Wanted) -> list[Evaluated]:
    """The evaluations that are asked about, whether they have labels or not; raises `UsageError`.

    Those that a judge answered, unless one is named that no judge decides.
    """
    found = list(labelled.evaluated)
    if not found:
        raise UsageError("nothing was graded that could be labelled: grade what was recorded with abs grade")
    for name, value in (("session", wanted.session), ("at", wanted.evaluation), ("trace", wanted.trace)):
        found = _named(found, name, value)
    if wanted.evaluation is None:
        found = [each for each in found if each.judge is not None]
        if not found:
            raise UsageError("no judge answered any of these: name one of the others with --evaluation")
    if wanted.only_disagreeing:
        places = disagreeing(labelled.opinions)
        found = [each for each in found if each.place in places]
    if wanted.sample is None:
        return found
    return stratified(found, lambda each: (each.session, each.at, each.status), wanted.sample, wanted.seed)


FLAGS = {"session": "--session", "at": "--evaluation", "trace": "--trace"}


def _named(found: list[Evaluated], name: str, value: str | None) -> list[Evaluated]:
    if value is None:
        return found
    fitting = [each for each in found if getattr(each, name) == value]
    if not fitting and name == "trace":
        fitting = [each for each in found if each.trace.startswith(value)]
    if fitting:
        return fitting
    known = list(dict.fromkeys(getattr(each, name) for each in found))
    near = " or ".join(get_close_matches(value, known, n=3) or known[:3])
    raise UsageError(f"{FLAGS[name]} {value!r}: no verdict that stands has it; is it {near}?")


def disagreeing(opinions: Sequence[Opinion]) -> set[Place]:
    """Where people and the judge, or people among themselves, decided differently."""
    said: dict[Place, list[tuple[str, str | None]]] = {}
    for each in opinions:
        if each.current and not each.stale:
            place = Place(each.session, each.trace, each.at)
            said.setdefault(place, []).append((each.human, each.judged))
    return {place for place, found in said.items() if _differ(found)}


def _differ(found: Sequence[tuple[str, str | None]]) -> bool:
    words = {human for human, _ in found if human != UNSURE}
    agreed, judged = consensus([human for human, _ in found]), found[0][1]
    return len(words) > 1 or (judged is not None and agreed != UNSURE and agreed != judged)


def unlabelled(found: Sequence[Evaluated], labels: Sequence[Label], who: str) -> list[Evaluated]:
    """Those on which this person has not said a word that still holds."""
    last = {label.place: label for label in labels if label.who == who}
    return [each for each in found if not (each.place in last and last[each.place].is_about(each))]
