"""`abs rm TRACE`: one conversation goes, with the exchanges that show nothing else; what stays is told."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.derivation import traces_of
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role
from abs_replay.store import Store
from abs_replay.verdicts import Grading, Report, Result, Run

type Abs = Callable[..., tuple[int, str, str]]
MODEL = Channel(Role.LLM, "openai")
FIRST = ["Which cup?", "The blue one."]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ABS_STORE", str(tmp_path / "store.duckdb"))
    return Store(tmp_path / "store.duckdb")


@pytest.fixture
def abs_(store: Store, capsys: pytest.CaptureFixture[str]) -> Abs:
    def call(*arguments: str) -> tuple[int, str, str]:
        return run(cli, arguments), *capsys.readouterr()

    return call


def imported(abs_: Abs, store: Store, *ids: str) -> None:
    said = {"seq": 1, "actor": "user", "action": "says", "content": "Which cup?"}
    traces = [{"trace": id_, "session": "Cups", "steps": [said]} for id_ in ids]
    Path("cups.jsonl").write_text("\n".join(map(json.dumps, traces)))
    assert abs_("import", "cups.jsonl")[0] == 0
    graded = Run(session="Cups", file=None, trace=ids[0], result=Result.PASSED, steps=())
    store.save_grading(Grading("g-1", 5.0, Report((graded,)), {}))


def turn(id_: str, at: float, *words: str) -> Exchange:
    """A call of a model with the conversation so far, the last of the words being its answer."""
    roles = ("user", "assistant")
    messages = [{"role": roles[nth % 2], "content": each} for nth, each in enumerate(words)]
    answer = {"object": "chat.completion", "choices": [{"message": messages.pop(), "finish_reason": "stop"}]}
    headers = (("content-type", "application/json"),)
    asked = Body(json.dumps({"model": "m", "messages": messages}).encode())
    response = Response(200, headers, Body(json.dumps(answer).encode()))
    return Exchange(
        id_, MODEL, at, Request("POST", "/v1/chat/completions", headers, asked), response, ended_ms=9.0
    )


def ids(store: Store) -> list[str]:
    return [trace.id for trace in traces_of(store, notice=lambda _: None)]


def test_one_trace_of_a_file_is_removed_for_good_and_the_others_stay(abs_: Abs, store: Store) -> None:
    imported(abs_, store, "t04", "t05")
    assert abs_("annotate", "t05", "--tag", "a=b")[0] == 0

    status, _, told = abs_("rm", "t05", "--yes")

    name = store.recordings()[0].recording
    assert (status, told.splitlines()) == (
        0,
        [
            f"trace t05 of recording {name.name} ({name.id[:12]}): 1 step",
            f"recording {name.name} has 1 trace left",
            "removed; `abs vacuum` gives back the room",
        ],
    )
    assert ids(store) == ["t04"]
    assert store.notes("trace") == {}
    assert abs_("import", "cups.jsonl")[0] == 0
    assert ids(store) == ["t04"]


def test_the_gradings_of_a_removed_trace_stay_and_an_empty_recording_is_told(abs_: Abs, store: Store) -> None:
    imported(abs_, store, "t04", "t05")

    status, _, told = abs_("rm", "t04", "t05", "--yes")

    assert (status, "judged in g-1, which stays" in told) == (0, True)
    assert f"has no trace left: abs rm {store.recordings()[0].recording.id[:12]} removes it" in told
    assert (ids(store), abs_("show", "g-1")[0]) == ([], 0)


def test_no_trace_is_removed_unless_someone_says_yes(abs_: Abs, store: Store) -> None:
    imported(abs_, store, "t04", "t05")

    status, _, told = abs_("rm", "t05")

    assert (status, told.splitlines()[-1]) == (
        2,
        "abs: nobody can be asked here: say --yes to remove this for good",
    )
    assert ids(store) == ["t04", "t05"]


def test_with_a_recorded_trace_go_the_exchanges_that_show_nothing_else(abs_: Abs, store: Store) -> None:
    store.begin(Recording("r-1", "demo", 1.0))
    exchanges = [
        turn("e-1", 1.0, *FIRST),
        turn("e-2", 2.0, *FIRST, "And red?", "Sold out."),
        turn("e-3", 3.0, *FIRST, "And green?", "Here."),
        turn("e-4", 4.0, "A refund, please.", "Done."),
    ]
    store.append("r-1", exchanges)
    store.end("r-1", 5.0)
    branch = next(trace for trace in traces_of(store) if trace.steps[-1].content == "Here.")
    (main,) = (trace for trace in traces_of(store) if trace.steps[-1].content == "Sold out.")
    assert branch.branch_of is not None

    status, _, told = abs_("rm", branch.id, "--yes")

    assert status == 0
    assert f"trace {branch.id} of recording demo (r-1): 4 steps, 1 exchange that no other trace shows" in told
    assert "; 1 exchange that others show, too, stays" in told
    assert "recording demo has 2 traces left" in told
    assert [each.id for each in store.exchange_summaries()] == ["e-1", "e-2", "e-4"]
    assert abs_("rm", main.id, "--yes")[0] == 0
    assert [each.id for each in store.exchange_summaries()] == ["e-4"]


def test_a_trace_goes_with_its_recording_where_both_are_named(abs_: Abs, store: Store) -> None:
    imported(abs_, store, "t04", "t05")

    status, _, told = abs_("rm", "t04", "last", "--yes")

    assert (status, "trace t04 of" in told, store.recordings()) == (0, False, ())
