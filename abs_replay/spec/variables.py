"""From a checked document to a session whose references are resolved (SEMANTICS V1 to V6)."""

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from abs_replay.errors import Problem, SpecError
from abs_replay.exact_json import Json
from abs_replay.spec import references, resolved_rules, rule_checks, rules, templates
from abs_replay.spec.configuration import Configuration
from abs_replay.spec.fragments import Placed
from abs_replay.spec.listing import Listing, behavior_references, evaluation_references, without_x
from abs_replay.spec.places import Document, Path
from abs_replay.spec.session import UNSET, Behavior, Evaluation, Session
from abs_replay.spec.sources import (
    Allowance,
    Capture,
    Missing,
    Scope,
    Sources,
    TooLarge,
    outside,
    parse_variables,
)
from abs_replay.spec.templates import Mode
from abs_replay.values import dataclass

__all__ = ["Dataset", "Sources", "Template", "parse_variables"]


NO_CONFIGURATION = Configuration()


class Dataset(NamedTuple):
    """The `dataset` of a document: its references are `{{id.column}}`."""

    id: str
    path: str | None = None


class _Kept:
    """What resolving a template finds anew each time: a thousand traces resolve it a thousand times."""

    def __init__(self) -> None:
        self.references: dict[str, frozenset[str]] = {}  # by place
        self.evaluations: dict[str, Evaluation] = {}  # those that refer to nothing


@dataclass(frozen=True, slots=True)
class Template:
    """A session as its author wrote it, checked and expanded, its references still open."""

    name: str
    document: Document
    behaviors: tuple[Placed, ...]
    evaluations: tuple[Placed, ...] = ()
    description: str | None = None
    dataset: Dataset | None = None
    configuration: Configuration = NO_CONFIGURATION
    kept: _Kept = field(default_factory=_Kept, compare=False, repr=False)

    @property
    def file(self) -> str:
        return self.document.file

    def references(self) -> frozenset[str]:
        """Every reference of the document, as written."""
        if "" not in self.kept.references:
            found = Listing()
            for placed in self.behaviors:
                found.behavior(placed.value)
            for placed in self.evaluations:
                found.evaluation(placed.value)
            self.kept.references[""] = frozenset(found.names)
        return self.kept.references[""]

    def bindings(self, row: Mapping[str, Json]) -> dict[str, Json]:
        """The references that a dataset row answers, as a trace keeps them (V5)."""
        scope = Scope((), outside(Sources(row=row), self.dataset.id if self.dataset else None))
        return {name: value for name in sorted(self.references()) for value in _found(scope, name)}

    def known_problems(self) -> list[Problem]:
        """What D7 says of values that are known before any run, as captures give them (V2)."""
        try:
            _Known(self, Sources()).session()
        except SpecError as error:
            return list(error.problems)
        return []

    def resolve(self, sources: Sources) -> Session:
        """Give the session with these values; raises `SpecError` with every reference without one (V3)."""
        return _Resolution(self, sources).session()


def _found(scope: Scope, name: str) -> list[Json]:
    try:
        return [scope.look_up(name)]
    except Missing:
        return []


class _Resolution:
    """One pass over a template; problems are collected, so that all of them are told at once."""

    def __init__(self, template: Template, sources: Sources) -> None:
        self._template = template
        self._outside = outside(sources, template.dataset.id if template.dataset else None)
        self._adapters = {*rule_checks.ADAPTERS, *template.configuration.adapters}
        self._captures: tuple[Capture, ...] = ()
        self._problems: list[Problem] = []
        self.allowance = Allowance()

    def session(self) -> Session:
        try:
            return self._session()
        except RecursionError:
            message = "the value of a reference is nested too deeply"
        except TooLarge as error:
            message = str(error)
        raise SpecError([self._template.document.problem((), message)])

    def _session(self) -> Session:
        template = self._template
        behaviors = tuple(
            self._behavior(f"behaviors[{index}]", placed) for index, placed in enumerate(template.behaviors)
        )
        scope = Scope(self._captures, self._outside)
        evaluations = tuple(
            self._evaluation(f"evaluations[{index}]", placed, (), placed.value, scope)[0]
            for index, placed in enumerate(template.evaluations)
        )
        if self._problems:
            raise SpecError(list(dict.fromkeys(self._problems)))
        return Session(
            name=template.name,
            behaviors=behaviors,
            evaluations=evaluations,
            file=template.file,
            description=template.description,
            aliases=template.configuration.aliases,
            values=self._last_values(scope),
        )

    def _last_values(self, scope: Scope) -> dict[str, Json]:
        names = self._template.references() | {name for c in self._captures for name in c.values}
        names |= {name.partition(".")[0] for name in names}  # `order` where only {{order.id}} is written
        return {name: value for name in sorted(names) for value in _found(scope, name)}

    def _behavior(self, at: str, placed: Placed) -> Behavior:
        visit = _Visit(self, placed, (), Scope(self._captures, self._outside))
        fields = templates.behavior(without_x(placed.value), visit)
        captured = fields.get("capture", {})
        if captured:
            self._captures += (Capture(at, captured),)
        inner = Scope(self._captures, self._outside)
        evaluations, values = self._evaluations(at, placed, (), placed.value, inner)
        return Behavior(
            at=at,
            actor=fields["actor"],
            action=fields["action"],
            id=fields.get("id"),
            target=fields.get("target"),
            content=fields.get("content", UNSET),
            with_=fields.get("with"),
            with_only=fields.get("with_only"),
            capture=captured,
            evaluations=evaluations,
            optional=fields.get("optional", False),
            requires=fields.get("requires"),
            matches_when=self._matches_when(placed, fields),
            written={key: value for key, value in placed.value.items() if key in fields},
            references=self._references(at, placed),
            values={**values, **visit.values},
        )

    def _references(self, at: str, placed: Placed) -> frozenset[str]:
        kept = self._template.kept.references
        if at not in kept:
            kept[at] = behavior_references(placed.value)
        return kept[at]

    def _matches_when(self, placed: Placed, fields: Mapping[str, Any]) -> rules.MatchesWhen | None:
        raw = fields.get("matches_when")
        if raw is None:
            return None
        match = without_x(raw)
        self._check_criterion(placed, match)
        return rules.MatchesWhen.model_validate(match)

    def _evaluations(
        self, at: str, placed: Placed, path: Path, holder: Mapping[str, Any], scope: Scope
    ) -> tuple[tuple[Evaluation, ...], dict[str, Json]]:
        """The evaluations of a behavior or a composition, with the values of all their references."""
        built: list[Evaluation] = []
        values: dict[str, Json] = {}
        for index, raw in enumerate(holder.get("evaluations", ())):
            place: Path = (*path, "evaluations", index)
            evaluation, of_it = self._evaluation(f"{at}.evaluations[{index}]", placed, place, raw, scope)
            built.append(evaluation)
            values.update(of_it)
        return tuple(built), values

    def _evaluation(
        self, at: str, placed: Placed, path: Path, raw: Mapping[str, Any], scope: Scope
    ) -> tuple[Evaluation, dict[str, Json]]:
        kept = self._template.kept.evaluations
        if at in kept:
            return kept[at], {}
        built = self._built(at, placed, path, raw, scope)
        if not evaluation_references(raw):
            kept[at] = built[0]
        return built

    def _built(
        self, at: str, placed: Placed, path: Path, raw: Mapping[str, Any], scope: Scope
    ) -> tuple[Evaluation, dict[str, Json]]:
        fields = rule_checks.known(raw, rule_checks.TYPES[raw["type"]])
        visit = _Visit(self, placed, path, scope)
        resolved = templates.evaluation(fields, visit)
        if visit.values:
            self._check_rule(placed, path, resolved)
        composed = fields if raw["type"] in rule_checks.COMPOSITIONS else {}
        parts, of_parts = self._evaluations(at, placed, path, composed, scope)
        values = {**of_parts, **visit.values}
        return resolved_rules.build(at, resolved, values, parts, self._adapters), values

    def missing(self, problem: Problem) -> None:
        self._problems.append(problem)

    def _check_criterion(self, placed: Placed, match: Mapping[str, Any]) -> None:
        """A criterion that has no meaning with today's values is an error of its match check (V2)."""

    def _check_rule(self, placed: Placed, path: Path, fields: Mapping[str, Any]) -> None:
        """A rule that is invalid with today's values is an error of its own (V2)."""


class _Known(_Resolution):
    """The pass at load: captures alone, and a value that needs more than them is passed over."""

    def missing(self, problem: Problem) -> None:
        """A source may still come from outside."""

    def _check_criterion(self, placed: Placed, match: Mapping[str, Any]) -> None:
        place: Path = ("matches_when", "pattern")
        for path, message in rule_checks.pattern_problems(match.get("pattern"), rule_checks.at_load, place):
            self._problems.append(placed.problem(path, message))
        if match.get("value") == "":
            self._problems.append(placed.problem(("matches_when", "value"), "must not be empty"))

    def _check_rule(self, placed: Placed, path: Path, fields: Mapping[str, Any]) -> None:
        model = rule_checks.TYPES[fields["type"]]
        for inner, message in rule_checks.problems(fields, model, rule_checks.at_load, self._adapters):
            self._problems.append(placed.problem((*path, *inner), message))


class _Visit:
    """Resolves the texts of one place; `values` are the references met there."""

    def __init__(self, run: _Resolution, placed: Placed, path: Path, scope: Scope) -> None:
        self._run = run
        self._placed = placed
        self._path = path
        self._scope = scope
        self.values: dict[str, Json] = {}

    def __call__(self, path: Path, text: str, mode: Mode) -> Json:
        missing: set[str] = set()

        def look_up(name: str) -> Json:
            if name not in self.values and name not in missing:
                try:
                    self.values[name] = self._scope.look_up(name)
                except Missing as message:
                    missing.add(name)
                    self._run.missing(self._placed.problem((*self._path, *path), str(message)))
            if name in missing:
                return f"{{{{{name}}}}}"
            self._run.allowance.take(self.values[name])
            return self.values[name]

        if mode is Mode.PATTERN:
            return _pattern(text, look_up)
        if mode is Mode.CONDITION:
            from abs_replay.spec import expressions

            for name in expressions.names(expressions.parse(text)):
                look_up(name)
            return text
        alone = references.alone(text) if mode is Mode.VALUE else None
        return look_up(alone) if alone else references.fill(text, look_up)


def _pattern(text: str, look_up: Callable[[str], Json]) -> str:
    parts = references.parse(text, pattern=True)
    return "".join(
        part if isinstance(part, str) else re.escape(references.as_text(look_up(part.name))) for part in parts
    )
