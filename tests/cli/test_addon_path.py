"""The addon that `abs addon-path` names records in a stock mitmproxy."""

import importlib.util
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import ModuleType
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

from abs_replay.cli.addon_path import addon_path, command
from abs_replay.errors import UsageError
from abs_replay.exchange import Channel, Outcome, Role
from abs_replay.routes import USUAL_PORTS, Routes
from abs_replay.store import Store

MITMDUMP = "from mitmproxy.tools.main import mitmdump; mitmdump()"


@pytest.fixture(scope="module")
def addon() -> ModuleType:
    spec = importlib.util.spec_from_file_location("abs_recorder", addon_path("abs_recorder.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of pyasn1 in ldap3, which mitmproxy imports
        spec.loader.exec_module(module)
    return module


def test_the_path_is_printed_and_is_a_file() -> None:
    printed = CliRunner().invoke(command, ["record"]).output.strip()
    assert Path(printed).name == "abs_recorder.py"
    assert Path(printed).is_file()


def test_an_addon_that_is_not_installed_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"other\.py is not in this installation"):
        addon_path("other.py")


@pytest.mark.parametrize(
    ("url", "channel"),
    [
        ("http://h:1/v1/chat", Channel(Role.LLM, "llm")),
        ("http://h:1/v1", Channel(Role.LLM, "llm")),
        ("http://h:1/v1/mcp?x=1", Channel(Role.TOOL, "Order MCP")),
        ("http://h:1/v10", Channel(Role.TOOL, "h:1")),
        ("https://elsewhere/", Channel(Role.TOOL, "elsewhere")),
    ],
)
def test_the_longest_declared_url_tells_the_channel(url: str, channel: Channel, addon: ModuleType) -> None:
    declared = addon.parse_channels("llm=http://h:1/v1, tool:Order MCP=http://h:1/v1/mcp/,")
    parts = urlsplit(url)
    place = parts.scheme, parts.hostname or "", parts.port or USUAL_PORTS[parts.scheme]
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    assert Routes(upstreams=declared).channel(*place, target) == channel


@pytest.mark.parametrize("text", ["http://h", "model=http://h", "llm=h:1"])
def test_channels_that_can_not_be_read_are_named(text: str, addon: ModuleType) -> None:
    with pytest.raises(UsageError, match=f"abs_channels: '{text}'"):
        addon.parse_channels(text)


@pytest.mark.processes
def test_a_stock_mitmproxy_records_with_it_and_keeps_refused_attempts_too(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        port, dead = first.getsockname()[1], second.getsockname()[1]
    store = tmp_path / "store.duckdb"
    options = [f"abs_store={store}", "abs_name=chat", f"abs_channels=llm:big=http://127.0.0.1:{dead}"]
    options += [f"confdir={tmp_path}", "connection_strategy=lazy"]
    command = [sys.executable, "-c", MITMDUMP, "-q", "-s", str(addon_path("abs_recorder.py"))]
    command += ["--mode", f"reverse:http://127.0.0.1:{dead}@127.0.0.1:{port}"]
    command += [part for option in options for part in ("--set", option)]
    with subprocess.Popen(command) as process:
        _until_asked(f"http://127.0.0.1:{port}/v1/x")
        process.terminate()
        assert process.wait(15) == 0
    recording = Store(store).recording("chat")
    (seen,) = Store(store).exchanges(recording.id)
    assert recording.ended_at
    assert (seen.channel, seen.outcome) == (Channel(Role.LLM, "big"), Outcome.REFUSED)
    assert seen.request.target == "/v1/x"


def _until_asked(url: str) -> None:
    """Ask until there is an answer, a 502 that is."""
    for _ in range(200):
        try:
            urlopen(url, timeout=10).close()
        except URLError as error:
            if hasattr(error, "code"):
                error.close()  # type: ignore[attr-defined]
                return
        time.sleep(0.1)
    raise AssertionError("mitmproxy does not answer")
