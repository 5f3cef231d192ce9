"""Rows of a grading as what they were made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from abs_replay.judgement import AskedAt, Judging, Question, Usage
from abs_replay.store.texts import json_value
from abs_replay.verdicts import (
    BehaviorResult,
    Judged,
    Provenance,
    Result,
    Run,
    Status,
    StepStatus,
    Verdict,
)

type Values = dict[str, Any]


def provenance(row: Values) -> Provenance:
    return Provenance(
        who=row["who"],
        commit=row["git_commit"],
        dirty=row["git_dirty"],
        version=row["version"],
        command=row["command"],
        judges=json_value(row["judges"]) or {},
        votes=row["votes"],
        refused=tuple(json_value(row["refused"]) or ()),
    )


def judging(text: str | None) -> Judging | None:
    if text is None:
        return None
    fields = json_value(text)
    models = {name: _usage(*usage.values()) for name, usage in fields["models"].items()}
    return Judging(**{**fields, "models": models})


def _usage(calls: int, input_tokens: int, output_tokens: int, cost: Any) -> Usage:
    return Usage(calls, input_tokens, output_tokens, None if cost is None else float(cost))


def _judged(row: Values) -> Judged | None:
    if row["question"] is None:
        return None
    usage = _usage(row["calls"], row["input_tokens"], row["output_tokens"], row["cost"])
    return Judged(row["question"], row["judge_fingerprint"], tuple(row["scores"]), row["unstable"], usage)


def runs_of(
    runs: Sequence[Values], behaviors: Sequence[Values], verdicts: Sequence[Values]
) -> tuple[Run, ...]:
    placed = _placed(verdicts)
    steps: dict[int, list[BehaviorResult]] = defaultdict(list)
    for row in behaviors:
        steps[row["run"]].append(_behavior(row, placed.get((row["run"], row["behavior"]), ())))
    return tuple(_run(row, steps[row["run"]], placed.get((row["run"], None), ())) for row in runs)


def _placed(rows: Sequence[Values]) -> dict[tuple[int, int | None], Sequence[Verdict]]:
    """The top-level verdicts by run and behavior, those of the session under None."""
    parts: dict[tuple[int, int], list[Verdict]] = defaultdict(list)
    placed: dict[tuple[int, int | None], list[Verdict]] = defaultdict(list)
    for row in reversed(rows):  # parts stand behind their composition
        verdict = _verdict(row, parts[row["run"], row["verdict"]][::-1])
        if row["parent"] is None:
            placed[row["run"], row["behavior"]].append(verdict)
        else:
            parts[row["run"], row["parent"]].append(verdict)
    return {place: found[::-1] for place, found in placed.items()}


def _run(row: Values, steps: Sequence[BehaviorResult], of_session: Sequence[Verdict]) -> Run:
    return Run(
        session=row["session"],
        file=row["file"],
        trace=row["trace"],
        result=Result(row["result"]),
        steps=tuple(steps),
        chain_evaluations=tuple(of_session),
        extra=tuple(row["extra"]),
        agent=row["agent"],
        row=row["row"],
        bindings=json_value(row["bindings"]),
        questions=tuple(_question(question) for question in json_value(row["questions"])),
        extra_labels=tuple(json_value(row["extra_labels"])),
        require_match=row["require_match"],
        strict_user=row["strict_user"],
        lines=json_value(row["lines"]),
        problem=row["problem"],
        trace_digest=row["trace_digest"] or "",
        said=tuple(row["said"] or ()),
    )


def _question(fields: Values) -> Question:
    return Question(**{**fields, "places": tuple(AskedAt(**place) for place in fields["places"])})


def _behavior(row: Values, evaluations: Sequence[Verdict]) -> BehaviorResult:
    names = ("at", "actor", "action", "id", "target", "step", "differs", "near")
    return BehaviorResult(
        status=StepStatus(row["status"]),
        content=json_value(row["content"]),
        evaluations=tuple(evaluations),
        **{name: row[name] for name in names},
    )


def _verdict(row: Values, children: Sequence[Verdict]) -> Verdict:
    same = ("at", "type", "reason", "score", "threshold", "blocking", "judge", "cached", "duration_ms")
    return Verdict(
        status=Status(row["status"]),
        evidence=tuple(row["evidence"]),
        children=tuple(children),
        fingerprint=row["fingerprint"],
        label=row["label"],
        judged=_judged(row),
        **{name: row[name] for name in same},
    )
