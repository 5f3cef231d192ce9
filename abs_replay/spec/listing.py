"""Which references an author wrote where (SEMANTICS V2), whatever their values."""

from collections.abc import Mapping

from abs_replay.exact_json import Json
from abs_replay.spec import references, rule_checks, templates
from abs_replay.spec.places import Path
from abs_replay.spec.templates import Mode


def behavior_references(value: Mapping[str, Json]) -> frozenset[str]:
    """The references in any field or evaluation of a behavior as written."""
    listing = Listing()
    listing.behavior(value)
    return frozenset(listing.names)


def evaluation_references(value: Mapping[str, Json]) -> frozenset[str]:
    """The references in an evaluation and its parts as written."""
    listing = Listing()
    listing.evaluation(value)
    return frozenset(listing.names)


class Listing:
    """Collects the references of what an author wrote."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def behavior(self, value: Mapping[str, Json]) -> None:
        templates.behavior(without_x(value), self._visit)
        self._evaluations(value)

    def evaluation(self, value: Mapping[str, Json]) -> None:
        templates.evaluation(without_x(value), self._visit)
        if value.get("type") in rule_checks.COMPOSITIONS:
            self._evaluations(value)

    def _evaluations(self, value: Mapping[str, Json]) -> None:
        parts = value.get("evaluations")
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, Mapping):
                self.evaluation(part)

    def _visit(self, path: Path, text: str, mode: Mode) -> Json:
        self.names.update(references.names(text, pattern=mode is Mode.PATTERN))
        return text


def without_x(value: Mapping[str, Json]) -> dict[str, Json]:
    """What an author wrote without the keys that are nobody's business."""
    return {key: item for key, item in value.items() if not key.startswith("x-")}
