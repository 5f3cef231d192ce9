"""Queries over a store reach nothing but the store, and end in one line whatever is wrong with them."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from abs_replay.errors import StoreError, UsageError
from abs_replay.exchange import Recording
from abs_replay.store import Store, querying
from abs_replay.testing import step, trace

SECRET = "not for a query"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that brings views and macros along which look outside, and files beside it."""
    place = tmp_path_factory.mktemp("shut")
    store = Store(place / "store.duckdb")
    store.begin(Recording("r-1", "demo", 10.0))
    told = (trace(step("user", "says", "Where is 4711?"), step(content="Here.")),)
    store.save_traces("r-1", told, "d", "1")
    for name in ("secret.csv", "store.duckdb.bak"):
        (place / name).write_text(f"a\n{SECRET}\n", encoding="utf-8")
    with duckdb.connect(place / "store.duckdb") as connection:
        connection.execute(f"CREATE VIEW evil AS SELECT * FROM read_csv('{place}/secret.csv')")
        connection.execute(f"CREATE MACRO peek() AS TABLE SELECT * FROM read_text('{place}/secret.csv')")
        connection.execute(f"CREATE VIEW judge_agreement AS SELECT * FROM read_text('{place}/secret.csv')")
    with duckdb.connect(place / "other.duckdb") as connection:
        connection.execute(f"CREATE TABLE other AS SELECT '{SECRET}' AS a")
    return place


@pytest.fixture(scope="module")
def connection(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The store as each query gets it; opened once, since that takes longer than all of them."""
    with Store(folder / "store.duckdb").shut_in() as opened:
        yield opened


type Ask = Callable[..., querying.Table]


@pytest.fixture
def ask(connection: duckdb.DuckDBPyConnection, folder: Path) -> Ask:
    def asked(sql: str, limit_s: float = 20.0) -> querying.Table:
        return querying.run(connection, sql.replace("FOLDER", str(folder)), limit_s)

    return asked


READING = (
    "SELECT * FROM read_csv('FOLDER/secret.csv')",
    "SELECT * FROM 'FOLDER/secret.csv'",
    "FROM 'FOLDER/*.csv'",
    "SELECT * FROM read_text('FOLDER/secret.csv')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM read_csv_auto(['/etc/passwd'])",
    "SELECT * FROM read_json('FOLDER/secret.csv')",
    "SELECT * FROM read_parquet('FOLDER/secret.csv')",
    "SELECT * FROM parquet_metadata('FOLDER/secret.csv')",
    "SELECT * FROM sniff_csv('FOLDER/secret.csv')",
    "SELECT * FROM read_duckdb('FOLDER/other.duckdb')",
    "SELECT * FROM 'FOLDER/other.duckdb'",
    "SELECT * FROM glob('FOLDER/*')",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM 'https://127.0.0.1:1/a.csv'",
    "SELECT * FROM read_text('http://127.0.0.1:1/')",
    "SELECT getenv('HOME')",
    "SELECT * FROM evil",
    "SELECT * FROM peek()",
    "SELECT * FROM store.main.judge_agreement",
    "SELECT * FROM query('SELECT * FROM read_text(''FOLDER/secret.csv'')')",
    "SELECT * FROM query_table('evil')",
    "SELECT * FROM json_execute_serialized_sql("
    "json_serialize_sql('SELECT * FROM read_text(''FOLDER/secret.csv'')'))",
    "WITH a AS (SELECT * FROM read_text('FOLDER/secret.csv')) SELECT * FROM a",
    "WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT * FROM evil) SELECT * FROM a",
    "SELECT (SELECT content FROM read_text('FOLDER/secret.csv'))",
    "EXPLAIN ANALYZE SELECT * FROM read_text('FOLDER/secret.csv')",
    "DESCRIBE SELECT * FROM read_csv('FOLDER/secret.csv')",
    "SUMMARIZE SELECT * FROM read_csv('FOLDER/secret.csv')",
    "SELECT /* ; */ * FROM /* -- */ read_text('FOLDER/secret.csv') -- the end",
    "SELECT * FROM read_text('FOLDER/store.duckdb/../secret.csv')",
    "SELECT * FROM read_text('FOLDER/store.duckdb.bak')",
    "SELECT * FROM read_text('FOLDER/store.duckdb*')",
    "SELECT * FROM read_text('file://FOLDER/secret.csv')",
    "SELECT * FROM read_text('/proc/self/environ')",
    "SELECT * FROM read_text('/dev/stdin')",
    "SELECT * FROM SECRET",  # a variable of Python
)
WRITING = (
    "COPY (SELECT 1) TO 'FOLDER/out.csv'",
    "COPY traces TO 'FOLDER/out.parquet'",
    "COPY traces FROM 'FOLDER/secret.csv'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO 'FOLDER/out.csv'",
    "EXPORT DATABASE 'FOLDER/out'",
    "IMPORT DATABASE 'FOLDER/out'",
    "ATTACH 'FOLDER/other.duckdb'",
    "ATTACH 'FOLDER/out.duckdb' AS out",
    "ATTACH ':memory:' AS out",
    "DETACH store",
    "USE temp",
    "INSTALL httpfs",
    "FORCE INSTALL httpfs FROM 'http://127.0.0.1:1'",
    "LOAD httpfs",
    "LOAD 'FOLDER/secret.csv'",
    "PRAGMA database_list",
    "PRAGMA enable_profiling",
    "PRAGMA import_database('FOLDER/out')",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET GLOBAL memory_limit = '100GB'",
    "RESET memory_limit",
    "SET VARIABLE a = 1",
    "CALL enable_logging(storage = 'file', storage_path = 'FOLDER/log')",
    "SELECT * FROM enable_logging(storage = 'file', storage_path = 'FOLDER/log')",
    "SELECT * FROM enable_profiling('json', 'FOLDER/out.json')",
    "CREATE SECRET a (TYPE s3)",
    "CREATE TABLE a AS SELECT 1",
    "CREATE TEMP TABLE a AS SELECT 1",
    "CREATE OR REPLACE TEMP VIEW traces AS SELECT 1",
    "CREATE MACRO a() AS 1",
    "DROP VIEW temp.main.traces",
    "INSERT INTO store.main.recordings (id) VALUES ('a')",
    "UPDATE store.main.recordings SET name = 'a'",
    "DELETE FROM store.main.recordings",
    "TRUNCATE store.main.recordings",
    "ALTER TABLE store.main.recordings ADD COLUMN a INTEGER",
    "WITH a AS (INSERT INTO store.main.recordings (id) VALUES ('a') RETURNING id) SELECT * FROM a",
    "EXPLAIN ANALYZE DELETE FROM store.main.recordings",
    "MERGE INTO store.main.recordings r USING traces t ON r.id = t.recording WHEN MATCHED THEN DELETE",
    "PREPARE a AS SELECT 1",
    "EXECUTE a",
    "BEGIN",
    "VACUUM",
    "CHECKPOINT",
    "UPDATE EXTENSIONS",
)


@pytest.mark.parametrize("sql", READING)
def test_a_query_reads_no_file_no_variable_and_no_network(ask: Ask, sql: str) -> None:
    with pytest.raises(UsageError) as refused:
        ask(sql)

    assert "\n" not in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("sql", WRITING)
def test_a_query_changes_nothing_and_sets_nothing(ask: Ask, folder: Path, sql: str) -> None:
    before = sorted(os.listdir(folder)), (folder / "store.duckdb").read_bytes()

    with pytest.raises(UsageError) as refused:
        ask(sql)

    assert "\n" not in str(refused.value)
    assert (sorted(os.listdir(folder)), (folder / "store.duckdb").read_bytes()) == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; SELECT 2",
        "SELECT 1;; SELECT 2;",
        "SELECT 1 -- a\n; COPY (SELECT 1) TO 'FOLDER/out.csv'",
        "SELECT 1 /* ; */; ATTACH 'FOLDER/out.duckdb'",
        "",
        " ;; ",
        "-- SELECT 1",
        "/* SELECT 1 */",
    ],
)
def test_one_statement_is_run_and_no_other_number(ask: Ask, sql: str) -> None:
    with pytest.raises(UsageError, match=r"statements? where there has to be one"):
        ask(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM traces;",
        "/* ; */ SELECT id FROM traces -- ;",
        "FROM traces SELECT id",
        "WITH a AS (FROM traces) SELECT id FROM a",
        "SELECT 't-1' UNION SELECT id FROM traces",
        "VALUES ('t-1')",
    ],
)
def test_a_select_is_answered_however_it_is_written(ask: Ask, sql: str) -> None:
    assert ask(sql).rows == (("t-1",),)


def test_a_view_of_the_store_takes_no_documented_ones_place(ask: Ask) -> None:
    assert "human" in [name for name, _ in ask("SELECT * FROM judge_agreement").columns]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT nope FROM traces", 'Referenced column "nope" not found in FROM clause! Candidate bindings'),
        ("SELECT *\nFROM\nnowhere", "nowhere does not exist!.*(line 3)"),
        ("SELEC 1", 'syntax error at or near "SELEC"'),
        ("SELECT CAST('a' AS INTEGER)", "Could not convert string 'a' to INT32.*"),
        ("SELECT 'a", "unterminated string literal"),
        ("SELECT $1", "Values were not provided for the following parameters: 1"),
        ("SELECT '\ud800'", "a character that is none"),
    ],
)
def test_what_is_wrong_with_a_query_is_said_in_one_line(ask: Ask, sql: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        ask(sql)

    assert all(part in str(refused.value) for part in said.split(".*"))
    assert "\n" not in str(refused.value)


def test_a_query_ends_when_its_time_is_up(ask: Ask) -> None:
    with pytest.raises(UsageError, match=r"took longer than 0\.2 s"):
        ask("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b", 0.2)


def test_a_query_takes_no_more_memory_than_it_may(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(querying.SHUT_IN, "memory_limit", "30MB")
    shutil.copy(folder / "store.duckdb", folder / "copy.duckdb")

    with pytest.raises(UsageError, match="took more than 30MB of memory"):
        Store(folder / "copy.duckdb").ask("SELECT * FROM range(20000000) ORDER BY random()")
    assert not [name for name in os.listdir(folder) if "tmp" in name]
    (folder / "copy.duckdb").unlink()


TOLD_BY_DUCKDB = (
    "SELECT value FROM duckdb_settings()",
    "SELECT current_setting('http_proxy') || current_setting('secret_directory')",
    "SELECT path FROM duckdb_databases()",
    "FROM duckdb_secrets()",
    "FROM duckdb_variables()",
    "FROM duckdb_logs()",
    "FROM duckdb_temporary_files()",
    "FROM duckdb_external_file_cache()",
    "EXPLAIN ANALYZE SELECT count(*) FROM traces",
)


def test_what_duckdb_tells_of_itself_is_no_secret_and_no_other_path(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, f"http://u:{SECRET}@127.0.0.1:1")
    monkeypatch.setenv("HOME", str(tmp_path / SECRET))
    store = Path(shutil.copy(folder / "store.duckdb", tmp_path))

    with Store(store).shut_in() as connection:
        told = repr([querying.run(connection, sql, 20).rows for sql in TOLD_BY_DUCKDB])

    assert SECRET not in told
    assert str(tmp_path) not in told.replace(str(store), "the store")


def test_an_answer_of_too_many_rows_is_refused(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(querying, "MOST_ROWS", 20_000)

    assert len(ask("FROM range(20000)").rows) == 20_000
    with pytest.raises(UsageError, match="more than 20,000 rows"):
        ask("FROM range(20001)")


def test_a_store_that_may_be_called_what_it_likes(tmp_path: Path) -> None:
    for name in ("main", "temp", 'a "quoted" name'):
        store = Store(tmp_path / f"{name}.duckdb")
        store.begin(Recording("r-1", "demo", 10.0))
        assert store.ask("SELECT id FROM recordings").rows == (("r-1",),)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("nope = 1", 'Referenced column "nope" not found'),
        ("1 = 1) OR (1 = 1", "syntax error"),
        ("true; SELECT 1", "syntax error|more than one statement"),
        ("true, false", "single expression"),
        ("", "says nothing that could hold"),
        ("-- true", "."),
        ("'maybe'", "Could not convert string 'maybe' to BOOL"),
        ("count(*) > 1", "GROUP BY"),
        ("id IN (SELECT content FROM read_text('/etc/passwd'))", "file system operations are disabled"),
        ("id IN (SELECT a FROM SECRET)", "SECRET does not exist"),
        ("id =\n'\ud800'", "says nothing that could hold"),
    ],
)
def test_a_condition_is_shut_in_and_one_expression(
    connection: duckdb.DuckDBPyConnection, condition: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        querying.fitting(connection, condition, 20)

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("condition", ["steps = 2", "steps = 2 -- and so on", "steps\n=\n2", "NULL"])
def test_a_condition_holds_where_it_is_true_and_not_where_it_is_null(
    connection: duckdb.DuckDBPyConnection, condition: str
) -> None:
    assert querying.fitting(connection, condition, 20) == {("r-1", "t-1"): condition != "NULL"}


@pytest.mark.parametrize(
    "source",
    [
        "enable_logging(storage = 'file', storage_path = 'FOLDER/log')",
        "read_text('FOLDER/store.duckdb.bak')",
    ],
)
def test_no_command_that_reads_a_store_obeys_a_view_in_it(folder: Path, tmp_path: Path, source: str) -> None:
    path = tmp_path / "store.duckdb"
    shutil.copy(folder / "store.duckdb", path)
    shutil.copy(folder / "store.duckdb.bak", tmp_path)
    every = "SELECT * FROM exchanges_kept UNION ALL SELECT * FROM exchanges_recent"
    with duckdb.connect(path) as connection:
        counted = f"(SELECT count(*) FROM {source.replace('FOLDER', str(tmp_path))})"
        connection.execute(f"CREATE OR REPLACE VIEW exchanges AS {every} WHERE {counted} > 0")

    with pytest.raises(StoreError, match=r"operations are disabled|has been locked"):
        Store(path).exchange_summaries()
    assert sorted(os.listdir(tmp_path)) == ["store.duckdb", "store.duckdb.bak"]
