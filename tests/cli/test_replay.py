"""`abs replay` as a user runs it: real processes, real sockets."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from abs_replay.cassette import Cassette, dumps
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role, Upstream

pytestmark = pytest.mark.processes

ABS = [sys.executable, "-c", "from abs_replay.cli import main; main()"]
LLM, TOOL = Channel(Role.LLM, "openai"), Channel(Role.TOOL, "Order API")

# A program that asks for paths of the tool and prints the answers, or nothing where it gets an error.
ASK = """
import os, sys, urllib.request
from contextlib import suppress
from urllib.error import HTTPError
for path in sys.argv[1:]:
    with suppress(HTTPError), urllib.request.urlopen(os.environ["ABS_TOOL_URL"] + path) as answer:
        print(answer.read().decode())
"""


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    upstreams = (Upstream(LLM, "https://api.openai.com/v1"), Upstream(TOOL, "http://orders:9001/api"))
    answers = {"/api/orders/1": b"shipped", "/api/orders/2": b"lost"}
    exchanges = [
        Exchange(path, TOOL, 0.0, Request("GET", path), Response(200, (), Body(answer)))
        for path, answer in answers.items()
    ]
    path = tmp_path / "orders.cassette.json"
    text = dumps(Cassette(Recording("r", "orders", 0.0, upstreams=upstreams), tuple(exchanges)))
    path.write_text(text, encoding="utf-8")
    return path


def replay(*arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [*ABS, "replay", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=30, env=os.environ | environ, check=False
    )


def asking(*paths: str) -> list[str]:
    return [sys.executable, "-c", ASK, *paths]


@contextmanager
def serving(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """`abs replay` that serves until told to end, with the variables that it printed."""
    process = subprocess.Popen([*ABS, "replay", *map(str, arguments)], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        variables: dict[str, str] = {}
        while "ABS_TOOL_ORDER_API_URL" not in variables:
            line = process.stderr.readline()
            assert line, "it ended before it served"
            if line.startswith("  export "):
                name, _, value = line.removeprefix("  export ").strip().partition("=")
                variables[name] = shlex.split(value)[0]
        yield process, variables
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_a_command_runs_against_the_recording_and_its_output_is_its_own(cassette: Path) -> None:
    result = replay(cassette, "--", *asking("/orders/2", "/orders/1"))
    assert (result.returncode, result.stdout) == (0, "lost\nshipped\n")
    assert "2 exchanges used, 0 unused, 0 missed" in result.stderr


def test_a_miss_that_the_command_swallows_still_fails(cassette: Path) -> None:
    result = replay(cassette, "--", *asking("/orders/3"))
    assert result.returncode == 1
    assert "miss: GET /api/orders/3 on tool:Order API: nobody recorded this request" in result.stderr
    assert "nearest: exchanges[0]" in result.stderr
    assert 'path: recorded "/api/orders/1", asked "/api/orders/3"' in result.stderr


def test_the_status_of_the_command_comes_first(cassette: Path) -> None:
    assert replay(cassette, "--", sys.executable, "-c", "raise SystemExit(7)").returncode == 7


def test_what_was_not_played_fails_only_when_asked_to(cassette: Path) -> None:
    command = ["--", *asking("/orders/1")]
    assert replay(cassette, *command).returncode == 0
    result = replay(cassette, "--fail-unused", *command)
    assert result.returncode == 1
    assert "unused: GET /api/orders/2 on tool:Order API" in result.stderr


def test_what_the_configuration_ignores_does_not_count_and_why_is_explained(
    cassette: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "abs.config.yaml").write_text("match: {ignore: [{query: nonce}]}", encoding="utf-8")
    result = replay(cassette, "--explain", "--", *asking("/orders/2?nonce=9"))
    assert (result.returncode, result.stdout) == (0, "lost\n")
    wanted = "played: GET /api/orders/2?nonce=9 on tool:Order API: the same meaning as exchanges[1]"
    assert wanted in result.stderr


def test_a_configuration_that_can_not_be_used_is_said_before_anything_runs(
    cassette: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "abs.config.yaml").write_text("match: {ignore: [{qery: n}]}", encoding="utf-8")
    result = replay(cassette, "--", *asking("/orders/2"))
    assert (result.returncode, result.stdout) == (2, "")
    assert "did you mean `query`?" in result.stderr


def test_faults_of_a_file_are_had_counted_and_reported(cassette: Path, tmp_path: Path) -> None:
    faults, report = tmp_path / "faults.yaml", tmp_path / "report.json"
    faults.write_text("faults: [{status: 503, first: 1, path: orders}]", encoding="utf-8")
    command = ["--", *asking("/orders/1", "/orders/1", "/orders/2")]
    result = replay(cassette, "--fault", faults, "--report", report, "--fail-unused", *command)
    assert (result.returncode, result.stdout) == (0, "shipped\nlost\n")
    assert "1 fault: status 1" in result.stderr
    assert json.loads(report.read_bytes())["faults"] == {"status": 1}


def test_what_is_wrong_with_a_file_of_faults_is_said_by_line_before_anything_runs(
    cassette: Path, tmp_path: Path
) -> None:
    (tmp_path / "faults.yaml").write_text("faults:\n  - {status: 200}\n", encoding="utf-8")
    result = replay(cassette, "--fault", tmp_path / "faults.yaml", "--", *asking("/orders/1"))
    assert (result.returncode, result.stdout) == (2, "")
    assert "faults.yaml:2: faults[0].status: must be an HTTP status, 400 to 599" in result.stderr


def test_the_report_names_what_was_used_unused_and_missed_for_abs_check(
    cassette: Path, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    result = replay(cassette, "--report", report, "--", *asking("/orders/2", "/orders/3"))
    assert result.returncode == 1
    told = json.loads(report.read_bytes())
    assert (told["used"], told["unused"], told["missed"]) == (["/api/orders/2"], ["/api/orders/1"], 1)
    (miss,) = told["misses"]
    assert (miss["reason"], miss["channel"]) == ("unknown", "tool:Order API")
    command = [*ABS, "check", str(cassette), "--report", str(report)]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (checked.returncode, checked.stdout.count("error unplayed: exchanges[0]")) == (1, 1)


def test_a_report_that_can_not_be_written_is_said(cassette: Path, tmp_path: Path) -> None:
    result = replay(cassette, "--report", tmp_path / "no" / "r.json", "--", *asking("/orders/2"))
    assert result.returncode == 2
    assert "can not be written" in result.stderr.splitlines()[-1]


def test_keys_that_sdks_insist_on_are_placeholders_where_they_are_missing(cassette: Path) -> None:
    show = "import os, sys; print(*(os.environ[name] for name in sys.argv[1:]))"
    names = ["OPENAI_API_KEY", "GEMINI_API_KEY", "OPENAI_BASE_URL"]
    command = [sys.executable, "-c", show, *names]
    result = replay(cassette, "--", *command, OPENAI_API_KEY="mine", GEMINI_API_KEY="")
    mine, placeholder, url = result.stdout.split()
    assert (mine, placeholder) == ("mine", "replayed-by-abs")
    assert url.startswith("http://127.0.0.1:")
    assert "/~" in url
    assert url.endswith("/v1")


def test_what_a_cassette_holds_is_obeyed_by_no_terminal_and_no_shell(tmp_path: Path) -> None:
    codes = "\x1b[2J\x07\u202e\n"
    channel = Channel(Role.TOOL, f"x{codes}")
    upstream = Upstream(channel, "http://h/$(touch pwned)")
    unasked = Exchange(codes, channel, 0.0, Request(f"GET{codes}", "/1"), Response(200))
    path = tmp_path / "evil.cassette.json"
    path.write_text(dumps(Cassette(Recording("r", codes, 0.0, upstreams=(upstream,)), (unasked,))), "utf-8")
    # A terminal of its own: `click` takes some codes out where there is none.
    script = (
        f"import pty, sys; sys.exit(pty.spawn({[*ABS, 'replay', str(path), '--', *asking('/2')]!r}) >> 8)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=30, check=False)
    shown = result.stdout.decode()
    assert result.returncode == 1
    assert "unused: GET\\x1b[2J" in shown
    assert "(id \\x1b[2J\\x07\\u202e\\n)" in shown
    assert set("\x1b\x07\u202e").isdisjoint(shown)
    assert "='http://127.0.0.1:" in shown
    assert "$(touch pwned)'" in shown


def test_quiet_says_nothing_but_misses(cassette: Path) -> None:
    assert replay(cassette, "--quiet", "--", *asking("/orders/1")).stderr == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_told_to_end_and_then_sums_up(cassette: Path, number: signal.Signals) -> None:
    with serving(cassette, "--port", 0) as (process, variables):
        assert httpx.get(variables["ABS_TOOL_ORDER_API_URL"] + "/orders/1").text == "shipped"
        process.send_signal(number)
        assert process.wait(10) == 0
        assert process.stderr is not None
        assert "1 exchange used, 1 unused, 0 missed" in process.stderr.read()


def test_serving_ends_with_1_if_anything_was_missed(cassette: Path) -> None:
    with serving(cassette, "--port", 0) as (process, variables):
        assert httpx.get(variables["ABS_TOOL_ORDER_API_URL"] + "/orders/9").status_code == 422
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 1


def test_a_command_that_is_told_to_end_is_ended(cassette: Path) -> None:
    sleeper = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]
    process = subprocess.Popen(
        [*ABS, "replay", str(cassette), "--", *sleeper], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 143
        assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing to replay"),
        (["nowhere.json"], "nowhere.json can not be read"),
        (["--recording", "last", "--store", "nowhere.duckdb"], "nowhere.duckdb"),
        (["CASSETTE", "--timing", "fast"], "expected none, recorded or xN"),
        (["CASSETTE", "--", "no-such-program"], "no-such-program"),
        (["CASSETTE", "--port", "TAKEN"], "can not listen on 127.0.0.1:"),
    ],
)
def test_what_makes_no_sense_is_said_without_a_traceback(
    cassette: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        real = {"CASSETTE": str(cassette), "TAKEN": str(taken.getsockname()[1])}
        result = replay(*(real.get(argument, argument) for argument in arguments))
    assert result.returncode == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_a_damaged_cassette_is_said_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(b'{"abs_cassette": 1, "name": 5, "exchanges": []}')
    result = replay(path)
    assert (result.returncode, result.stderr) == (2, f"abs: {path}: name: expected text\n")
