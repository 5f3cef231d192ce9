"""Keys and kinds of everything that the document format defines (SEMANTICS D2, D5, D7)."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Literal

from abs_replay.exact_json import Json, Number
from abs_replay.spec import references, rule_checks, rules
from abs_replay.spec.places import Path, Reporter, meant, nearest
from abs_replay.spec.rule_types import BUILT_IN
from abs_replay.trace import EXECUTION

type Kind = Literal["text", "words", "boolean", "mapping", "list", "anything", "version"]

DOCUMENT: Mapping[str, Kind] = {
    "session": "text",
    "description": "words",
    "abs_version": "version",
    "dataset": "mapping",
    "fragments": "mapping",
    "behaviors": "list",
    "evaluations": "list",
}
BEHAVIOR: Mapping[str, Kind] = {
    "id": "text",
    "actor": "text",
    "action": "text",
    "target": "text",
    "content": "anything",
    "capture": "mapping",
    "with": "mapping",
    "with_only": "mapping",
    "evaluations": "list",
    "optional": "boolean",
    "requires": "text",
    "matches_when": "mapping",
}
DATASET: Mapping[str, Kind] = {"id": "text", "path": "text"}
INCLUDE: Mapping[str, Kind] = {"include": "text"}
# The one key that each kind of `matches_when` needs beside `type`.
MATCHES_WHEN = {"contains": "value", "regex": "pattern", "llm_judge": "criteria"}
VERSIONS = ("0.1", "0.2")
NEW_IN_0_2 = ("optional", "requires", "matches_when")

_MUST: Mapping[Kind, str] = {
    "text": "must be text, and not empty",
    "words": "must be text",
    "boolean": "must be true or false",
    "mapping": "must be a mapping",
    "list": "must be a list",
    "version": f"must be one of {', '.join(VERSIONS)}",
}
_FITS: Mapping[Kind, Callable[[Json], bool]] = {
    "text": lambda value: isinstance(value, str) and value != "",
    "words": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "mapping": lambda value: isinstance(value, Mapping),
    "list": lambda value: isinstance(value, list),
    "anything": lambda value: True,
    "version": lambda value: version(value) is not None,
}


def version(value: Json) -> str | None:
    """Give "0.1" or "0.2", which may be written as numbers, or None."""
    text = value.text if isinstance(value, Number) else value
    return text if isinstance(text, str) and text in VERSIONS else None


def only_lends(value: Json) -> bool:
    """Say whether a document only lends fragments (D3)."""
    if not isinstance(value, Mapping) or "fragments" not in value:
        return False
    beside = {key for key in value if not key.startswith("x-")} - {"fragments", "abs_version", "description"}
    return not beside


class Checks:
    """Checks one document as written; expansion and references come later."""

    def __init__(self, report: Reporter, adapters: Collection[str]) -> None:
        self._report = report
        self._adapters = adapters
        self._old = False

    def document(self) -> None:
        value = self._report.document.value
        if not isinstance(value, Mapping):
            self._report.problem((), "a document must be a mapping")
            return
        needed = () if only_lends(value) else ("session", "behaviors")
        self._mapping(value, (), DOCUMENT, needed)
        self._version(value)
        for name, entries in _items(value.get("fragments")):
            self._fragment(("fragments", name), entries)
        self._behaviors(value.get("behaviors"))
        dataset = value.get("dataset")
        if isinstance(dataset, Mapping):
            self._mapping(dataset, ("dataset",), DATASET, ("id",))
        self._evaluations(("evaluations",), value.get("evaluations"), rule_checks.SESSION)

    def _version(self, value: Mapping[str, Json]) -> None:
        self._old = version(value.get("abs_version")) == "0.1"
        if "abs_version" not in value and not only_lends(value):
            self._report.warning((), f"no abs_version: taken as {VERSIONS[-1]}")

    def _fragment(self, path: Path, entries: Json) -> None:
        if not isinstance(entries, list):
            self._report.problem(path, "a fragment must be a list of behaviors")
            return
        for index, entry in enumerate(entries):
            self._entry((*path, index), entry)

    def _behaviors(self, entries: Json) -> None:
        if isinstance(entries, list) and not entries:
            self._report.problem(("behaviors",), "must not be empty")
        for index, entry in enumerate(entries if isinstance(entries, list) else []):
            self._entry(("behaviors", index), entry)

    def _entry(self, path: Path, entry: Json) -> None:
        if not isinstance(entry, Mapping):
            self._report.problem(path, "must be a behavior or an include, which are mappings")
        elif "include" in entry:
            self._mapping(entry, path, INCLUDE, ())
        else:
            self._mapping(entry, path, BEHAVIOR, ("actor", "action"))
            self._behavior(path, entry)

    def _behavior(self, path: Path, entry: Mapping[str, Json]) -> None:
        if "with" in entry and "with_only" in entry:
            second = max("with", "with_only", key=list(entry).index)
            self._report.problem((*path, second), "`with` and `with_only` exclude each other")
        if misspelt := rule_checks.misspelt_actor(entry.get("actor")):
            self._report.problem((*path, "actor"), misspelt)
        self._verb((*path, "action"), entry.get("action"), "matches")
        if entry.get("actor") == "user" and "optional" in entry:
            self._report.problem((*path, "optional"), "a user behavior is sent: it can not be optional")
        if "matches_when" in entry:
            self._matches_when((*path, "matches_when"), entry)
        for name in _keys(entry.get("capture")):
            if not references.is_name(name):
                self._report.warning((*path, "capture", name), "no reference can name this")
        for key in NEW_IN_0_2:
            if self._old and key in entry:
                self._report.warning((*path, key), f"`{key}` is new in 0.2, and this document is 0.1")
        self._evaluations((*path, "evaluations"), entry.get("evaluations"), rule_checks.STEP, entry)

    def _verb(self, path: Path, action: Json, does: str) -> None:
        if unknown := rule_checks.unknown_verb(action, does):
            self._report.warning(path, unknown)

    def _matches_when(self, path: Path, entry: Mapping[str, Json]) -> None:
        if "actor" in entry and entry["actor"] != "assistant":
            self._report.problem(path, "only an assistant behavior has matches_when")
        value = entry["matches_when"]
        if not isinstance(value, Mapping):
            return
        kind = value.get("type")
        if isinstance(kind, str) and kind and kind not in MATCHES_WHEN:
            known = tuple(MATCHES_WHEN)
            self._report.problem((*path, "type"), f"unknown type `{kind}`: {meant(kind, known)}")
        needed = [MATCHES_WHEN[kind]] if isinstance(kind, str) and kind in MATCHES_WHEN else []
        allowed = needed or list(MATCHES_WHEN.values())
        kinds: dict[str, Kind] = {"type": "text", **dict.fromkeys(allowed, "text")}
        if "pattern" in kinds:
            kinds["pattern"] = "words"  # as under `regex`, an empty one is found anywhere
        self._mapping(value, path, kinds, ("type", *needed))
        for place, message in rule_checks.pattern_problems(
            value.get("pattern"), rule_checks.at_load, (*path, "pattern")
        ):
            self._report.problem(place, message)

    def _evaluations(
        self,
        path: Path,
        value: Json,
        level: Mapping[str, type[rules.AnyRule]],
        behavior: Mapping[str, Json] | None = None,
        *,
        composed: bool = False,
    ) -> None:
        for index, raw in enumerate(value if isinstance(value, list) else []):
            here = (*path, index)
            model = self._model(here, raw, level)
            if model is None or not isinstance(raw, Mapping):
                continue
            self._rule(here, raw, model)
            if raw["type"] == "tool_call" and behavior and behavior.get("action") not in EXECUTION:
                message = f"tool_call looks at a call: only on {', '.join(EXECUTION)}"
                self._report.problem((*here, "type"), message)
            self._without_effect(here, raw, model, composed or behavior is None)
            if issubclass(model, rules.Composition):
                self._evaluations(
                    (*here, "evaluations"), raw.get("evaluations"), level, behavior, composed=True
                )

    def _model(
        self, path: Path, raw: Json, level: Mapping[str, type[rules.AnyRule]]
    ) -> type[rules.AnyRule] | None:
        if not isinstance(raw, Mapping):
            self._report.problem(path, "an evaluation must be a mapping")
            return None
        kind = raw.get("type")
        if "type" not in raw:
            self._report.problem(path, _missing("type"))
        elif not isinstance(kind, str) or kind not in rule_checks.TYPES:
            message = f"unknown evaluator `{kind}`: {meant(str(kind), tuple(level))}"
            self._report.problem((*path, "type"), message)
        elif kind not in level:
            here, there = ("the session", "a behavior")[:: 1 if level is rule_checks.SESSION else -1]
            self._report.problem((*path, "type"), f"`{kind}` belongs to {there}, not to {here}")
        else:
            return level[kind]
        return None

    def _rule(self, path: Path, raw: Mapping[str, Json], model: type[rules.AnyRule]) -> None:
        near = () if issubclass(model, rules.Custom) else self._unknown(raw, path, rule_checks.keys(model))
        for place, selector in rule_checks.selectors(raw, model):
            self._unknown(selector, (*path, *place), tuple(rules.Selector.model_fields))
            self._verb((*path, *place, "action"), selector.get("action"), "selects")
        fields = rule_checks.known(raw, model)
        for place, message in rule_checks.problems(fields, model, rule_checks.at_load, self._adapters):
            if message not in map(_missing, near):
                self._report.problem((*path, *place), message)

    def _without_effect(
        self, path: Path, raw: Mapping[str, Json], model: type[rules.AnyRule], unblocking: bool
    ) -> None:
        if raw.get("blocking") and unblocking:
            self._report.warning((*path, "blocking"), "blocking has an effect on step evaluations only")
        scoring = issubclass(model, rule_checks.SCORING) or raw["type"] not in BUILT_IN
        if "threshold" in raw and not scoring:
            self._report.warning((*path, "threshold"), f"`{raw['type']}` gives 0 or 1: no effect")

    def _mapping(
        self, value: Mapping[str, Json], path: Path, known: Mapping[str, Kind], needed: Collection[str]
    ) -> None:
        near = self._unknown(value, path, tuple(known))
        for key in needed:
            if key not in value and key not in near:
                self._report.problem(path, _missing(key))
        for key, kind in known.items():
            if key in value and not _FITS[kind](value[key]):
                self._report.problem((*path, key), _MUST[kind])

    def _unknown(self, value: Mapping[str, Json], path: Path, known: tuple[str, ...]) -> Collection[str]:
        """Report unknown keys, and give the known ones that they may be: those are not missing besides."""
        meant = set()
        for key in value:
            if key not in known and not key.startswith("x-"):
                near = nearest(key, known)
                hint = f"did you mean `{near}`?" if near else f"known: {', '.join(known)}"
                meant |= {near} if near else set()
                self._report.problem((*path, key), f"unknown key `{key}`: {hint}")
        return meant


def _missing(key: str) -> str:
    return f"`{key}` is missing"


def _items(value: Json) -> Iterator[tuple[str, Json]]:
    return iter(value.items()) if isinstance(value, Mapping) else iter(())


def _keys(value: Json) -> Collection[str]:
    return value.keys() if isinstance(value, Mapping) else ()
