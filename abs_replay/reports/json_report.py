"""The report as JSON, exactly as FORMATS has it, and back. Numbers of the author's stay exact."""

import re
from collections.abc import Iterable, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any

from abs_replay import exact_json
from abs_replay.exact_json import Json
from abs_replay.reports import judging_json, totals
from abs_replay.verdicts import BehaviorResult, Report, Result, Run, Status, StepStatus, Verdict

type Carried = frozenset[tuple[str, str, str]]

_CONSTANTS = {None: "null", True: "true", False: "false"}
# Half of a pair, which UTF-8 may not hold; C1, and what turns a line round or ends it, which terminals obey.
ESCAPED = re.compile("[\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")


def render(report: Report) -> str:
    """Write the report, two blanks an indent, with a newline at the end."""
    return write(as_json(report))


def write(value: Json) -> str:
    """Write JSON for people: indented, letters not escaped, numbers as they came.

    Whatever a terminal would obey is escaped, which JSON can say of any character.
    """
    parts: list[str] = []
    _write(value, "\n", parts)
    return ESCAPED.sub(lambda half: f"\\u{ord(half[0]):04x}", "".join(parts)) + "\n"


def _write(value: Json, newline: str, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(encode_basestring(value))
    elif value is None or value is True or value is False:
        parts.append(_CONSTANTS[value])
    elif type(value) is int:  # asking an abstract class, as below, is slow
        parts.append(repr(value))
    elif isinstance(value, dict | Mapping) and value:
        inner = newline + "  "
        before = "{" + inner
        for key, item in value.items():
            parts.append(f"{before}{encode_basestring(key)}: ")
            _write(item, inner, parts)
            before = "," + inner
        parts.append(newline + "}")
    elif isinstance(value, list | tuple) and value:
        inner = newline + "  "
        before = "[" + inner
        for item in value:
            parts.append(before)
            _write(item, inner, parts)
            before = "," + inner
        parts.append(newline + "]")
    else:
        parts.append(exact_json.dumps(value))


def as_json(report: Report) -> dict[str, Json]:
    """The report as FORMATS names its fields; fields not named there are additions."""
    decided = totals.decided(report)
    return {
        "result": report.result.value,
        "passed": report.result is Result.PASSED,
        "grading": report.grading,
        "totals": {
            "sessions": totals.session_counts(report.runs),
            "steps": totals.step_counts(report.runs),
            "evaluations": totals.evaluation_counts(report.runs),
        },
        "carried_over": decided.carried,
        "decided_anew": decided.anew,
        "asked": decided.asked,
        "not_decided": decided.undecided,
        "judge": judging_json.judging(report.judging),
        **_trials(report.runs),
        "ungraded_sessions": report.ungraded_sessions,
        "warnings": report.warnings,
        "runs": [_run(run, report.carried) for run in report.runs],
    }


def _trials(runs: Sequence[Run]) -> dict[str, Json]:
    """Where a scenario was tried more than once; one run alone is not worth looking."""
    if len(runs) < 2:
        return {}
    from abs_replay.reports import trials

    found = trials.in_report(runs)
    return {} if found is None else {"trials": found}


def _run(run: Run, carried: Carried) -> dict[str, Json]:
    counted = totals.score(run)

    def verdict(found: Verdict) -> dict[str, Json]:
        return _verdict(found, (run.session, run.trace, found.at) in carried)

    return {
        "session": run.session,
        "file": run.file,
        "agent": run.agent,
        "trace": run.trace,
        "trace_digest": run.trace_digest,
        "said": run.said,
        "row": run.row,
        "bindings": run.bindings,
        "result": run.result.value,
        "passed": run.passed,
        "steps_total": counted.steps_total,
        "steps_matched": counted.steps_matched,
        "evaluations_total": counted.evaluations_total,
        "evaluations_passed": counted.evaluations_passed,
        "steps": [
            {
                **_step(step),
                "failed": run.fails(step),
                "evaluations": [verdict(found) for found in step.evaluations],
            }
            for step in run.steps
        ],
        "chain_evaluations": [verdict(found) for found in run.chain_evaluations],
        "extra": run.extra,
        "extra_labels": run.extra_labels,
        "require_match": run.require_match,
        "strict_user": run.strict_user,
        "problem": run.problem,
        "lines": run.lines,
    }


def _step(step: BehaviorResult) -> dict[str, Json]:
    return {
        "at": step.at,
        "id": step.id,
        "actor": step.actor,
        "action": step.action,
        "target": step.target,
        "content": step.content,
        "status": step.status.value,
        "step": step.step,
        "differs": step.differs,
        "near": step.near,
    }


def _verdict(verdict: Verdict, carried: bool) -> dict[str, Json]:
    return {
        "at": verdict.at,
        "type": verdict.type,
        "label": verdict.label,
        "status": verdict.status.value,
        "score": verdict.score,
        "threshold": verdict.threshold,
        "blocking": verdict.blocking,
        "reason": verdict.reason,
        "evidence": verdict.evidence,
        "children": [_verdict(child, carried) for child in verdict.children],
        "judge": verdict.judge,
        "judged": judging_json.judged(verdict.judged),
        "cached": verdict.cached,
        "carried": carried,
        "duration_ms": verdict.duration_ms,
        "fingerprint": verdict.fingerprint,
    }


def from_json(value: Any) -> Report:
    """Read a report that `render` wrote, or that has at least the fields of FORMATS.

    Raises `ValueError`, in words for its user, where the value is no such report.
    """
    if not isinstance(value, Mapping) or not isinstance(value.get("runs"), list):
        raise ValueError("it is no report of `abs grade --format json`: it has no list of runs")
    try:
        return _read(value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"it is no whole report of `abs grade --format json`: {error!r}") from error


def _read(value: Mapping[str, Any]) -> Report:
    return Report(
        runs=tuple(_read_run(run) for run in value["runs"]),
        grading=value.get("grading"),
        warnings=tuple(value.get("warnings") or ()),
        ungraded_sessions=tuple(value.get("ungraded_sessions") or ()),
        carried=frozenset(_read_carried(value["runs"])),
        judging=judging_json.read_judging(value.get("judge")),
    )


def _read_carried(runs: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, str, str]]:
    for run in runs:
        of_steps = [verdict for step in run["steps"] for verdict in step["evaluations"]]
        for verdict in (*of_steps, *run["chain_evaluations"]):
            if verdict.get("carried"):
                yield run["session"], run["trace"], verdict["at"]


def _read_run(run: Mapping[str, Any]) -> Run:
    return Run(
        session=run["session"],
        file=run.get("file"),
        trace=run["trace"],
        result=Result(run["result"]),
        steps=tuple(_read_step(step) for step in run["steps"]),
        chain_evaluations=tuple(_read_verdict(verdict) for verdict in run["chain_evaluations"]),
        extra=tuple(run.get("extra") or ()),
        agent=run.get("agent"),
        row=run.get("row"),
        bindings=dict(run.get("bindings") or {}),
        extra_labels=tuple(run.get("extra_labels") or ()),
        require_match=bool(run.get("require_match", True)),
        strict_user=bool(run.get("strict_user")),
        problem=run.get("problem"),
        trace_digest=run.get("trace_digest") or "",
        said=tuple(run.get("said") or ()),
        lines=dict(run.get("lines") or {}),
    )


def _read_step(step: Mapping[str, Any]) -> BehaviorResult:
    return BehaviorResult(
        at=step["at"],
        actor=step["actor"],
        action=step["action"],
        status=StepStatus(step["status"]),
        id=step.get("id"),
        target=step.get("target"),
        content=step.get("content"),
        step=step.get("step"),
        differs=bool(step.get("differs")),
        near=step.get("near"),
        evaluations=tuple(_read_verdict(verdict) for verdict in step["evaluations"]),
    )


def _read_verdict(verdict: Mapping[str, Any]) -> Verdict:
    return Verdict(
        at=verdict["at"],
        type=verdict["type"],
        status=Status(verdict["status"]),
        reason=verdict.get("reason") or "",
        score=_float(verdict.get("score")),
        threshold=_float(verdict.get("threshold")),
        blocking=bool(verdict.get("blocking")),
        evidence=tuple(verdict.get("evidence") or ()),
        children=tuple(_read_verdict(child) for child in verdict.get("children") or ()),
        judge=verdict.get("judge"),
        cached=bool(verdict.get("cached")),
        duration_ms=float(verdict.get("duration_ms") or 0),
        fingerprint=verdict.get("fingerprint") or "",
        label=verdict.get("label") or "",
        judged=judging_json.read_judged(verdict.get("judged")),
    )


def _float(number: Any) -> float | None:
    return None if number is None else float(number)
