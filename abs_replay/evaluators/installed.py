"""Evaluators of other packages: entry points in the group `abs_replay.evaluators`, named like their type.

    [project.entry-points."abs_replay.evaluators"]
    politeness = "my_package:Politeness"

Such an entry point leads to an object (a class or a module will do) with `rule`, a subclass of `Rule` that
declares what authors write, `evaluate`, and maybe `level` (`InstalledRule`). References in a field that
is annotated as text are written as text; in every other field a reference alone keeps its type.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from abs_replay import plugins
from abs_replay.spec import rule_types
from abs_replay.spec.session import Evaluation
from abs_replay.verdicts import Verdict

if TYPE_CHECKING:
    from abs_replay.evaluators.context import Context, Evaluator


class InstalledEvaluator(rule_types.InstalledRule, Protocol):
    """What an entry point leads to; whatever `evaluate` raises makes its verdict an error."""

    @staticmethod
    def evaluate(evaluation: Evaluation, context: "Context") -> Verdict: ...


def installed(name: str) -> "Evaluator | None":
    """Give the evaluator of an installed package; raises `UsageError` where it can not be loaded."""
    found: InstalledEvaluator | None = rule_types.installed(name)
    if found is None:
        return None
    evaluator = found.evaluate

    def evaluate(evaluation: Evaluation, context: "Context") -> Verdict:
        with plugins.foreign():
            return _checked(evaluator(evaluation, context), evaluation)

    return evaluate


def _checked(found: object, evaluation: Evaluation) -> Verdict:
    """What is said of a verdict's place is the document's business, not the evaluator's."""
    if not isinstance(found, Verdict):
        raise TypeError(f"it gave {type(found).__name__}, no Verdict")
    if found.score is not None and not 0 <= found.score <= 1:
        raise ValueError(f"it gave the score {found.score}, which is not between 0 and 1")
    return replace(
        found,
        at=evaluation.at,
        type=evaluation.rule.type,
        blocking=evaluation.rule.blocking,
        fingerprint=evaluation.fingerprint,
    )
