"""The evaluator types that a document may name, with their models: built in, and of installed packages."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Protocol, get_args

from abs_replay import plugins
from abs_replay.spec import rules

# Raise it whenever a built-in evaluator decides otherwise: it is part of every fingerprint.
EVALUATORS_VERSION = "1"

type Level = Literal["step", "session", "any"]


class InstalledRule(Protocol):
    """What the loader reads of an entry point in the group `abs_replay.evaluators`, named like its type.

    `rule` is the model of what authors write. `level` may be left out: "step" (the default: under
    behaviors), "session", or "any".
    """

    rule: "type[rules.Rule]"


def by_type(*groups: tuple[type[rules.AnyRule], ...]) -> dict[str, type[rules.AnyRule]]:
    """The models by the types that they declare."""
    models = [model for group in groups for model in group]
    return {name: model for model in models for name in get_args(model.model_fields["type"].annotation)}


BUILT_IN = by_type(rules.STEP_RULES, rules.SESSION_RULES, rules.ANY_LEVEL)


class RuleTypes(Mapping[str, type[rules.AnyRule]]):
    """Models by type at a level; packages are looked at only for a type that is not built in.

    Iteration names what packages have at any level, since it loads none of them.
    """

    def __init__(self, built_in: Mapping[str, type[rules.AnyRule]], level: Level) -> None:
        self._built_in = built_in
        self._level = level

    def __getitem__(self, name: str) -> type[rules.AnyRule]:
        if name in self._built_in:
            return self._built_in[name]
        found = None if name in BUILT_IN else installed(name)
        if found is None or not self._here(level_of(name, found)):
            raise KeyError(name)
        model: type[rules.AnyRule] = found.rule
        return model

    def __iter__(self) -> Iterator[str]:
        yield from self._built_in
        yield from plugins.names(plugins.EVALUATORS, BUILT_IN)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _here(self, level: Level) -> bool:
        return "any" in (level, self._level) or level == self._level


def version_of(type_: str) -> str:
    """The version of whatever decides a type: of all that are built in, or of the package that has it."""
    if type_ in BUILT_IN:
        return EVALUATORS_VERSION
    versions = dict(each.split("=", 1) for each in plugins.versions(plugins.EVALUATORS, BUILT_IN))
    return f"{type_}={versions.get(type_, '')}"


def installed(name: str) -> Any:
    """Give what an installed package has under that name, or None; raises `UsageError` if it is no rule."""
    found: Any = plugins.load(plugins.EVALUATORS, name, BUILT_IN)
    if found is None:
        return None
    model = getattr(found, "rule", None)
    if not (isinstance(model, type) and issubclass(model, rules.Rule)):
        raise plugins.wrong(plugins.EVALUATORS, name, "has no `rule` that is a subclass of Rule")
    if not callable(getattr(found, "evaluate", None)):
        raise plugins.wrong(plugins.EVALUATORS, name, "has no `evaluate(evaluation, context)`")
    level_of(name, found)
    return found


def level_of(name: str, found: Any) -> Level:
    """Where an installed evaluator may stand."""
    level: Level = getattr(found, "level", "step")
    if level not in ("step", "session", "any"):
        raise plugins.wrong(plugins.EVALUATORS, name, "has a `level` that is none of step, session, any")
    return level
