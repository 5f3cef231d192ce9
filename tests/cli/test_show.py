"""`abs show` shows one thing, found by any id."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from abs_replay.cassette import loads
from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role, Upstream
from abs_replay.importers.trace_file import as_json, from_json
from abs_replay.reports import Screen
from abs_replay.store import Store
from abs_replay.verdicts import Grading, Report, Run, Status, Verdict
from abs_replay.verdicts import Result as Came

AGENT = Channel(Role.AGENT, "agent")
JSON = (("content-type", "application/json"),)
ASKED = b'{"messages": [{"role": "user", "content": "Where is it?"}]}'
ANSWER = b'{"message": {"role": "assistant", "content": "On its \\u001b[31m way."}}'
CHAT = Exchange(
    "e-1",
    AGENT,
    10.0,
    Request("POST", "/chat", JSON, Body(ASKED)),
    Response(200, JSON, Body(ANSWER)),
    ended_ms=20.0,
)
RECORDING = Recording("r-1", "demo", 10.0, 12.5, "Refund", {"a": "b"}, (Upstream(AGENT, "http://h"),))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that each test gets a copy of."""
    store = Store(tmp_path_factory.mktemp("made") / "store.duckdb")
    store.begin(RECORDING)
    store.append("r-1", [CHAT])
    verdict = Verdict("evaluations[0]", "never", Status.FAILED, "why")
    run = Run("Refund", None, "t-1", Came.FAILED, (), (verdict,))
    store.save_grading(Grading("g-1", 30.0, Report((run,), "g-1"), {"refund.abs.yaml": "ab" * 32}))
    return store.path


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Store:
    return Store(Path(shutil.copy(made, tmp_path)))


def show(store: Store, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["show", "--store", str(store.path), *arguments], catch_exceptions=False)


@pytest.mark.parametrize("ref", ["r-1", "r", "demo", "last"])
def test_a_recording_is_shown_with_channels_exchanges_and_traces(store: Store, ref: str) -> None:
    shown = show(store, ref).stdout

    assert shown.startswith("recording demo (r-1)\n")
    assert "\n  agent at http://h\n" in shown
    assert "\n1 exchange\n" in shown
    assert "\n1 trace\n" in shown
    assert "POST /chat" in shown
    assert "Where is it?" in shown


def test_a_recording_is_shown_for_programs(store: Store) -> None:
    shown = json.loads(show(store, "demo", "--format", "json").stdout)

    assert (shown["id"], shown["session"], shown["channels"]) == ("r-1", "Refund", {"agent": "http://h"})
    assert [each["id"] for each in shown["exchanges"]] == ["e-1"]
    assert [each["first_words"] for each in shown["traces"]] == ["Where is it?"]


def test_a_trace_is_shown_step_by_step(store: Store) -> None:
    show(store, "demo")
    shown = show(store, "t-").stdout

    assert shown.startswith("trace t-")
    assert "user says" in shown
    assert "On its \\x1b[31m way." in shown


def test_a_trace_for_programs_is_a_trace_file(store: Store) -> None:
    show(store, "demo")
    (trace,) = store.traces()
    shown = json.loads(show(store, trace.id, "--format", "json").stdout)

    assert as_json(from_json(shown)) == as_json(trace)


FAILED = replace(CHAT, id="e-0", started_at=9.0, response=Response(503, JSON, Body(b'{"error": "busy"}')))
STRANGE = Exchange("e-9", Channel(Role.LLM, "llm"), 11.0, Request("GET", "/v1/models"), Response(200))


def test_why_shows_which_bytes_show_each_step_and_what_is_in_no_trace(store: Store) -> None:
    store.append("r-1", [FAILED, STRANGE])
    shown = show(store, "last", "--why").stdout

    asked, answered = ASKED.index(b'{"role"'), ANSWER.index(b'{"role"')
    assert f"request.messages[0] (request bytes {asked}–{len(ASKED) - 2}): the request brings it" in shown
    assert f"response.message (response bytes {answered}–{len(ANSWER) - 1}): the reply says it" in shown
    assert "assistant responds  On its \\x1b[31m way.  [1 retry]\n" in shown
    assert "   dropped  e-0 agent POST /chat\n" in shown
    assert "HTTP 503: busy; it was tried again" in shown
    assert shown.endswith(
        "1 exchange in no trace\n  e-9  llm GET /v1/models\n"
        "    no decoder claims GET /v1/models on llm: it has no body\n"
    )


def test_why_for_programs_is_a_trace_file_with_the_reasons(store: Store) -> None:
    store.append("r-1", [FAILED, STRANGE])
    shown = json.loads(show(store, "last", "--why", "--format", "json").stdout)

    assert [step.content for step in from_json(shown).steps] == ["Where is it?", "On its \x1b[31m way."]
    (said,), (answered, *dropped) = (each["notes"] for each in shown["why"]["steps"])
    place = answered["bytes"]
    assert json.loads(ANSWER[place["start"] : place["end"]])["content"] == "On its \x1b[31m way."
    assert (answered["channel"], answered["method"], answered["path"]) == ("agent", "POST", "/chat")
    assert (said["exchange"], [note["kind"] for note in dropped]) == ("e-0", ["retry"])
    assert [each["exchange"] for each in shown["why"]["in_no_trace"]] == ["e-9"]


def test_why_fits_a_narrow_screen(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append("r-1", [FAILED, STRANGE])
    monkeypatch.setattr(Screen, "of", lambda _: Screen(60, False))

    assert max(map(len, show(store, "last", "--why").stdout.splitlines())) <= 60


def test_why_is_asked_of_traces_alone(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cli, ["show", "e-1", "--exchange", "--why", "--store", str(store.path)]) == 2
    assert "leave one of them out" in capsys.readouterr().err


def test_a_configured_key_tells_conversations_apart_and_derives_anew(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for id_, chat in (("e-2", "a"), ("e-3", "b"), ("e-4", "a")):
        request = replace(CHAT.request, headers=(*JSON, ("x-chat", chat)))
        store.append("r-1", [replace(CHAT, id=id_, started_at=float(id_[2:]) + 20, request=request)])
    before = json.loads(show(store, "demo", "--format", "json").stdout)["traces"]
    (tmp_path / "abs.config.yaml").write_text("conversation: { header: X-Chat }\n")
    again = show(store, "demo", "--format", "json")

    assert [each["steps"] for each in before] == [2, 2, 2, 2]
    assert [each["steps"] for each in json.loads(again.stdout)["traces"]] == [2, 4, 2]
    assert again.stderr.endswith("by header=X-Chat), traces derived again\n")
    assert show(store, "demo").stderr == ""


def test_an_exchange_is_shown_raw(store: Store) -> None:
    by_id, last = show(store, "e-1"), show(store, "last", "--exchange")

    assert by_id.stdout == last.stdout
    assert f"\n> {ASKED.decode()}\n" in by_id.stdout


def test_an_exchange_for_programs_is_a_cassette_of_one(store: Store) -> None:
    cassette = loads(show(store, "e-1", "--format", "json").stdout)

    assert cassette.exchanges == (CHAT,)
    assert cassette.recording == RECORDING


def test_a_grading_is_shown_with_its_report(store: Store) -> None:
    shown = show(store, "g-").stdout

    assert shown.startswith("grading g-1: failed\n")
    assert "refund.abs.yaml (sha256 abababababab)" in shown
    assert "❌ FAILED" in shown
    assert shown.splitlines()[-1].split() == ["Grading", "g-1"]


def test_a_grading_for_programs_is_a_report(store: Store) -> None:
    shown = json.loads(show(store, "g-1", "--format", "json").stdout)

    assert (shown["result"], shown["grading"], len(shown["runs"])) == ("failed", "g-1", 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demoo"], "no recording or exchange or trace or grading 'demoo' in {store}: is it demo? "),
        (["e-1x", "--exchange"], "no exchange 'e-1x' in {store}: is it e-1? `abs ls exchanges` lists them"),
        (["emo-1", "--exchange"], "no exchange 'emo-1' in {store}: is it e-1? `abs ls exchanges` lists them"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is_near(
    store: Store, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(cli, ["show", "--store", str(store.path), *arguments]) == 2
    captured = capsys.readouterr()

    assert captured.out == ""
    assert captured.err.startswith(f"abs: {message.format(store=store.path)}")
    assert captured.err.count("\n") == 1


def test_a_beginning_that_several_share_is_refused(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store.begin(Recording("e-recording", "x", 1.0))

    assert run(cli, ["show", "e-", "--store", str(store.path)]) == 2
    assert "could be e-1, e-recording: write more of it" in capsys.readouterr().err


def asked(*messages: object, id_: str = "e-2") -> Exchange:
    body = Body(json.dumps({"messages": list(messages)}).encode())
    return replace(CHAT, id=id_, started_at=20.0, request=replace(CHAT.request, body=body))


def test_why_tells_which_entries_of_a_history_are_not_traced(store: Store) -> None:
    store.append("r-1", [asked({"content": "lost?"}, {"role": "user", "content": "Well?"})])
    shown = show(store, "last", "--why")

    assert "1 exchange of which there is more to say\n  e-2  agent POST /chat\n" in shown.stdout
    assert "    not traced: request.messages[0] (without a role)\n" in shown.stdout


STRANGE_ALONE = Recording("r-2", "strange", 40.0)


@pytest.mark.parametrize("ref", ["strange", "r-2", "last"])
def test_a_recording_without_a_trace_says_why_exchange_by_exchange(store: Store, ref: str) -> None:
    store.begin(STRANGE_ALONE)
    store.append("r-2", [replace(STRANGE, started_at=41.0)])

    assert "1 exchange is in no trace: `abs show r-2 --why` says why\n" in show(store, "strange").stdout
    assert show(store, ref, "--why").stdout == (
        "recording strange (r-2): 1 exchange, 0 traces\n\n1 exchange in no trace\n"
        "  e-9  llm GET /v1/models\n    no decoder claims GET /v1/models on llm: it has no body\n"
    )
    told = json.loads(show(store, ref, "--why", "--format", "json").stdout)["why"]
    assert [(each["exchange"], each["protocol"]) for each in told["in_no_trace"]] == [("e-9", None)]
    (left,) = json.loads(show(store, "strange", "--format", "json").stdout)["in_no_trace"]
    assert left["why"].startswith("no decoder claims")


def test_why_of_a_recording_that_is_wholly_traced_says_so(store: Store) -> None:
    assert "every exchange is in a trace" in show(store, "demo", "--why").stdout
    assert "in no trace" not in show(store, "demo").stdout


@pytest.mark.parametrize("kind", ["trace", "exchange"])
@pytest.mark.parametrize("ref", ["demo", "r-1"])
def test_a_recordings_only_trace_or_exchange_is_shown_by_its_name(store: Store, ref: str, kind: str) -> None:
    store.begin(replace(RECORDING, id="other", name="other", started_at=20.0))
    store.append("other", [replace(CHAT, id="e-9", started_at=20.0)])
    assert "on its" in show(store, ref, f"--{kind}").stdout.lower()
    assert show(store, ref, f"--{kind}").stdout == show(store, show_id(store, kind), f"--{kind}").stdout


def show_id(store: Store, kind: str) -> str:
    (found,) = (each["id"] for each in json.loads(show(store, "r-1", "--format", "json").stdout)[f"{kind}s"])
    return str(found)


def test_of_several_traces_those_of_the_recording_are_named(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    store.append("r-1", [replace(CHAT, id="e-2", started_at=20.0)])
    listed = json.loads(show(store, "r-1", "--format", "json").stdout)
    for kind in ("trace", "exchange"):
        ids = [each["id"] for each in listed[f"{kind}s"]]
        assert len(ids) == 2
        assert run(cli, ["show", "--store", str(store.path), "demo", f"--{kind}"]) == 2
        told = f"abs: recording demo has 2 {kind}s: show one of {', '.join(ids)}\n"
        assert capsys.readouterr().err == told


def test_a_recording_without_a_trace_says_so_where_one_is_asked_for(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    store.begin(replace(RECORDING, id="none", name="none"))
    assert run(cli, ["show", "--store", str(store.path), "none", "--trace"]) == 2
    assert capsys.readouterr().err.startswith("abs: recording none has no trace: `abs show none --why` says")
