"""How good judges are, by the people who labelled what they judged: in words and tables, and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from abs_replay.comparison.agreement import Calibration, Disagreement
from abs_replay.comparison.confusion import Confusion
from abs_replay.exact_json import Json
from abs_replay.reports.cells import escaped
from abs_replay.reports.totals import plural

type Interval = tuple[float, float] | None

RULE = "the rule itself"  # in place of a judge


def render(found: Sequence[Calibration], worst: int, unjudged: int) -> str:
    """A part for each judge of each evaluation; `unjudged` labels have no verdict beside them."""
    lines = [line for each in found for line in _told(each, worst)]
    if unjudged:
        lines.append(f"{plural(unjudged, 'label')} of evaluations that no grading judged")
    return "".join(f"{escaped(line)}\n" for line in lines).removeprefix("\n")


def as_json(found: Sequence[Calibration], unjudged: int) -> dict[str, Json]:
    """The same, with nothing cut; intervals are of 95 %, null where nothing can be said."""
    return {"calibrations": [_as_json(each) for each in found], "labels_without_verdict": unjudged}


def _told(each: Calibration, worst: int) -> Iterator[str]:
    judge = each.judge or RULE
    yield ""
    yield f"{each.session}, {each.at}: {each.label or each.type}"
    yield f"  {_exactly(each)}" + ("" if each.current else ", whose answers stand no more")
    if each.table.total:
        yield from _statistics(each.table)
    if left_out := _left_out(each):
        yield f"  left out: {', '.join(left_out)}"
    yield from _rate(each)
    if each.worst[:worst]:
        yield "  worst disagreements"
        yield from (line for one in each.worst[:worst] for line in _disagreement(one, judge))


def _exactly(each: Calibration) -> str:
    """The judge, as it is told from others that have its name."""
    judge, exactly = each.judge or RULE, each.judge_fingerprint or ""
    return exactly if exactly.startswith(judge) else f"{judge} ({exactly})" if exactly else judge


def _statistics(table: Confusion) -> Iterator[str]:
    yield (
        f"  {plural(table.total, 'label')}: agreement {_percent(table.agreement, table.agreement_interval)}, "
        f"kappa {_number(table.kappa, table.kappa_interval)}, AC1 {_number(table.ac1, table.ac1_interval)}"
    )
    yield (
        f"  {_percent(table.prevalence)} passes for people; of that the judge passes "
        f"{_percent(table.tpr, table.tpr_interval)} (TPR), of the rest it fails "
        f"{_percent(table.tnr, table.tnr_interval)} (TNR)"
    )
    yield f"  {'':12}{'judge passed':>14}{'judge failed':>14}"
    yield f"  {'people pass':12}{table.passed:>14}{table.missed:>14}"
    yield f"  {'people fail':12}{table.waved_through:>14}{table.failed:>14}"


def _left_out(each: Calibration) -> list[str]:
    counts = (
        (each.stale, "stale, the rule or what it looks at having changed"),
        (each.unsure, "unsure"),
        (each.split, "on which people are split"),
        (each.undecided, "that the judge did not decide"),
    )
    return [f"{count} {what}" for count, what in counts if count]


def _rate(each: Calibration) -> Iterator[str]:
    of = each.population
    if of is None or not of.decided:
        return
    yield f"  pass rate {_percent(of.passed / of.decided)} of {of.decided} as judged" + _corrected(each)
    if each.unlike:
        yield (
            f"  these labels are no sample: the judge passed {_percent(each.table.judge_rate)} of them; "
            "abs label --sample N chooses some that are"
        )


def _corrected(each: Calibration) -> str:
    found = each.corrected
    if found is None:
        return f"; not corrected: {each.uncorrected}"
    few = "" if found.interval else ", too few labels for an interval"
    clipped = ", brought back to what a rate can be" if found.clipped else ""
    return f", {_percent(found.rate, found.interval)} corrected for the judge's errors{few}{clipped}"


def _disagreement(one: Disagreement, judge: str) -> Iterator[str]:
    score = "" if one.score is None else f" ({one.score:g})"
    notes = f": {'; '.join(one.notes)}" if one.notes else ""
    yield f"    {one.place.trace}"
    yield f"      {', '.join(one.who)} {one.human}{notes}"
    yield f"      {judge} {one.status}{score}: {one.reason}"


def _percent(value: float | None, interval: Interval = None) -> str:
    if value is None:
        return "–"
    return f"{100 * value:.1f} %" + (
        f" [{100 * interval[0]:.1f} to {100 * interval[1]:.1f}]" if interval else ""
    )


def _number(value: float | None, interval: Interval) -> str:
    if value is None:
        return "undefined"
    return f"{value:.3f}" + (f" [{interval[0]:.3f} to {interval[1]:.3f}]" if interval else "")


def _as_json(each: Calibration) -> dict[str, Json]:
    table, of, corrected = each.table, each.population, each.corrected
    return {
        "session": each.session,
        "at": each.at,
        "type": each.type,
        "label": each.label,
        "judge": each.judge,
        "judge_fingerprint": each.judge_fingerprint,
        "current": each.current,
        "labels": table.total,
        "confusion": {
            "both_pass": table.passed,
            "judge_alone_passes": table.waved_through,
            "people_alone_pass": table.missed,
            "both_fail": table.failed,
        },
        "agreement": _with(table.agreement, table.agreement_interval),
        "kappa": _with(table.kappa, table.kappa_interval),
        "ac1": _with(table.ac1, table.ac1_interval),
        "prevalence": table.prevalence,
        "tpr": _with(table.tpr, table.tpr_interval),
        "tnr": _with(table.tnr, table.tnr_interval),
        "stale": each.stale,
        "unsure": each.unsure,
        "split": each.split,
        "undecided": each.undecided,
        "pass_rate": None if of is None else {"passed": of.passed, "decided": of.decided},
        "corrected": None if corrected is None else asdict(corrected),
        "not_corrected": each.uncorrected,
        "unlike": each.unlike,
        "disagreements": [_disagreement_json(one) for one in each.worst],
    }


def _with(value: float | None, interval: Interval) -> Json:
    return {"value": value, "interval": None if value is None or interval is None else list(interval)}


def _disagreement_json(one: Disagreement) -> Json:
    return {
        "trace": one.place.trace,
        "human": one.human,
        "who": list(one.who),
        "notes": list(one.notes),
        "status": one.status,
        "score": one.score,
        "reason": one.reason,
    }
