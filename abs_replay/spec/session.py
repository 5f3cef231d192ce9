"""A session ready to be judged: fragments expanded, references resolved for one trace.

`written` keeps fields as the author wrote them, with their references, because two rules look
at those: `variable_consistency` (SEMANTICS C5) and the dependencies of `blocking` (R5).
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from abs_replay.exact_json import Json
from abs_replay.spec.rules import AnyRule, MatchesWhen
from abs_replay.values import dataclass


class Unset(Enum):
    """Marks a field that the author left out, where null would be a value."""

    UNSET = "unset"


UNSET = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Condition:
    """A `when`, resolved: the parsed expression and the values of its references."""

    text: str
    expression: object
    values: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One rule at its place. `parts` are a composition's own evaluations.

    `invalid` holds what a check of D7 said of a value that was known only at run (V2): then the
    verdict is an error and `rule` has its unresolved fields.
    """

    at: str
    rule: AnyRule
    when: Condition | None = None
    parts: tuple["Evaluation", ...] = ()
    references: frozenset[str] = frozenset()
    fingerprint: str = ""
    invalid: str | None = None
    # The rule's own, at hand: read for every verdict, and slower from one of many classes of models.
    type: str = field(init=False)
    blocking: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", self.rule.type)
        object.__setattr__(self, "blocking", self.rule.blocking)


@dataclass(frozen=True, slots=True)
class Behavior:
    """One expected entry. `references` are the variables named in any field or evaluation."""

    at: str
    actor: str
    action: str
    id: str | None = None
    target: str | None = None
    content: Json | Unset = UNSET
    with_: Mapping[str, Json] | None = None
    with_only: Mapping[str, Json] | None = None
    capture: Mapping[str, Json] = field(default_factory=dict)
    evaluations: tuple[Evaluation, ...] = ()
    optional: bool = False
    requires: str | None = None
    matches_when: MatchesWhen | None = None
    written: Mapping[str, Json] = field(default_factory=dict)
    references: frozenset[str] = frozenset()
    values: Mapping[str, Json] = field(default_factory=dict)  # what each reference here resolved to


@dataclass(frozen=True, slots=True)
class Session:
    """An author's session, resolved. `values` are the variables as session evaluations see them."""

    name: str
    behaviors: tuple[Behavior, ...]
    evaluations: tuple[Evaluation, ...] = ()
    file: str | None = None
    description: str | None = None
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    values: Mapping[str, Json] = field(default_factory=dict)
