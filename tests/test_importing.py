"""Files of other tools become recordings of a store, each once, without secrets, and traces are derived."""

import json
from pathlib import Path

import pytest

from abs_replay import cassette
from abs_replay.cassette import Cassette
from abs_replay.derivation import traces_of
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role, Upstream
from abs_replay.importers.placing import Rule
from abs_replay.importing import OTHER_CONTENT, Done, Wanted, found, import_files
from abs_replay.store import IMPORTED, Store

FIXTURES = Path(__file__).parents[1] / "fixtures" / "importers"
ORDER = FIXTURES / "vcr" / "order.yaml"
STEP = {"seq": 1, "actor": "user", "action": "says", "content": "Hi"}
SECRET = "sk-made-up-for-this-file-0123456789"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "s.duckdb")


@pytest.fixture(scope="module")
def order(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store that holds one imported file; only to be read."""
    store = Store(tmp_path_factory.mktemp("order") / "s.duckdb")
    taken(store, ORDER)
    return store


def taken(store: Store, *paths: Path, wanted: Wanted | None = None) -> list[Done]:
    return list(import_files(paths, store, wanted or Wanted()))


def traces_file(tmp_path: Path, *traces: dict[str, object]) -> Path:
    path = tmp_path / "t.trace.jsonl"
    path.write_text("".join(json.dumps(trace) + "\n" for trace in traces))
    return path


def test_a_file_is_a_recording_with_channels_times_and_where_it_comes_from(order: Store) -> None:
    recording = order.recording("order")
    assert recording.tags == {"imported": "vcr"}
    assert [str(upstream.channel) for upstream in recording.upstreams] == [
        "llm:openai",
        "tool:orders.example",
    ]
    exchanges = order.exchanges(recording.id)
    assert recording.started_at == exchanges[0].started_at
    assert recording.ended_at == exchanges[-1].started_at
    assert len({exchange.id for exchange in exchanges}) == 3


def test_secrets_are_out_before_anything_is_written(order: Store) -> None:
    exchange = order.exchanges()[0]
    assert exchange.redacted
    assert dict(exchange.request.headers)["authorization"] == "Bearer <auth:1>"
    assert all(SECRET.encode() not in path.read_bytes() for path in order.path.parent.glob("s.duckdb*"))


def test_importing_again_changes_nothing_and_says_so(store: Store) -> None:
    files = (ORDER, FIXTURES / "har" / "browser.har", FIXTURES / "mcp-recorder" / "session.json")
    first = taken(store, *files)
    before = (store.recordings(), store.exchanges())
    again = taken(store, *files)
    assert [done.fresh for done in (*first, *again)] == [True] * 3 + [False] * 3
    assert (store.recordings(), store.exchanges()) == before


def test_what_a_kill_left_is_taken_up(store: Store, order: Store) -> None:
    id_ = order.recording("order").id
    with store.writing() as writer:  # exchanges come before their recording
        writer.append(id_, order.exchanges()[:2])
    (again,) = taken(store, ORDER)
    assert again.fresh
    assert store.exchanges(id_) == order.exchanges()


def test_the_same_file_under_other_words_is_another_recording(store: Store) -> None:
    taken(store, ORDER)
    rules = (Rule.parse("agent:Shop=orders.*"),)
    wanted = Wanted(name="named", session="S", tags={"a": "b"}, rules=rules)
    (done,) = taken(store, ORDER, wanted=wanted)
    assert done.fresh
    recording = store.recording("named")
    assert (recording.session, recording.tags) == ("S", {"imported": "vcr", "a": "b"})
    assert str(store.exchanges(recording.id)[2].channel) == "agent:Shop"


def test_several_files_under_one_name_are_told_apart(store: Store) -> None:
    taken(store, ORDER, FIXTURES / "vcr" / "tags.yaml", wanted=Wanted(name="run"))
    assert [summary.recording.name for summary in store.recordings()] == ["run/tags", "run/order"]


def a_cassette(tmp_path: Path, words: str = "Hello") -> Path:
    channel = Channel(Role.TOOL, "Orders")
    asked = Request("GET", "/17", host="orders.example")
    exchange = Exchange("e-1", channel, 5.5, asked, Response(200, body=Body(words.encode())))
    recording = Recording("r-1", "../../evil", 5.0, 6.0, "S", {"a": "b"}, (Upstream(channel, "http://h:1"),))
    path = tmp_path / f"{words}.cassette.json"
    path.write_text(cassette.dumps(Cassette(recording, (exchange,))))
    return path


def test_a_cassette_comes_back_as_it_went(store: Store, tmp_path: Path) -> None:
    path = a_cassette(tmp_path)
    taken(store, path)
    wanted = cassette.loads(path.read_text())
    assert store.recording("r-1") == wanted.recording
    assert store.exchanges("r-1") == wanted.exchanges
    assert [done.fresh for done in taken(store, path)] == [False]


def test_a_cassette_that_was_edited_stands_beside_the_recording_it_came_from(
    store: Store, tmp_path: Path
) -> None:
    taken(store, a_cassette(tmp_path))
    edited = a_cassette(tmp_path, "Edited")
    (done,) = taken(store, edited)
    assert done.fresh
    assert OTHER_CONTENT in done.remarks
    assert len(store.recordings()) == 2
    assert [again.fresh for again in taken(store, edited)] == [False]


def test_traces_that_no_exchange_shows_are_kept_and_stay_when_decoders_change(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = traces_file(
        tmp_path, {"trace": "a", "steps": [STEP]}, {"trace": "a", "steps": [STEP], "session": "T"}
    )
    taken(store, path, wanted=Wanted(tags={"k": "v"}))
    monkeypatch.setattr("abs_replay.decoders.version", lambda: "another")
    notices: list[str] = []
    traces = traces_of(store, notice=notices.append)
    assert not notices
    assert [(trace.id, trace.session, trace.tags) for trace in traces] == [
        ("a", None, {"k": "v"}),
        ("a~2", "T", {"k": "v"}),
    ]
    assert {trace.recording for trace in traces} == {store.recording("t").id}
    assert store.derivations()[0].decoders_version == IMPORTED
    assert [done.fresh for done in taken(store, path, wanted=Wanted(tags={"k": "v"}))] == [False]


def test_traces_lose_their_secrets_too(store: Store, tmp_path: Path) -> None:
    key = "sk-proj-" + "Ab3" * 16
    call = {
        "seq": 2,
        "actor": "tool",
        "action": "calls",
        "target": "f",
        "arguments": {"n": 0.10, "api_key": "s3cret-of-mine"},
    }
    path = traces_file(tmp_path, {"steps": [{**STEP, "content": f"My key is {key} ☃"}, call]})
    taken(store, path)
    (trace,) = traces_of(store)
    assert key not in str(trace)
    assert "s3cret-of-mine" not in str(trace)
    assert str(trace.steps[0].content).endswith("☃")


def test_a_trace_without_secrets_is_kept_to_the_letter(store: Store, tmp_path: Path) -> None:
    path = traces_file(
        tmp_path, {"trace": "a", "started_at": 7.5, "steps": [{**STEP, "content": {"n": 0.10}}]}
    )
    taken(store, path)
    (trace,) = traces_of(store)
    assert (trace.started_at, store.recording("t").started_at) == (7.5, 7.5)
    assert str(trace.steps[0].content) == str({"n": trace.steps[0].content["n"]})  # type: ignore[index,call-overload]


def test_conversations_of_what_was_imported_are_derived(order: Store) -> None:
    traces = traces_of(order, "order")
    words = [step.content for trace in traces for step in trace.steps if step.actor == "assistant"]
    assert "It leaves today." in words


def test_folders_are_walked_without_what_is_hidden(tmp_path: Path) -> None:
    for name in ("b/x.yaml", "a.har", ".git/c.yaml", "b/.hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    missing = tmp_path / "missing"
    assert list(found([tmp_path, missing])) == [
        (tmp_path / "a.har", False),
        (tmp_path / "b" / "x.yaml", False),
        (missing, True),
    ]


def test_many_files_are_kept_in_a_few_batches(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("abs_replay.importing.BATCH", 3)
    for number in range(7):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps({"status": 200, "headers": {}, "body": f"{number}"}))
    done = taken(store, tmp_path, wanted=Wanted(format="pair"))
    assert sum(each.whole is not None for each in done) == 7
    assert len(store.recordings()) == 7
