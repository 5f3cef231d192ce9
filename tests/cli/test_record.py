"""`abs record` as a process: it ends cleanly however it ends, and what was said is in the store."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from abs_replay.channels import without_proxy
from abs_replay.exchange import Exchange, Outcome
from abs_replay.running import running
from abs_replay.store import Store

pytestmark = pytest.mark.processes

ABS = [sys.executable, "-c", "from abs_replay.cli import main; main()"]
DELTAS = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]},
    {"choices": [{"index": 0, "delta": {"content": "lo"}, "finish_reason": "stop"}]},
]
STREAMED = [
    b"data: %s\n\n" % json.dumps({"id": "c1", "object": "chat.completion.chunk"} | d).encode() for d in DELTAS
]
KEY = "sk-proj-Abcdefghijklmnop1234567890"


class Upstream(BaseHTTPRequestHandler):
    """A model that streams, and a place that never comes to an end."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in [*STREAMED, b"data: [DONE]\n\n"]:
            self._chunk(event)
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self._chunk(b"begun")
        if self.path == "/endless":
            self.rfile.read(1)
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        server.daemon_threads = True
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.duckdb"


def run(*arguments: str, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    command = [*ABS, "record", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=40, env=os.environ | (env or {}), check=False
    )


@contextmanager
def recording(store: Path, *arguments: str) -> Iterator[tuple["subprocess.Popen[str]", dict[str, str]]]:
    """A running `abs record --json-log`, and the listeners that it tells of."""
    command = [*ABS, "record", "--port", "0", "--store", str(store), "--json-log", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stderr
            yield process, json.loads(process.stderr.readline())["listeners"]
        finally:
            process.kill()


def only(store: Path) -> Exchange:
    (exchange,) = Store(store).exchanges()
    return exchange


SDK = """
import openai
stream = openai.OpenAI().chat.completions.create(
    model="m", messages=[{"role": "user", "content": "hi"}], stream=True
)
print("".join(part.choices[0].delta.content or "" for part in stream))
raise SystemExit(7)
"""


def test_an_sdk_under_a_command_is_recorded_and_its_output_and_status_are_its_own(
    upstream: str, store: Path
) -> None:
    ended = run(
        *("--llm", f"{upstream}/v1", "--port", "0", "--store", str(store)),
        *("--name", "chat", "--session", "greeting", "--tag", "env=ci", "--", sys.executable, "-c", SDK),
        env={"OPENAI_API_KEY": KEY},
    )
    assert (ended.returncode, ended.stdout) == (7, "Hello\n"), ended.stderr
    assert "export OPENAI_BASE_URL=http://127.0.0.1:" in ended.stderr
    assert "export ABS_LLM_URL=http://127.0.0.1:" in ended.stderr
    assert f": 1 exchange, 0 errors in {store}" in ended.stderr.splitlines()[-1]
    kept, seen = Store(store).recording("last"), only(store)
    assert (kept.name, kept.session, kept.tags) == ("chat", "greeting", {"env": "ci"})
    assert kept.ended_at
    assert kept.upstreams[0].url == f"{upstream}/v1"
    assert seen.request.target == "/v1/chat/completions"
    assert dict(seen.request.headers)["authorization"] == "Bearer <auth:1>"
    assert seen.redacted
    assert seen.outcome in (Outcome.COMPLETE, Outcome.CLIENT_CLOSED)
    assert seen.response
    assert seen.response.body.data.startswith(b"".join(STREAMED))
    assert KEY.encode() not in store.read_bytes()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_and_what_is_open_is_kept(
    number: signal.Signals, upstream: str, store: Path
) -> None:
    with recording(store, "--agent", upstream) as (process, listeners):
        with urlopen(f"{listeners['agent']}/endless", timeout=10) as answer:
            assert answer.read(5) == b"begun"
            process.send_signal(number)
            assert process.wait(15) == 0
        assert process.stderr
        lines = [json.loads(line) for line in process.stderr]
    assert [line["event"] for line in lines] == ["exchange", "ended"]
    assert (lines[1]["exchanges"], lines[1]["lost"]) == (1, 0)
    seen = only(store)
    assert (seen.outcome, seen.error) == (Outcome.UNFINISHED, "the recording ended first")
    assert seen.response
    assert seen.response.body.data == b"begun"


def test_a_kill_takes_nothing_that_ended_shortly_before(upstream: str, store: Path) -> None:
    with recording(store, "--llm", upstream) as (process, listeners):
        for _ in range(3):
            with urlopen(Request(listeners["llm"], data=b"{}"), timeout=10) as answer:
                answer.read()
        time.sleep(1.0)  # 0.25 s on an idle machine
        process.kill()
        process.wait()
    assert len(Store(store).exchanges()) == 3


def test_a_command_that_handles_ctrl_c_is_given_the_time_to(upstream: str, store: Path) -> None:
    code = (
        "import time\ntry: print('up', flush=True); time.sleep(30)\n"
        "except KeyboardInterrupt: time.sleep(0.3); print('bye'); raise SystemExit(4)"
    )
    command = [*ABS, "record", "--llm", upstream, "--port", "0", "--store", str(store), "--quiet"]
    with subprocess.Popen(
        [*command, "--", sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "up\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.communicate(timeout=15) == ("bye\n", "")
    assert process.returncode == 4
    assert Store(store).recording("last").ended_at


def test_a_taken_port_is_named_and_no_recording_is_begun(store: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run("--llm", "http://127.0.0.1:9", "--port", str(port), "--store", str(store))
    assert ended.returncode == 2
    assert ended.stderr == (f"abs: port {port} is taken: say --port N for other ones, 0 for any free ones\n")
    assert not store.exists()


def test_listening_beyond_loopback_is_warned_of(store: Path) -> None:
    with recording(store, "--llm", "http://127.0.0.1:9", "--listen", "0.0.0.0") as (process, listeners):
        assert process.stderr
        warning = json.loads(process.stderr.readline())
        assert listeners["llm"].startswith("http://127.0.0.1:")
        assert warning["message"].startswith("listening on 0.0.0.0: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--llm", "openai", "--tag", "x"], "abs: --tag 'x': expected KEY=VALUE"),
        (["--tool", "ftp://x"], "abs: --tool 'ftp://x': expected URL or NAME=URL"),
        (["--tool", "http://a", "--tool", "http://b"], "abs: two channels are called tool: name them"),
    ],
)
def test_a_call_that_makes_no_sense_says_what_to_say(arguments: list[str], message: str) -> None:
    ended = run(*arguments)
    assert (ended.returncode, ended.stderr[: len(message)]) == (2, message)


def test_a_command_that_does_not_exist_is_named(upstream: str, store: Path) -> None:
    ended = run("--llm", upstream, "--port", "0", "--store", str(store), "--quiet", "--", "no-such-command")
    assert (ended.returncode, ended.stderr) == (
        2,
        "abs: can not run 'no-such-command': No such file or directory\n",
    )
    assert not store.exists()


def test_without_mitmproxy_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['mitmproxy'] = None; from abs_replay.cli import main; main()"
    command = [sys.executable, "-c", code, "record", "--llm", "openai"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stderr) == (
        2,
        "abs: recording needs mitmproxy: pip install 'abs-replay[record]'\n",
    )


def test_the_command_loads_neither_mitmproxy_nor_duckdb_before_it_runs() -> None:
    code = "import sys, abs_replay.cli.record; print({'mitmproxy', 'duckdb', 'uvicorn'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"set()\n"


def test_a_proxy_of_the_environment_is_not_asked_for_the_listeners() -> None:
    assert without_proxy({}) == {}
    assert without_proxy({"HTTP_PROXY": "http://p", "no_proxy": "a,b"}) == {
        "NO_PROXY": "a,b,127.0.0.1",
        "no_proxy": "a,b,127.0.0.1",
    }


def test_a_running_recording_is_noted_beside_its_store_until_it_ends(upstream: str, store: Path) -> None:
    with recording(store, "--llm", f"{upstream}/v1") as (process, listeners):
        (noted,) = running(store)
        assert (noted.process, noted.url + "/v1") == (process.pid, listeners["llm"])
        assert len(noted.token) > 20
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 0
    assert running(store) == ()


def test_with_nothing_declared_it_is_a_proxy_that_its_command_is_led_through(
    upstream: str, store: Path, tmp_path: Path
) -> None:
    code = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1] + '/x').read().decode())"
    ended = run(
        *("--port", "0", "--store", str(store), "--", sys.executable, "-c", code, upstream),
        env={"ABS_STATE": str(tmp_path / "state"), "NO_PROXY": "10.0.0.1,*", "ALL_PROXY": "socks5://h"},
    )
    assert (ended.returncode, ended.stdout) == (0, "begun\n"), ended.stderr
    assert "every host           http://127.0.0.1:" in ended.stderr
    assert "export NO_PROXY=10.0.0.1\n" in ended.stderr
    assert "warning: NO_PROXY names *: left out, for it would hide what is to be recorded\n" in ended.stderr
    assert "warning: ALL_PROXY names a proxy of socks5, which is not asked" in ended.stderr
    seen = only(store)
    assert (str(seen.channel), seen.request.target) == (f"tool:{upstream.removeprefix('http://')}", "/x")


def test_hosts_belong_where_the_configuration_says(
    upstream: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "abs.config.yaml").write_text("channels:\n  127.0.0.*: agent\n", encoding="utf-8")
    code = "import sys, urllib.request as r; r.urlopen(sys.argv[1] + '/x').read()"
    ended = run(
        *("--quiet", "--port", "0", "--store", str(store), "--", sys.executable, "-c", code, upstream),
        env={"ABS_STATE": str(tmp_path / "state"), "NO_PROXY": "127.0.0.0/8", "no_proxy": ""},
    )
    assert (ended.returncode, str(only(store).channel)) == (0, "agent"), ended.stderr
    (tmp_path / "abs.config.yaml").write_text("channels:\n  127.0.0.*: robot\n", encoding="utf-8")
    assert "abs.config.yaml: channels: --route '127.0.0.*=robot': expected HOST_PATTERN" in run().stderr
