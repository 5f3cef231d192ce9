"""`abs grade`, as it is called: its exit status, what it prints, what it keeps."""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.cli.since import since
from abs_replay.errors import UsageError
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role, Upstream
from abs_replay.store import Store

FEE = """
session: Entrance fee
abs_version: "0.2"
behaviors:
  - { actor: user, action: says, content: What does it cost? }
  - actor: assistant
    action: informs
    evaluations: [{ type: contains, value: free }, { type: regex, pattern: "{{day}}" }]
"""
AGENT = Channel(Role.AGENT, "agent")
NOON = datetime(2026, 5, 31, 12, tzinfo=UTC)

type Calls = Callable[..., tuple[int, str, str]]


@pytest.fixture
def abs_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Calls:
    """Call `abs` in a folder with a session; gives exit status, standard output and error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ABS_STORE", raising=False)
    monkeypatch.setenv("ABS_VAR_day", "Sunday")
    Path("fee.abs.yaml").write_text(FEE, encoding="utf-8")
    write_trace("free.trace.json", "It is free on Sunday.")
    write_trace("paid.trace.json", "Ten euros.")

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(cli, arguments)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def write_trace(name: str, answer: str, **more: object) -> None:
    steps = [
        {"seq": 1, "actor": "user", "action": "says", "content": "What does it cost?"},
        {"seq": 2, "actor": "assistant", "action": "responds", "content": answer},
    ]
    trace = {"trace": name.split(".")[0], "session": "Entrance fee", "steps": steps, **more}
    Path(name).write_text(json.dumps(trace), encoding="utf-8")


def record(answer: str, nth: int = 0, session: str | None = "Entrance fee", started_at: float = 1e9) -> None:
    """Put one conversation into the store of the working directory, as `abs record` would."""
    store = Store(Path(".abs/store.duckdb"))
    store.begin(
        Recording(
            f"r-{nth}",
            f"rec-{nth}",
            started_at,
            session=session,
            upstreams=(Upstream(AGENT, "http://a/chat"),),
        )
    )
    asked = {"messages": [{"role": "user", "content": "What does it cost?"}]}
    request = Request("POST", "/chat", JSON, Body(json.dumps(asked).encode()))
    response = Response(
        200, JSON, Body(json.dumps({"message": {"role": "assistant", "content": answer}}).encode())
    )
    store.append(f"r-{nth}", [Exchange(f"e-{nth}", AGENT, started_at, request, response, ended_ms=5.0)])
    store.end(f"r-{nth}", started_at + 1)


JSON = (("content-type", "application/json"),)


def report(printed: tuple[int, str, str]) -> Any:
    return json.loads(printed[1])


def gradings() -> int:
    return len(Store(Path(".abs/store.duckdb")).gradings())


def test_the_exit_status_says_whether_every_session_passed(abs_: Calls) -> None:
    assert abs_("grade", "fee.abs.yaml", "--traces", "free.trace.json")[0] == 0
    assert abs_("grade", "fee.abs.yaml", "--traces", "paid.trace.json")[0] == 1
    assert abs_("grade", "fee.abs.yaml", "--traces", "free.trace.json", "--traces", "paid.trace.json")[0] == 1


def test_what_a_good_document_does_not_need_is_not_loaded(abs_: Calls) -> None:
    graded = ["grade", "fee.abs.yaml", "--traces", "free.trace.json", "--format", "json"]
    code = f"""
import sys
from abs_replay.cli import cli
from abs_replay.cli.failure import run
assert run(cli, {graded}) == 0
unneeded = {{"pydantic", "rich", "duckdb", "mitmproxy", "openai", "scipy", "numpy", "jsonschema", "regex"}}
unneeded |= {{"difflib", "shutil"}}
assert not unneeded & sys.modules.keys(), unneeded & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_garbage_is_looked_for_as_before_when_grading_is_over(abs_: Calls) -> None:
    usual = gc.get_threshold()
    abs_("grade", "fee.abs.yaml", "--traces", "free.trace.json")
    abs_("grade", "fee.abs.yaml", "--traces", "none.trace.json")
    assert gc.get_threshold() == usual


def test_the_table_shows_rules_and_reasons(abs_: Calls) -> None:
    _, out, _ = abs_("grade", "fee.abs.yaml", "--traces", "paid.trace.json")

    assert '└─ contains "free"' in out
    assert 'observed "Ten euros."' in out
    assert "\x1b" not in out


def test_with_files_no_store_is_read_or_written(abs_: Calls, tmp_path: Path) -> None:
    before = set(tmp_path.rglob("*"))

    printed = abs_("grade", "fee.abs.yaml", "--traces", "free.trace.json", "--format", "json")

    assert set(tmp_path.rglob("*")) == before
    assert report(printed)["grading"] is None


def test_with_files_a_store_that_is_named_keeps_the_grading(abs_: Calls, tmp_path: Path) -> None:
    call = (
        "grade",
        "fee.abs.yaml",
        "--traces",
        "free.trace.json",
        "--store",
        "kept.duckdb",
        "--format",
        "json",
    )

    first, second = report(abs_(*call)), report(abs_(*call))

    ids = [summary.id for summary in Store(tmp_path / "kept.duckdb").gradings()]
    assert ids == [first["grading"], second["grading"]]
    assert (first["carried_over"], second["carried_over"]) == (0, 2)


def test_stored_traces_are_graded_and_the_grading_is_kept(abs_: Calls) -> None:
    record("It is free on Sunday.", 1)
    record("Ten euros.", 2)

    status, out, _ = abs_("grade", "fee.abs.yaml", "--format", "json")

    assert status == 1
    assert json.loads(out)["totals"]["sessions"] == {"passed": 1, "failed": 1, "error": 0}
    assert gradings() == 1


def test_traces_of_other_sessions_are_counted_in_a_warning(abs_: Calls) -> None:
    record("It is free on Sunday.", 1)
    record("..", 2, session="Parking")
    record("..", 3, session=None)

    status, out, err = abs_("grade", "fee.abs.yaml")
    counted = "not graded: 1 trace of other sessions and 1 trace that names no session"

    assert status == 0
    assert f"warning: {counted}" in err
    assert "Sessions" not in out
    assert counted in report(abs_("grade", "fee.abs.yaml", "--format", "json"))["warnings"][0]["message"]


def test_where_nothing_is_selected_nothing_is_kept_and_the_status_is_2(abs_: Calls) -> None:
    record("..", 1, session=None)

    status, out, err = abs_("grade", "fee.abs.yaml", "--format", "json")

    assert status == 2
    assert json.loads(out)["result"] == "usage"
    assert "1 trace that names no session; --session-for NAME" in err
    assert gradings() == 0
    assert abs_("grade", "fee.abs.yaml", "--session-for", "Entrance fee")[0] == 1


def test_recording_and_trace_narrow_what_is_graded(abs_: Calls) -> None:
    for nth in range(3):
        record("It is free on Sunday.", nth)

    def ids(*narrowed: str) -> list[str]:
        return [
            run["trace"]
            for run in report(abs_("grade", "fee.abs.yaml", "--format", "json", *narrowed))["runs"]
        ]

    every = ids()
    assert len(every) == 3
    assert ids("--recording", "rec-1") == [every[1]]
    assert ids("--recording", "last") == [every[2]]
    assert ids("--trace", every[0]) == [every[0]]
    assert ids("--trace", every[2][:8]) == [every[2]]
    assert "is none of the traces" in abs_("grade", "fee.abs.yaml", "--trace", "nothing")[2]
    assert "could be several" in abs_("grade", "fee.abs.yaml", "--trace", "t-")[2]


def test_since_leaves_out_what_began_before(abs_: Calls) -> None:
    record("It is free on Sunday.", 1, started_at=NOON.timestamp())
    record("Ten euros.", 2, started_at=(NOON - timedelta(days=40)).timestamp())

    status, out, _ = abs_("grade", "fee.abs.yaml", "--since", "2026-05-01", "--format", "json")

    assert status == 0
    assert len(json.loads(out)["runs"]) == 1


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("30m", NOON - timedelta(minutes=30)),
        ("12h", NOON - timedelta(hours=12)),
        ("7d", NOON - timedelta(days=7)),
        ("2w", NOON - timedelta(weeks=2)),
        ("2026-05-31T10:00:00+02:00", NOON - timedelta(hours=4)),
        ("2026-05-31T10:00Z", NOON - timedelta(hours=2)),
    ],
)
def test_since_is_a_time_or_how_long_ago(text: str, begin: datetime) -> None:
    assert since(text, NOON) == begin.timestamp()


@pytest.mark.parametrize("text", ["", "yesterday", "7", "7y", "2026-13-01", "99999999d", "-7d"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--since"):
        since(text, NOON)


def test_baseline_shows_what_flipped_below_the_report(abs_: Calls) -> None:
    record("It is free on Sunday.", 1)
    abs_("grade", "fee.abs.yaml")

    status, out, _ = abs_("grade", "fee.abs.yaml", "--var", "day=Monday", "--baseline", "last")
    again = report(abs_("grade", "fee.abs.yaml", "--baseline", "last", "--format", "json"))

    assert status == 1
    assert ": 1 flipped, 1 the same (carried over)" in out
    assert "the rule was edited" in out
    assert (again["comparison"]["flipped"], again["comparison"]["regressions"]) == (1, 0)
    assert [flip["direction"] for flip in again["comparison"]["flips"]] == ["improvement", "improvement"]


def test_the_first_grading_has_no_baseline_and_says_so(abs_: Calls) -> None:
    record("It is free on Sunday.", 1)

    status, _, err = abs_("grade", "fee.abs.yaml", "--baseline", "last")

    assert status == 0
    assert "nothing to compare with" in err


def test_a_saved_report_is_a_baseline_without_any_store(abs_: Calls, tmp_path: Path) -> None:
    call = ("grade", "fee.abs.yaml", "--traces", "free.trace.json")
    abs_(*call, "--format", "json", "--output", "before.json")

    _, out, _ = abs_(*call, "--var", "day=Monday", "--baseline", "before.json")

    assert "before.json → now: 1 flipped, 1 the same (carried over)" in out
    assert not (tmp_path / ".abs").exists()


def test_output_takes_the_report_and_leaves_standard_output_empty(abs_: Calls) -> None:
    status, out, _ = abs_("grade", "fee.abs.yaml", "--traces", "free.trace.json", "--output", "report.txt")

    assert (status, out) == (0, "")
    assert "PASSED" in Path("report.txt").read_text(encoding="utf-8")
    status, _, err = abs_(
        "grade", "fee.abs.yaml", "--traces", "free.trace.json", "--output", "no/such/report.txt"
    )
    assert (status, err.startswith("abs: --output no/such/report.txt: can not be written")) == (2, True)


def test_warnings_of_documents_go_to_standard_error_or_into_the_json(abs_: Calls) -> None:
    Path("fee.abs.yaml").write_text(FEE.replace('abs_version: "0.2"\n', ""), encoding="utf-8")
    call = ("grade", "fee.abs.yaml", "--traces", "free.trace.json")

    _, _, err = abs_(*call)
    _, out, silent = abs_(*call, "--format", "json")

    assert err.startswith("warning: fee.abs.yaml:")
    assert silent == ""
    assert set(json.loads(out)["warnings"][0]) == {"file", "line", "path", "message"}


def test_an_invalid_document_prints_its_problems_and_exits_with_2(abs_: Calls) -> None:
    Path("fee.abs.yaml").write_text(FEE.replace("type: contains", "type: contans"), encoding="utf-8")
    call = ("grade", "fee.abs.yaml", "--traces", "free.trace.json")

    status, out, err = abs_(*call, "--format", "json")

    assert status == 2
    assert json.loads(out)["result"] == "invalid"
    assert err.startswith("fee.abs.yaml:8: behaviors[1].evaluations[0].type: ")


def test_a_variable_without_a_source_is_told_before_anything_is_graded(
    abs_: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ABS_VAR_day")

    status, _, err = abs_("grade", "fee.abs.yaml", "--traces", "free.trace.json")

    assert status == 2
    assert "{{day}}" in err


def test_strict_user_and_no_require_match_change_what_counts(abs_: Calls) -> None:
    trace = json.loads(Path("free.trace.json").read_text(encoding="utf-8"))
    trace["steps"][0]["content"] = "How much is it?"
    Path("other.trace.json").write_text(json.dumps(trace), encoding="utf-8")
    Path("silent.trace.json").write_text(json.dumps({**trace, "steps": trace["steps"][:1]}), encoding="utf-8")
    Path("bare.abs.yaml").write_text(FEE.split("    evaluations")[0], encoding="utf-8")

    assert abs_("grade", "fee.abs.yaml", "--traces", "other.trace.json")[0] == 0
    assert abs_("grade", "fee.abs.yaml", "--traces", "other.trace.json", "--strict-user")[0] == 1
    assert abs_("grade", "bare.abs.yaml", "--traces", "silent.trace.json")[0] == 1
    assert abs_("grade", "bare.abs.yaml", "--traces", "silent.trace.json", "--no-require-match")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--recording", "r"], "--recording chooses among stored traces"),
        (["--since", "1d"], "--since chooses among stored traces"),
        (["--baseline", "last"], "--baseline last looks into a store"),
        (["--baseline", "none.json"], "no such file"),
        (["--session-for", "Entrance"], "--session-for"),
        (["--var", "day"], "day"),
        (["--trace", "other"], "free"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_status_2(
    abs_: Calls, arguments: Sequence[str], told: str
) -> None:
    status, out, err = abs_("grade", "fee.abs.yaml", "--traces", "free.trace.json", *arguments)

    assert (status, out) == (2, "")
    assert err.startswith("abs: ")
    assert told in err
    assert err.count("\n") == 1


def process(arguments: Sequence[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    program = "from abs_replay.cli import main; main()"
    return python(program, arguments, folder, environment)


def python(
    program: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "ABS_VAR_day": "Sunday",
            **environment,
        },
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.mark.processes
def test_grading_a_file_loads_nothing_heavy(abs_: Calls, tmp_path: Path) -> None:
    program = (
        "import sys; from abs_replay.cli import cli\n"
        "status = cli.main(sys.argv[1:], standalone_mode=False)\n"
        "heavy = {'mitmproxy', 'duckdb', 'openai', 'uvicorn'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else status)"
    )

    ended = python(program, ["grade", "fee.abs.yaml", "--traces", "free.trace.json"], tmp_path)

    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.processes
def test_a_terminal_that_knows_only_ascii_gets_no_traceback(abs_: Calls, tmp_path: Path) -> None:
    write_trace("emoji.trace.json", "It is free on Sunday 🙂")
    call = ["grade", "fee.abs.yaml", "--traces", "emoji.trace.json"]

    table = process(call, tmp_path, PYTHONIOENCODING="ascii")
    written = process([*call, "--format", "json"], tmp_path, PYTHONIOENCODING="ascii")

    assert (table.returncode, table.stderr) == (0, b"")
    assert json.loads(written.stdout)["passed"] is True


def test_annotations_stand_at_the_line_of_the_session_file(
    abs_: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)

    status, out, _ = abs_("grade", "fee.abs.yaml", "--traces", "paid.trace.json", "--format", "github")

    assert status == 1
    assert out.startswith('::error file=fee.abs.yaml,line=8,title=Entrance fee%3A contains "free"::')
    assert out.endswith("abs: failed: 0 of 1 session passed, 2 checks failed, 0 undecided\n")


def test_a_saved_report_gives_the_annotations_of_the_grading(abs_: Calls) -> None:
    call = ("grade", "fee.abs.yaml", "--traces", "paid.trace.json", "--format")
    _, out, _ = abs_(*call, "github")
    abs_(*call, "json", "--output", "r.json")

    assert abs_("report", "r.json", "--format", "github") == (0, out, "")


def test_ci_is_plain_also_in_a_terminal(abs_: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    call = ("grade", "fee.abs.yaml", "--traces", "paid.trace.json")
    _, piped, _ = abs_(*call)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    assert "\x1b[" in abs_(*call)[1]
    assert abs_(*call, "--ci")[1] == piped


def test_what_flipped_stands_in_markdown_and_is_refused_where_it_has_no_place(abs_: Calls) -> None:
    call = ("grade", "fee.abs.yaml", "--traces", "free.trace.json")
    abs_(*call, "--format", "json", "--output", "before.json")
    after = (*call, "--var", "day=Monday", "--baseline", "before.json", "--format")

    _, out, _ = abs_(*after, "markdown")
    refused = abs_(*after, "junit")

    assert (
        "### Since the baseline\n\n**❌ 1 of 2 evaluations flipped**, 1 to the worse · `before.json`" in out
    )
    assert "<details><summary>❌ <code>" in out
    assert (refused[0], refused[1]) == (2, "")
    assert "--format junit has no place for what --baseline finds" in refused[2]
