"""What `abs run` plays: each session, once for each row of its data; known before anything is sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from abs_replay.errors import Problem, SpecError
from abs_replay.exact_json import Json
from abs_replay.spec.datasets import read_rows
from abs_replay.spec.references import as_text
from abs_replay.spec.session import Session
from abs_replay.spec.sources import PREFIX, Sources
from abs_replay.spec.variables import Template


@dataclass(frozen=True, slots=True)
class Part:
    """One session with one row of its data: what one conversation plays. `row` counts from 0."""

    template: Template
    session: Session
    row: int | None
    bindings: Mapping[str, Json]
    variables: Mapping[str, Json]


def plan(
    templates: Sequence[Template],
    filters: Sequence[str] = (),
    variables: Mapping[str, Json] | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[Part, ...]:
    """Say what is to be played, session by session and row by row.

    Raises `SpecError` with all problems before anything is sent: a reference without a source (V3), a
    line of the user that has no words, two sessions of one name.
    """
    parts: list[Part] = []
    problems: dict[Problem, int | None] = dict.fromkeys(_twins(templates))  # and the first row with it
    for template in templates:
        problems |= dict.fromkeys(_wordless(template))
        for number, row in rows(template, filters).items():
            try:
                session = template.resolve(Sources(row, variables or {}, environment or {}))
            except SpecError as error:
                for problem in error.problems:
                    problems.setdefault(problem, number)
                continue
            used = variables_used(template, variables or {}, environment or {})
            parts.append(Part(template, session, number, template.bindings(row), used))
    if problems:
        raise SpecError([_in_row(problem, row) for problem, row in problems.items()])
    return tuple(parts)


def _in_row(problem: Problem, row: int | None) -> Problem:
    return problem if row is None else replace(problem, message=f"{problem.message} (in row {row}, from 0)")


def _twins(templates: Sequence[Template]) -> list[Problem]:
    """Refuse two sessions of one name: a trace tells by the name which session judges it."""
    first: dict[str, Template] = {}
    for template in templates:
        first.setdefault(template.name, template)
    return [
        template.document.problem(
            ("session",), f"{template.name!r} is also a session of {first[template.name].file}: rename one"
        )
        for template in templates
        if first[template.name] is not template
    ]


def _wordless(template: Template) -> list[Problem]:
    """Refuse lines of the user that say nothing which could be sent."""
    message = "has no `content`, so that nothing can be sent: say what the user says"
    silent = (placed for placed in template.behaviors if placed.value.get("actor") == "user")
    return [placed.problem((), message) for placed in silent if "content" not in placed.value]


def rows(template: Template, filters: Sequence[str] = ()) -> dict[int | None, Mapping[str, Json]]:
    """Give the dataset rows to run a session with, by number from 0; without a dataset one empty row, None.

    The path counts from the session's file, and must lead to a file in that folder or in the working
    directory. A filter is `COLUMN:VALUE`, and a row needs all of them. Raises `SpecError`, `UsageError`.
    """
    dataset = template.dataset
    found: dict[int | None, Mapping[str, Json]] = {None: {}}
    if dataset and dataset.path is not None:
        found = dict(enumerate(read_rows(_inside(template, Path(template.file).parent / dataset.path))))
    for text in filters:
        column, _, value = text.partition(":")
        column = column.removeprefix(f"{dataset.id}.") if dataset else column
        found = {n: row for n, row in found.items() if column in row and as_text(row[column]) == value}
    return found


def _inside(template: Template, path: Path) -> Path:
    """Refuse a path out of what the user named: a document is data, and may be somebody else's."""
    folders = (Path(template.file).parent, Path.cwd())
    if any(path.resolve().is_relative_to(folder.resolve()) for folder in folders):
        return path
    message = f"{path}: lies outside of the session's folder and of the working directory"
    raise SpecError([template.document.problem(("dataset", "path"), message)])


def variables_used(
    template: Template, variables: Mapping[str, Json], environment: Mapping[str, str]
) -> dict[str, Json]:
    """Give the values from outside that a session refers to, as its trace keeps them (SEMANTICS V5)."""
    parts = [name.split(".") for name in template.references()]
    heads = {".".join(part[:end]) for part in parts for end in range(1, len(part) + 1)}
    of_environment = {k.removeprefix(PREFIX): v for k, v in environment.items() if k.startswith(PREFIX)}
    values = {**of_environment, **variables}
    return {name: values[name] for name in sorted(heads & values.keys())}
