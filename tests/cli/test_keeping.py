"""`abs annotate`, `rm`, `merge` and `vacuum`: what a person does with recordings that are over."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Role
from abs_replay.running import Running, noted
from abs_replay.store import Store
from abs_replay.trace import Trace
from abs_replay.verdicts import Grading, Report, Result, Run

type Abs = Callable[..., tuple[int, str, str]]
NOW = time.time()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An old recording with a grading, and one of today; each test gets a copy."""
    store = Store(tmp_path_factory.mktemp("made") / "store.duckdb")
    for id_, name, began in (("r-old", "old", NOW - 40 * 86400), ("r-new", "new", NOW - 60)):
        store.begin(Recording(id_, name, began))
        request = Request("POST", "/v1", (), Body(name.encode() * 100_000))
        store.append(id_, [Exchange(f"e-{id_}", Channel(Role.TOOL, "shop"), began, request)])
        store.end(id_, began + 1)
        trace = Trace(f"t-{id_}", (), recording=id_, started_at=began)
        store.save_traces(id_, [trace], "digest", "imported")
    run_ = Run(session="s", file="s.abs.yaml", trace="t-r-old", result=Result.PASSED, steps=())
    store.save_grading(Grading("g-1", 5.0, Report((run_,)), {}))
    return store.path


@pytest.fixture
def store(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    path = Path(shutil.copy(made, tmp_path / "store.duckdb"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ABS_STORE", str(path))
    return Store(path)


@pytest.fixture
def abs_(store: Store, capsys: pytest.CaptureFixture[str]) -> Abs:
    def call(*arguments: str) -> tuple[int, str, str]:
        return run(cli, arguments), *capsys.readouterr()

    return call


def runs(store: Store) -> Running:
    return Running("r-new", "new", 1, "http://127.0.0.1:9", "token")


def test_a_recording_is_named_tagged_and_noted_and_lists_tell_it(abs_: Abs, store: Store) -> None:
    status, _, told = abs_(
        "annotate", "old", "--name", "refund of a lamp", "--tag", "ticket=42", "--note", "by Ann"
    )
    assert (status, told) == (0, "recording r-old: called refund of a lamp, tag ticket=42, noted\n")
    recording = store.recording("refund of a lamp")
    assert (recording.id, recording.tags) == ("r-old", {"ticket": "42"})

    assert "by Ann" in abs_("ls")[1]
    assert "note: by Ann" in abs_("show", "r-old")[1]
    (document, _) = json.loads(abs_("ls", "--format", "json")[1])
    assert (document["name"], document["note"]) == ("refund of a lamp", "by Ann")


def test_a_trace_is_named_tagged_and_noted_and_lists_tell_it(abs_: Abs) -> None:
    assert abs_("annotate", "t-r-old", "--name", "refund", "--tag", "odd=yes", "--note", "wrong sum")[0] == 0
    assert "refund" in abs_("ls", "traces")[1]
    shown = abs_("show", "t-r-old")[1]
    assert "name=refund" in shown
    assert "note: wrong sum" in shown
    assert json.loads(abs_("show", "t-r-old", "--format", "json")[1])["tags"] == {
        "odd": "yes",
        "name": "refund",
    }


def test_a_secret_in_what_is_added_is_written_nowhere(abs_: Abs, store: Store) -> None:
    secret = "sk-proj-Abcdefghijklmnop1234567890"
    status, _, told = abs_(
        "annotate", "old", "--name", f"n {secret}", "--tag", "token=Zq8Kd83hsU2n", "--note", f"see {secret}"
    )
    assert (status, told) == (0, "recording r-old: called n <key:1>, tag token=<key:2>, noted\n")
    documents = json.loads(abs_("ls", "--format", "json")[1])
    assert [(each["note"], each["tags"]) for each in documents if each["id"] == "r-old"] == [
        ("see <key:1>", {"token": "<key:2>"})
    ]
    held = b"".join(file.read_bytes() for file in store.path.parent.iterdir() if file.is_file())
    assert secret.encode() not in held
    assert b"Zq8Kd83hsU2n" not in held


def test_an_exchange_is_noted(abs_: Abs) -> None:
    assert abs_("annotate", "e-r-old", "--tag", "slow=yes", "--note", "see the log")[0] == 0
    shown = abs_("show", "e-r-old")[1]
    assert "* note: see the log" in shown
    assert "* tags: slow=yes" in shown


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["old"], "nothing to add"),
        (["old", "--tag", "x"], "expected KEY=VALUE"),
        (["old", "--tag", "x=1", "--untag", "x"], "named twice"),
        (["old", "--name", " "], "--name is empty"),
        (["g-1", "--note", "x"], "is a grading"),
        (["nope", "--note", "x"], "'nope'"),
    ],
)
def test_what_can_not_be_added_is_said_in_a_line(abs_: Abs, arguments: list[str], told: str) -> None:
    status, _, error = abs_("annotate", *arguments)
    assert status == 2
    assert told in error
    assert error.count("\n") == 1


def test_lists_are_narrowed_by_tags_and_words_of_the_name(abs_: Abs) -> None:
    abs_("annotate", "old", "--name", "Refund of a lamp", "--tag", "ticket=42")
    listed = {
        flags: [each["id"] for each in json.loads(abs_("ls", *flags, "--format", "json")[1])]
        for flags in (
            ("--tag", "ticket=42"),
            ("--tag", "ticket=43"),
            ("--tag", "ticket"),
            ("--name", "LAMP refund"),
            ("--name", "refund*lamp"),
            ("--name", "lamp*refund"),
            ("--name", "n"),
        )
    }
    assert list(listed.values()) == [["r-old"], [], ["r-old"], ["r-old"], ["r-old"], [], ["r-old", "r-new"]]
    traces = json.loads(abs_("ls", "traces", "--tag", "ticket=42", "--format", "json")[1])
    assert [each["id"] for each in traces] == ["t-r-old"]
    assert abs_("ls", "gradings", "--tag", "x=1")[0] == 2


def test_a_recording_is_removed_and_its_gradings_stay(abs_: Abs, store: Store) -> None:
    status, _, told = abs_("rm", "old", "--yes")
    assert status == 0
    assert told.splitlines()[0].startswith("recording old (r-old) of ")
    assert "1 exchange, 1 trace, 300 kB" in told
    assert "judged in g-1, which stays" in told
    assert [each.recording.id for each in store.recordings()] == ["r-new"]
    assert abs_("show", "g-1")[0] == 0
    assert abs_("rm", "g-1", "--yes")[0] == 0
    assert store.gradings() == ()


def test_nothing_is_removed_unless_someone_says_yes(abs_: Abs, store: Store) -> None:
    status, _, told = abs_("rm", "old")
    assert (status, told.splitlines()[-1]) == (
        2,
        "abs: nobody can be asked here: say --yes to remove this for good",
    )
    assert len(store.recordings()) == 2


def test_no_single_exchange_is_removed(abs_: Abs) -> None:
    status, _, told = abs_("rm", "e-r-old", "--yes")
    assert status == 2
    assert "only recordings, traces and gradings can be removed" in told


def test_a_running_recording_is_neither_removed_nor_is_its_store_compacted(abs_: Abs, store: Store) -> None:
    with noted(store.path, runs(store)):
        for arguments in (
            ("rm", "new", "--yes"),
            ("vacuum",),
            ("merge", str(store.path), "--into", "x.duckdb"),
        ):
            status, _, told = abs_(*arguments)
            assert (status, told) == (2, "abs: recording new (r-new) runs (process 1): end it first\n")
        assert abs_("rm", "old", "--yes")[0] == 0
    assert [each.recording.id for each in store.recordings()] == ["r-new"]


@pytest.mark.parametrize("arguments", [("rm", "old", "--yes"), ("vacuum", "--older-than", "30d")])
def test_with_recordings_go_the_notes_of_their_killed_recorders(
    abs_: Abs, store: Store, arguments: tuple[str, ...]
) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with noted(store.path, replace(runs(store), recording="r-old", process=gone.pid)):
        assert abs_(*arguments)[0] == 0
        assert list(store.path.parent.glob("*.running")) == []


def test_old_recordings_are_removed_and_the_file_shrinks(abs_: Abs, store: Store) -> None:
    before = store.path.stat().st_size
    dry = json.loads(abs_("vacuum", "--older-than", "30d", "--dry-run", "--format", "json")[1])
    assert [each["id"] for each in dry["removed"]] == ["r-old"]
    assert (dry["dry_run"], dry["before"], len(store.recordings())) == (True, before, 2)

    status, told, _ = abs_("vacuum", "--older-than", "30d")
    assert status == 0
    assert told.splitlines()[0].startswith("removed recording old (r-old) of ")
    assert told.splitlines()[1].startswith(f"store {store.path}: ")
    assert [each.recording.id for each in store.recordings()] == ["r-new"]
    assert store.path.stat().st_size <= before
    assert abs_("vacuum", "--older-than", "soon")[2].startswith("abs: --older-than 'soon': say a date")


def test_other_stores_are_merged_once(abs_: Abs, store: Store) -> None:
    status, _, told = abs_("merge", str(store.path), "--into", "team.duckdb")
    assert (status, told) == (
        0,
        f"{store.path}: 2 recordings and 1 grading taken over, 0 were there already\n",
    )
    assert "0 recordings and 0 gradings taken over, 3 were there" in abs_("merge", "team.duckdb")[2]
    assert Store("team.duckdb").exchanges() == store.exchanges()
    assert "leave it out" in abs_("merge", "store.duckdb")[2]
    assert abs_("merge", "none.duckdb")[0] == 2
