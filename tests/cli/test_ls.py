"""`abs ls` lists what a store holds, for people and for programs."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.derivation import traces_of
from abs_replay.exchange import (
    Body,
    Channel,
    Exchange,
    Message,
    Outcome,
    Recording,
    Request,
    Response,
    Role,
    Upstream,
    WebSocket,
)
from abs_replay.redact import Redactor, Rules
from abs_replay.store import Store
from abs_replay.summary import is_error
from abs_replay.trace import Branch, Trace, Usage
from abs_replay.verdicts import Grading, Report, Run, Status, Verdict
from abs_replay.verdicts import Result as Came

AGENT = Channel(Role.AGENT, "agent")
JSON = (("content-type", "application/json"),)


ASKED = b'{"messages": [{"role": "user", "content": "Where is \\u001b[31m it?"}]}'
ANSWER = b'{"message": {"role": "assistant", "content": "On its way."}}'
CHAT = Exchange(
    "e1",
    AGENT,
    10.0,
    Request("POST", "/chat", JSON, Body(ASKED)),
    Response(200, JSON, Body(ANSWER)),
    ended_ms=20.0,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that each test gets a copy of."""
    store = Store(tmp_path_factory.mktemp("made") / "store.duckdb")
    upstreams = (Upstream(AGENT, "http://localhost:8080"),)
    store.begin(Recording("r-1", "demo", 10.0, tags={"ticket": "42"}, upstreams=upstreams))
    store.append("r-1", [CHAT])
    refused = Exchange("e2", AGENT, 20.0, Request("GET", "/x"), None, Outcome.REFUSED, "no one there")
    store.append("r-2", [refused])
    store.end("r-1", 12.5)
    store.begin(Recording("r-2", "other", 20.0))
    return store.path


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Store:
    return Store(Path(shutil.copy(made, tmp_path)))


def ls(store: Store, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["ls", "--store", str(store.path), *arguments], catch_exceptions=False)


def listed(store: Store, *arguments: str) -> list[dict[str, object]]:
    result = ls(store, "--format", "json", *arguments)
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert isinstance(found, list)
    return found


def test_recordings_are_listed_with_their_counts(store: Store) -> None:
    lines = ls(store).stdout.splitlines()

    assert lines[0].split() == [
        "ID",
        "NAME",
        "STARTED",
        "LENGTH",
        "EXCHANGES",
        "ERRORS",
        "SIZE",
        "TRACES",
        "TAGS",
    ]
    assert lines[1].split()[3:] == ["2.5", "s", "1", "0", str(len(ASKED + ANSWER)), "B", "–", "ticket=42"]
    assert lines[2].split()[:2] == ["r-2", "other"]
    assert "not ended" in lines[2]


def test_recordings_are_listed_for_programs(store: Store) -> None:
    first, second = listed(store)

    assert first == {
        "id": "r-1",
        "name": "demo",
        "started_at": 10.0,
        "ended_at": 12.5,
        "session": None,
        "tags": {"ticket": "42"},
        "channels": {"agent": "http://localhost:8080"},
        "marks": [],
        "note": None,
        "exchanges": 1,
        "errors": 0,
        "bytes": len(ASKED + ANSWER),
        "traces": None,
    }
    assert (second["ended_at"], second["errors"]) == (None, 1)


def test_listing_recordings_decodes_nothing(store: Store) -> None:
    program = (
        "import sys; from abs_replay.cli import cli; "
        f"cli.main(['ls', '--store', {str(store.path)!r}], standalone_mode=False); "
        "print([m for m in sys.modules if 'decoders' in m or 'assembly' in m], file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert result.stderr == "[]\n"
    assert listed(store)[0]["traces"] is None


def test_exchanges_are_those_of_all_recordings_or_of_one(store: Store) -> None:
    assert [each["id"] for each in listed(store, "exchanges")] == ["e1", "e2"]
    (refused,) = listed(store, "exchanges", "--recording", "other")

    assert (refused["channel"], refused["status"], refused["outcome"]) == ("agent", None, "refused")
    assert ls(store, "exchanges").stdout.splitlines()[2].endswith("GET /x")


def test_exchanges_of_which_less_is_kept_than_was_said_are_marked(store: Store) -> None:
    def failing(exchange: Exchange) -> Exchange:
        raise ValueError("no")

    cut = replace(CHAT, id="c1", started_at=30.0, request=replace(CHAT.request, body=Body(b"ab", size=9)))
    assert CHAT.response
    answered = replace(CHAT.response, body=Body(b"", size=3))
    message = WebSocket((Message(True, b"hi", True, 1.0, 70), Message(True, b"", True, 2.0)))
    whole = WebSocket((Message(True, b"hi", True, 1.0),))
    withheld = Redactor(Rules(hook=failing)).redact(replace(CHAT, id="c4", started_at=33.0))
    some = [
        cut,
        replace(CHAT, id="c2", started_at=31.0, response=answered),
        replace(CHAT, id="c3", started_at=32.0, websocket=message),
        withheld,
        replace(
            CHAT,
            id="c5",
            started_at=34.0,
            websocket=whole,
            request=replace(CHAT.request, body=Body(b"ab", size=2)),
        ),
    ]
    store.append("r-2", some)

    shown = [each["cut"] for each in listed(store, "exchanges", "--recording", "other")]
    assert shown == [False, True, True, True, True, False]
    lines = ls(store, "exchanges", "--recording", "other").stdout.splitlines()[2:]
    assert ["complete, cut" in line for line in lines] == [True, True, True, False, False]
    assert "complete, content withheld" in lines[3]
    assert listed(store)[1]["errors"] == 2  # the one that was refused, and the one withheld
    assert [is_error(each) for each in some] == [False, False, False, True, False]


def test_traces_are_never_derived_by_a_list_which_says_what_does(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("abs_replay.assembly.decode", lambda exchange: pytest.fail("a list decoded"))
        result = ls(store, "traces")
        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr.startswith(
            "abs: traces of r-1, r-2 were not derived yet, or are out of date: `abs show r-1` derives them\n"
        )


def test_derived_traces_are_listed_with_models_tokens_and_where_they_branched(store: Store) -> None:
    traces_of(store)
    (derivation, _) = store.derivations()
    (plain,) = store.traces("r-1")
    counted = replace(plain.steps[1], model="m", usage=Usage(7, 3), retries=2, segment="compacted")
    branch = Trace("t-b", (plain.steps[0], counted), recording="r-1", branch_of=Branch(plain.id, 1))
    assert derivation.decoders_version is not None
    kept = (plain, replace(branch, started_at=11.0))
    store.save_traces("r-1", kept, derivation.exchange_digest, derivation.decoders_version)
    first, second = listed(store, "traces")

    assert (first["recording"], first["first_words"]) == ("r-1", "Where is \x1b[31m it?")
    assert (first["models"], first["usage"], first["branch_of"]) == ([], None, None)
    counts = {"input_tokens": 7, "output_tokens": 3, "cached_tokens": 0, "reasoning_tokens": 0}
    assert (second["models"], second["usage"]) == (["m"], counts)
    assert (second["retries"], second["segments"]) == (2, [2])
    assert second["branch_of"] == {"trace": plain.id, "step": 1}
    assert ls(store, "traces").stderr == ""
    assert "Where is \\x1b[31m it?" in ls(store, "traces").stdout
    assert listed(store)[0]["traces"] == 2


def test_gradings_are_listed_with_what_they_came_to(store: Store) -> None:
    verdict = Verdict("evaluations[0]", "never", Status.NOT_EVALUABLE, "why")
    run = Run("Refund", None, "t-1", Came.FAILED, (), (verdict,))
    store.save_grading(Grading("g-1", 30.0, Report((run, run))))

    assert listed(store, "gradings") == [
        {
            "id": "g-1",
            "made_at": 30.0,
            "result": "failed",
            "runs": {"failed": 2},
            "evaluations": {"not_evaluable": 2},
        }
    ]
    assert ls(store, "gradings").stdout.splitlines()[1].endswith("failed  2 failed  2 not evaluable")


def test_an_empty_list_says_so_and_is_no_error(store: Store) -> None:
    result = ls(store, "gradings")

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"no gradings in {store.path}\n"
    assert listed(store, "gradings") == []


def test_no_store_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cli, ["ls", "--store", str(tmp_path / "none.duckdb")]) == 2
    captured = capsys.readouterr()

    assert captured.out == ""
    assert captured.err == (
        f"abs: no store at {tmp_path / 'none.duckdb'}: record one with `abs record`, "
        "or name one with --store or ABS_STORE\n"
    )


def test_a_grading_is_of_no_recording(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cli, ["ls", "gradings", "--recording", "demo", "--store", str(store.path)]) == 2
    assert "leave --recording out" in capsys.readouterr().err


def test_the_environment_names_the_store(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABS_STORE", str(store.path))

    assert "demo" in CliRunner().invoke(cli, ["ls"]).stdout


def test_the_messages_of_a_websocket_are_counted(store: Store) -> None:
    said = tuple(Message(side, b"hi", True, 1.0) for side in (True, False, True))
    socket = Exchange(
        "ws", AGENT, 30.0, Request("GET", "/live"), Response(101), ended_ms=5.0, websocket=WebSocket(said)
    )
    store.append("r-2", [socket])

    assert [each["messages"] for each in listed(store, "exchanges")] == [None, None, 3]
    row = ls(store, "exchanges").stdout.splitlines()[-1]
    assert row.endswith("GET /live (3 messages)")
    assert "4 B" in row
