"""What another installed package adds by entry point works; a broken one is told in a line."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import jsonschema
import pytest

from abs_replay import plugins
from abs_replay.cli import cli
from abs_replay.cli.failure import run as call

CODE = '''
from typing import Literal

from pydantic import BaseModel, Field, field_validator

from abs_replay.evaluators.context import failed, passed
from abs_replay.spec.rules import Rule


class Inner(BaseModel):
    a: int


class Words(Rule):
    """At most so many words."""

    type: Literal["words"]
    most: int
    weights: list[float] = []
    said: str | None = Field(default=None, description="Who said so.")
    inner: Inner | None = None


class WordCount:
    rule = Words
    level = "step"

    @staticmethod
    def evaluate(evaluation, context):
        rule, step = evaluation.rule, context.step
        count = len(str(step.content).split())
        give = passed if count <= rule.most else failed
        return give(evaluation, f"{count} words, at most {rule.most} ({rule.said}, {rule.weights})", step.seq)


class Whole:
    rule = type("WholeRule", (Rule,), {"__module__": __name__})
    level = "session"

    def evaluate(evaluation, context):
        return passed(evaluation, f"{len(context.steps)} steps", *(seen.step.seq for seen in context.steps))


class Raises(Whole):
    def evaluate(evaluation, context):
        raise RuntimeError("out of order")


class Leaves(Whole):
    def evaluate(evaluation, context):
        raise SystemExit(0)


class Picky(Rule):
    type: Literal["picky"]
    most: int

    @field_validator("most")
    def check(cls, value):
        raise SystemExit(0)


class IsPicky(WordCount):
    rule = Picky


class NoVerdict(Whole):
    def evaluate(evaluation, context):
        return "passed"


class NoRule:
    pass


class NoEvaluate:
    rule = Words


class NoLevel(WordCount):
    level = "everywhere"


class Lines:
    @staticmethod
    def render(report):
        return "".join(f"{run.trace} {run.result}\\n" for run in report.runs)


class Breaks:
    @staticmethod
    def render(report):
        raise KeyError("first\\nsecond")


class Quits:
    @staticmethod
    def render(report):
        raise GeneratorExit


class Interrupts:
    @staticmethod
    def render(report):
        raise KeyboardInterrupt
'''
READERS = """
from abs_replay.decoders import Decoded, Message, Turn
from abs_replay.exchange import Body, Request, Response
from abs_replay.exchange import Exchange
from abs_replay.importers import UNPLACED, Imported
from abs_replay.trace import Step, Trace


class Lines:
    @staticmethod
    def recognises(source):
        return source.name.endswith(".acme")

    @staticmethod
    def read(source):
        asked, told = source.need_text().split("\\n")[:2]
        request = Request("POST", "/acme", body=Body(asked.encode()), host="acme.example")
        answer = Response(200, body=Body(told.encode()))
        return Imported((Exchange("", UNPLACED, 1.0, request, answer),), remarks=("read by acme",))


class Words(Lines):
    @staticmethod
    def read(source):
        step = Step(1, "user", "says", content=source.need_text().strip())
        return Imported(traces=(Trace("t-1", (step,)),))


class Raises(Lines):
    @staticmethod
    def read(source):
        raise KeyError("first\\nsecond")


class Asks(Raises):
    @staticmethod
    def recognises(source):
        raise RuntimeError("out of order")


class Exits(Lines):
    @staticmethod
    def read(source):
        raise SystemExit(0)


class GivesNone(Lines):
    @staticmethod
    def read(source):
        return None


class NoReader:
    pass


class Acme:
    @staticmethod
    def claims(exchange):
        return exchange.request.path == "/acme"

    @staticmethod
    def decode(exchange):
        history = (Message("user", exchange.request.body.data.decode()),)
        return Decoded("acme", Turn(history, Message("assistant", exchange.response.body.data.decode())))


class Faulty(Acme):
    @staticmethod
    def decode(exchange):
        raise RuntimeError("out of order")


class Exiting(Acme):
    @staticmethod
    def claims(exchange):
        raise SystemExit(0)
"""
POINTS = {
    "abs_replay.evaluators": {
        "words": "extra_checks:WordCount",
        "whole": "extra_checks:Whole",
        "raises": "extra_checks:Raises",
        "leaves": "extra_checks:Leaves",
        "picky": "extra_checks:IsPicky",
        "no_verdict": "extra_checks:NoVerdict",
    },
    "abs_replay.reports": {
        "lines": "extra_checks:Lines",
        "breaks": "extra_checks:Breaks",
        "quits": "extra_checks:Quits",
        "interrupts": "extra_checks:Interrupts",
        "absent": "no_such_module_of_mine",
    },
}

type Install = Callable[..., None]
type Abs = Callable[..., tuple[int, str, str]]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Lay a package beside its metadata, as an installer does, where Python finds it."""
    site = tmp_path / "site"

    def install(name: str, points: dict[str, dict[str, str]], code: str = "") -> None:
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        groups = ((group, "".join(f"{k} = {v}\n" for k, v in of.items())) for group, of in points.items())
        (info / "entry_points.txt").write_text("".join(f"[{group}]\n{lines}\n" for group, lines in groups))
        (site / f"{name}.py").write_text(dedent(code))

    monkeypatch.syspath_prepend(str(site))
    yield install
    plugins._scan.cache_clear()
    sys.modules.pop("extra_checks", None)


@pytest.fixture
def abs_(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Abs:
    install("extra_checks", POINTS, CODE)
    monkeypatch.chdir(tmp_path)
    steps = [
        {"seq": 1, "actor": "user", "action": "says", "content": "Hi"},
        {"seq": 2, "actor": "assistant", "action": "responds", "content": "Good morning to you"},
    ]
    Path("t.trace.json").write_text(json.dumps({"trace": "t-1", "steps": steps, "bindings": {"n": 4}}))

    def abs_(*arguments: str) -> tuple[int, str, str]:
        status = call(cli, arguments)
        return status, *capsys.readouterr()

    return abs_


GRADE = ("grade", "s.abs.yaml", "--traces", "t.trace.json")


def test_an_installed_evaluators_fingerprint_names_its_packages_version(abs_: Abs) -> None:
    rule = "{ type: words, most: 9 }"
    Path("s.abs.yaml").write_text(
        dedent(f"""
        session: S
        abs_version: "0.2"
        behaviors:
          - {{ actor: user, action: says }}
          - actor: assistant
            action: informs
            evaluations: [{rule}, {{ type: contains, value: morning }}]
        evaluations: [{{ type: all_of, evaluations: [{{ type: never, match: {{ action: fails }} }}] }}]
        """)
    )
    _, out, _ = abs_(*GRADE, "--format", "json")
    (run,) = json.loads(out)["runs"]
    found = [*run["steps"][1]["evaluations"], *run["chain_evaluations"]]
    assert [each["fingerprint"].split(".", 2)[2] for each in found] == ["words=1.0", "1", "1"]


def write(step: str = "", chain: str = "") -> None:
    Path("s.abs.yaml").write_text(
        'session: S\nabs_version: "0.2"\nbehaviors:\n  - { actor: user, action: says, content: Hi }\n'
        f"  - {{ actor: assistant, action: greets, evaluations: [{step}] }}\nevaluations: [{chain}]\n"
    )


def verdict(out: str) -> dict[str, object]:
    (graded,) = json.loads(out)["runs"]
    (found,) = graded["steps"][1]["evaluations"] + graded["chain_evaluations"]
    assert isinstance(found, dict)
    return found


def test_an_evaluator_of_another_package_judges_with_exact_fields(abs_: Abs) -> None:
    write('{ type: words, most: "{{n}}", weights: [0.50, 1], said: "{{n}}", x-note: 1 }')
    status, out, err = abs_(*GRADE, "--format", "json")
    assert (status, err) == (0, "")
    found = verdict(out)
    assert (found["status"], found["type"], found["evidence"]) == ("passed", "words", [2])
    assert found["reason"] == "4 words, at most 4 (4, [0.5, 1.0])"


def test_it_may_be_part_of_a_composition_and_it_can_fail(abs_: Abs) -> None:
    write("{ type: none_of, evaluations: [{ type: words, most: 3.0 }] }")
    status, out, _ = abs_(*GRADE, "--format", "json")
    assert (status, verdict(out)["status"]) == (0, "passed")


def test_a_session_evaluator_stands_at_its_level_only(abs_: Abs) -> None:
    write(chain="{ type: whole }")
    assert verdict(abs_(*GRADE, "--format", "json")[1])["reason"] == "2 steps"
    write("{ type: whole }")
    status, _, err = abs_("validate", "s.abs.yaml")
    assert status == 2
    assert "`whole` belongs to the session" in err


def test_the_schema_for_editors_knows_it(abs_: Abs) -> None:
    schema = json.loads(abs_("schema")[1])
    validator = jsonschema.Draft202012Validator(schema)
    behavior = {"actor": "assistant", "action": "greets"}
    for rule, fine in (
        ({"type": "words", "most": "{{n}}", "inner": {"a": 1}}, True),
        ({"type": "words", "most": 1, "inner": {"a": "b"}}, False),
        ({"type": "words", "mots": 1}, False),
        ({"type": "whole"}, False),
    ):
        document = {"session": "S", "behaviors": [{**behavior, "evaluations": [rule]}]}
        assert validator.is_valid(document) is fine, rule
    assert schema["$defs"]["words"]["description"] == "At most so many words."
    assert schema["$defs"]["words"]["properties"]["said"]["description"] == "Who said so."
    page = abs_("schema", "--format", "markdown")[1]
    assert "| `said` | text | Who said so. |" in page
    assert page[page.index("### `whole`") :].startswith(
        "### `whole`\n\n\n\n### "
    )  # no key of its own, no table


def test_its_fields_are_checked_at_load_like_built_in_ones(abs_: Abs) -> None:
    write("{ type: words, mots: 3 }")
    status, _, err = abs_("validate", "s.abs.yaml")
    assert status == 2
    assert "s.abs.yaml:5: behaviors[1].evaluations[0].mots: unknown key `mots`: did you mean `most`?" in err
    assert "is missing" not in err
    write("{ type: words, mots: few }")
    assert "s.abs.yaml:5: behaviors[1].evaluations[0].most: " in abs_("validate", "s.abs.yaml")[2]
    write("{ type: words }")
    assert "`most` is missing" in abs_("validate", "s.abs.yaml")[2]
    write("{ type: word, most: 3 }")
    assert "did you mean `words`?" in abs_("validate", "s.abs.yaml")[2]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("raises", "the evaluator raised RuntimeError: out of order"),
        ("leaves", "the evaluator raised SystemExit: 0"),
        ("no_verdict", "it gave str, no Verdict"),
    ],
)
def test_a_broken_evaluator_gives_an_error_verdict_and_the_rest_still_run(
    abs_: Abs, kind: str, reason: str
) -> None:
    write("{ type: contains, value: morning }", f"{{ type: {kind} }}")
    status, out, _ = abs_(*GRADE, "--format", "json")
    (graded,) = json.loads(out)["runs"]
    assert status == 1
    assert graded["steps"][1]["evaluations"][0]["status"] == "passed"
    assert graded["chain_evaluations"][0]["status"] == "error"
    assert reason in graded["chain_evaluations"][0]["reason"]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("no_rule", "has no `rule`"),
        ("not_there", "can not be loaded: AttributeError"),
        ("no_evaluate", "has no `evaluate(evaluation, context)`"),
        ("no_level", "has a `level` that is none of step, session, any"),
    ],
)
def test_a_package_that_can_not_be_loaded_is_one_line(
    abs_: Abs, install: Install, kind: str, message: str
) -> None:
    points = {
        "no_rule": "extra_checks:NoRule",
        "not_there": "extra_checks:NotThere",
        "no_evaluate": "extra_checks:NoEvaluate",
        "no_level": "extra_checks:NoLevel",
    }
    install("broken", {"abs_replay.evaluators": points})
    write(f"{{ type: {kind} }}")
    status, _, err = abs_(*GRADE)
    assert (status, err.count("\n")) == (2, 1)
    assert f"abs: the evaluator `{kind}` of the package broken {message}" in err


def test_a_name_that_is_built_in_is_refused_wherever_packages_are_looked_at(
    abs_: Abs, install: Install
) -> None:
    install(
        "thief", {"abs_replay.evaluators": {"contains": "thief:X"}, "abs_replay.reports": {"json": "thief:X"}}
    )
    write("{ type: words, most: 3 }")
    for arguments in (GRADE, (*GRADE, "--format", "lines")):
        status, _, err = abs_(*arguments)
        assert (status, err.count("\n")) == (2, 1)
        assert "of the package thief has a name that is built in" in err


def test_two_packages_of_one_name_are_refused(abs_: Abs, install: Install) -> None:
    install("twin", {"abs_replay.evaluators": {"words": "twin:X"}})
    write("{ type: words, most: 3 }")
    assert "of the package extra_checks and the package twin is there twice" in abs_(*GRADE)[2]


def test_a_report_format_of_another_package_prints(abs_: Abs) -> None:
    write("{ type: contains, value: morning }")
    assert abs_(*GRADE, "--format", "lines") == (0, "t-1 passed\n", "")
    abs_(*GRADE, "--format", "json", "--output", "r.json")
    assert abs_("report", "r.json", "--format", "lines")[1] == "t-1 passed\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("breaks", "failed: KeyError: 'first\\nsecond'"),
        ("quits", "failed: GeneratorExit;"),
        ("absent", "can not be loaded: ModuleNotFoundError"),
        ("leaver", "can not be loaded: SystemExit: 0"),
    ],
)
def test_a_broken_report_format_is_one_line(abs_: Abs, install: Install, name: str, message: str) -> None:
    install("leaves_at_once", {"abs_replay.reports": {"leaver": "leaves_at_once"}}, "raise SystemExit(0)")
    write()
    status, _, err = abs_(*GRADE, "--format", name)
    assert (status, err.count("\n")) == (2, 1)
    assert message in err


def test_ctrl_c_stops_also_within_another_package(abs_: Abs) -> None:
    write()
    assert abs_(*GRADE, "--format", "interrupts")[:2] == (130, "")


def test_a_model_of_another_package_that_raises_is_a_problem_at_its_place(abs_: Abs) -> None:
    write("{ type: picky, most: 3 }")
    status, _, err = abs_(*GRADE)
    assert status == 2
    assert (
        "behaviors[1].evaluations[0]: can not be checked: the evaluator's model raised SystemExit: 0" in err
    )


def test_an_unknown_format_lists_those_of_packages_too(abs_: Abs) -> None:
    write()
    status, _, err = abs_(*GRADE, "--format", "lins")
    assert status == 2
    assert "'lines'" in err


def test_packages_are_not_looked_at_for_what_is_built_in(abs_: Abs) -> None:
    write("{ type: contains, value: morning }")
    plugins._scan.cache_clear()
    abs_(*GRADE, "--format", "json")
    assert plugins._scan.cache_info().misses == 0


def readers(install: Install, *, importer: str | None = None, decoder: str | None = None) -> None:
    """Install a package with an importer, a decoder, or both."""
    points = {"abs_replay.importers": importer, "abs_replay.decoders": decoder}
    of = {group: {"acme": f"extra_readers:{name}"} for group, name in points.items() if name}
    install("extra_readers", of, READERS)
    Path("x.acme").write_text("Where is it?\nOn its way.\n")


@pytest.fixture
def fresh_readers() -> Iterator[None]:
    yield
    sys.modules.pop("extra_readers", None)


def test_a_file_is_read_by_an_importer_of_another_package(
    abs_: Abs, install: Install, fresh_readers: None
) -> None:
    readers(install, importer="Lines")
    status, out, err = abs_("import", "x.acme")
    assert (status, err) == (0, "")
    assert out == "x.acme: acme, 1 exchange (tool:acme.example 1)\n  read by acme\n"
    assert abs_("import", "x.acme", "--as", "acme")[1].endswith("already there\n")
    assert "\n  acme " in abs_("import", "--help")[1]


def test_words_that_an_importer_of_another_package_reads_are_graded(
    abs_: Abs, install: Install, fresh_readers: None
) -> None:
    readers(install, importer="Words")
    assert abs_("import", "x.acme")[1] == "x.acme: acme, 1 trace\n"
    (trace,) = json.loads(abs_("ls", "traces", "--format", "json")[1])
    assert trace["steps"] == 1


def test_exchanges_are_decoded_by_a_decoder_of_another_package(
    abs_: Abs, install: Install, fresh_readers: None
) -> None:
    readers(install, importer="Lines", decoder="Acme")
    abs_("import", "x.acme", "--channel", "llm=acme.*", "--session", "S")
    write("{ type: contains, value: way }")
    Path("s.abs.yaml").write_text(
        Path("s.abs.yaml")
        .read_text()
        .replace("content: Hi", "content: Where is it?")
        .replace("greets", "responds")
    )
    status, out, _ = abs_("grade", "s.abs.yaml", "--format", "json")
    assert (status, verdict(out)["status"]) == (0, "passed")


def test_traces_are_derived_again_when_another_package_brings_a_decoder(
    abs_: Abs, install: Install, fresh_readers: None
) -> None:
    readers(install, importer="Lines")
    abs_("import", "x.acme", "--channel", "llm=acme.*")
    abs_("show", "last")
    assert json.loads(abs_("ls", "traces", "--format", "json")[1]) == []
    install("more", {"abs_replay.decoders": {"acme": "extra_readers:Acme"}})
    plugins._scan.cache_clear()
    assert "decoders are another version" in abs_("show", "last")[2]
    assert json.loads(abs_("ls", "traces", "--format", "json")[1])[0]["steps"] == 2


@pytest.mark.parametrize(
    ("name", "failed"), [("Faulty", "RuntimeError('out of order')"), ("Exiting", "SystemExit: 0")]
)
def test_a_decoder_that_fails_costs_its_exchange_and_says_why(
    abs_: Abs, install: Install, fresh_readers: None, name: str, failed: str
) -> None:
    readers(install, importer="Lines", decoder=name)
    abs_("import", "x.acme", "--channel", "llm=acme.*")
    (exchange,) = json.loads(abs_("ls", "exchanges", "--format", "json")[1])
    status, out, err = abs_("show", exchange["id"])
    assert (status, err) == (0, "")
    assert f"acme failed: {failed}" in out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NoReader", "has no `recognises` and `read`"),
        ("NotThere", "can not be loaded: AttributeError"),
        ("Raises", "failed at x.acme: KeyError: 'first\\nsecond'"),
        ("Exits", "failed at x.acme: SystemExit: 0"),
        ("Asks", "failed at x.acme: RuntimeError: out of order"),
        ("GivesNone", "gave NoneType, no Imported"),
    ],
)
def test_a_broken_importer_is_one_line(
    abs_: Abs, install: Install, fresh_readers: None, name: str, message: str
) -> None:
    readers(install, importer=name)
    status, _, err = abs_("import", "x.acme")
    assert (status, err.count("\n")) == (2, 1)
    assert f"abs: the importer `acme` of the package extra_readers {message}" in err
    assert err.endswith("; mend or uninstall it\n")


@pytest.mark.parametrize(
    ("name", "message"),
    [("NoReader", "has no `claims` and `decode`"), ("NotThere", "can not be loaded: AttributeError")],
)
def test_a_broken_decoder_is_one_line(
    abs_: Abs, install: Install, fresh_readers: None, name: str, message: str
) -> None:
    readers(install, importer="Lines")
    abs_("import", "x.acme")
    install("bad", {"abs_replay.decoders": {"other": f"extra_readers:{name}"}})
    plugins._scan.cache_clear()
    status, _, err = abs_("show", "last")
    assert (status, err.count("\n")) == (2, 1)
    assert f"abs: the decoder `other` of the package bad {message}" in err


def test_an_import_keeps_its_files_and_says_in_one_line_that_a_decoder_is_broken(
    abs_: Abs, install: Install, fresh_readers: None
) -> None:
    readers(install, importer="Lines", decoder="NotThere")
    status, out, err = abs_("import", "x.acme")
    assert (status, err.count("\n")) == (0, 1)
    assert "abs: the decoder `acme` of the package extra_readers can not be loaded: AttributeError" in err
    assert "x.acme: acme, 1 exchange" in out


@pytest.mark.parametrize("group", ["abs_replay.importers", "abs_replay.decoders"])
def test_a_built_in_name_is_no_name_for_a_reader_either(
    abs_: Abs, install: Install, fresh_readers: None, group: str
) -> None:
    readers(install, importer="Lines")
    abs_("import", "x.acme")
    install("thief", {group: {"vcr" if group.endswith("importers") else "mcp": "extra_readers:Lines"}})
    plugins._scan.cache_clear()
    status, _, err = abs_("import", "x.acme") if group.endswith("importers") else abs_("show", "last")
    assert (status, err.count("\n")) == (2, 1)
    assert "of the package thief has a name that is built in" in err
