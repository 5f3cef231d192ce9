"""Session documents from files: read, checked, expanded; every problem of every file at once."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from abs_replay.errors import Problem, SpecError, UsageError
from abs_replay.spec import fragments, near_keys, rule_checks, session_checks
from abs_replay.spec.checks import Checks, only_lends
from abs_replay.spec.configuration import Configuration
from abs_replay.spec.places import MOST_PROBLEMS, Document, Reporter, TooMany
from abs_replay.spec.variables import Dataset, Template
from abs_replay.spec.yaml_nodes import LARGEST, read

MOST_ALIKE = 10  # problems of one message, which are told each at its place
PATTERNS = ("*.abs.yaml", "*.abs.yml", "*.abs.json")


class Documents(NamedTuple):
    """What a set of files holds: sessions in file order, and warnings."""

    sessions: tuple[Template, ...]
    warnings: tuple[Problem, ...] = ()


class _Loaded:
    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        self.sessions: list[Template] = []
        self.warnings: list[Problem] = []
        self.problems: list[Problem] = [*problems]


def load(
    paths: Iterable[Path | str] | Path | str, configuration: Configuration = Configuration()
) -> Documents:
    """Read session files, and the `*.abs.yaml` files of directories; one path alone will do.

    Raises `SpecError` with all problems of all files (SEMANTICS D7), `UsageError` for a path that
    leads to none.
    """
    loaded = _Loaded()
    for file in _files(map(Path, [paths] if isinstance(paths, Path | str) else paths)):
        _load_file(file, configuration, loaded)
    if loaded.problems:
        raise SpecError(loaded.problems)
    return Documents(tuple(loaded.sessions), (*loaded.warnings, *_same_names(loaded.sessions)))


def _files(paths: Iterable[Path]) -> list[Path]:
    files: dict[Path, Path] = {}
    for path in paths:
        try:
            for file in _in_directory(path) if path.is_dir() else [path]:
                files.setdefault(file.resolve(), file)
        except (OSError, RuntimeError) as error:  # RuntimeError: links that lead to each other
            raise _unreadable(path, error) from None
    return list(files.values())


def _unreadable(path: Path, error: Exception) -> UsageError:
    return UsageError(f"{path}: can not be read: {getattr(error, 'strerror', None) or error}")


def _in_directory(directory: Path) -> list[Path]:
    found = {file for pattern in PATTERNS for file in directory.rglob(pattern)}
    seen = [f for f in found if not any(part.startswith(".") for part in f.relative_to(directory).parts)]
    if not seen:
        raise UsageError(f"{directory}: no session here; they are called NAME.abs.yaml")
    return sorted(seen)


def _load_file(file: Path, configuration: Configuration, loaded: _Loaded) -> None:
    try:
        with file.open("rb") as opened:
            parsed = read(opened.read(LARGEST + 1), str(file))
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from None
    of_file = _Loaded(problems=list(parsed.problems))
    stopped = len(parsed.problems) >= MOST_PROBLEMS
    try:
        _check(parsed.documents, configuration, of_file, str(file))
    except TooMany:
        stopped = True
    loaded.problems += _told(parsed.problems, of_file.problems[len(parsed.problems) :], str(file), stopped)
    loaded.warnings += of_file.warnings
    loaded.sessions += of_file.sessions


def _told(
    of_yaml: Sequence[Problem], of_format: Sequence[Problem], file: str, stopped: bool
) -> list[Problem]:
    """The problems of a file by line: one a place, what is wrong with its YAML first."""
    known = {(problem.line, problem.path) for problem in of_yaml}
    others = [problem for problem in of_format if (problem.line, problem.path) not in known]
    found = _once(sorted(dict.fromkeys((*of_yaml, *others)), key=lambda problem: problem.line or 0))
    if stopped or len(found) >= MOST_PROBLEMS:
        found[MOST_PROBLEMS - 1 :] = [Problem("and more: mend what is told so far", file)]
    return found


def _once(problems: Sequence[Problem]) -> list[Problem]:
    """The problems, and one that is in very many places, such as a fragment misnamed, with their number."""
    counts = Counter(problem.message for problem in problems)
    first = {problem.message: problem for problem in reversed(problems)}
    return [
        replace(problem, message=f"{problem.message} (and in {counts[problem.message] - 1} more places)")
        if counts[problem.message] > MOST_ALIKE
        else problem
        for problem in problems
        if counts[problem.message] <= MOST_ALIKE or problem is first[problem.message]
    ]


def _check(documents: Sequence[Document], configuration: Configuration, loaded: _Loaded, file: str) -> None:
    adapters = {*rule_checks.ADAPTERS, *configuration.adapters}
    documents = [near_keys.mended(Reporter(document, loaded.problems)) for document in documents]
    for document in documents:
        reporter = Reporter(document, loaded.problems, loaded.warnings)
        Checks(reporter, adapters).document()
    lending = [document for document in documents if only_lends(document.value)]
    if len(lending) == len(documents) and not loaded.problems:
        loaded.problems.append(Problem("no session: a file needs `session` and `behaviors`", file, 1))
    lent, problems = fragments.lend(lending)
    loaded.problems += problems
    visited: set[int] = set()
    for document in documents:
        if document not in lending:
            visited |= _session(document, lent, configuration, loaded)
    rest = fragments.Expansion({}, lent)
    rest.visited |= visited
    rest.check(list(lent.values()))
    loaded.problems += rest.problems


def _session(
    document: Document, lent: fragments.Scope, configuration: Configuration, loaded: _Loaded
) -> set[int]:
    value = document.value
    if not isinstance(value, Mapping):
        return set()
    own = fragments.of_document(document)
    expansion = fragments.Expansion(own, lent)
    behaviors = expansion.behaviors(fragments.entries(document, ("behaviors",), value.get("behaviors")))
    expansion.check(list(own.values()))
    evaluations = fragments.entries(document, ("evaluations",), value.get("evaluations"))
    loaded.problems += expansion.problems
    if len(behaviors) > fragments.MOST_BEHAVIORS:
        message = f"more than {fragments.MOST_BEHAVIORS} behaviors: divide the session"
        loaded.problems.append(document.problem(("behaviors",), message))
        return expansion.visited
    found = session_checks.problems(behaviors, evaluations, configuration.aliases)
    loaded.problems += islice(found, MOST_PROBLEMS)
    if not loaded.problems:
        template = _template(document, value, behaviors, evaluations, configuration)
        loaded.sessions.append(template)
        loaded.problems += template.known_problems()
    return expansion.visited


def _template(
    document: Document,
    value: Mapping[str, object],
    behaviors: tuple[fragments.Placed, ...],
    evaluations: tuple[fragments.Placed, ...],
    configuration: Configuration,
) -> Template:
    description, dataset = value.get("description"), value.get("dataset")
    of_rows = dataset if isinstance(dataset, Mapping) else {}
    return Template(
        name=str(value["session"]),
        document=document,
        behaviors=behaviors,
        evaluations=evaluations,
        description=str(description) if description is not None else None,
        dataset=Dataset(of_rows["id"], of_rows.get("path")) if of_rows else None,
        configuration=configuration,
    )


def _same_names(sessions: Sequence[Template]) -> list[Problem]:
    """A trace names its session: two of one name can not be told apart."""
    first: dict[str, Template] = {}
    warnings: list[Problem] = []
    for session in sessions:
        other = first.setdefault(session.name, session)
        if other is not session:
            message = f"`{session.name}` is also the name of a session in {other.file}"
            warnings.append(session.document.problem(("session",), message))
    return warnings
