"""Which engine answers a question: what is said nearer to it goes first."""

from dataclasses import dataclass, field

import pytest

from abs_replay.errors import UsageError
from abs_replay.exact_json import Json
from abs_replay.judgement import NO_USAGE, Question, Usage
from abs_replay.judges.engine import Engine, Sample
from abs_replay.judges.routing import Choices, Routes, chosen
from abs_replay.judges.settings import Unconfigured


def question(type_: str = "llm_judge", adapter: str | None = None, id_: str | None = None) -> Question:
    evidence: dict[str, Json] = {"steps": [], "step": None}
    if id_:
        evidence["custom"] = {"id": id_}
    return Question("d", "evaluations[0]", type_, None, evidence, adapter)


def known(name: str) -> bool:
    return name in ("builtin", "openai", "azure", "aws", "acme", "acme.strict")


NEARER = [  # each goes before what follows
    ("rule", {"adapter": "aws"}, Choices()),
    ("id", {"id_": "azure.task_adherence"}, Choices()),
    ("--adapter TYPE=NAME", {}, Choices({"custom": "openai"})),
    ("adapters: TYPE: NAME", {}, Choices(by_type_of_file={"custom": "acme"})),
    ("--adapter NAME", {}, Choices(default="acme.strict")),
    ("judge: adapter", {}, Choices(default_of_file="azure")),
]
NAMES = ["aws", "azure", "openai", "acme", "acme.strict", "azure"]


@pytest.mark.parametrize("first", range(len(NEARER)))
def test_what_is_said_nearer_to_a_question_goes_first(first: int) -> None:
    fields: dict[str, str] = {}
    choices = Choices()
    for _, more, said in reversed(NEARER[first:]):
        fields |= more
        choices = Choices(
            said.by_type or choices.by_type,
            said.default or choices.default,
            said.by_type_of_file or choices.by_type_of_file,
            said.default_of_file or choices.default_of_file,
        )
    name, asked_for = chosen(question("custom", fields.get("adapter"), fields.get("id_")), choices, known)
    assert (name, asked_for) == (NAMES[first], first < 4)


def test_without_a_word_the_built_in_judge_answers() -> None:
    assert chosen(question(), Choices(), known) == ("builtin", False)


@pytest.mark.parametrize(
    ("id_", "name"),
    [
        ("acme", "acme"),
        ("acme.strict", "acme.strict"),  # the whole id before a part of it
        ("acme.strict.very", "acme.strict"),
        ("acme.lenient", "acme"),
        ("acmeish", "builtin"),
        (".acme", "builtin"),
        ("politeness", "builtin"),
    ],
)
def test_the_id_of_a_custom_evaluation_names_its_judge(id_: str, name: str) -> None:
    assert chosen(question("custom", id_=id_), Choices(), known)[0] == name


def test_only_a_custom_evaluation_has_an_id_that_names_a_judge() -> None:
    assert chosen(question("llm_judge", id_="acme"), Choices(), known)[0] == "builtin"


@dataclass
class Only:
    """An engine for one type."""

    name: str
    type_: str | None = None
    closed: list[str] = field(default_factory=list)

    @property
    def shown(self) -> str:
        return self.name

    @property
    def fingerprint(self) -> str:
        return self.name

    def refuses(self, question: Question) -> str | None:
        return None if self.type_ in (None, question.type) else f"{self.name} is for {self.type_} only"

    def estimate(self, question: Question) -> Usage:
        return NO_USAGE

    async def sample(self, question: Question, number: int) -> Sample:
        return Sample(1.0, "")

    async def close(self) -> None:
        self.closed.append(self.name)


class Opened:
    """Opens engines, and counts how often."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, name: str) -> Engine:
        self.names.append(name)
        if name == "openai":
            raise Unconfigured("openai: set OPENAI_API_KEY")
        if name == "acme":
            raise UsageError("broken package")
        return Only(name, "Fluency" if name == "azure" else None)


def routes(**choices: object) -> tuple[Routes, Opened]:
    opened = Opened()
    return Routes(Choices(**choices), opened, known), opened  # type: ignore[arg-type]


def test_an_engine_is_opened_once_and_only_when_it_is_needed() -> None:
    found, opened = routes(by_type={"Fluency": "azure"})
    assert (found.engines, opened.names) == ((), [])
    first, again = found.engine_for(question("Fluency")), found.engine_for(question("Fluency"))
    assert first is again
    assert opened.names == ["azure"]
    assert found.engines == (first,)


def test_a_default_that_refuses_leaves_the_question_to_the_built_in_judge() -> None:
    found, _ = routes(default="azure")
    assert found.engine_for(question("Fluency")).name == "azure"
    assert found.engine_for(question("llm_judge")).name == "builtin"


def test_a_default_that_refuses_says_so_itself_where_there_is_no_built_in_judge() -> None:
    def opened(name: str) -> Engine:
        if name == "builtin":
            raise Unconfigured("no judge configured")
        return Only(name, "Fluency")

    found = Routes(Choices(default="azure"), opened, known)
    assert found.engine_for(question()).refuses(question()) == "azure is for Fluency only"


def test_an_engine_that_was_asked_for_and_refuses_says_so() -> None:
    found, opened = routes(by_type={"llm_judge": "azure"})
    asked = question("llm_judge")
    assert found.engine_for(asked).refuses(asked) == "azure is for Fluency only"
    assert opened.names == ["azure"]


def test_a_default_that_lacks_its_key_says_so_and_nobody_stands_in_for_it() -> None:
    found, opened = routes(default="openai")
    engine = found.engine_for(question())
    assert engine.refuses(question()) == "openai: set OPENAI_API_KEY"
    assert found.engine_for(question()) is engine
    assert opened.names == ["openai"]


def test_a_judge_that_can_not_be_loaded_is_an_error_of_the_whole_command() -> None:
    found, _ = routes()
    with pytest.raises(UsageError, match="broken package"):
        found.engine_for(question(adapter="acme"))
