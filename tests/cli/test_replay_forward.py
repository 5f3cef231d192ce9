"""`abs replay --forward`: real clients ask real hosts, and no packet leaves the machine."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from abs_replay.cassette import Cassette, dumps
from abs_replay.exchange import (
    Body,
    Channel,
    Exchange,
    Headers,
    Recording,
    Request,
    Response,
    Role,
    Upstream,
)

pytestmark = pytest.mark.processes

CLIENTS = Path(__file__).parents[1] / "replayed_clients.py"
OPENAI, SHOP = Channel(Role.LLM, "openai"), Channel(Role.TOOL, "shop.example")
JSON: Headers = (("content-type", "application/json"),)
EVENTS: Headers = (("content-type", "text/event-stream"), ("transfer-encoding", "chunked"))
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
}

# What connects to, or looks up, anything but loopback ends the replay, and is said.
GUARDED = """
import os, sys

def here(address):
    return not isinstance(address, tuple) or address[0] in ("127.0.0.1", "::1", "localhost")

def forbid(event, arguments):
    if event == "socket.connect" and not here(arguments[1]):
        sys.stderr.write(f"it connected to {arguments[1]}"); os._exit(9)
    if event == "socket.getaddrinfo" and arguments[0] not in (None, "127.0.0.1", "localhost"):
        sys.stderr.write(f"it looked up {arguments[0]}"); os._exit(9)

sys.addaudithook(forbid)
from abs_replay.cli import main
main()
"""
ABS = [sys.executable, "-c", GUARDED, "replay"]


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    """A model that was declared, asked once whole and twice streamed, and a shop that was met by a proxy."""
    hi: dict[str, object] = {"messages": [{"role": "user", "content": "hi"}], "model": "m"}
    whole, streamed = (chat(hi, streams) for streams in (False, True))
    delta = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    parts = [
        {**delta, "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
        for text in ("Hel", "lo")
    ]
    events = "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"
    stream = Response(200, EVENTS, Body(events.encode()))
    exchanges = [
        Exchange("1", OPENAI, 0.0, whole, Response(200, JSON, Body(json.dumps(COMPLETION).encode()))),
        Exchange("2", OPENAI, 1.0, streamed, stream),
        Exchange("3", OPENAI, 2.0, streamed, stream),
        *(shopped(number) for number in (1, 2)),
    ]
    upstreams = (Upstream(OPENAI, "https://api.openai.com/v1"),)
    path = tmp_path / "hosts.cassette.json"
    text = dumps(Cassette(Recording("r", "hosts", 0.0, upstreams=upstreams), tuple(exchanges)))
    path.write_text(text, encoding="utf-8")
    return path


def chat(body: dict[str, object], streams: bool) -> Request:
    data = json.dumps({**body, "stream": True} if streams else body).encode()
    return Request("POST", "/v1/chat/completions", JSON, Body(data), host="127.0.0.1:7070")


def shopped(number: int) -> Exchange:
    request = Request("GET", f"/orders/{number}", scheme="https", host="shop.example")
    return Exchange(f"shop {number}", SHOP, 3.0, request, Response(200, JSON, Body(b'"shipped"')))


def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    return kept | {"ABS_STATE": str(tmp_path / "state")}


def apart(command: list[str]) -> list[str]:
    """Run a command where loopback is all the network, if this system lets us; the guard holds anyway."""
    inside = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    allowed = shutil.which("unshare") and shutil.which("ip")
    if allowed and subprocess.run([*inside, "true"], capture_output=True, check=False).returncode == 0:
        return [*inside, *command]
    return command


def test_clients_that_insist_on_hosts_get_what_was_recorded_and_nothing_goes_out(
    cassette: Path, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    command = [*ABS, str(cassette), "--forward", "--report", str(report), "--", sys.executable, str(CLIENTS)]
    around = environment(tmp_path) | {"NO_PROXY": "intranet.example,.openai.com", "no_proxy": ""}
    ended = subprocess.run(
        apart(command), capture_output=True, text=True, timeout=100, env=around, check=False
    )
    got = dict(json.loads(line) for line in ended.stdout.splitlines())
    assert json.loads(got.pop("whole")) == COMPLETION, ended.stderr
    assert got == {
        "streamed": "Hello",
        "async": "Hello",
        "http2": 'HTTP/2 "shipped"',
        "curl": '"shipped"',
        "unknown": "422",
    }
    assert ended.returncode == 1
    assert "miss: GET / on tool:elsewhere.example:443: nobody recorded this request" in ended.stderr
    assert "NO_PROXY names .openai.com: left out, for it would hide what was recorded\n" in ended.stderr
    assert "NO_PROXY=intranet.example\n" in ended.stderr
    assert "5 exchanges used, 0 unused, 1 missed" in ended.stderr
    assert json.loads(report.read_text())["unused"] == []


def test_without_mitmproxy_it_says_what_to_install(cassette: Path, tmp_path: Path) -> None:
    without = 'import sys; sys.modules["mitmproxy"] = None; from abs_replay.cli import main; main()'
    command = [sys.executable, "-c", without, "replay", str(cassette), "--forward", "--", "true"]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=environment(tmp_path), check=False
    )
    expected = "abs: --forward needs mitmproxy: pip install 'abs-replay[record]'\n"
    assert (ended.returncode, ended.stderr) == (2, expected)
