"""Judge a session written as YAML against steps, without any file but the session's."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from abs_replay.judgement import Answer
from abs_replay.scoring import Policy, evaluate
from abs_replay.spec.loader import load
from abs_replay.spec.variables import Sources
from abs_replay.trace import Step, Trace
from abs_replay.verdicts import Run, Verdict

type Graded = Callable[..., Run]


@pytest.fixture
def graded(tmp_path: Path) -> Graded:
    """`graded(yaml, step, step, .., row={}, answers={})`: steps are mappings without `seq`."""

    def grade(
        text: str,
        *steps: Mapping[str, Any],
        row: Mapping[str, Any] | None = None,
        answers: Mapping[str, Answer] | None = None,
        policy: Policy = Policy(),
    ) -> Run:
        file = tmp_path / "s.abs.yaml"
        file.write_text(f'session: S\nabs_version: "0.2"\n{text}', encoding="utf-8")
        (template,) = load([file]).sessions
        session = template.resolve(Sources(row=row or {}))
        observed = Trace("t", tuple(Step(seq=n, **step) for n, step in enumerate(steps, 1)))
        return evaluate(observed, session, answers or {}, policy)

    return grade


@pytest.fixture
def judged_step(graded: Graded) -> Callable[..., list[Verdict]]:
    """`judged_step([rule, ..], content)`: the verdicts on an assistant's words."""

    def judge(rules: str, content: Any, **more: Any) -> list[Verdict]:
        text = "behaviors:\n  - actor: assistant\n    action: informs\n    evaluations:\n"
        lines = "".join(f"      - {rule.strip()}\n" for rule in rules.strip().splitlines())
        run = graded(text + lines, {"actor": "assistant", "action": "responds", "content": content}, **more)
        return list(run.steps[0].evaluations)

    return judge


@pytest.fixture
def judged_chain(graded: Graded) -> Callable[..., list[Verdict]]:
    """`judged_chain("rule\\nrule", step, ..)`: the verdicts of session evaluations on steps."""

    def judge(rules: str, *steps: Mapping[str, Any], **more: Any) -> list[Verdict]:
        text = (
            "behaviors:\n  - { id: nothing, actor: human, action: informs, optional: true }\nevaluations:\n"
        )
        lines = "".join(f"  - {rule.strip()}\n" for rule in rules.strip().splitlines())
        return list(graded(text + lines, *steps, **more).chain_evaluations)

    return judge
