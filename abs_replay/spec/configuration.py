"""The configuration file, `abs.config.yaml`, found upward from a directory (DESIGN §9)."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from abs_replay.errors import Problem, SpecError, UsageError
from abs_replay.exact_json import Json
from abs_replay.spec import ignoring, judging, redaction
from abs_replay.spec.ignoring import Matching
from abs_replay.spec.judging import Judging
from abs_replay.spec.places import Document, nearest
from abs_replay.spec.redaction import Redaction
from abs_replay.spec.yaml_nodes import read
from abs_replay.values import dataclass

NAME = "abs.config.yaml"
KEYS = ("agent", "channels", "aliases", "conversation", "redact", "match", "adapters", "judge", "defaults")
PLACES = ("header", "cookie", "body")  # where a conversation's id may stand


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a configuration says; `settings` are all its keys as written.

    `aliases` maps the name that sessions use to the names that the wire shows (SEMANTICS A4). `adapters` are
    the names that it gives to judges of its own.
    `conversation` says where exchanges bear the id of their conversation: `header` and `cookie` a name,
    `body` a path (`chat.id`).
    """

    file: Path | None = None
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    adapters: tuple[str, ...] = ()
    conversation: Mapping[str, str] = field(default_factory=dict)
    redact: Redaction = field(default_factory=Redaction)
    match: Matching = field(default_factory=Matching)
    judging: Judging = field(default_factory=Judging)
    settings: Mapping[str, Json] = field(default_factory=dict)


def find(start: Path | str) -> Configuration:
    """Read the nearest configuration at or above `start`; without one, the empty one.

    Raises `SpecError` with every problem of the file.
    """
    directory = Path(start).resolve()
    for folder in (directory, *directory.parents):
        if (folder / NAME).is_file():
            return load(folder / NAME)
    return Configuration()


def load(file: Path | str) -> Configuration:
    """Read one configuration file; raises `SpecError`, or `UsageError` where it can not be opened."""
    file = Path(file)
    try:
        parsed = read(file.read_bytes(), str(file))
    except OSError as error:
        raise UsageError(f"{file}: can not be read: {error.strerror}") from None
    problems = list(parsed.problems)
    for document in parsed.documents[1:]:
        problems.append(document.problem((), "a configuration is one document"))
    for document in parsed.documents[:1]:
        problems += _problems(document)
    if problems:
        raise SpecError(problems)
    return _configuration(file, parsed.documents[0].value if parsed.documents else {})


def _problems(document: Document) -> list[Problem]:
    value = document.value
    if not isinstance(value, Mapping):
        return [document.problem((), "a configuration must be a mapping")]
    problems: list[Problem] = []
    for key in value:
        if key not in KEYS and not key.startswith("x-"):
            near = nearest(key, KEYS)
            hint = f"did you mean `{near}`?" if near else f"known: {', '.join(KEYS)}"
            problems.append(document.problem((key,), f"unknown key `{key}`: {hint}"))
    problems += _conversation_problems(document, value.get("conversation", {}))
    problems += redaction.problems(document, value.get("redact", {}))
    problems += ignoring.problems(document, value.get("match", {}))
    problems += judging.problems(document, value.get("judge", {}), value.get("adapters", {}))
    aliases = value.get("aliases", {})
    if not isinstance(aliases, Mapping):
        return [*problems, document.problem(("aliases",), "must be a mapping of a name to its other names")]
    for name, others in aliases.items():
        if not (isinstance(others, list) and all(isinstance(other, str) for other in others)):
            problems.append(document.problem(("aliases", name), "must be a list of names"))
    return problems


def _conversation_problems(document: Document, value: Json) -> list[Problem]:
    known = f"one of {', '.join(PLACES)}, with its name or path"
    if not isinstance(value, Mapping):
        return [document.problem(("conversation",), f"must be a mapping: {known}")]
    problems = [
        document.problem(("conversation", key), f"unknown key `{key}`: write {known}")
        for key in value
        if key not in PLACES
    ]
    wrong = [key for key in PLACES if key in value and not (isinstance(value[key], str) and value[key])]
    return problems + [document.problem(("conversation", key), "must be text") for key in wrong]


def _configuration(file: Path, value: Json) -> Configuration:
    assert isinstance(value, Mapping)  # checked
    aliases, adapters = value.get("aliases", {}), value.get("adapters", {})
    conversation = value.get("conversation", {})
    assert isinstance(aliases, Mapping)
    assert isinstance(conversation, Mapping)
    return Configuration(
        file,
        {name: tuple(map(str, others)) for name, others in aliases.items() if isinstance(others, list)},
        judging.own_names(adapters),
        {key: str(where) for key, where in conversation.items()},
        redaction.redaction(value.get("redact", {})),
        ignoring.matching(value.get("match", {})),
        judging.judging(value.get("judge", {}), adapters),
        value,
    )
