"""Evaluators of other packages: what they answer is put at its place, and looked at before it counts."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from abs_replay import plugins
from abs_replay.evaluators.installed import installed
from abs_replay.verdicts import Verdict

type JudgedStep = Callable[..., list[Verdict]]

CODE = """
    from typing import Literal

    from abs_replay.spec.rules import Rule
    from abs_replay.verdicts import Status, Verdict


    class Tone(Rule):
        type: Literal["tone"]
        score: float | None = None
        none: bool = False


    class ToneEvaluator:
        rule = Tone

        @staticmethod
        def evaluate(evaluation, context):
            if evaluation.rule.none:
                return "passed"
            assert context.seen.step is context.step
            seen = (context.seen.step.seq,)
            return Verdict("elsewhere", "other", Status.PASSED, "Fine.", evaluation.rule.score, evidence=seen)
"""


@pytest.fixture(autouse=True)
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lay a package beside its metadata, as an installer does, where Python finds it."""
    info = tmp_path / "site" / "tone_checks-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tone_checks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[abs_replay.evaluators]\ntone = tone_checks:ToneEvaluator\n")
    (tmp_path / "site" / "tone_checks.py").write_text(dedent(CODE))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield
    plugins._scan.cache_clear()
    sys.modules.pop("tone_checks", None)


def test_a_type_that_no_package_has_is_none() -> None:
    assert installed("tonne") is None


def test_a_verdict_stands_at_the_documents_place_whatever_the_evaluator_says(judged_step: JudgedStep) -> None:
    (verdict,) = judged_step("{ type: tone, score: 0.25, blocking: true }", "Hello")
    assert (verdict.at, verdict.type, verdict.blocking) == ("behaviors[0].evaluations[0]", "tone", True)
    assert (verdict.status, verdict.score, verdict.evidence) == ("passed", 0.25, (1,))
    assert verdict.fingerprint


@pytest.mark.parametrize("score", ["0", "1", "0.0"])
def test_none_and_one_are_scores(judged_step: JudgedStep, score: str) -> None:
    (verdict,) = judged_step(f"{{ type: tone, score: {score} }}", "Hello")
    assert (verdict.status, verdict.score) == ("passed", float(score))


@pytest.mark.parametrize("score", ["-0.01", "1.01", "7"])
def test_a_score_that_is_not_between_none_and_one_is_an_error(judged_step: JudgedStep, score: str) -> None:
    (verdict,) = judged_step(f"{{ type: tone, score: {score} }}", "Hello")
    assert (verdict.status, verdict.score) == ("error", None)
    assert f"the score {float(score)}, which is not between 0 and 1" in verdict.reason


def test_what_is_no_verdict_is_an_error(judged_step: JudgedStep) -> None:
    (verdict,) = judged_step("{ type: tone, none: true }", "Hello")
    assert (verdict.status, verdict.score) == ("error", None)
    assert "it gave str, no Verdict" in verdict.reason
