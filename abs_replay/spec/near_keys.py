"""Keys that are nearly known ones, taken as those: one slip shall not hide what is wrong below it.

The slip is told once, at its place; the document that is checked on has the key that was meant, and finds the
line of what stands there under it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from abs_replay.exact_json import Json
from abs_replay.spec import checks, rule_checks, rules
from abs_replay.spec.places import Document, Path, Reporter, nearest

CLOSE = 0.75  # what is less like a known key is only hinted at
_ENTRY = (*checks.BEHAVIOR, *checks.INCLUDE)
_CRITERION = ("type", *checks.MATCHES_WHEN.values())

type _Mended = Callable[[Json, Path], Json]


def mended(report: Reporter) -> Document:
    """Give the document as it was meant, and report each key that is not."""
    document, mending = report.document, _Mending(report)
    value = mending.document(document.value)
    return replace(document, value=value) if mending.renamed else document


class _Mending:
    def __init__(self, report: Reporter) -> None:
        self._report = report
        self.renamed = False

    def document(self, value: Json) -> Json:
        below: Mapping[str, _Mended] = {
            "fragments": self._fragments,
            "behaviors": self._entries,
            "evaluations": self._evaluations,
            "dataset": lambda value, path: self._keys(value, path, checks.DATASET),
        }
        return self._below(self._keys(value, (), checks.DOCUMENT), (), below)

    def _fragments(self, value: Json, path: Path) -> Json:
        if not isinstance(value, Mapping):
            return value
        return {name: self._entries(entries, (*path, name)) for name, entries in value.items()}

    def _entries(self, value: Json, path: Path) -> Json:
        return self._each(value, path, self._entry)

    def _entry(self, value: Json, path: Path) -> Json:
        below: Mapping[str, _Mended] = {
            "evaluations": self._evaluations,
            "matches_when": lambda value, path: self._keys(value, path, _CRITERION),
        }
        return self._below(self._keys(value, path, _ENTRY), path, below)

    def _evaluations(self, value: Json, path: Path) -> Json:
        return self._each(value, path, self._evaluation)

    def _evaluation(self, value: Json, path: Path) -> Json:
        if isinstance(value, Mapping) and "type" not in value:
            value = self._keys(value, path, ("type",))
        kind = value.get("type") if isinstance(value, Mapping) else None
        if not isinstance(kind, str) or kind not in rule_checks.TYPES:
            return value
        model = rule_checks.TYPES[kind]
        below: dict[str, _Mended] = dict.fromkeys(rule_checks.SELECTORS, self._selector)
        below["order"] = lambda value, path: self._each(value, path, self._selector)
        below["evaluations"] = self._evaluations
        if issubclass(model, rules.Custom):
            return value
        known = rule_checks.keys(model)
        return self._below(
            self._keys(value, path, known), path, {key: below[key] for key in below if key in known}
        )

    def _selector(self, value: Json, path: Path) -> Json:
        return self._keys(value, path, tuple(rules.Selector.model_fields))

    def _each(self, value: Json, path: Path, mend: _Mended) -> Json:
        if not isinstance(value, list):
            return value
        return [mend(item, (*path, index)) for index, item in enumerate(value)]

    def _below(self, value: Json, path: Path, below: Mapping[str, _Mended]) -> Json:
        if not isinstance(value, Mapping):
            return value
        return {key: below[key](item, (*path, key)) if key in below else item for key, item in value.items()}

    def _keys(self, value: Json, path: Path, known: Collection[str]) -> Json:
        if not isinstance(value, Mapping):
            return value
        meant: dict[str, str] = {}
        for key in value:
            near = None if key in known or key.startswith("x-") else nearest(key, known, CLOSE)
            if near and near not in value and near not in meant.values():
                meant[key] = near
                self._report.problem((*path, key), f"unknown key `{key}`: did you mean `{near}`?")
                self._report.document.stands_for((*path, key), near)
        self.renamed = self.renamed or bool(meant)
        return {meant.get(key, key): item for key, item in value.items()}
