"""Faults come where their rules say, the same with the same seed, and a client that retries gets through."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.cassette import Cassette
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Recording, Request, Response, Role
from abs_replay.player import Player
from abs_replay.server import ReplayServer
from abs_replay.server.faults import Injector
from abs_replay.spec.faults import FaultRule, Faults

LLM, TOOL = Channel(Role.LLM, "openai"), Channel(Role.TOOL, "orders")
DATA = b'{"a": 1}\n', b'{"b": 2}\n', b'{"c": 3}\n'
CHUNKED = (("content-type", "application/x-ndjson"), ("transfer-encoding", "chunked"))

type Serve = Callable[..., ReplayServer]


def lines() -> Exchange:
    ends = [len(b"".join(DATA[: number + 1])) for number in range(3)]
    body = Body(b"".join(DATA), tuple(Chunk(end, 1.0) for end in ends))
    return Exchange("lines", TOOL, 0.0, Request("GET", "/lines"), Response(200, CHUNKED, body))


def plain(path: str = "/plain") -> Exchange:
    headers = (("content-type", "application/json"), ("content-length", "8"))
    return Exchange(path, TOOL, 0.0, Request("GET", path), Response(200, headers, Body(b'{"a": 1}')))


def chat() -> Exchange:
    asked = b'{"messages":[{"role":"user","content":"hi"}],"model":"m"}'
    said = b'{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"hello"}}]}'
    answer = Response(200, (("content-type", "application/json"),), Body(said))
    return Exchange("chat", LLM, 0.0, Request("POST", "/v1/chat/completions", (), Body(asked)), answer)


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[ReplayServer] = []

    def start(
        *rules: FaultRule, exchanges: tuple[Exchange, ...] = (lines(), plain(), chat())
    ) -> ReplayServer:
        player = Player(Cassette(Recording("r", "n", 0.0), exchanges))
        server = ReplayServer(player, faults=Faults(rules))
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()


def client(server: ReplayServer) -> httpx.Client:
    return httpx.Client(base_url=server.addresses()[TOOL], trust_env=False, timeout=10)


def until_it_broke(answer: httpx.Response) -> bytes:
    received: list[bytes] = []
    with pytest.raises(httpx.RemoteProtocolError):
        received.extend(answer.iter_raw())
    return b"".join(received)


def had(rule: FaultRule, count: int, seed: int = 0) -> list[bool]:
    injector = Injector(Faults((rule,), seed))
    return [injector.decide(TOOL, "/x").wrong is not None for _ in range(count)]


def test_faults_come_on_every_nth_and_the_first_n() -> None:
    assert had(FaultRule("cut", 1), 3) == [True, True, True]
    assert had(FaultRule("cut", 1, every=3), 7) == [False, False, True, False, False, True, False]
    assert had(FaultRule("cut", 1, first=2), 4) == [True, True, False, False]
    assert had(FaultRule("cut", 1, every=2, first=1), 6) == [False, True, False, False, False, False]


@settings(max_examples=30)
@given(st.integers(), st.floats(0.2, 0.8))
def test_chance_is_the_seeds(seed: int, probability: float) -> None:
    rule = FaultRule("cut", 1, probability=probability)
    first = had(rule, 300, seed)
    assert first == had(rule, 300, seed)
    assert abs(sum(first) / 300 - probability) < 0.2
    assert first != had(rule, 300, seed + 1)


def test_a_reset_begins_the_faults_again_and_forgets_no_count() -> None:
    injector = Injector(Faults((FaultRule("cut", 1, first=1), FaultRule("latency", 5))))
    for _ in range(2):
        assert injector.decide(TOOL, "/x").wrong is not None
        assert injector.decide(TOOL, "/x").wrong is None
        injector.reset()
    assert injector.had == {"cut": 2, "latency": 4}


def test_latencies_add_up_and_one_thing_goes_wrong() -> None:
    rules = FaultRule("latency", 5), FaultRule("cut", 1), FaultRule("status", 500), FaultRule("latency", 7)
    injector = Injector(Faults(rules))
    assert (injector.decide(TOOL, "/x").latency_ms, injector.decide(TOOL, "/x").wrong) == (12, rules[1])
    assert injector.had == {"latency": 4, "cut": 2}


def test_latency_comes_before_the_first_byte(serve: Serve) -> None:
    server = serve(FaultRule("latency", 150, path="plain"))
    with client(server) as asking:
        begun = time.monotonic()
        assert asking.get("/plain").json() == {"a": 1}
        assert time.monotonic() - begun >= 0.15
    assert server.faults == {"latency": 1}


@pytest.mark.parametrize(("chunks", "got"), [(0, b""), (1, DATA[0]), (2, DATA[0] + DATA[1])])
def test_a_cut_ends_the_connection_after_so_many_chunks_and_the_retry_is_whole(
    serve: Serve, chunks: int, got: bytes
) -> None:
    with client(serve(FaultRule("cut", chunks, first=1))) as asking:
        with asking.stream("GET", "/lines") as answer:
            assert until_it_broke(answer) == got
        assert asking.get("/lines").content == b"".join(DATA)
        assert asking.get("/lines").status_code == 422


def test_an_answer_with_fewer_chunks_is_cut_all_the_same(serve: Serve) -> None:
    with client(serve(FaultRule("cut", 5))) as asking, pytest.raises(httpx.RemoteProtocolError):
        asking.get("/plain")


def test_a_status_comes_in_place_of_the_recorded_answer_which_waits(serve: Serve) -> None:
    server = serve(FaultRule("status", 503, "tool:orders", first=1))
    with client(server) as asking:
        assert [asking.get("/plain").status_code for _ in range(3)] == [503, 200, 422]


def test_the_openai_sdk_gets_over_a_rate_limit(serve: Serve) -> None:
    server = serve(FaultRule("rate_limit", 0.01, "llm", first=1))
    asked: Any = [{"role": "user", "content": "hi"}]
    base = f"{server.addresses()[LLM]}/v1"
    with closing(openai.OpenAI(base_url=base, api_key="k", timeout=10, max_retries=1)) as sdk:
        answer = sdk.chat.completions.create(model="m", messages=asked)
    assert answer.choices[0].message.content == "hello"
    assert server.faults == {"rate_limit": 1}


def test_a_rate_limit_is_one_to_the_sdk_and_says_how_long(serve: Serve) -> None:
    server = serve(FaultRule("rate_limit", 20))
    asked: Any = [{"role": "user", "content": "hi"}]
    base = f"{server.addresses()[LLM]}/v1"
    sdk = openai.OpenAI(base_url=base, api_key="k", timeout=10, max_retries=0)
    with closing(sdk), pytest.raises(openai.RateLimitError, match="a fault of the kind rate_limit") as raised:
        sdk.chat.completions.create(model="m", messages=asked)
    assert raised.value.response.headers["retry-after"] == "20"


def test_a_malformed_chunk_is_as_long_and_no_json(serve: Serve) -> None:
    with client(serve(FaultRule("malformed", 2, first=1))) as asking:
        received = asking.get("/lines").content
    one, two, three = received.splitlines(keepends=True)
    assert (one, three) == (DATA[0], DATA[2])
    assert len(two) == len(DATA[1])
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(two)


def test_a_fault_makes_no_miss_of_what_was_recorded_and_no_answer_of_what_was_not(serve: Serve) -> None:
    server = serve(FaultRule("malformed", 1))
    with client(server) as asking:
        assert asking.get("/nobody").status_code == 422
        assert asking.get("/plain").status_code == 200


def test_a_reset_over_http_begins_the_faults_again(serve: Serve) -> None:
    with client(serve(FaultRule("status", 500, first=1))) as asking:
        for _ in range(2):
            assert [asking.get("/plain").status_code for _ in range(2)] == [500, 200]
            asking.post("/__abs__/reset")
