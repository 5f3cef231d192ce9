"""Trials for people and as JSON: how often sessions pass that were played several times."""

from collections.abc import Iterator, Sequence

from abs_replay.comparison.statistics import Interval
from abs_replay.comparison.trials import (
    AtK,
    Errors,
    Measured,
    Trials,
    are_trials,
    kept_apart,
    measured,
    trials_of,
    usual_ks,
)
from abs_replay.exact_json import Json
from abs_replay.reports.cells import cut, escaped
from abs_replay.reports.totals import plural
from abs_replay.verdicts import Run

MOST_NAMED = 20  # flaky scenarios, and wavering evaluations of one
CONVENTIONS = {
    Errors.EXCLUDED: "Undecided trials left out",
    Errors.FAILED: "Undecided trials taken for failed",
}
BOTH = "Undecided trials left out, or taken for failed: there are none"


def render(trials: Sequence[Trials], ks: Sequence[int], width: int = 100) -> str:
    """Write them with intervals, by both conventions, which are the same where all was decided."""
    lines = [_headline(trials)]
    differ = any(each.undecided for each in trials)
    for errors in tuple(Errors) if differ else (Errors.EXCLUDED,):
        lines += ["", *_measures(measured(trials, ks, errors), CONVENTIONS[errors] if differ else BOTH)]
    flaky = [each for each in trials if each.flaky]
    if flaky:
        lines += ["", f"Flaky: {plural(len(flaky), 'scenario')}"]
        lines += [cut(line, width) for each in flaky[:MOST_NAMED] for line in _flaky(each)]
    if len(flaky) > MOST_NAMED:
        lines.append(f"  .. and {len(flaky) - MOST_NAMED} more: --format json lists them")
    lines += ["", *apart] if (apart := list(_apart(trials))) else []
    return "\n".join(lines) + "\n"


def _headline(trials: Sequence[Trials]) -> str:
    runs = sum(len(each.traces) for each in trials)
    undecided = sum(each.undecided for each in trials)
    told = f", {undecided} undecided" if undecided else ""
    if runs > 1 and not are_trials(trials):
        return f"{plural(runs, 'trace')}, and no scenario was tried twice{told}"
    return f"{plural(runs, 'trial')} of {plural(len(trials), 'scenario')}{told}"


def _apart(trials: Sequence[Trials]) -> Iterator[str]:
    for scenario, traces in list(kept_apart(trials).items())[:MOST_NAMED]:
        what = f"{plural(traces, 'trace')} of {scenario.label} are not repetitions of one scenario"
        yield escaped(f"{what}: what their users say differs (--by row takes them for trials of one)")


def _measures(found: Measured, convention: str) -> Iterator[str]:
    yield f"{convention}:"
    rate = f"{found.passed / found.counted:.3f}" if found.counted else "undefined"
    yield f"  {'pass rate':<10}{rate}{_between(found.interval)}  {found.passed} of {found.counted}"
    for name, measures in (("pass@", found.pass_at), ("pass^", found.pass_all)):
        for measure in measures:
            yield f"  {f'{name}{measure.k}':<10}{_value(measure)}"


def _value(measure: AtK) -> str:
    if measure.mean is None:
        return f"undefined: no scenario has {measure.k} trials"
    between = _between(measure.interval) or " (no interval)"
    return f"{measure.mean:.3f}{between}  over {plural(len(measure.values), 'scenario')}"


def _between(interval: Interval | None) -> str:
    return "" if interval is None else f" ({interval[0]:.3f}–{interval[1]:.3f})"


def _flaky(trials: Trials) -> Iterator[str]:
    undecided = f", {trials.undecided} undecided" if trials.undecided else ""
    said = f" (as in {trials.traces[0]})" if trials.scenario.user else ""
    yield escaped(
        f"  {trials.scenario.label}{said}: {trials.passed} passed, {trials.failed} failed{undecided}"
    )
    for at, label in trials.wavering[:MOST_NAMED]:
        yield escaped(f"    {at} · {label}")


def as_json(trials: Sequence[Trials], ks: Sequence[int], intervals: bool = True) -> dict[str, Json]:
    """Everything of them; a measure that is undefined is null."""
    return {
        "scenarios": [_scenario(each) for each in trials],
        "flaky": sum(each.flaky for each in trials),
        "not_repetitions": [
            {"name": scenario.label, "traces": traces} for scenario, traces in kept_apart(trials).items()
        ],
        "measures": [_measured(measured(trials, ks, errors), intervals) for errors in Errors],
    }


def _scenario(trials: Trials) -> dict[str, Json]:
    return {
        "session": trials.scenario.session,
        "agent": trials.scenario.agent,
        "row": trials.scenario.row,
        "name": trials.scenario.label,
        "traces": trials.traces,
        "passed": trials.passed,
        "failed": trials.failed,
        "undecided": trials.undecided,
        "flaky": trials.flaky,
        "wavering": [{"at": at, "label": label} for at, label in trials.wavering],
    }


def _measured(found: Measured, intervals: bool) -> dict[str, Json]:
    return {
        "errors": found.errors.value,
        "pass_rate": found.passed / found.counted if found.counted else None,
        **({"interval": _interval(found.interval)} if intervals else {}),
        "passed": found.passed,
        "trials": found.counted,
        "pass_at_k": [_at(measure, intervals) for measure in found.pass_at],
        "pass_hat_k": [_at(measure, intervals) for measure in found.pass_all],
    }


def _at(measure: AtK, intervals: bool) -> dict[str, Json]:
    value: dict[str, Json] = {"k": measure.k, "value": measure.mean, "scenarios": len(measure.values)}
    return value | ({"interval": _interval(measure.interval)} if intervals else {})


def _interval(interval: Interval | None) -> Json:
    return None if interval is None else list(interval)


# -- in reports of gradings: without intervals, for which SciPy would have to be loaded --


def in_report(runs: Sequence[Run]) -> dict[str, Json] | None:
    """What a JSON report says of trials; None where nothing was tried twice."""
    trials = trials_of(runs)
    if not are_trials(trials):
        return None
    found = as_json(trials, usual_ks(trials), intervals=False)
    return found | {"scenarios": [_scenario(each) for each in trials if len(each.traces) > 1]}


def line(runs: Sequence[Run]) -> str | None:
    """What other reports say of trials, in one line; None where nothing was tried twice."""
    trials = trials_of(runs)
    if not are_trials(trials):
        return None
    found = measured(trials, usual_ks(trials), Errors.EXCLUDED)
    most = [measure for measure in found.pass_all if measure.values][-1:]
    reliable = [
        f"pass^{measure.k} {measure.mean:.3g} over {plural(len(measure.values), 'scenario')}"
        for measure in most
        if measure.k > 1
    ]
    flaky = sum(each.flaky for each in trials)
    return " · ".join([_headline(trials), *reliable, f"{flaky} flaky: abs trials"])
