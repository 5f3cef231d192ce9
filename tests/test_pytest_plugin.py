"""Tests with cassettes, run by pytest as their authors do."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import entry_points
from pathlib import Path
from typing import ClassVar

import httpx  # noqa: F401 (kept loaded between the inner runs, which forget what they load)
import pytest

from abs_replay import capturing, pytest_cassettes, pytest_plugin  # noqa: F401 (likewise)
from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.exchange import Channel, Recording, Role, Upstream
from abs_replay.testing import exchange
from tests.proxied import listening  # noqa: F401 (likewise)

pytest_plugins = "pytester"

type Run = Callable[..., pytest.RunResult]

ORDERS = Upstream(Channel(Role.TOOL, "Orders"), "http://orders.test:9001")
AGENT = Upstream(Channel(Role.AGENT, "agent"), "http://agent.test")
BEGIN = """
import asyncio, contextlib, os, socket
import httpx, pytest

def find(order="A"):
    return httpx.post(os.environ["ABS_TOOL_URL"] + "/find", json={"order": order})
"""


def cassette() -> str:
    found = exchange({"order": "A"}, {"state": "shipped"}, role=Role.TOOL, name="Orders", target="/find")
    return dumps(Cassette(Recording("r", "orders", 0.0, upstreams=(ORDERS, AGENT)), (found,)))


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a test file with a cassette `orders` beside it; gives what pytest said."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # most of the time is theirs
    plugins = ("-p", "abs_replay.pytest_plugin", "-p", "anyio")

    def run(tests: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(BEGIN + tests)
        folder = pytester.path / "cassettes"
        folder.mkdir(exist_ok=True)
        (folder / "orders.cassette.json").write_text(cassette(), encoding="utf-8")
        return pytester.runpytest_inprocess(*plugins, "-p", "no:cacheprovider", *options)

    return run


def test_the_marker_alone_leads_the_code_to_the_replay(run: Run) -> None:
    result = run("""
@pytest.mark.cassette("orders")
def test_marked():
    assert find().json() == {"state": "shipped"}

def test_unmarked():
    assert "ABS_TOOL_URL" not in os.environ
""")
    result.assert_outcomes(passed=2)


def test_the_fixture_tells_where_it_is_and_what_was_asked(run: Run) -> None:
    result = run("""
@pytest.mark.cassette("orders", channels=["tool"], fail_unused=True)
def test_it(abs_replay):
    assert abs_replay.mode == "replay"
    assert list(abs_replay.urls) == ["tool:Orders"]
    assert abs_replay.environment["ABS_TOOL_URL"] == abs_replay.url("tool")
    assert len(abs_replay.unused) == 1
    find()
    assert [asked.answered_by for asked in abs_replay.requests] == ["x-1"]
    abs_replay.reset()
    find()
    assert (abs_replay.misses, abs_replay.unused) == ((), ())
""")
    result.assert_outcomes(passed=1)


def test_a_client_made_by_a_fixture_finds_the_replay_too(run: Run) -> None:
    result = run("""
@pytest.fixture
def client():
    with httpx.Client(base_url=os.environ["ABS_TOOL_URL"]) as client:
        yield client
        client.post("/find", json={"order": "A"})  # not unused: it is asked for at last

@pytest.mark.cassette("orders", fail_unused=True)
def test_it(client, abs_replay):
    assert str(client.base_url).startswith(abs_replay.url("tool"))
""")
    result.assert_outcomes(passed=1)


def test_a_miss_fails_the_test_that_swallowed_it_and_is_explained(run: Run) -> None:
    result = run("""
@pytest.mark.cassette("orders")
def test_it():
    find("B")
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["1 request missed in cassette orders:", "*nobody recorded*", "*nearest*", '*recorded "A", asked "B"']
    )
    result.stdout.no_fnmatch_line("*pytest_cassettes.py*")


def test_a_miss_is_explained_beside_the_error_that_it_led_to(run: Run) -> None:
    result = run("""
@pytest.mark.cassette("orders")
def test_it():
    find("B").raise_for_status()
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*HTTPStatusError*", "*- abs-replay -*", '*recorded "A", asked "B"'])


def test_a_miss_before_or_after_the_test_is_an_error(run: Run) -> None:
    result = run("""
@pytest.fixture
def early():
    find("B")
    raise RuntimeError("no set-up without B")

@pytest.fixture
def late():
    yield
    find("B")

@pytest.mark.cassette("orders")
def test_early(early): pass

@pytest.mark.cassette("orders")
def test_late(late): pass
""")
    result.assert_outcomes(errors=2, passed=1)
    result.stdout.fnmatch_lines(["*ERROR at setup*", '*asked "B"', "*ERROR at teardown*", '*asked "B"'])


def test_what_is_not_asked_for_fails_only_where_it_is_wanted(run: Run) -> None:
    result = run("""
@pytest.mark.cassette("orders")
def test_lenient(): pass

@pytest.mark.cassette("orders", fail_unused=True)
def test_strict(): pass
""")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(
        ["1 exchange unused of cassette orders:", "POST /find on tool:Orders (id x-1)"]
    )


def test_nothing_reaches_the_network_whatever_the_test_swallows(run: Run) -> None:
    result = run("""
@pytest.mark.cassette("orders")
def test_it():
    with contextlib.suppress(httpx.ConnectError):
        httpx.get("https://api.openai.com/v1/models")

def test_after():
    assert "connect" not in vars(socket.socket)
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("nobody.invalid", 1)
""")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        ["*::test_it wanted to reach api.openai.com:443 while a cassette is replayed*"]
    )


def test_a_proxy_of_the_environment_is_no_way_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    result = run("""
@pytest.mark.cassette("orders")
def test_it():
    assert "HTTPS_PROXY" not in os.environ
    find()

def test_after():
    assert os.environ["HTTPS_PROXY"]
""")
    result.assert_outcomes(passed=2)


def test_hosts_of_the_ini_file_are_let_through(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nabs_allow_hosts = *.invalid")
    result = run("""
@pytest.mark.cassette("orders")
def test_it():
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("db.invalid", 1)
""")
    result.assert_outcomes(passed=1)


def test_asynchronous_tests_and_their_clients_are_replayed(run: Run) -> None:
    result = run("""
@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.fixture
async def client(anyio_backend):
    async with httpx.AsyncClient(base_url=os.environ["ABS_TOOL_URL"]) as client:
        yield client

@pytest.mark.anyio
@pytest.mark.cassette("orders", fail_unused=True)
async def test_it(client, abs_replay):
    answer = await client.post("/find", json={"order": "A"})
    assert answer.json() == {"state": "shipped"}

@pytest.mark.anyio
@pytest.mark.cassette("orders")
async def test_swallowed(client):
    await client.post("/find", json={"order": "B"})
""")
    result.assert_outcomes(passed=1, failed=1)


def test_classes_parameters_and_unittest_may_be_marked(run: Run) -> None:
    result = run("""
import unittest

@pytest.mark.cassette("orders")
class TestIt:
    def test_it(self):
        assert find().is_success

@pytest.mark.parametrize("is_marked", [pytest.param(True, marks=pytest.mark.cassette("orders")), False])
def test_parameter(is_marked):
    assert ("ABS_TOOL_URL" in os.environ) is is_marked

@pytest.mark.cassette("orders")
class Old(unittest.TestCase):
    def test_it(self):
        self.assertTrue(find().is_success)

    def test_swallowed(self):
        find("B")
""")
    result.assert_outcomes(passed=4, failed=1)


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        (
            '@pytest.mark.cassette("none")',
            "*none.cassette.json is not there: record it with --abs-mode=record",
        ),
        ('@pytest.mark.cassette("orders", mach="loose")', "*unexpected keyword argument 'mach'"),
        ('@pytest.mark.cassette("orders", match="exact")', "*must be one of strict, canonical, loose"),
        (
            '@pytest.mark.cassette("orders", channels=["llm"])',
            "*no channel 'llm'; there is tool:Orders, agent",
        ),
        ("", "abs_replay needs a cassette: mark the test*"),
    ],
)
def test_a_marker_that_makes_no_sense_is_said_without_a_traceback(run: Run, marker: str, said: str) -> None:
    result = run(f"\n{marker}\ndef test_it(abs_replay): pass\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([said])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*another exception*")


def test_cassettes_may_lie_in_one_folder_of_the_ini_file(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nabs_cassette_dir = taped/all")
    (pytester.path / "taped" / "all").mkdir(parents=True)
    (pytester.path / "taped" / "all" / "other.cassette.json").write_text(cassette(), encoding="utf-8")

    run('@pytest.mark.cassette("other")\ndef test_it(): find()\n').assert_outcomes(passed=1)


# -- recording


class Orders(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.asked.append(self.path)
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "4")
        self.end_headers()
        self.wfile.write(b"live")

    def log_message(self, *said: object) -> None:
        """Say nothing."""


@contextmanager
def orders() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Orders) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


RECORDED = """
@pytest.mark.cassette("new", upstreams={"tool:Orders": "URL"})
def test_it(abs_replay):
    said = {"order": "A", "api_key": "sk-1234567890abcdef"}
    answer = httpx.post(abs_replay.url("tool") + "/find", json=said)
    assert answer.text == "live"
    assert abs_replay.mode == "MODE"
"""


def test_what_is_recorded_is_replayed_and_only_what_is_missing_is_recorded_anew(
    run: Run, pytester: pytest.Pytester
) -> None:
    path = pytester.path / "cassettes" / "new.cassette.json"
    with orders() as url:
        tests = RECORDED.replace("URL", url)
        run(tests.replace("MODE", "record"), "--abs-mode=auto").assert_outcomes(passed=1)
        first = path.read_text(encoding="utf-8")
        run(tests.replace("MODE", "off"), "--abs-mode=off").assert_outcomes(passed=1)
        live = len(Orders.asked)
        run(tests.replace("MODE", "replay"), "--abs-mode=auto").assert_outcomes(passed=1)
        again = (
            tests.replace("MODE", "replay") + "    httpx.post(abs_replay.url('tool') + '/find', json=said)\n"
        )
        run(again).assert_outcomes(failed=1)
        assert (live, len(Orders.asked)) == (2, 2)  # what is used up is not asked for either
    run(tests.replace("MODE", "replay")).assert_outcomes(passed=1)

    (kept,) = loads(first, str(path)).exchanges
    assert (str(kept.channel), kept.request.target, kept.response and kept.response.body.data) == (
        "tool:Orders",
        "/find",
        b"live",
    )
    assert "sk-1234567890abcdef" not in first
    assert path.read_text(encoding="utf-8") == first


def test_a_test_that_fails_leaves_the_cassette_as_it_was(run: Run, pytester: pytest.Pytester) -> None:
    path = pytester.path / "cassettes" / "orders.cassette.json"
    result = run(
        '@pytest.mark.cassette("orders")\ndef test_it(): assert find().is_success\n', "--abs-mode=record"
    )

    result.assert_outcomes(failed=1)  # the upstreams of its header are nowhere
    result.stdout.fnmatch_lines(["*orders.cassette.json is not written: the test did not pass"])
    assert path.read_text(encoding="utf-8") == cassette()


def test_two_tests_do_not_record_over_each_other(run: Run) -> None:
    mark = '@pytest.mark.cassette("one", upstreams={"tool": "http://127.0.0.1:9"})'
    result = run(f"{mark}\ndef test_a(): pass\n\n{mark}\ndef test_b(): pass\n", "--abs-mode=record")

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*one.cassette.json is recorded by another test of this run*"])


@pytest.mark.parametrize(
    ("upstreams", "said"),
    [
        ("None", "nothing says what x.cassette.json records*"),
        ("{'model': 'openai'}", "upstreams: 'model' is no channel*"),
    ],
)
def test_what_is_to_be_recorded_must_be_known(run: Run, upstreams: str, said: str) -> None:
    marker = f'@pytest.mark.cassette("x", upstreams={upstreams})'
    result = run(f"{marker}\ndef test_it(): pass\n", "--abs-mode=record")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([said])


def test_without_mitmproxy_it_is_said_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("abs_replay.proxy", "mitmproxy"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mitmproxy", None)
    marker = '@pytest.mark.cassette("x", upstreams={"llm": "openai"})'
    result = run(f"{marker}\ndef test_it(): pass\n", "--abs-mode=record")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["recording needs mitmproxy: pip install 'abs-replay?record?'"])


def test_a_job_records_only_if_it_is_told_twice(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    test = "def test_it(): pass\n"
    run(test).assert_outcomes(passed=1)
    monkeypatch.setenv("CI", "true")
    refused = run(test, "--abs-mode=auto")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*--abs-mode=auto reaches the network, and CI is set*"])
    run(test, "--abs-mode=auto", "--abs-allow-network").assert_outcomes(passed=1)


# -- beside others


@pytest.mark.processes
def test_workers_of_xdist_share_nothing(run: Run) -> None:
    tests = """
@pytest.mark.parametrize("number", range(6))
@pytest.mark.cassette("orders", fail_unused=True)
def test_it(number, abs_replay):
    assert find().is_success
    assert len(abs_replay.requests) == 1

@pytest.mark.cassette("orders")
def test_swallowed():
    find("B")
"""
    result = run(tests, "-n", "2", "-p", "xdist")
    result.assert_outcomes(passed=6, failed=1)
    result.stdout.fnmatch_lines(['*recorded "A", asked "B"'])


def test_pytest_finds_the_plugin_by_itself() -> None:
    (found,) = [each for each in entry_points(group="pytest11") if each.name == "abs_replay"]

    assert found.load() is pytest_plugin


@pytest.mark.processes
def test_where_no_test_has_a_cassette_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_it():\n"
        "    ours = {name for name in sys.modules if name.startswith('abs_replay')}\n"
        "    assert ours == {'abs_replay', 'abs_replay.pytest_plugin'}\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-p", "abs_replay.pytest_plugin", str(tmp_path)]
    environ = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ended = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60)

    assert "1 passed" in ended.stdout, ended.stdout
