"""The clients that people have, recorded by one process: through the proxy over TLS, and by base URL."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from abs_replay.decoders import decode
from abs_replay.exchange import Exchange, Outcome
from abs_replay.store import Store
from tests.many_apis import serving_apis
from tests.proxied import write_certificate

pytestmark = pytest.mark.processes

CLIENTS = Path(__file__).parents[1] / "recorded_clients.py"
MODELS = ("openai", "anthropic", "gemini", "gemini_async")
OTHERS = ("httpx", "httpx2", "requests", "aiohttp", "curl")
SUM = '{"result": 3}'


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the clients said that they got, by way and name, and what was kept."""

    got: Mapping[tuple[str, str], str]
    kept: tuple[Exchange, ...]
    ended: "subprocess.CompletedProcess[str]"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("clients")
    certificate, store = write_certificate(folder / "here.pem"), folder / "store.duckdb"
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    environment |= {"SSL_CERT_FILE": str(certificate), "ABS_STATE": str(folder / "state")}
    with serving_apis(certificate) as apis:
        plain = f"http://127.0.0.1:{apis.plain}"
        command = [sys.executable, "-c", "from abs_replay.cli import main; main()", "record", "--forward"]
        command += [
            "--port",
            "0",
            "--store",
            str(store),
            "--llm",
            f"Plain={plain}",
            "--tool",
            f"Plain={plain}",
        ]
        command += ["--route", "localhost=llm:Model", "--route", f"127.0.0.*:{apis.secure}=tool:Things"]
        urls = [f"https://{host}:{apis.secure}" for host in ("localhost", "127.0.0.1")]
        command += ["--", sys.executable, str(CLIENTS), *urls]
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=110, env=environment, check=False
        )
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    got = {(way, name): said for way, name, said in lines}
    return Recorded(got, Store(store).exchanges(), ended)


@pytest.mark.parametrize("way", ["forward", "reverse"])
def test_every_client_gets_what_it_would_have_got(recorded: Recorded, way: str) -> None:
    got = {name: said for (by, name), said in recorded.got.items() if by == way}
    assert got.pop("node", "absent") in ("Hello", "absent")
    assert got == {**dict.fromkeys(MODELS + OTHERS, "Hello"), "mcp": SUM}, recorded.ended.stderr
    assert recorded.ended.returncode == 0


@pytest.mark.parametrize("channel", ["llm:Model", "llm:Plain"])
def test_what_sdks_of_models_said_is_kept_whole_and_understood(recorded: Recorded, channel: str) -> None:
    kept = [each for each in recorded.kept if str(each.channel) == channel]
    assert [each.request.path.rpartition("/")[2] for each in kept] == [
        "completions",
        "messages",
        "m:streamGenerateContent",
        "m:generateContent",
    ]
    assert {each.outcome for each in kept} <= {Outcome.COMPLETE, Outcome.CLIENT_CLOSED}
    assert [decode(each).protocol for each in kept] == ["openai_chat", "anthropic", "gemini", "gemini"]
    assert not any(b"api_key" in repr(each.request.headers).encode() for each in kept)


@pytest.mark.parametrize("channel", ["tool:Things", "tool:Plain"])
def test_what_other_clients_said_is_kept_by_host(recorded: Recorded, channel: str) -> None:
    kept = [each for each in recorded.kept if str(each.channel) == channel]
    plain = [each for each in kept if each.request.path.startswith("/plain/")]
    assert [each.request.path.rpartition("/")[2] for each in plain if "node" not in each.request.path] == [
        "httpx",
        "httpx2",
        "requests",
        "aiohttp",
        "curl",
    ]
    assert {each.outcome for each in plain} == {Outcome.COMPLETE}
    versions = {each.request.path: each.request.http_version for each in plain}
    assert versions["/plain/httpx2"] == ("HTTP/2.0" if channel == "tool:Things" else "HTTP/1.1")
    assert len(plain[1].request.body.data) == 2_000_000
    assert "mcp" in {decode(each).protocol for each in kept}


def test_nothing_else_was_recorded_or_lost(recorded: Recorded) -> None:
    channels = {str(each.channel) for each in recorded.kept}
    assert channels == {"llm:Model", "llm:Plain", "tool:Things", "tool:Plain"}
    assert "0 errors" in recorded.ended.stderr.splitlines()[-1]
