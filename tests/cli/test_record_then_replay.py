"""Record the real SDK, then replay to it with nothing else running: what it gets is the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.agent.orders import ORDERS
from fixtures.agent.servers import ROOT, running

pytestmark = pytest.mark.processes

ABS = "from abs_replay.cli import main; main()"
# Ends the process where a socket is led anywhere but to loopback; uvloop's sockets would not be seen.
GUARD = """
import os, sys
sys.modules["uvloop"] = None
def guard(event, args):
    address = {"socket.connect": 1, "socket.sendto": 1, "socket.bind": 1, "socket.getaddrinfo": 0}.get(event)
    host = args[address] if address is not None else None
    host = host[0] if isinstance(host, tuple) else host
    if host not in (None, "", "127.0.0.1", b"127.0.0.1", "localhost"):
        os.write(2, f"{event} {args}".encode())
        os._exit(99)
sys.addaudithook(guard)
"""
SDK = """
import json, sys, openai
sdk = openai.OpenAI(max_retries=0)
for text in sys.argv[1:]:
    asked = {"model": "m", "messages": [{"role": "user", "content": text}]}
    print(sdk.chat.completions.create(**asked).to_json(indent=None))
    print(json.dumps([chunk.to_dict() for chunk in sdk.chat.completions.create(**asked, stream=True)]))
"""
LINES = (
    "Hello",
    *(f"Where is {number}?" for number in ORDERS),
    f"What is the refund for {next(iter(ORDERS))}?",
)


def run(*arguments: str, guard: str = "", code: int = 0) -> str:
    command = [sys.executable, "-c", guard + ABS, *arguments]
    environment = os.environ | {"OPENAI_API_KEY": "sk-example-not-a-real-key"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def asking(*lines: str) -> list[str]:
    return ["--", sys.executable, "-c", SDK, *lines]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A cassette, and what the SDK got when it was made."""
    folder = tmp_path_factory.mktemp("recorded")
    store, cassette = str(folder / "store.duckdb"), folder / "sdk.cassette.json"
    with running("model") as servers:
        flags = ["--port", "0", "--store", store, "--llm", servers["model"].url]
        said = run("record", *flags, *asking(*LINES))
    run("export", "--store", store, "--output", str(cassette))
    return cassette, said


def test_the_sdk_gets_equal_completions_and_chunks(recorded: tuple[Path, str]) -> None:
    cassette, said = recorded
    answers = [json.loads(line) for line in said.splitlines()]

    assert len(answers) == 2 * len(LINES)
    assert answers[0]["choices"][0]["message"]["content"].startswith("Could you tell me")
    assert answers[2]["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "lookup_order"
    assert run("replay", str(cassette), "--fail-unused", *asking(*LINES)) == said


def test_questions_in_another_order_get_their_own_answers(recorded: tuple[Path, str]) -> None:
    cassette, said = recorded
    replayed = run("replay", str(cassette), *asking(*reversed(LINES))).splitlines()
    pairs = [replayed[at : at + 2] for at in range(0, len(replayed), 2)]

    assert [line for pair in reversed(pairs) for line in pair] == said.splitlines()


def test_the_guard_ends_what_goes_elsewhere() -> None:
    elsewhere = "import socket; socket.create_connection(('192.0.2.1', 9), timeout=1)"
    command = [sys.executable, "-c", GUARD + elsewhere]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    assert done.returncode == 99, done.stderr


def test_replay_goes_nowhere_but_to_loopback(recorded: tuple[Path, str]) -> None:
    cassette, said = recorded
    document = json.loads(cassette.read_text(encoding="utf-8"))
    document["channels"] = {"llm": "https://models.example/v1"}
    cassette = cassette.with_name("elsewhere.cassette.json")
    cassette.write_text(json.dumps(document), encoding="utf-8")

    assert run("replay", str(cassette), *asking(*LINES), guard=GUARD) == said
    run("replay", str(cassette), *asking("Never recorded"), guard=GUARD, code=1)


def test_a_run_against_a_cassette_goes_nowhere_but_to_loopback(tmp_path: Path) -> None:
    asked = {"messages": [{"role": "user", "content": "Hello"}]}
    request = {"method": "POST", "target": "/chat", "body": {"json": asked}}
    response = {"status": 200, "body": {"json": {"message": {"role": "assistant", "content": "Hi"}}}}
    exchange = {"id": "x", "channel": "agent", "request": request, "response": response}
    cassette, session = tmp_path / "c.cassette.json", tmp_path / "s.abs.yaml"
    channels = {"agent": "https://agent.example"}
    cassette.write_text(
        json.dumps({"abs_cassette": 1, "name": "c", "channels": channels, "exchanges": [exchange]})
    )
    session.write_text(
        'session: S\nabs_version: "0.2"\nbehaviors:\n'
        "  - { actor: user, action: says, content: Hello }\n  - { actor: assistant, action: informs }\n"
    )

    run("run", str(session), "--cassette", str(cassette), "--no-store", guard=GUARD)
