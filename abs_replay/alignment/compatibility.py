"""Which steps of a turn a behavior could take (SEMANTICS A3 to A7), as bit sets.

Bit n of a mask stands for the n-th visible step of the turn. Steps are indexed once by what is
compared, so that two thousand behaviors against two thousand steps stay a matter of milliseconds; by what
no behavior names, they are not.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import NoneType
from typing import NamedTuple

from abs_replay import trace
from abs_replay.alignment.masks import add, bits, kept_of
from abs_replay.exact_json import Json
from abs_replay.judgement import Answer, Question, digest_of
from abs_replay.predicates import (
    Undecided,
    arguments_of,
    as_text,
    fits,
    json_type,
    normalised,
    structured,
    unlike,
)
from abs_replay.predicates.patterns import search
from abs_replay.spec.rules import MatchesWhen
from abs_replay.spec.session import UNSET, Behavior
from abs_replay.trace import Step

COMMUNICATION = frozenset(trace.COMMUNICATION)
EXECUTION = frozenset(trace.EXECUTION)
HAND_OFF = "hands_off"
SPEAKERS = ("user", "assistant")  # whose words need not name a recipient (A4)
PATIENCE = 3  # searches of one criterion that may run into the time limit before it is given up

type Aliases = Mapping[str, tuple[str, ...]]


def category(action: str) -> str:
    """Name the kind of an action within which verbs match each other (SEMANTICS A3)."""
    if action in COMMUNICATION:
        return "communication"
    return "execution" if action in EXECUTION else action


def is_execution(behavior: Behavior) -> bool:
    return behavior.action in EXECUTION


def is_call(step: Step) -> bool:
    """Say whether a step has arguments and no content; a system's `updates` has content (FORMATS)."""
    return step.action in EXECUTION and step.actor != "system"


def is_tool_response(entry: Behavior | Step) -> bool:
    return entry.actor == "tool" and entry.action in COMMUNICATION


def names_of(target: str, aliases: Aliases) -> tuple[str, ...]:
    """Give a target's own name and the names that the configuration adds to it (SEMANTICS A4)."""
    return (target, *aliases.get(target, ()))


class Candidates(NamedTuple):
    """What a behavior could take. The stages show how far the steps that don't fit came.

    `trouble` says why a criterion could not be decided on some step, `questions` what a judge
    would have to answer first (SEMANTICS A7).
    """

    fit: int
    actor: int = 0
    kind: int = 0
    target: int = 0
    trouble: str | None = None
    questions: tuple[Question, ...] = ()


class _Decision(NamedTuple):
    fit: int
    trouble: str | None = None
    questions: tuple[Question, ...] = ()


class TurnIndex:
    """The visible steps of one turn, its user step left out, ready to be asked who fits."""

    def __init__(self, steps: Sequence[Step], aliases: Aliases, answers: Mapping[str, Answer]) -> None:
        self.steps = steps
        self.aliases = aliases
        self.answers = answers
        self._actors: dict[str, int] = {}
        self._kinds: dict[tuple[str, str], int] = {}
        self._folded: dict[int, str] = {}
        self._criteria: dict[tuple[str, str | None, int], _Decision] = {}
        for position, step in enumerate(steps):
            add(self._actors, step.actor, 1 << position)
            add(self._kinds, (step.actor, category(step.action)), 1 << position)

    @cached_property
    def _targets(self) -> Mapping[str | None, int]:
        """By target; a response that does not name its tool is known by its call (A4)."""
        called: dict[str | None, str | None] = {
            step.call_id: step.target for step in self.steps if step.call_id is not None and is_call(step)
        }
        targets: dict[str | None, int] = {}
        for position, step in enumerate(self.steps):
            unnamed_response = step.target is None and is_tool_response(step)
            add(targets, called.get(step.call_id) if unnamed_response else step.target, 1 << position)
        return targets

    @cached_property
    def _structures(self) -> Sequence[Json]:
        """Each step's arguments, where it is an execution, or else its content, parsed."""
        return [
            arguments_of(step.arguments) if step.action in EXECUTION else structured(step.content)
            for step in self.steps
        ]

    def candidates(self, behavior: Behavior) -> Candidates:
        """Find the steps that a behavior could take, and how far the others came."""
        actor = self._actors.get(behavior.actor, 0)
        if behavior.matches_when is not None:
            return self._by_criterion(behavior, behavior.matches_when, actor)
        kind = self._kinds.get((behavior.actor, category(behavior.action)), 0)
        stand_in = 0 if kind or behavior.action != HAND_OFF else self._words(behavior.actor)
        # A text that stands for a hand-off names no recipient that could be compared (A3).
        target = stand_in or kind & self._target(behavior)
        fitting = self._arguments_fit if is_execution(behavior) else self._content_fit
        return Candidates(fitting(behavior, target), actor, stand_in or kind, target)

    def _words(self, actor: str) -> int:
        return self._kinds.get((actor, "communication"), 0) if actor == "assistant" else 0

    def _target(self, behavior: Behavior) -> int:
        if behavior.target is None:
            return -1
        named = 0
        for name in names_of(behavior.target, self.aliases):
            named |= self._targets.get(name, 0)
        if behavior.actor in SPEAKERS:
            named |= self._targets.get(None, 0) & self._kinds.get((behavior.actor, "communication"), 0)
        return named

    # -- arguments and content --

    @cached_property
    def _arguments(self) -> Mapping[tuple[str, str, Json], int]:
        """By each argument that is no object or list: its name, type and value."""
        found: dict[tuple[str, str, Json], int] = {}
        for position, arguments in self._structured(execution=True):
            if isinstance(arguments, Mapping):
                for key, value in arguments.items():
                    if _is_scalar(value):
                        add(found, (key, json_type(value), value), 1 << position)
        return found

    def _structured(self, *, execution: bool) -> Iterator[tuple[int, Json]]:
        for position, structure in enumerate(self._structures):
            if (self.steps[position].action in EXECUTION) is execution:
                yield position, structure

    def _arguments_fit(self, behavior: Behavior, mask: int) -> int:
        strict = behavior.with_only is not None
        wanted = behavior.with_only if strict else behavior.with_
        if wanted is None:
            return mask
        for key, value in wanted.items():
            if _is_scalar(value):
                mask &= self._arguments.get((key, json_type(value), value), 0)
        if not strict and all(map(_is_scalar, wanted.values())) and wanted:
            return mask
        return kept_of(mask, lambda n: fits(wanted, self._structures[n], strict=strict))

    @cached_property
    def _contents(self) -> Mapping[tuple[str, str], int]:
        """By the content's type, and by the types of an object's fields."""
        found: dict[tuple[str, str], int] = {}
        for position, content in self._structured(execution=False):
            add(found, ("", json_type(content)), 1 << position)
            if isinstance(content, Mapping):
                for key, value in content.items():
                    add(found, (f".{key}", json_type(value)), 1 << position)
        return found

    def _content_fit(self, behavior: Behavior, mask: int) -> int:
        if behavior.content is UNSET:
            return mask
        wanted = structured(behavior.content)
        mask &= self._contents.get(("", json_type(wanted)), 0)
        if not isinstance(wanted, Mapping):
            return mask
        for key, value in wanted.items():
            mask &= self._contents.get((f".{key}", json_type(value)), 0)
        if not any(isinstance(value, Mapping) for value in wanted.values()):
            return mask
        return kept_of(mask, lambda n: unlike(wanted, self._structures[n]) is None)

    # -- matches_when --

    def _by_criterion(self, behavior: Behavior, rule: MatchesWhen, actor: int) -> Candidates:
        with_words = kept_of(
            self._kinds.get((behavior.actor, HAND_OFF), 0), lambda n: self.steps[n].content not in (None, "")
        )
        kind = self._kinds.get((behavior.actor, "communication"), 0) | with_words
        target = kind & self._target(behavior)
        key = (rule.type, rule.value or rule.pattern or rule.criteria, target)
        if key not in self._criteria:
            self._criteria[key] = self._decide(rule, target, behavior.at)
        decision = self._criteria[key]
        return Candidates(decision.fit, actor, kind, target, decision.trouble, decision.questions)

    def _decide(self, rule: MatchesWhen, mask: int, at: str) -> _Decision:
        if rule.type == "regex":
            return self._search(rule.pattern or "", mask)
        words = rule.value if rule.type == "contains" else rule.criteria
        if not words:  # from outside, else the document had been refused (V2)
            return _Decision(0, f"matches_when: what {rule.type} looks for is empty")
        if rule.type == "llm_judge":
            return self._judge(words, mask, at)
        wanted = normalised(words, fold=True)
        return _Decision(kept_of(mask, lambda n: wanted in self._folded_text(n)))

    def _folded_text(self, position: int) -> str:
        """Give a step's words as `contains` compares them (E2), brought into that form once."""
        if position not in self._folded:
            self._folded[position] = normalised(as_text(self.steps[position].content), fold=True)
        return self._folded[position]

    def _search(self, pattern: str, mask: int) -> _Decision:
        fit, troubles = 0, []
        for position in bits(mask):
            try:
                if search(pattern, as_text(self.steps[position].content)):
                    fit |= 1 << position
            except Undecided as trouble:
                troubles.append(str(trouble))
                if len(troubles) == PATIENCE:
                    break
        return _Decision(fit, troubles[0] if troubles else None)

    def _judge(self, criteria: str, mask: int, at: str) -> _Decision:
        fit, trouble, questions = 0, None, []
        for position in bits(mask):
            if unsaid(self.steps[position]):
                continue  # A7 looks at words, and these are none: no judge is asked about them
            question = criterion_question(criteria, self.steps[position], f"{at}.matches_when")
            answer = self.answers.get(question.digest)
            if answer is None:
                questions.append(question)
            elif answer.error is not None or answer.score is None:
                trouble = trouble or answer.error or answer.reason
            elif answer.score >= 0.5:
                fit |= 1 << position
        return _Decision(fit, trouble, tuple(questions))


def unsaid(step: Step) -> str | None:
    """Say why there are no words to judge where a step should have some: it failed, or it is empty.

    Of a step that failed what came before is no answer; but a tool's error is what the tool says.
    """
    if step.action not in COMMUNICATION:
        return None  # a call, or a hand-off, is judged by what it does
    if step.error is not None and step.actor != "tool":
        return f"step {step.seq} failed: {step.error}"
    return f"step {step.seq} is empty" if is_blank(step.content) else None


def is_blank(content: Json) -> bool:
    """Whether content says nothing: none at all, white space, an empty list or object."""
    if isinstance(content, str):
        return not content.strip()
    return content is None or (isinstance(content, Mapping | list | tuple) and not content)


def criterion_question(criteria: str, step: Step, at: str) -> Question:
    """Ask whether one step's words meet a `matches_when` (SEMANTICS A7); equal words, equal question."""
    evidence = {"steps": [{"actor": step.actor, "content": step.content}]}
    digest = digest_of({"type": "matches_when", "criteria": criteria, "evidence": evidence})
    return Question(digest, at, "llm_judge", criteria, evidence)


def _is_scalar(value: Json) -> bool:
    # By the type first: to ask the abstract class of every text takes as long as all else here.
    return type(value) in _SCALARS or not isinstance(value, Mapping | list | tuple)


_SCALARS = frozenset({str, int, float, bool, NoneType})
