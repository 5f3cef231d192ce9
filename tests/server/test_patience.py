"""A replay tells its clients to wait at its own pace."""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role, header
from abs_replay.player import Player
from abs_replay.server import ReplayServer
from abs_replay.server.patience import in_its_time

BEGUN = 1_764_540_000.0  # 2025-11-30T22:00:00Z
LLM = Channel(Role.LLM, "openai")


@pytest.mark.parametrize(
    ("name", "value", "none", "faster", "slower"),
    [
        ("retry-after", "20", "0", "2", "40"),
        ("Retry-After", "7", "0", "0", "14"),
        ("retry-after", "1.5", "0", "0.150", "3.000"),
        ("retry-after", "Sun, 30 Nov 2025 22:00:30 GMT", "0", "3", "60"),
        ("retry-after", "Sun, 30 Nov 2025 21:00:00 GMT", "0", "0", "0"),
        ("retry-after", "soon", "soon", "soon", "soon"),
        ("retry-after-ms", "1500", "0", "150", "3000"),
        ("x-ratelimit-reset-tokens", "6m0s", "0s", "36.000s", "720.000s"),
        ("x-ratelimit-reset-requests", "120ms", "0s", "12ms", "240ms"),
        ("x-ratelimit-reset", "30", "0", "3", "60"),
        ("ratelimit-reset", "30", "0", "3", "60"),
        ("x-ratelimit-reset", "1764540030", "1764540000", "1764540030", "1764540030"),
        (
            "anthropic-ratelimit-tokens-reset",
            "2025-11-30T22:00:30Z",
            "2025-11-30T22:00:00Z",
            "2025-11-30T22:00:30Z",
            "2025-11-30T22:00:30Z",
        ),
        ("x-ratelimit-remaining-tokens", "30", "30", "30", "30"),
        ("x-password-reset", "30", "30", "30", "30"),
    ],
)
def test_waits_follow_the_pace(name: str, value: str, none: str, faster: str, slower: str) -> None:
    response = Response(429, ((name, value), ("x-other", "1")))
    for speed, expected in ((None, none), (10.0, faster), (0.5, slower)):
        assert in_its_time(response, BEGUN, speed).headers == ((name, expected), ("x-other", "1"))


@given(
    st.text(st.characters(max_codepoint=255), max_size=30),
    st.floats(0, 4e9),
    st.sampled_from((None, 1.0, 3.0)),
)
def test_any_value_goes_out_as_a_value(value: str, started_at: float, speed: float | None) -> None:
    names = ("retry-after", "retry-after-ms", "x-ratelimit-reset", "anthropic-ratelimit-tokens-reset")
    response = Response(429, tuple((name, value) for name in names))
    changed = in_its_time(response, started_at, speed)
    assert [name for name, _ in changed.headers] == list(names)
    assert all("\n" not in new or "\n" in value for _, new in changed.headers)


def test_answers_that_are_no_errors_keep_what_they_say_of_limits() -> None:
    response = Response(200, (("x-ratelimit-reset-tokens", "6m0s"),))
    assert in_its_time(response, BEGUN, None) is response


@pytest.fixture
def limited() -> Iterator[ReplayServer]:
    """A rate limit with its retry, as an SDK meets it."""
    asked = b'{"messages":[{"role":"user","content":"hi"}],"model":"m"}'
    request = Request("POST", "/v1/chat/completions", (("content-type", "application/json"),), Body(asked))
    said = b'{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"hello"}}]}'
    typed = ("content-type", "application/json")
    waits = (("retry-after", "20"), ("retry-after-ms", "20000"), ("x-ratelimit-reset-requests", "20s"))
    answers = (Response(429, (typed, *waits), Body(b'{"error":{}}')), Response(200, (typed,), Body(said)))
    exchanges = tuple(Exchange(str(n), LLM, BEGUN, request, answer) for n, answer in enumerate(answers))
    cassette = loads(dumps(Cassette(Recording("r", "n", BEGUN), exchanges)))
    with ReplayServer(Player(cassette)) as server:
        assert header(cassette.exchanges[0].response.headers, "retry-after") == "20"  # type: ignore[union-attr]
        yield server


def test_a_client_that_retries_as_recorded_does_not_wait_and_gets_the_answer(limited: ReplayServer) -> None:
    asked: Any = [{"role": "user", "content": "hi"}]
    sdk = openai.OpenAI(base_url=f"{limited.addresses()[LLM]}/v1", api_key="k", timeout=10, max_retries=1)
    begun = time.monotonic()
    with closing(sdk):
        answer = sdk.chat.completions.create(model="m", messages=asked)
    assert answer.choices[0].message.content == "hello"
    assert time.monotonic() - begun < 5


def test_what_was_recorded_goes_out_once_with_its_waits_scaled_and_then_misses(limited: ReplayServer) -> None:
    body = b'{"messages":[{"role":"user","content":"hi"}],"model":"m"}'
    with httpx.Client(base_url=limited.addresses()[LLM], trust_env=False) as client:
        answers = [client.post("/v1/chat/completions", content=body) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [429, 200, 422]
    names = ("retry-after", "retry-after-ms", "x-ratelimit-reset-requests")
    assert [answers[0].headers[name] for name in names] == ["0", "0", "0s"]
    assert (
        "2 times" in answers[2].json()["error"]["message"] or "twice" in answers[2].json()["error"]["message"]
    )
