"""Where the behaviors and evaluations of an expanded session stand in its file.

A verdict's place (`behaviors[1].evaluations[0]`) counts after fragments were expanded, so that it says
little to who has the file open; an annotation needs the line.
"""

from collections.abc import Iterator, Mapping

from abs_replay.exact_json import Json
from abs_replay.spec.fragments import Placed
from abs_replay.spec.places import Path
from abs_replay.spec.variables import Template


def lines(template: Template) -> dict[str, int]:
    """The first line, from 1, of every behavior and evaluation, by its place; parts of compositions too."""
    listed = (("behaviors", template.behaviors), ("evaluations", template.evaluations))
    return dict(
        found
        for name, entries in listed
        for index, placed in enumerate(entries)
        for found in _within(f"{name}[{index}]", placed, (), placed.value)
    )


def _within(at: str, placed: Placed, path: Path, value: Mapping[str, Json]) -> Iterator[tuple[str, int]]:
    yield at, placed.document.line((*placed.path, *path))
    parts = value.get("evaluations")
    for index, part in enumerate(parts if isinstance(parts, list) else []):
        if isinstance(part, Mapping):
            yield from _within(f"{at}.evaluations[{index}]", placed, (*path, "evaluations", index), part)
