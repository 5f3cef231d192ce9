"""The rules that an author can write under `evaluations`, one model a type (SEMANTICS D2).

The models are the document format: the loader validates with them and the evaluators read
them. They hold values after references were resolved. A key that begins with `x-` is dropped
by the loader before validation. A model is built when first used (`defer_build`): a document needs few.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Selector(BaseModel):
    """Picks steps by equality of each present field (SEMANTICS C1)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    actor: str | None = None
    action: str | None = None
    target: str | None = None

    @cached_property
    def words(self) -> str:
        """What it picks, for a reason: `assistant calls "Order MCP"`."""
        words = f"{self.actor or 'anybody'} {self.action or 'does anything'}"
        return f'{words} "{self.target}"' if self.target else words


class Rule(BaseModel):
    """What every evaluation may carry besides its own fields."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True, defer_build=True
    )

    type: str
    blocking: bool = False
    threshold: float | None = Field(default=None, ge=0, le=1)
    adapter: str | None = None
    when: str | None = None
    reason: str | None = None
    dataset: str | None = None
    prompt: str | None = None


class ExactMatch(Rule):
    type: Literal["exact_match"]
    value: Any


class Contains(Rule):
    type: Literal["contains"]
    value: str = Field(min_length=1)
    case_sensitive: bool = False


class Regex(Rule):
    type: Literal["regex"]
    pattern: str


class Schema(Rule):
    type: Literal["schema"]
    schema_: Any = Field(alias="schema")


class ToolCall(Rule):
    type: Literal["tool_call"]
    target: str | None = None
    with_: dict[str, Any] | None = Field(default=None, alias="with")
    with_only: dict[str, Any] | None = None
    ordered: bool = True


class Judged(Rule):
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


class TextMetric(Rule):
    """How far a text overlaps with `ground_truth`; `variant` and `metric` are those of the tables below."""

    type: Literal["f1", "bleu", "rouge"]
    ground_truth: str = Field(min_length=1)
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


class Custom(Rule):
    """An evaluator of the author's own; every further key is its business."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    type: Literal["custom"]
    id: str


class Sequence(Rule):
    type: Literal["sequence"]
    order: tuple[Selector, ...] = Field(min_length=1, strict=False)


class Eventually(Rule):
    type: Literal["eventually"]
    match: Selector


class Never(Rule):
    type: Literal["never"]
    match: Selector


class Count(Rule):
    type: Literal["count"]
    match: Selector
    min: int | None = Field(default=None, ge=0)
    max: int | None = Field(default=None, ge=0)


class Within(Rule):
    type: Literal["within"]
    after: Selector
    match: Selector
    max_steps: int = Field(ge=1)
    every: bool = False


class VariableConsistency(Rule):
    type: Literal["variable_consistency"]
    variable: str


class Expected(Rule):
    type: Literal["expected"]
    behavior: str
    after: Selector | None = None


class Composition(Rule):
    """`evaluations` are checked one by one; the evaluator meets them as `Evaluation.parts`."""

    type: Literal["all_of", "any_of", "none_of"]
    evaluations: tuple[Any, ...] = Field(min_length=1, strict=False)


STEP_RULES: tuple[type[Rule], ...] = (
    ExactMatch,
    Contains,
    Regex,
    Schema,
    ToolCall,
    Judged,
    TextMetric,
    Custom,
)
SESSION_RULES: tuple[type[Rule], ...] = (
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
ANY_LEVEL: tuple[type[Rule], ...] = (Composition,)


class MatchesWhen(BaseModel):
    """Replaces the comparison of action and content for an assistant behavior (SEMANTICS A7)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    type: Literal["contains", "regex", "llm_judge"]
    value: str | None = None
    pattern: str | None = None
    criteria: str | None = None
