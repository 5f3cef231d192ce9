"""Judges of other installed packages, by entry point; a broken one is told in a line."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from abs_replay import judges, plugins
from abs_replay.cli import cli
from abs_replay.cli.failure import run as call
from abs_replay.errors import JudgeError, UsageError
from abs_replay.exact_json import Json
from abs_replay.judgement import Question
from abs_replay.judges.settings import EngineSettings, Unconfigured

CODE = '''
from abs_replay.errors import JudgeError
from abs_replay.judgement import NO_USAGE
from abs_replay.judges.engine import Sample
from abs_replay.judges.settings import Unconfigured


class Polite:
    """Says 1 where somebody says please."""

    name, shown, fingerprint = "acme", "acme words", "acme words 1"

    def __init__(self, settings):
        self.word = settings.options.get("word", "please")

    def refuses(self, question):
        return None if question.type == "custom" else "acme only knows custom evaluations"

    def estimate(self, question):
        return NO_USAGE

    async def sample(self, question, number):
        words = question.evidence["steps"][-1]["content"]
        return Sample(float(self.word in words), f"looked for {self.word}")

    async def close(self):
        pass


class Acme:
    open_engine = staticmethod(Polite)


class Without:
    @staticmethod
    def open_engine(settings):
        raise Unconfigured("acme needs ACME_KEY")


class Raises:
    @staticmethod
    def open_engine(settings):
        raise KeyError("first\\nsecond")


class Exits:
    @staticmethod
    def open_engine(settings):
        raise SystemExit(0)


class NoEngine:
    @staticmethod
    def open_engine(settings):
        return object()


class Faulty(Polite):
    async def sample(self, question, number):
        match question.prompt:
            case "raises":
                raise RuntimeError("out of order")
            case "leaves":
                raise SystemExit(0)
            case "stops":
                raise JudgeError("acme is closed")
            case "text":
                return "fine"
            case "empty":
                return Sample(None, "")
        return Sample(2.0, "")

    def refuses(self, question):
        raise KeyError("refuses")


class IsFaulty:
    open_engine = staticmethod(Faulty)


class Nothing:
    pass
'''

type Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Lay a package with judges beside its metadata where Python finds it."""
    site = tmp_path / "site"

    def install(**points: str) -> None:
        info = site / "acme_judges-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme_judges\nVersion: 1.0\n")
        lines = "".join(f"{name} = acme_judges:{of}\n" for name, of in points.items())
        (info / "entry_points.txt").write_text(f"[abs_replay.judges]\n{lines}")
        (site / "acme_judges.py").write_text(CODE)
        plugins._scan.cache_clear()

    monkeypatch.syspath_prepend(str(site))
    yield install
    plugins._scan.cache_clear()
    sys.modules.pop("acme_judges", None)


def test_an_installed_judge_is_opened_with_its_settings(install: Install) -> None:
    install(acme="Acme")
    assert judges.is_engine("acme")
    engine = judges.open_engine("acme", EngineSettings(options={"word": "cup"}))
    steps: Json = [{"seq": 1, "actor": "assistant", "action": "says", "content": "A cup."}]
    sample = asyncio.run(engine.sample(Question("d", "a", "custom", None, {"steps": steps}), 0))
    assert (sample.score, sample.reason) == (1, "looked for cup")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "Raises",
            "the judge `acme` of the package acme_judges can not be opened: KeyError: 'first\\nsecond'",
        ),
        ("Exits", "can not be opened: SystemExit: 0"),
        ("NoEngine", "has no `name`, `shown`, `fingerprint`, `refuses`, `estimate`, `sample`, `close`"),
        ("Nothing", "has no `open_engine(settings)`"),
        ("NotThere", "can not be loaded: AttributeError"),
    ],
)
def test_a_broken_judge_is_one_line(install: Install, name: str, message: str) -> None:
    install(acme=name)
    with pytest.raises(UsageError) as error:
        judges.open_engine("acme", EngineSettings())
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not isinstance(error.value, Unconfigured)


@pytest.mark.parametrize(
    ("does", "message"),
    [
        ("raises", "the judge acme failed: RuntimeError: out of order"),
        ("leaves", "the judge acme failed: SystemExit: 0"),
        ("text", "the judge acme failed: TypeError: it gave str, no Sample"),
        ("empty", "it gave neither a score nor an error"),
        ("two", "it gave the score 2.0, which is not between 0 and 1"),
    ],
)
def test_what_a_judge_raises_is_the_error_of_one_question(install: Install, does: str, message: str) -> None:
    install(acme="IsFaulty")
    engine = judges.open_engine("acme", EngineSettings())
    asked = Question("d", "a", "custom", None, {"steps": []}, prompt=does)
    sample = asyncio.run(engine.sample(asked, 0))
    assert (sample.score, sample.settled) == (None, False)
    assert message in (sample.error or "")
    assert engine.refuses(asked) == "the judge acme failed: KeyError: 'refuses'"


def test_a_judge_that_is_closed_stops_itself(install: Install) -> None:
    install(acme="IsFaulty")
    engine = judges.open_engine("acme", EngineSettings())
    with pytest.raises(JudgeError, match="acme is closed"):
        asyncio.run(engine.sample(Question("d", "a", "custom", None, {}, prompt="stops"), 0))


def test_a_judge_that_lacks_something_says_so_itself(install: Install) -> None:
    install(acme="Without")
    with pytest.raises(Unconfigured, match="acme needs ACME_KEY"):
        judges.open_engine("acme", EngineSettings())


def test_a_name_that_is_built_in_is_no_name_for_another(install: Install) -> None:
    install(azure="Acme")
    with pytest.raises(UsageError, match="the judge `azure` of the package acme_judges has a name that is"):
        judges.is_engine("other")


def test_a_name_that_nobody_has_lists_those_that_there_are(install: Install) -> None:
    install(acme="Acme")
    with pytest.raises(UsageError, match=r"no judge is called `acmee`; known: builtin, .*aievaluator, acme"):
        judges.open_engine("acmee", EngineSettings())


def test_a_custom_evaluation_is_answered_by_the_judge_that_its_id_names(
    install: Install, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(acme="Acme")
    monkeypatch.chdir(tmp_path)
    rules = "[{ type: custom, id: acme.polite }, { type: custom, id: mine, adapter: acme }]"
    Path("s.abs.yaml").write_text(
        'session: S\nabs_version: "0.2"\nbehaviors:\n  - { actor: user, action: says }\n'
        f"  - {{ actor: assistant, action: responds, evaluations: {rules} }}\n"
    )
    Path("abs.config.yaml").write_text("adapters: {acme: {word: cup}}\n")
    steps = [
        {"seq": 1, "actor": "user", "action": "says", "content": "Which?"},
        {"seq": 2, "actor": "assistant", "action": "responds", "content": "The blue cup."},
    ]
    Path("t.json").write_text(json.dumps({"trace": "t-1", "steps": steps}))
    assert call(cli, ("grade", "s.abs.yaml", "--traces", "t.json", "--format", "json")) == 0
    found = json.loads(capsys.readouterr().out)["runs"][0]["steps"][1]["evaluations"]
    assert [each["judge"] for each in found] == ["acme words", "acme words"]
    assert [each["reason"] for each in found] == ["scored 1, threshold 0.5: looked for cup"] * 2
