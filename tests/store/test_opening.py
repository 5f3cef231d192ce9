"""Whatever is wrong with the file is said in one line, and who holds it is named."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from abs_replay.errors import StoreError, StoreLocked
from abs_replay.exchange import Channel, Exchange, Recording, Request, Role
from abs_replay.store import Spool, Store

HOLDER = """
import sys, time
from pathlib import Path
from abs_replay.store import opening
with getattr(opening, sys.argv[2])(Path(sys.argv[1]), 5.0):
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def held(path: Path, how: str) -> Iterator[int]:
    """Another process that keeps the store open, `reading` or `writing`; gives its id."""
    command = [sys.executable, "-c", HOLDER, str(path), how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process.pid
        finally:
            process.kill()


def made(id_: str) -> Exchange:
    return Exchange(id_, Channel(Role.LLM, "openai"), 1.0, Request("POST", "/v1"))


def message(call: Callable[[], object]) -> str:
    with pytest.raises(StoreError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_opening_a_store_object_touches_nothing(tmp_path: Path) -> None:
    Store(tmp_path / "a" / "store.duckdb")

    assert list(tmp_path.iterdir()) == []


def test_reading_where_no_store_is_says_how_to_get_one(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"

    assert message(Store(path).recordings) == (
        f"no store at {path}: record one with `abs record`, or name one with --store or ABS_STORE"
    )
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"hello", os.urandom(20_000)])
def test_a_file_that_is_no_duckdb_file_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    store = Store(path)

    expected = f"store {path} can not be used: it is no DuckDB file; name another with --store"
    assert message(store.recordings) == expected
    assert message(lambda: store.begin(Recording("r", "demo", 1.0))) == expected
    assert path.read_bytes() == content


def test_a_duckdb_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "sales.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE sales (amount INTEGER)")
    store = Store(path)

    expected = f"{path} is a DuckDB file, but no store: name another with --store or ABS_STORE"
    assert message(store.recordings) == expected
    assert message(lambda: store.append("r", [made("e")])) == expected


def test_a_damaged_store_is_said_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    Store(path).begin(Recording("r", "demo", 1.0))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    assert message(Store(path).recordings).startswith(f"store {path} can not be used: ")


def test_a_name_that_is_no_ascii_is_opened_in_any_locale(tmp_path: Path) -> None:
    path = tmp_path / "ü 😀.duckdb"
    Store(path).begin(Recording("r", "x", 1.0))
    program = (
        "import sys; from pathlib import Path; from abs_replay.store import Store;"
        "print(Store(Path(sys.argv[1])).recording('r').name)"
    )
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", program, str(path)]
    result = subprocess.run(command, capture_output=True, env=os.environ | ascii_only, check=False)
    assert (result.stdout, result.stderr) == (b"x\n", b"")


def test_a_name_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="its name is no UTF-8"):
        Store(tmp_path / "a\udcff.duckdb").begin(Recording("r", "x", 1.0))


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert "is a directory" in message(Store(tmp_path).recordings).lower()
    assert "is a directory" in message(lambda: Store(tmp_path).append("r", [])).lower()


def test_a_folder_that_can_not_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "store.duckdb"

    expected = f"store {path} can not be used: File exists ({path.parent}); name another with --store"
    assert message(lambda: Store(path).begin(Recording("r", "demo", 1.0))) == expected


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_store_in_a_folder_that_is_read_only_can_be_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r", "demo", 1.0))
    store.path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        assert len(store.recordings()) == 1
        assert "Permission denied" in message(lambda: store.append("r", [made("e")]))
        other = Store(tmp_path / "other.duckdb")
        assert "Permission denied" in message(lambda: other.begin(Recording("r", "demo", 1.0)))
    finally:
        tmp_path.chmod(0o755)


def test_the_log_of_a_deleted_store_is_not_mistaken_for_that_of_a_new_one(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    store.append("r", [made("old")])
    assert store.path.with_name("store.duckdb.wal").exists()
    store.path.unlink()

    Store(store.path).append("r", [made("new")])

    assert [each.id for each in store.exchanges()] == ["new"]


@pytest.mark.processes
@pytest.mark.parametrize("how", ["reading", "writing"])
def test_who_holds_the_store_is_named(tmp_path: Path, how: str) -> None:
    path = tmp_path / "store.duckdb"
    Store(path).begin(Recording("r", "demo", 1.0))
    with held(path, how) as process:
        before = time.monotonic()
        with pytest.raises(StoreLocked) as caught:
            Store(path).append("r", [made("e")], patience=0.15)
        waited = time.monotonic() - before

    assert f"held by process {process} ({sys.executable} -c " in str(caught.value)
    assert "\n" not in str(caught.value)
    assert 0.15 <= waited < 2


@pytest.mark.processes
def test_readers_do_not_exclude_each_other(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    Store(path).begin(Recording("r", "demo", 1.0))
    with held(path, "reading"):
        assert len(Store(path, patience=0).recordings()) == 1


def test_a_reader_in_the_writers_own_process_waits_like_any_other(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb", patience=0)
    with store.writing(), pytest.raises(StoreLocked, match="another thread of this process"):
        store.recordings()

    assert store.recordings() == ()


def test_threads_that_append_the_same_at_once_keep_it_once(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    Store(path).begin(Recording("r", "demo", 1.0))
    batch = [made(f"e{nth}") for nth in range(20)]
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(Store(path).append, "r", batch) for _ in range(4)]:
            done.result()

    assert len(Store(path).exchanges("r")) == 20


WRITER = """
import sys, time
from pathlib import Path
from abs_replay.exchange import Channel, Exchange, Recording, Request, Role
from abs_replay.store import Store
store = Store(Path(sys.argv[1]))
store.begin(Recording("r", "demo", 1.0))
for nth in range(int(sys.argv[2])):
    store.append("r", [Exchange(f"e{nth:04}", Channel(Role.LLM, "x"), float(nth), Request("POST", "/"))])
    print(nth, flush=True)
    time.sleep(0.05)
"""


@pytest.mark.processes
def test_a_store_can_be_read_while_it_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    command = [sys.executable, "-c", WRITER, str(path), "12"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seen = []
        while process.poll() is None:
            seen.append(len(Store(path).exchanges("r")))
            time.sleep(0.02)

    assert process.returncode == 0
    assert len(seen) > 2
    assert seen == sorted(seen)
    assert len(Store(path).exchanges("r")) == 12


@pytest.mark.processes
def test_what_was_committed_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    command = [sys.executable, "-c", WRITER, str(path), "1000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(8):
            committed = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        committed = max([committed, *(int(line) for line in process.stdout)])

    kept = [each.id for each in Store(path).exchanges("r")]
    assert kept[: committed + 1] == [f"e{nth:04}" for nth in range(committed + 1)]
    assert Store(path).recording("demo").ended_at is None


@pytest.mark.processes
def test_two_recorders_that_make_one_store_at_once_both_get_in(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    program = WRITER.replace('"r"', "sys.argv[3]").replace('f"e', 'sys.argv[3] + f"e')
    commands = [[sys.executable, "-c", program, str(path), "3", name] for name in ("a", "b")]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]

    assert [process.wait(30) for process in processes] == [0, 0]
    assert {each.recording.id: each.exchanges for each in Store(path).recordings()} == {"a": 3, "b": 3}


@pytest.mark.processes
def test_what_was_spooled_while_another_held_the_store_is_folded_in(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    store = Store(path)
    store.begin(Recording("r", "demo", 1.0))
    with held(path, "reading"):
        Spool(path).append("r", [made("e1")])
        assert [each.id for each in store.exchanges()] == ["e1"], "readers see it"
    store.append("r", [made("e2")])

    assert not Spool(path).path.exists()
    assert [each.id for each in store.exchanges()] == ["e1", "e2"]
