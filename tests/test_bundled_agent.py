"""The bundled agent, on real processes: it answers, calls its tools, and keeps conversations apart."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from fixtures.agent.orders import ORDERS
from fixtures.agent.servers import ROOT, Server, free_port, run_client, running, start, upstreams, urls

pytestmark = pytest.mark.processes

LAMP, KETTLE = ORDERS
BASE_PATH = "/gateway/a"


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    # Below a path, as behind a gateway: whoever works so works without one.
    with running(flags=("--base-path", BASE_PATH)) as servers:
        yield servers


def ask(servers: dict[str, Server], *lines: str) -> str:
    messages = [{"role": "user", "content": line} for line in lines]
    response = httpx.post(servers["agent"].url + "/chat", json={"messages": messages}, timeout=20)
    content: str = response.raise_for_status().json()["message"]["content"]
    return content


def answers(dialogue: str) -> list[str]:
    return [line for line in dialogue.splitlines() if line.startswith("assistant")]


def test_two_customers_who_ask_in_another_order_each_get_their_own_answers(
    servers: dict[str, Server],
) -> None:
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(lambda which: run_client(servers["agent"].url, which), ["first", "second"])

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    said_first, said_second = answers(first.stdout), answers(second.stdout)
    assert len(said_first) == len(said_second) == 5
    assert said_first[0].endswith("Could you tell me your order number, please?")
    assert f"desk lamp (order {LAMP}) has shipped" in said_first[1]
    assert f"tea kettle (order {KETTLE}) has shipped" in said_first[2]
    assert said_first[1:3] == said_second[2:0:-1]
    assert "34.50 EUR" in said_first[3]
    assert "48.00 EUR" in said_second[3]


def test_a_conversation_apart_has_the_same_words_in_either_order(servers: dict[str, Server]) -> None:
    first, second = (
        run_client(servers["agent"].url, which, "--apart").stdout for which in ("first", "second")
    )

    assert sorted(answers(first)) == sorted(answers(second))


def test_calls_side_by_side_are_answered_together(servers: dict[str, Server]) -> None:
    answer = ask(servers, f"What is the refund for {KETTLE}?")

    assert "34.50 EUR" in answer
    assert "Returns are free" in answer


def test_an_unknown_order_is_an_answer_and_no_crash(servers: dict[str, Server]) -> None:
    assert "can not find" in ask(servers, "Where is 00000000-0000-0000-0000-000000000000?")


def test_the_model_streams_arguments_in_pieces_and_answers_equal_questions_equally(
    servers: dict[str, Server],
) -> None:
    asked = {
        "model": "any",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": f"refund {LAMP}"}],
    }
    url = servers["model"].url + "/chat/completions"
    once, twice = (httpx.post(url, json=asked, timeout=10).text for _ in range(2))

    assert once == twice
    lines = [line.removeprefix("data: ") for line in once.splitlines() if line]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    assert "usage" in chunks[-1]
    calls = [c for k in chunks[:-1] for c in k["choices"][0]["delta"].get("tool_calls", [])]
    assert {call["index"] for call in calls} == {0, 1}
    arguments = [call["function"]["arguments"] for call in calls if call["index"] == 0]
    assert len(arguments) > 2
    assert json.loads("".join(arguments)) == {"order_id": LAMP}


def test_an_order_is_pending_once_and_shipped_from_then_on() -> None:
    with running("orders") as servers:
        url = f"{servers['orders'].url}/orders/{LAMP}"
        statuses = [httpx.get(url, timeout=10).json()["status"] for _ in range(3)]

    assert statuses == ["pending", "shipped", "shipped"]


def test_upstreams_are_below_the_path_that_their_urls_name(servers: dict[str, Server]) -> None:
    assert servers["model"].url.endswith(f"{BASE_PATH}/v1")
    assert servers["order_mcp"].url.endswith(f"{BASE_PATH}/mcp")
    beside = servers["orders"].url.replace(BASE_PATH, "") + f"/orders/{LAMP}"

    assert httpx.get(beside, timeout=10).status_code == 404
    assert "desk lamp" in ask(servers, f"Where is {LAMP}?")


def test_mcp_with_a_handshake_works_as_well(servers: dict[str, Server]) -> None:
    agent = start("agent", {**upstreams(urls(servers)), "MCP_MODE": "legacy"})
    try:
        assert "48.00 EUR" in ask({"agent": agent}, f"What is the refund for {LAMP}?")
    finally:
        agent.stop()


def test_an_upstream_that_is_gone_is_said_with_status_502() -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    agent = start("agent", upstreams(dict.fromkeys(("model", "order_mcp", "orders"), nowhere)))
    try:
        messages = [{"role": "user", "content": f"Where is {LAMP}?"}]
        response = httpx.post(agent.url + "/chat", json={"messages": messages}, timeout=20)
    finally:
        agent.stop()

    assert response.status_code == 502
    assert "ConnectError" in response.json()["error"]["message"]


def test_the_scene_asks_the_agent_it_started_unless_a_recorder_stands_before_it(
    servers: dict[str, Server],
) -> None:
    # In a replay ABS_AGENT_URL leads to the recorded agent, and the real one would never be asked.
    elsewhere = {**os.environ, **upstreams(urls(servers)), "ABS_AGENT_URL": f"http://127.0.0.1:{free_port()}"}
    scene = [sys.executable, "-m", "fixtures.agent.scene"]
    straight, recorded = (
        subprocess.run(
            [*scene, *port], cwd=ROOT, env=elsewhere, capture_output=True, text=True, timeout=90, check=False
        )
        for port in ([], ["--agent-port", str(free_port())])
    )

    assert (straight.returncode, len(answers(straight.stdout))) == (0, 5), straight.stderr
    assert (recorded.returncode, answers(recorded.stdout)) == (1, [])
