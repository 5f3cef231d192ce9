"""`abs replay --live` and `--on-miss` as a user runs them: real processes, and an origin that counts."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.cli.hybrid import Wanted, asked_live
from abs_replay.derivation import account_of_exchanges
from abs_replay.errors import UsageError
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role, Upstream
from abs_replay.exporters.conversations import by_conversation
from abs_replay.store import Store

pytestmark = pytest.mark.processes

ABS = [sys.executable, "-c", "from abs_replay.cli import main; main()"]
LLM, TOOL = Channel(Role.LLM, "openai"), Channel(Role.TOOL, "Orders")
SECRET = "sk-proj-" + "Ab1c" * 12

# Asks for paths of channels (`tool/orders/1`), with a key, and prints the answers.
ASK = """
import os, sys, urllib.request, urllib.error
for asked in sys.argv[1:]:
    role, _, path = asked.partition("/")
    url = os.environ[f"ABS_{role.upper()}_URL"] + "/" + path
    headers = {"x-api-key": os.environ["SECRET"]}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            print(answer.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            print(error.code)
"""


@pytest.fixture
def origin() -> Iterator[tuple[str, list[str]]]:
    """A server, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            data = b"live"
            self.send_response(200)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def cassette(origin: tuple[str, list[str]], tmp_path: Path) -> Path:
    upstreams = (Upstream(LLM, f"{origin[0]}/v1"), Upstream(TOOL, f"{origin[0]}/api"))
    exchanges = tuple(
        Exchange(path, channel, 0.0, Request("GET", path), Response(200, (), Body(b"recorded")))
        for channel, path in ((LLM, "/v1/models"), (TOOL, "/api/orders/1"))
    )
    path = tmp_path / "a.cassette.json"
    path.write_text(
        dumps(Cassette(Recording("r", "a", 0.0, upstreams=upstreams), exchanges)), encoding="utf-8"
    )
    return path


def replay(cassette: Path, *arguments: str, asking: tuple[str, ...], **environ: str) -> tuple[int, str, str]:
    environment = (
        {key: value for key, value in os.environ.items() if key != "CI"} | environ | {"SECRET": SECRET}
    )
    result = subprocess.run(
        [*ABS, "replay", str(cassette), *arguments, "--", sys.executable, "-c", ASK, *asking],
        capture_output=True,
        text=True,
        timeout=30,
        env=environment | environ | {"SECRET": SECRET},
        cwd=cassette.parent,
        check=False,
    )
    return result.returncode, result.stdout, result.stderr


def test_a_live_channel_is_asked_and_recorded_and_the_rest_is_played(
    cassette: Path, origin: tuple[str, list[str]]
) -> None:
    asking = ("llm/models", "tool/orders/1", "tool/orders/9", "llm/other")
    status, said, told = replay(cassette, "--live", "tool:Orders", "--report", "r.json", asking=asking)
    assert (status, said) == (1, "recorded\nlive\nlive\n422\n")
    assert origin[1] == ["/api/orders/1", "/api/orders/9"]
    assert "asked live: tool:Orders 2" in told
    assert "1 exchange used, 0 unused, 1 missed" in told
    report = json.loads((cassette.parent / "r.json").read_bytes())
    assert (report["live"], report["unplayable"]) == ({"tool:Orders": 2}, ["tool:Orders"])
    store = Store(cassette.parent / ".abs" / "store.duckdb")
    kept = store.exchanges(store.recording("a-live").id)
    assert [(str(each.channel), each.request.path) for each in kept] == [
        ("tool:Orders", "/api/orders/1"),
        ("tool:Orders", "/api/orders/9"),
    ]
    assert SECRET not in repr(kept)


def test_a_miss_that_is_recorded_is_added_to_the_cassette_and_plays_the_next_time(
    cassette: Path, origin: tuple[str, list[str]]
) -> None:
    output = cassette.parent / "b.cassette.json"
    asking = ("llm/models", "tool/orders/1", "tool/orders/2")
    status, said, told = replay(cassette, "--on-miss", "record", "--output", str(output), asking=asking)
    assert (status, said) == (0, "recorded\nrecorded\nlive\n"), told
    assert origin[1] == ["/api/orders/2"]
    assert SECRET not in output.read_text(encoding="utf-8")
    added = loads(output.read_text(encoding="utf-8"))
    assert len(added.exchanges) == 3
    in_order = sorted(added.exchanges, key=lambda exchange: exchange.started_at)
    assert by_conversation(added, account_of_exchanges(in_order, added.recording)) == added
    status, said, told = replay(output, "--fail-unused", asking=asking)
    assert (status, said) == (0, "recorded\nrecorded\nlive\n"), told
    assert origin[1] == ["/api/orders/2"], "the second time nobody is asked"


def test_what_passes_through_is_kept_nowhere_and_ci_can_allow_it(
    cassette: Path, origin: tuple[str, list[str]]
) -> None:
    options = ("--on-miss", "passthrough", "--allow-network")
    status, said, told = replay(cassette, *options, asking=("tool/orders/2",), CI="true")
    assert (status, said, origin[1]) == (0, "live\n", ["/api/orders/2"])
    assert "asked live: tool:Orders 1" in told
    assert not (cassette.parent / ".abs").exists()


# -- what is refused before anything runs


def refusal(cassette: Path, wanted: Wanted) -> str:
    read = loads(cassette.read_text(encoding="utf-8"))
    with pytest.raises(UsageError) as refused, asked_live(read, wanted.of(cassette, None)):
        pass
    return str(refused.value)


@pytest.mark.parametrize(
    "wanted", [Wanted(live=("tool:Orders",)), Wanted(on_miss="record"), Wanted(on_miss="passthrough")]
)
def test_ci_refuses_to_ask_live(wanted: Wanted, cassette: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    assert "is refused in CI (CI=true)" in refusal(cassette, wanted)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (Wanted(live=("tool:Other",)), "expected one channel of llm:openai, tool:Orders"),
        (Wanted(output=Path("x.json")), "say --on-miss record, or --live CHANNEL"),
        (Wanted(on_miss="passthrough", output=Path("x.json")), "keeps nothing"),
        (Wanted(on_miss="record", output=Path("there.json")), "exists, and is not what is replayed"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    wanted: Wanted, why: str, cassette: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(cassette.parent)
    Path("there.json").write_text("{}", encoding="utf-8")
    assert why in refusal(cassette, wanted)


def test_a_cassette_that_does_not_say_where_its_channels_are_can_not_be_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bare.cassette.json"
    exchange = Exchange("x", TOOL, 0.0, Request("GET", "/x"), Response(200))
    path.write_text(dumps(Cassette(Recording("r", "bare", 0.0), (exchange,))), encoding="utf-8")
    assert "bare does not say where tool:Orders is" in refusal(path, Wanted(live=("tool",)))


def test_nothing_that_could_ask_is_loaded_while_nobody_wants_it(cassette: Path) -> None:
    program = (
        "import sys; from abs_replay.cli import cli\n"
        f"words = ['replay', {str(cassette)!r}, '--', {sys.executable!r}, '-c', '']\n"
        "cli.main(words, standalone_mode=False)\n"
        "print([name for name in ('abs_replay.upstream', 'httpx') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    assert result.stdout == "[]\n", result.stderr
