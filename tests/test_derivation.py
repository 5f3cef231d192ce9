"""Traces are derived when they are first read, kept, and derived again when something changed."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from abs_replay import decoders, derivation
from abs_replay.assembly import ConversationKey
from abs_replay.derivation import account_of, derive_imported, left_out, traces_of
from abs_replay.errors import StoreError
from abs_replay.exchange import Body, Channel, Exchange, Mark, Recording, Request, Response, Role
from abs_replay.store import Spool, Store, Whole
from abs_replay.trace import Trace

AGENT = Channel(Role.AGENT, "agent")

HOLDER = """
import sys, time
from pathlib import Path
from abs_replay.store import opening
with opening.reading(Path(sys.argv[1]), 5.0):
    print("held", flush=True)
    time.sleep(60)
"""


def chat(id_: str, said: str, answered: str, at: float) -> Exchange:
    """One turn of the simple chat contract."""
    asked = json.dumps({"messages": [{"role": "user", "content": said}]}).encode()
    answer = json.dumps({"message": {"role": "assistant", "content": answered}}).encode()
    headers = (("content-type", "application/json"),)
    request = Request("POST", "/chat", headers, Body(asked))
    return Exchange(id_, AGENT, at, request, Response(200, headers, Body(answer)), ended_ms=20.0)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that each test gets a copy of."""
    store = Store(tmp_path_factory.mktemp("made") / "store.duckdb")
    store.begin(Recording("r-1", "demo", 1.0, session="Refund"))
    store.append("r-1", [chat("e1", "Where is my order?", "On its way.", 1.0)])
    store.end("r-1", 2.0)
    return store.path


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Store:
    return Store(Path(shutil.copy(made, tmp_path)))


def said(traces: tuple[Trace, ...]) -> list[str]:
    return [str(step.content) for trace in traces for step in trace.steps if step.actor == "user"]


def test_traces_are_derived_at_first_and_kept(store: Store) -> None:
    notices: list[str] = []
    first = traces_of(store, "demo", notices.append)

    assert said(first) == ["Where is my order?"]
    assert first[0].session == "Refund"
    assert store.traces() == first
    assert traces_of(store, "last", notices.append) == first
    assert notices == []


def test_what_is_in_no_trace_is_kept_with_the_traces_and_not_decoded_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = replace(chat("e2", "x", "y", 2.0), request=Request("PUT", "/health"))
    store.append("r-1", [stray])
    traces_of(store, "r-1", print)
    told = [
        (fate.exchange, fate.protocol, fate.why) for fate in account_of(store, store.recording("r-1")).fates
    ][1:]
    with monkeypatch.context() as without:
        without.setattr(derivation, "explain", None)
        left = left_out(store, store.recording("r-1"))
    assert [(one.exchange, one.protocol, one.why) for one in left] == told
    assert told == [("e2", None, "no decoder claims PUT /health on agent: it has no body")]


def test_what_an_older_store_did_not_keep_is_decoded_again(store: Store) -> None:
    traces = traces_of(store, "r-1")
    (known,) = store.derivations("r-1")
    store.append("r-1", [replace(chat("e2", "x", "y", 2.0), request=Request("PUT", "/health"))])
    (known,) = store.derivations("r-1")
    store.save_traces("r-1", traces, known.exchange_digest, derivation.version())
    assert store.left_out("r-1") is None
    assert [one.exchange for one in left_out(store, store.recording("r-1"))] == ["e2"]


def test_kept_traces_are_read_not_derived(store: Store) -> None:
    (now,) = store.derivations()
    kept = Trace("t-kept", (), recording="r-1")
    store.save_traces("r-1", (kept,), now.exchange_digest, decoders.version())

    assert traces_of(store) == (kept,)


def test_other_decoders_derive_again_with_a_notice(store: Store) -> None:
    (now,) = store.derivations()
    store.save_traces("r-1", (Trace("t-old", (), recording="r-1"),), now.exchange_digest, "0")
    notices: list[str] = []

    assert said(traces_of(store, None, notices.append)) == ["Where is my order?"]
    assert notices == [
        f"recording demo (r-1): decoders are another version (0 → {decoders.version()}), traces derived again"
    ]
    assert [trace.id for trace in store.traces()] != ["t-old"]
    assert len(store.traces()) == 1


def test_what_a_run_was_played_with_outlives_other_decoders(store: Store) -> None:
    (now,) = store.derivations()
    played = replace(traces_of(store)[0], session="Row by row", bindings={"cases.no": 7}, vars={"v": "x"})
    store.save_traces("r-1", (played,), now.exchange_digest, "0")

    (again,) = traces_of(store, None, lambda _: None)

    assert (again.session, again.bindings, again.vars) == ("Row by row", {"cases.no": 7}, {"v": "x"})


def test_further_exchanges_derive_again_with_a_notice(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    traces_of(store)
    Spool(store.path).append("r-1", [chat("e2", "Another question", "Another answer", 5.0)])

    assert "Another question" in said(traces_of(store))
    assert capsys.readouterr().err == (
        "abs: recording demo (r-1): its exchanges are others, traces derived again\n"
    )


def test_all_recordings_come_together_the_oldest_first(store: Store) -> None:
    traces_of(store)
    store.begin(Recording("r-0", "before", 0.5))
    store.append("r-0", [chat("e0", "Earlier", "Yes", 0.5)])

    assert said(traces_of(store)) == ["Earlier", "Where is my order?"]
    assert said(traces_of(store, "before")) == ["Earlier"]


def test_a_recording_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match=r"no recording 'dem0'.*is it demo"):
        traces_of(store, "dem0")


@pytest.mark.processes
def test_a_store_that_another_process_holds_gives_its_traces_all_the_same(store: Store) -> None:
    command = [sys.executable, "-c", HOLDER, str(store.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        traces = traces_of(store)
        process.kill()

    assert said(traces) == ["Where is my order?"]
    assert store.traces() == ()


def whole(id_: str, exchanges: tuple[Exchange, ...], traces: tuple[Trace, ...] = ()) -> Whole:
    return Whole(Recording(id_, id_, 1.0, 2.0), exchanges, traces)


def test_what_was_imported_is_derived_by_the_configured_key_and_kept(store: Store) -> None:
    by = ConversationKey(header="X-Chat")
    told = Trace("t-own", (), recording="r-3")
    imported = [
        whole("r-2", (chat("e2", "Hello", "Hi", 1.0), replace(chat("e3", "Well", "", 2.0), response=None))),
        whole("r-3", (), (told,)),
    ]
    store.add(imported)
    derive_imported(store, imported, by)
    assert sorted(str(trace.recording) for trace in store.traces()) == ["r-2", "r-2", "r-3"]
    notices: list[str] = []
    assert said(traces_of(store, "r-2", notices.append, by)) == ["Hello", "Well"]
    assert notices == []
    traces_of(store, "r-2", notices.append)
    assert len(notices) == 1


def test_a_large_recording_is_left_to_who_reads_it_first(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derivation, "AT_END_BYTES", 10)
    imported = [whole("r-2", (chat("e2", "Hello", "Hi", 1.0),))]
    store.add(imported)
    derive_imported(store, imported)
    derivation.derive_at_end(store, store.recording("r-1"))
    assert store.traces() == ()
    monkeypatch.undo()
    derivation.derive_at_end(store, store.recording("r-1"))
    assert said(store.traces()) == ["Where is my order?"]


def test_why_a_trace_is_as_it_is_is_told_and_not_kept(store: Store) -> None:
    account = derivation.account_of(store, store.recording("r-1"))
    assert said(account.traces) == ["Where is my order?"]
    assert store.traces() == ()


def test_a_recording_that_goes_on_is_derived_again_when_more_came(store: Store) -> None:
    store.begin(Recording("r-2", "running", 3.0))
    store.append("r-2", [chat("e2", "Hello", "Hi", 3.0)])
    traces_of(store)
    store.append("r-2", [chat("e3", "Again", "Yes", 4.0)])
    notices: list[str] = []
    traces_of(store, None, notices.append)
    assert notices == ["recording running (r-2): more exchanges came, traces derived again"]


def test_imported_traces_are_read_as_they_are_since_no_exchange_shows_them(store: Store) -> None:
    told, notices = Trace("t-own", (), recording="r-3"), list[str]()
    store.add([whole("r-3", (), (told,))])
    assert [trace.id for trace in traces_of(store, "r-3", notices.append)] == ["t-own"]
    assert notices == []


def test_no_conversation_goes_on_over_a_mark_which_names_what_follows(store: Store) -> None:
    recording = Recording("r-2", "marked", 10.0, marks=(Mark(12.5), Mark(14.0, "refund"), Mark(14.2, "lamp")))
    turns = [
        ("Hello?", 11.0),
        ("Still there?", 12.5),
        ("Money back!", 14.1),
        ("A lamp.", 15.0),
        ("Red.", 16.0),
    ]
    store.add([Whole(recording, tuple(chat(f"m{at}", said, "Yes.", at) for said, at in turns))])

    traces = traces_of(store, "marked")

    assert [(trace.name, said((trace,))) for trace in traces] == [
        (None, ["Hello?"]),
        (None, ["Still there?"]),
        ("refund", ["Money back!"]),
        ("lamp", ["A lamp."]),
        ("lamp", ["Red."]),
    ]
    assert [(trace.id, trace.name) for trace in account_of(store, store.recording("marked")).traces] == [
        (trace.id, trace.name) for trace in traces
    ]


def test_a_history_that_goes_on_over_a_mark_makes_two_conversations(store: Store) -> None:
    first = chat("h1", "Hello?", "Yes.", 11.0)
    history = [("user", "Hello?"), ("assistant", "Yes."), ("user", "A lamp.")]
    body = json.dumps({"messages": [{"role": role, "content": text} for role, text in history]}).encode()
    second = replace(chat("h2", "", "Here.", 13.0), request=replace(first.request, body=Body(body)))
    store.add([Whole(Recording("r-3", "whole", 10.0), (first, second))])
    marked = Recording("r-4", "apart", 10.0, marks=(Mark(12.0, "lamp"),))
    store.add([Whole(marked, (first, second))])

    assert len(traces_of(store, "whole")) == 1
    assert [trace.name for trace in traces_of(store, "apart")] == [None, "lamp"]


def test_a_mark_that_is_set_later_derives_the_traces_again(store: Store) -> None:
    store.append("r-1", [chat("e2", "Where is my order?", "Here.", 3.0)])
    assert [trace.name for trace in traces_of(store, "demo", lambda _: None)] == [None, None]
    store.append("r-1", [Mark(2.0, "again")])
    assert [trace.name for trace in traces_of(store, "demo", lambda _: None)] == [None, "again"]
