"""`abs run` as a user calls it: live and replayed, what it prints, keeps, and how it ends."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from abs_replay import decoders
from abs_replay.cassette import Cassette, dumps
from abs_replay.cli import cli
from abs_replay.cli.failure import run as call
from abs_replay.derivation import traces_of
from abs_replay.exchange import Role, header
from abs_replay.store import Store
from abs_replay.verdicts import Result
from fixtures.agent.servers import ROOT, running
from tests.scripted_agent import Message, listening, says

SESSION = """session: Greeting
abs_version: "0.2"
dataset: { id: cases, path: cases.csv }
behaviors:
  - { actor: user, action: says, content: "I am {{cases.name}}" }
  - { actor: assistant, action: greets, evaluations: [{ type: contains, value: "{{cases.name}}" }] }
  - { actor: user, action: says, content: "Bye, {{farewell}}" }
  - { actor: assistant, action: says }
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with a session of two rows and no settings from outside."""
    (tmp_path / "greeting.abs.yaml").write_text(SESSION)
    (tmp_path / "cases.csv").write_text("name,town\nAda,Oslo\nBob,Rome\n")
    monkeypatch.chdir(tmp_path)
    for name in ("ABS_AGENT_URL", "ABS_STORE", "ABS_VAR_farewell"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


type Abs = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Abs:
    def run(*arguments: str) -> tuple[int, str, str]:
        status = call(cli, ["run", *arguments])
        return status, *capsys.readouterr()

    return run


GREETING = ("greeting.abs.yaml", "--var", "farewell=friend")


def greet(messages: list[Message]) -> Message:
    return says(f"Hello! You said: {messages[-1]['content']}")


def store(folder: Path) -> Store:
    return Store(folder / ".abs" / "store.duckdb")


def cassette_of(folder: Path) -> str:
    """Write the last recording of the store as a cassette."""
    recording = store(folder).recording("last")
    path = folder / "greeting.cassette.json"
    path.write_text(dumps(Cassette(recording, store(folder).exchanges(recording.id))))
    return str(path)


def test_every_row_is_played_judged_and_reported(project: Path, run: Abs) -> None:
    with listening(greet) as (url, asked):
        status, out, err = run(*GREETING, "--agent", url, "--format", "json")

    report = json.loads(out)
    assert (status, report["result"], err) == (0, "passed", "")
    assert [(one["row"], one["bindings"], one["agent"]) for one in report["runs"]] == [
        (0, {"cases.name": "Ada"}, f"{url}/chat"),
        (1, {"cases.name": "Bob"}, f"{url}/chat"),
    ]
    assert [messages[-1]["content"] for messages in asked] == [
        "I am Ada",
        "Bye, friend",
        "I am Bob",
        "Bye, friend",
    ]


def test_a_run_is_kept_as_a_recording_and_a_grading(project: Path, run: Abs) -> None:
    with listening(greet) as (url, _):
        _, out, _ = run(*GREETING, "--agent", url, "--format", "json")

    kept = store(project)
    (summary,) = kept.recordings()
    assert summary.recording.session == "Greeting"
    assert summary.recording.ended_at is not None
    assert summary.exchanges == 4
    assert [upstream.url for upstream in summary.recording.upstreams] == [url]
    first, second = traces_of(kept, notice=pytest.fail)
    assert (first.bindings, first.vars) == ({"cases.name": "Ada"}, {"farewell": "friend"})
    assert second.bindings == {"cases.name": "Bob"}
    grading = kept.grading("last")
    assert grading.report.result is Result.PASSED
    assert grading.id == json.loads(out)["grading"]


def test_what_was_kept_is_graded_again_alike(
    project: Path, run: Abs, capsys: pytest.CaptureFixture[str]
) -> None:
    with listening(greet) as (url, _):
        _, out, _ = run(*GREETING, "--agent", url, "--format", "json")
    assert call(cli, ["grade", "greeting.abs.yaml", "--format", "json"]) == 0
    again = json.loads(capsys.readouterr().out)

    def verdicts(report: dict[str, Any]) -> list[Any]:
        return [[one["trace"], one["result"], one["steps_matched"]] for one in report["runs"]]

    assert verdicts(again) == verdicts(json.loads(out))


def test_nothing_is_kept_where_that_is_asked_for(project: Path, run: Abs) -> None:
    with listening(greet) as (url, _):
        status, _, _ = run(*GREETING, "--agent", url, "--no-store")

    assert status == 0
    assert not (project / ".abs").exists()


def test_filters_choose_the_rows(project: Path, run: Abs) -> None:
    with listening(greet) as (url, _):
        _, out, _ = run(*GREETING, "--agent", url, "--no-store", "--filter", "town:Rome", "--format", "json")
        status, _, err = run(*GREETING, "--agent", url, "--filter", "town:Paris")

    assert [one["row"] for one in json.loads(out)["runs"]] == [1]
    assert status == 2
    assert "town:Paris" in err


def test_a_cassette_plays_the_same_with_no_agent(project: Path, run: Abs) -> None:
    with listening(greet) as (url, _):
        _, live, _ = run(*GREETING, "--agent", url, "--format", "json")
    cassette = cassette_of(project)
    reports = [run(*GREETING, "--cassette", cassette, "--format", "json") for _ in range(2)]

    for status, out, err in reports:
        assert (status, err) == (0, "")
        report = json.loads(out)
        assert [one["agent"] for one in report["runs"]] == [cassette] * 2
        assert report["totals"] == json.loads(live)["totals"]
    exchanges = store(project).exchanges(store(project).recording("last").id)
    assert {exchange.request.target for exchange in exchanges} == {"/chat"}


def test_one_recorded_conversation_answers_any_number_of_sessions(project: Path, run: Abs) -> None:
    with listening(greet) as (url, _):
        run(*GREETING, "--agent", url, "--filter", "name:Ada")
    (project / "twin.abs.yaml").write_text(SESSION.replace("session: Greeting", "session: Twin"))
    status, _, err = run(
        *GREETING, "twin.abs.yaml", "--filter", "name:Ada", "--cassette", cassette_of(project), "--no-store"
    )

    assert (status, err) == (0, "")


def test_a_miss_fails_the_run_and_is_explained_once(project: Path, run: Abs) -> None:
    with listening(greet) as (url, _):
        run(*GREETING, "--agent", url)
    others_words = ("greeting.abs.yaml", "--var", "farewell=foe", "--no-require-match")
    arguments = ("--cassette", cassette_of(project), "--no-store", "--filter", "name:Bob", "--format", "json")
    status, out, err = run(*others_words, *arguments)

    assert status == 1
    assert err.startswith("abs: Greeting, row 1: POST /chat on agent: nobody recorded this request\n")
    assert err.count("nobody recorded") == 1
    assert '"Bye, friend"' in err
    (warning,) = json.loads(out)["warnings"]
    assert "nobody recorded" in warning["message"]


def test_a_recorded_failure_of_the_agent_is_played_as_it_was(project: Path, run: Abs) -> None:
    with listening(lambda messages: 503 if len(messages) > 1 else greet(messages)) as (url, _):
        live = run(*GREETING, "--agent", url, "--filter", "name:Ada")
    replayed = run(*GREETING, "--cassette", cassette_of(project), "--filter", "name:Ada", "--no-store")

    assert live[0] == replayed[0] == 1
    assert "HTTP 503" in live[2]
    assert "HTTP 503" in replayed[2]


def test_an_agent_that_is_not_there_is_said_in_one_line(project: Path, run: Abs) -> None:
    with listening(greet) as (url, _):
        pass
    status, out, err = run(*GREETING, "--agent", url, "--filter", "name:Ada", "--format", "json")

    assert status == 1
    assert len(err.splitlines()) == 1
    assert "can not be reached" in err
    assert json.loads(out)["result"] == "failed"
    (exchange,) = store(project).exchanges()
    assert exchange.response is None


def test_the_agent_may_come_from_the_environment_or_the_configuration(
    project: Path, run: Abs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(greet) as (url, asked):
        (project / "abs.config.yaml").write_text(f"agent: {url}\n")
        assert run(*GREETING, "--no-store")[0] == 0
        monkeypatch.setenv("ABS_AGENT_URL", url + "/other")
        _, out, _ = run(*GREETING, "--no-store", "--format", "json")

    assert len(asked) == 8
    assert json.loads(out)["runs"][0]["agent"] == url + "/other"


def test_slow_agents_are_cut_off_at_the_time_limit(project: Path, run: Abs) -> None:
    released = threading.Event()

    def slow(messages: list[Message]) -> Message:
        released.wait(5)
        return greet(messages)

    with listening(slow) as (url, _):
        arguments = ("--timeout", "0.2", "--no-store", "--filter", "name:Ada")
        status, _, err = run(*GREETING, "--agent", url, *arguments)
        released.set()

    assert status == 1
    assert "timed out" in err


def test_the_report_goes_to_a_file_where_one_is_named(project: Path, run: Abs) -> None:
    to_file = ("--no-store", "--format", "json", "--output", "r.json")
    with listening(greet) as (url, _):
        status, out, _ = run(*GREETING, "--agent", url, *to_file)

    assert (status, out) == (0, "")
    assert json.loads((project / "r.json").read_text())["result"] == "passed"


def test_ci_systems_get_their_formats_with_each_row_under_its_own_name(project: Path, run: Abs) -> None:
    with listening(greet) as (url, _):
        _, junit, _ = run(*GREETING, "--agent", url, "--no-store", "--ci", "--format", "junit")
        _, github, _ = run(*GREETING, "--agent", url, "--no-store", "--ci", "--format", "github")

    suites = ElementTree.fromstring(junit)
    names = [suite.findall("testcase")[0].attrib["classname"] for suite in suites]
    assert [name.split(" row ")[1] for name in names] == [str(nth) for nth in range(len(suites))]
    assert github.startswith("abs: passed: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--agent URL, or --cassette FILE"),
        (("--agent", "http://h", "--cassette", "c.json"), "exclude each other"),
        (("--agent", "localhost:8080"), "expected an http:// or https:// URL"),
        (("--cassette", "none.cassette.json"), "none.cassette.json: can not be read"),
        (("--cassette", "cases.csv"), "cases.csv"),
        (("--cassette", "."), "can not be read"),
    ],
)
def test_wrong_usage_is_said_in_one_line_and_sends_nothing(
    project: Path, run: Abs, arguments: tuple[str, ...], words: str
) -> None:
    status, out, err = run(*GREETING, "--no-store", *arguments)

    assert (status, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1


def test_a_cassette_without_an_agent_says_so(project: Path, run: Abs) -> None:
    with listening(greet) as (url, _):
        run(*GREETING, "--agent", url)
    recording = store(project).recording("last")
    (project / "c.json").write_text(dumps(Cassette(recording, ())))
    status, _, err = run(*GREETING, "--cassette", "c.json")

    assert status == 2
    assert "nobody talks to an agent" in err


def test_a_reference_without_a_source_is_refused_before_anything_is_sent(project: Path, run: Abs) -> None:
    with listening(greet) as (url, asked):
        status, _, err = run("greeting.abs.yaml", "--agent", url)

    assert (status, asked) == (2, [])
    assert "greeting.abs.yaml:7: behaviors[2].content" in err
    assert "farewell" in err


def test_two_sessions_of_one_name_are_refused(project: Path, run: Abs) -> None:
    (project / "copy.abs.yaml").write_text(SESSION)
    with listening(greet) as (url, asked):
        status, _, err = run(*GREETING, "copy.abs.yaml", "--agent", url)

    assert (status, asked) == (2, [])
    assert "greeting.abs.yaml" in err
    assert "copy.abs.yaml" in err


def test_a_store_that_can_not_be_written_is_said_before_anything_is_sent(project: Path, run: Abs) -> None:
    (project / "file").write_text("x")
    with listening(greet) as (url, asked):
        status, _, err = run(*GREETING, "--agent", url, "--store", "file/store.duckdb")

    assert (status, asked) == (2, [])
    assert "--no-store" in err


def test_every_conversation_has_a_scope_of_its_own(project: Path, run: Abs) -> None:
    with listening(greet) as (url, _):
        run(*GREETING, "--agent", url)
    scopes = [header(each.request.headers, "x-abs-session") for each in store(project).exchanges()]

    assert len(set(scopes)) == 2
    assert {each.channel.role for each in store(project).exchanges()} == {Role.AGENT}


@pytest.mark.processes
def test_the_bundled_session_passes_on_the_bundled_agent_and_on_its_cassette(project: Path, run: Abs) -> None:
    session = str(ROOT / "fixtures" / "agent" / "order-status.abs.yaml")
    with running() as servers:
        status, live, err = run(session, "--agent", servers["agent"].url, "--format", "json")
    assert (status, err) == (0, "")
    status, replayed, err = run(session, "--cassette", cassette_of(project), "--format", "json")
    assert (status, err) == (0, "")

    first, second = (json.loads(out) for out in (live, replayed))
    assert first["result"] == second["result"] == "passed"
    assert first["totals"] == second["totals"]
    assert first["totals"]["steps"]["matched"] == 5


LENIENT = """session: A
abs_version: "0.2"
behaviors:
  - { actor: user, action: says, content: hi }
  - { actor: assistant, action: says, optional: true }
evaluations: [{ type: never, match: { action: hands_off } }]
"""
FORMATS_AND_ERRORS = {
    "table": "❗ ERROR",
    "json": '"result": "error"',
    "junit": 'errors="1"',
    "markdown": "ERROR",
    "github": "::warning ",
}


@pytest.mark.parametrize("format_", FORMATS_AND_ERRORS)
def test_a_run_that_could_not_be_carried_out_is_an_error_in_every_format_and_stays_one_when_saved(
    project: Path, run: Abs, capsys: pytest.CaptureFixture[str], format_: str
) -> None:
    (project / "a.abs.yaml").write_text(LENIENT)
    with listening(greet) as (url, _):
        pass
    run("a.abs.yaml", "--agent", url, "--no-store", "--format", "json", "--output", "r.json")
    status, out, _ = run("a.abs.yaml", "--agent", url, "--format", format_)
    assert call(cli, ["report", "r.json", "--format", format_]) == 0
    shown = capsys.readouterr().out

    assert status == 1
    for text in (out, shown):
        assert FORMATS_AND_ERRORS[format_] in text
        assert "can not be reached" in " ".join(text.replace("│", " ").split())
    kept = store(project).grading("last").report
    assert kept.result is Result.ERROR
    assert "can not be reached" in (kept.runs[0].problem or "")


def test_a_conversation_that_broke_off_or_was_missed_has_not_passed_nor_passes_it_when_judged_again(
    project: Path, run: Abs, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = LENIENT.replace("evaluations:", "  - { actor: user, action: says, content: bye }\nevaluations:")
    (project / "a.abs.yaml").write_text(LENIENT)
    (project / "b.abs.yaml").write_text(twice.replace("hi", "hi again"))
    with listening(lambda messages: 503 if len(messages) > 1 else greet(messages)) as (url, _):
        _, live, _ = run("b.abs.yaml", "--agent", url, "--format", "json", "--no-require-match")
    assert call(cli, ["grade", "b.abs.yaml", "--format", "json", "--no-require-match"]) == 1
    again = capsys.readouterr().out
    with listening(greet) as (url, _):
        run("a.abs.yaml", "--agent", url)
    cassette = ("--cassette", cassette_of(project), "--no-store", "--format", "json", "--no-require-match")
    status, missed, _ = run("b.abs.yaml", *cassette)

    assert status == 1
    for out, words in ((live, "HTTP 503"), (again, "HTTP 503"), (missed, "nobody recorded")):
        (one,) = json.loads(out)["runs"]
        assert (one["result"], one["passed"]) == ("error", False)
        assert words in one["problem"]


def test_why_it_broke_off_stays_when_traces_are_derived_again(
    project: Path, run: Abs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a.abs.yaml").write_text(LENIENT)
    with listening(lambda messages: 503) as (url, _):
        run("a.abs.yaml", "--agent", url)
    monkeypatch.setattr(decoders, "DECODERS_VERSION", "newer")
    assert call(cli, ["grade", "a.abs.yaml", "--format", "json", "--no-require-match"]) == 1
    (one,) = json.loads(capsys.readouterr().out)["runs"]
    assert (one["result"], "HTTP 503" in one["problem"]) == ("error", True)


def test_what_the_configuration_calls_a_secret_is_not_kept(project: Path, run: Abs) -> None:
    (project / "abs.config.yaml").write_text("redact: {patterns: [{name: person, pattern: friend}]}")
    with listening(greet) as (url, _):
        run(*GREETING, "--agent", url)
    said = [exchange.request.body.data for exchange in store(project).exchanges()]
    assert b"Bye, <person:1>" in said[-1]
    assert not any(b"friend" in data for data in said)
