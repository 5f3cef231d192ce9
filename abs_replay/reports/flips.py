"""What flipped between two gradings, for people: rule by rule, with reasons and causes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from abs_replay.comparison import Comparison, Flip
from abs_replay.comparison.flips import SEVERAL, Incomparable
from abs_replay.comparison.noise import Floor
from abs_replay.comparison.pairing import Check
from abs_replay.comparison.statistics import Interval
from abs_replay.comparison.tallies import Rate, Tally, beyond_noise
from abs_replay.reports import PAPER, Screen
from abs_replay.reports.cells import cut, escaped, painted, wrapped
from abs_replay.reports.labels import quoted
from abs_replay.reports.table import EVALUATIONS
from abs_replay.reports.totals import plural

MOST_OF_A_RULE = 20  # flips of one rule that are shown; JSON has them all
MOST_LINES = 4  # of one reason
UNSTABLE = "Unstable: a judge's votes were split, or it answered the same question otherwise"

type Place = tuple[str, str, str]


def render(comparison: Comparison, screen: Screen = PAPER) -> str:
    """Write what flipped, rule by rule, with the reasons before and after."""
    tallies = {tally.place: tally for tally in comparison.tallies}
    lines = list(_headline(comparison))
    apart = unstable(comparison)
    for place, flips in grouped(stable(comparison)).items():
        lines += ["", *_rule(place, flips, tallies.get(place), comparison.floor, screen)]
    if apart:
        lines += ["", UNSTABLE]
    for place, flips in grouped(apart).items():
        lines += ["", *_rule(place, flips, tallies.get(place), comparison.floor, screen)]
    lines += ["", *_closing(comparison, screen)]
    return "\n".join(lines) + "\n"


def stable(comparison: Comparison) -> list[Flip]:
    """All flips that asking again would not undo; whole sessions last, which flip with what is in them."""
    return [flip for flip in _sessions_last(comparison) if not flip.unstable]


def unstable(comparison: Comparison) -> list[Flip]:
    """The others: judged rules, and sessions that flipped by them alone."""
    return [flip for flip in _sessions_last(comparison) if flip.unstable]


def _sessions_last(comparison: Comparison) -> tuple[Flip, ...]:
    return comparison.flips + comparison.matches + comparison.results


def _headline(comparison: Comparison) -> Iterator[str]:
    # Matches and whole sessions may flip where no evaluation did.
    none = "no evaluation" if comparison.all_flips else "nothing"
    flipped = f"{len(comparison.flips) or none} flipped"
    same = f"{comparison.same} the same{_carried(comparison)}"
    undecided = f", {len(comparison.undecided)} not comparable" if comparison.undecided else ""
    yield escaped(f"{comparison.before} → {comparison.after}: {flipped}, {same}{undecided}")
    yield from by_cause(comparison)


def by_cause(comparison: Comparison) -> Iterator[str]:
    """How many evaluations flipped by which causes, the most frequent first."""
    counts = Counter("; ".join(flip.causes) or "not known" for flip in comparison.flips)
    for causes, count in counts.most_common():
        yield f"  {count}: {causes}"


def _carried(comparison: Comparison) -> str:
    if comparison.same == comparison.carried:
        return " (carried over)" if comparison.same else ""
    if comparison.same == len(comparison.anew):
        return ""
    counts = {
        "carried over": comparison.carried,
        "answered anew by another judge": comparison.by_another,
        "decided anew": len(comparison.anew),
    }
    return f" ({', '.join(f'{count} {what}' for what, count in counts.items() if count)})"


def grouped(flips: Iterable[Flip]) -> dict[Place, list[Flip]]:
    """Put the flips of one rule together."""
    groups: defaultdict[Place, list[Flip]] = defaultdict(list)
    for flip in flips:
        groups[flip.after.session, flip.after.at, flip.after.type].append(flip)
    return groups


def _rule(
    place: Place, flips: list[Flip], tally: Tally | None, floor: Floor, screen: Screen
) -> Iterator[str]:
    session, at, _ = place
    what = named(flips[0].after)
    yield cut(escaped(" · ".join(part for part in (session, at, what) if part)), screen.width)
    for flip in flips[:MOST_OF_A_RULE]:
        yield from _flip(flip, screen)
    if len(flips) > MOST_OF_A_RULE:
        yield f"  .. and {len(flips) - MOST_OF_A_RULE} more: --format json lists them"
    if tally and tally.judged:
        yield f"  {tested(tally, floor)}"


def named(check: Check) -> str:
    """What a check is called: by its rule's words, where it has one."""
    label = check.label or check.type
    return {"session": "the whole session", "match": f"match of {label}"}.get(check.type, label)


def _flip(flip: Flip, screen: Screen) -> Iterator[str]:
    went = f"{_status(flip.before, screen)} → {_status(flip.after, screen)}"
    yield f"  {escaped(flip.after.trace)}: {went}{caused(flip)}"
    for name, reason in (("before", flip.before.reason), ("after", flip.after.reason)):
        if reason:
            yield from _reason(f"{name}:", reason, screen.width)


def caused(flip: Flip) -> str:
    """Why it flipped, all that can have made it."""
    return f" · {'; '.join(flip.causes)}" if flip.causes else ""


def _status(check: Check, screen: Screen) -> str:
    symbol, word, mood = EVALUATIONS[check.status]
    return painted(f"{symbol} {word}", mood, screen.colour)


def _reason(name: str, reason: str, width: int) -> Iterator[str]:
    lines = wrapped(escaped(reason), max(width - 13, 20))
    shown = lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], "…"]
    for nth, line in enumerate(shown):
        yield f"    {name if nth == 0 else '':<8}{line}"


def tested(tally: Tally, floor: Floor) -> str:
    """What the flips of a judged rule say beyond these traces, and beside what the judge itself wavers."""
    undecided = f" ({tally.undecided} more were not)" if tally.undecided else ""
    went = f"{tally.worse} worse, {tally.better} better of {tally.pairs} judged both times{undecided}"
    return f"{went}: {_significance(tally)}{_noise(tally)}{_beyond(tally, floor)}"


def _significance(tally: Tally) -> str:
    if not tally.enough:
        return "too few flips to test"
    changed = f"{tally.effect * 100:+.1f} points{_between(tally.interval)}"
    if tally.mid_p is None:
        return f"{changed}, over {len(tally.changes.sizes)} scenarios with trials, which are not tested"
    return f"McNemar's mid-p {tally.mid_p:.2g}, {changed}"


def _noise(tally: Tally) -> str:
    if tally.noise is None:
        return ""
    flipped = (tally.worse + tally.better) / tally.pairs
    return f"; {flipped * 100:.0f} % flipped, where votes on one question differ by {tally.noise * 100:.0f} %"


def _beyond(tally: Tally, floor: Floor) -> str:
    """Whether so many flips are more than the same judge makes with nothing changed (A/B against A/A)."""
    p = beyond_noise(tally, floor)
    if p is None:
        return ""
    more = "more than" if p < 0.05 else "not shown to be more than"
    return f"; {more} the noise floor (Fisher's one-sided p {p:.2g})"


def noise_floor(floor: Floor) -> Iterator[str]:
    """How often the same judge decided the same question otherwise, in a line; none where it was not asked
    twice."""
    if floor.rate is not None:
        twice = f"{plural(floor.pairs, 'question')} asked twice, with nothing changed"
        yield f"Noise floor: {floor.rate * 100:.1f} % of {twice}, came out otherwise"


def _between(interval: Interval | None) -> str:
    return "" if interval is None else f" ({interval[0] * 100:+.1f} to {interval[1] * 100:+.1f})"


def _closing(comparison: Comparison, screen: Screen) -> Iterator[str]:
    yield f"Sessions passed: {rate(comparison.rate_before)} → {rate(comparison.rate_after)}"
    yield from noise_floor(comparison.floor)
    for old, new in comparison.renamed:
        yield cut(escaped(f"Session {quoted(old)} is called {quoted(new)} now"), screen.width)
    for name, listed in what_did_not_flip(comparison):
        traces = len({(check.session, check.trace) for check, _ in listed})
        yield f"{name}: {plural(len(listed), 'evaluation')}, in {plural(traces, 'trace')}"
        yield from _came_to(listed, screen)


type Listed = Sequence[tuple[Check, str]]


def what_did_not_flip(comparison: Comparison) -> Iterator[tuple[str, Listed]]:
    """Evaluations that are listed apart, each with what it came to, or why it can not be compared."""
    undecided = [(pair.after, pair.why) for pair in comparison.undecided if pair.after]
    for name, listed in (
        ("Decided anew, and the same", _with_words(flip.after for flip in comparison.anew)),
        ("Not comparable", undecided),
        ("Only before", [one for pair in comparison.one_sided if pair.before for one in _alone(pair)]),
        ("Only after", [one for pair in comparison.one_sided if pair.after for one in _alone(pair)]),
    ):
        if listed:
            yield name, listed


def _with_words(checks: Iterable[Check]) -> Listed:
    return [(check, EVALUATIONS[check.status][1]) for check in checks]


def _alone(pair: Incomparable) -> Listed:
    """What only one grading has; it may be that its whole trace is not in the other."""
    check = pair.before or pair.after
    if check is None:
        return []
    trace = f" ({SEVERAL})" if pair.why == SEVERAL else ""
    if not trace and "trace" in pair.why:
        trace = " (its trace is not in the other)"
    return [(check, EVALUATIONS[check.status][1] + trace)]


def _came_to(listed: Listed, screen: Screen) -> Iterator[str]:
    """What evaluations that did not flip came to, rule by rule."""
    came_to = counted(listed)
    for heading, summary in list(came_to.items())[:MOST_OF_A_RULE]:
        yield f"  {cut(escaped(heading), max(screen.width - len(summary) - 4, 20))}: {summary}"
    if len(came_to) > MOST_OF_A_RULE:
        yield f"  .. and {len(came_to) - MOST_OF_A_RULE} more rules"


def counted(listed: Listed) -> dict[str, str]:
    """How often what was said of a rule, by the rule's name."""
    came_to: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for check, word in listed:
        came_to[f"{check.session} · {check.at} · {check.label or check.type}"][word] += 1
    return {
        heading: ", ".join(f"{count} {word}" for word, count in counts.items())
        for heading, counts in came_to.items()
    }


def rate(found: Rate) -> str:
    """The rate with Wilson's 95 % interval; both denominators where not all was decided."""
    low, high = found.interval
    passed = f"{found.passed}/{found.decided}"
    if found.decided != found.total:
        passed += f" decided, {found.passed}/{found.total} in all"
    return f"{passed} ({low * 100:.0f}–{high * 100:.0f} %)"
