"""The rules that an author can write under `evaluations`, one model a type (SEMANTICS D2).

The models are the document format: the loader validates with them and the evaluators read
them. They hold values after references were resolved. A key that begins with `x-` is dropped
by the loader before validation.

`Rule`, which evaluators of installed packages derive theirs from, is a model of pydantic: it is loaded
when somebody asks for it.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from abs_replay.spec.models import Model, declared

if TYPE_CHECKING:
    from abs_replay.spec.installed_rule import Rule as Rule

type AnyRule = BuiltIn | Rule


def __getattr__(name: str) -> Any:
    if name != "Rule":
        raise AttributeError(name)
    from abs_replay.spec import installed_rule

    return installed_rule.Rule


class Selector(Model):
    """Picks steps by equality of each present field (SEMANTICS C1)."""

    actor: str | None = None
    action: str | None = None
    target: str | None = None

    @cached_property
    def words(self) -> str:
        """What it picks, for a reason: `assistant calls "Order MCP"`."""
        words = f"{self.actor or 'anybody'} {self.action or 'does anything'}"
        return f'{words} "{self.target}"' if self.target else words


class BuiltIn(Model):
    """What every evaluation may carry besides its own fields."""

    type: str
    blocking: bool = False
    threshold: float | None = declared(default=None, ge=0, le=1)
    adapter: str | None = None
    when: str | None = None
    reason: str | None = None
    dataset: str | None = None
    prompt: str | None = None


class ExactMatch(BuiltIn):
    type: Literal["exact_match"]
    value: Any


class Contains(BuiltIn):
    type: Literal["contains"]
    value: str = declared(min_length=1)
    case_sensitive: bool = False


class Regex(BuiltIn):
    type: Literal["regex"]
    pattern: str


class Schema(BuiltIn):
    type: Literal["schema"]
    schema_: Any = declared(alias="schema")


class ToolCall(BuiltIn):
    type: Literal["tool_call"]
    target: str | None = None
    with_: dict[str, Any] | None = declared(default=None, alias="with")
    with_only: dict[str, Any] | None = None
    ordered: bool = True


class Judged(BuiltIn):
    """A rule that a judge decides: `llm_judge` and the dimensions."""

    type: Literal[
        "llm_judge",
        "Groundedness",
        "Relevance",
        "Coherence",
        "Fluency",
        "HateUnfairness",
        "Violence",
        "Sexual",
        "SelfHarm",
    ]
    criteria: str | None = None
    query: str | None = None
    context: str | None = None
    response: str | None = None


class TextMetric(BuiltIn):
    """How far a text overlaps with `ground_truth`; `variant` and `metric` are those of the tables below."""

    type: Literal["f1", "bleu", "rouge"]
    ground_truth: str = declared(min_length=1)
    response: str | None = None
    variant: str | None = None
    metric: str | None = None


_PARTS = ("fmeasure", "precision", "recall")
VARIANTS: Mapping[str, tuple[str, ...]] = {
    "f1": (),
    "bleu": tuple(f"bleu{n}" for n in range(1, 5)),
    "rouge": ("rougeL", "rougeLsum", *(f"rouge{n}" for n in range(1, 10))),
}
METRICS: Mapping[str, tuple[str, ...]] = {"f1": _PARTS, "bleu": (), "rouge": _PARTS}


class Custom(BuiltIn, is_open=True):
    """An evaluator of the author's own; every further key is its business."""

    type: Literal["custom"]
    id: str


class Sequence(BuiltIn):
    type: Literal["sequence"]
    order: tuple[Selector, ...] = declared(min_length=1)


class Eventually(BuiltIn):
    type: Literal["eventually"]
    match: Selector


class Never(BuiltIn):
    type: Literal["never"]
    match: Selector


class Count(BuiltIn):
    type: Literal["count"]
    match: Selector
    min: int | None = declared(default=None, ge=0)
    max: int | None = declared(default=None, ge=0)


class Within(BuiltIn):
    type: Literal["within"]
    after: Selector
    match: Selector
    max_steps: int = declared(ge=1)
    every: bool = False


class VariableConsistency(BuiltIn):
    type: Literal["variable_consistency"]
    variable: str


class Expected(BuiltIn):
    type: Literal["expected"]
    behavior: str
    after: Selector | None = None


class Composition(BuiltIn):
    """`evaluations` are checked one by one; the evaluator meets them as `Evaluation.parts`."""

    type: Literal["all_of", "any_of", "none_of"]
    evaluations: tuple[Any, ...] = declared(min_length=1)


STEP_RULES: tuple[type[BuiltIn], ...] = (
    ExactMatch,
    Contains,
    Regex,
    Schema,
    ToolCall,
    Judged,
    TextMetric,
    Custom,
)
SESSION_RULES: tuple[type[BuiltIn], ...] = (
    Sequence,
    Eventually,
    Never,
    Count,
    Within,
    VariableConsistency,
    Expected,
    Judged,
    Custom,
)
ANY_LEVEL: tuple[type[BuiltIn], ...] = (Composition,)


class MatchesWhen(Model):
    """Replaces the comparison of action and content for an assistant behavior (SEMANTICS A7)."""

    type: Literal["contains", "regex", "llm_judge"]
    value: str | None = None
    pattern: str | None = None
    criteria: str | None = None
