"""Which engine answers a question: what is said nearer to it goes first.

`adapter:` of the rule, the id of a `custom` one, `--adapter TYPE=NAME`, `adapters: {TYPE: NAME}` of the
configuration, `--adapter NAME`, the configuration's default, the built-in judge. An engine that was asked
for and refuses is an error; one that was only the default leaves the question to the built-in judge.
"""

from collections.abc import Callable, Mapping
from dataclasses import field

from abs_replay.exact_json import Json
from abs_replay.judgement import NO_USAGE, Question, Usage
from abs_replay.judges.engine import Engine, Sample
from abs_replay.judges.settings import Unconfigured
from abs_replay.values import dataclass

BUILT_IN = "builtin"


@dataclass(frozen=True, slots=True)
class Absent:
    """In place of an engine that can not be opened: it refuses every question, and says what to do."""

    name: str
    why: str

    @property
    def shown(self) -> str:
        return self.name

    @property
    def fingerprint(self) -> str:
        return f"{self.name} absent"

    def refuses(self, question: Question) -> str | None:
        return self.why

    def estimate(self, question: Question) -> Usage:
        return NO_USAGE

    async def sample(self, question: Question, number: int) -> Sample:
        return Sample(None, "", self.why)

    async def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Choices:
    """What flags (`by_type`, `default`) and the configuration (`*_of_file`) chose; names of engines."""

    by_type: Mapping[str, str] = field(default_factory=dict)
    default: str | None = None
    by_type_of_file: Mapping[str, str] = field(default_factory=dict)
    default_of_file: str | None = None


def chosen(question: Question, choices: Choices, known: Callable[[str], bool]) -> tuple[str, bool]:
    """Name the engine for a question, and say whether somebody asked for that one here."""
    asked_for = (
        question.adapter
        or _by_id(question, known)
        or choices.by_type.get(question.type)
        or choices.by_type_of_file.get(question.type)
    )
    if asked_for is not None:
        return asked_for, True
    return choices.default or choices.default_of_file or BUILT_IN, False


def _by_id(question: Question, known: Callable[[str], bool]) -> str | None:
    """The engine that a `custom` evaluation means: its id, or what stands before a dot of it."""
    id_ = _id_of(question)
    before = [id_[:end] for end, letter in enumerate(id_) if letter == "."]
    return next((name for name in [id_, *reversed(before)] if name and known(name)), None)


def _id_of(question: Question) -> str:
    custom: Json = question.evidence.get("custom") if isinstance(question.evidence, Mapping) else None
    found = custom.get("id") if question.type == "custom" and isinstance(custom, Mapping) else None
    return found if isinstance(found, str) else ""


class Routes:
    """Engines by question, each opened when it is first needed, and once."""

    def __init__(
        self, choices: Choices, open_: Callable[[str], Engine], known: Callable[[str], bool]
    ) -> None:
        self._choices, self._open, self._known = choices, open_, known
        self._opened: dict[str, Engine] = {}

    def engine_for(self, question: Question) -> Engine:
        """Give the engine that answers. If it refuses the question, no other one does.

        Raises `UsageError` for an engine that can not be loaded.
        """
        name, asked_for = chosen(question, self._choices, self._known)
        engine = self._engine(name)
        if asked_for or name == BUILT_IN or isinstance(engine, Absent) or engine.refuses(question) is None:
            return _part(engine, question)
        stand_in = self._engine(BUILT_IN)
        return _part(engine, question) if isinstance(stand_in, Absent) else stand_in

    @property
    def engines(self) -> tuple[Engine, ...]:
        """Those that were opened so far."""
        return tuple(self._opened.values())

    async def close(self) -> None:
        for engine in self.engines:
            await engine.close()

    def _engine(self, name: str) -> Engine:
        if name not in self._opened:
            try:
                self._opened[name] = self._open(name)
            except Unconfigured as lacking:
                self._opened[name] = Absent(name, str(lacking))
        return self._opened[name]


def _part(engine: Engine, question: Question) -> Engine:
    """Of an engine that is made of several, the one that decides: what another of them depends on is none of
    the answer's business."""
    part: Callable[[Question], Engine] | None = getattr(engine, "part", None)
    return engine if part is None else part(question)
