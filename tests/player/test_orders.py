"""Whatever order requests come in, each gets its own answer; what says nothing never changes that."""

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.cassette import Cassette
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role
from abs_replay.player import Played, Player, Reason

LLM = Channel(Role.LLM, "openai")


def post(body: Any, target: str = "/v1/responses", **headers: str) -> Request:
    fields = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Request("POST", target, fields, Body(json.dumps(body).encode()))


def player(recorded: Sequence[tuple[Request, str]]) -> Player:
    exchanges = tuple(
        Exchange(f"e{number}", LLM, 0.0, request, Response(200, (), Body(answer.encode())))
        for number, (request, answer) in enumerate(recorded)
    )
    return Player(Cassette(Recording("r", "n", 0.0), exchanges))


def ask(playing: Player, request: Request, scope: str = "") -> str:
    result = playing.play(request, LLM, scope)
    if isinstance(result, Played):
        assert result.response is not None
        return result.response.body.data.decode()
    return result.reason.value


NUMBERS = st.integers(1000, 9999).map(str)
DATES = st.dates().map(str) | st.datetimes().map(lambda moment: f"{moment.isoformat()}Z")
IDS = st.uuids().map(str) | st.from_regex(r"(resp|msg|call)_[a-z][0-9][a-z0-9]{6,12}", fullmatch=True)
VALUES = NUMBERS | DATES | IDS
PLACES = st.sampled_from(("order", "date", "previous_response_id", "system", "query"))


def asked(place: str, value: str) -> Request:
    if place == "query":
        return post({"model": "m"}, f"/orders?id={value}")
    if place == "system":
        return post({"model": "m", "instructions": f"It is about {value}.", "input": "hi"})
    return post({"model": "m", "input": "Where is it?", place: value})


RECORDED = st.lists(st.tuples(PLACES, VALUES), min_size=1, max_size=8, unique=True)


@settings(max_examples=40)
@given(RECORDED, st.randoms(use_true_random=False))
def test_permuting_the_requests_permutes_the_answers(
    values: list[tuple[str, str]], order: random.Random
) -> None:
    playing = player([(asked(*value), str(number)) for number, value in enumerate(values)])
    for number in order.sample(range(len(values)), k=len(values)):
        assert ask(playing, asked(*values[number])) == str(number)


@settings(max_examples=40)
@given(RECORDED, PLACES, VALUES)
def test_a_value_nobody_recorded_takes_no_answer_from_one_asked_as_recorded(
    values: list[tuple[str, str]], place: str, fresh: str
) -> None:
    playing = player([(asked(*value), str(number)) for number, value in enumerate(values)])
    for number, value in enumerate(values):
        assert ask(playing, asked(*value)) == str(number)
    if (place, fresh) not in values:
        assert ask(playing, asked(place, fresh)) in (Reason.UNKNOWN.value, Reason.USED_UP.value)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(("order", "previous_response_id")), VALUES), min_size=2, unique=True)
)
def test_an_exhausted_recording_answers_with_no_neighbour(values: list[tuple[str, str]]) -> None:
    playing = player([(asked(*value), str(number)) for number, value in enumerate(values)])
    assert ask(playing, asked(*values[0])) == "0"
    assert ask(playing, asked(*values[0])) == Reason.USED_UP.value
    assert [ask(playing, asked(*value)) for value in values[1:]] == [str(n) for n in range(1, len(values))]


# -- schedules


def conversation(name: str, fresh: str, turns: int) -> Iterator[tuple[Request, str]]:
    """One conversation's requests and answers: each turn has the history, and every run its own id."""
    messages: list[dict[str, str]] = [{"role": "system", "content": f"Conversation {fresh}"}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"{name}, question {turn}"})
        yield post({"model": "m", "messages": messages}, "/v1/chat/completions"), f"{name} {turn}"
        messages.append({"role": "assistant", "content": f"{name} {turn}"})


def run(
    playing: Player, conversations: dict[str, list[Request]], order: random.Random
) -> dict[str, list[str]]:
    waiting = {name: list(requests) for name, requests in conversations.items()}
    said: dict[str, list[str]] = {name: [] for name in conversations}
    while waiting:
        name = order.choice(sorted(waiting))
        said[name].append(ask(playing, waiting[name].pop(0), "run"))
        waiting = {left: requests for left, requests in waiting.items() if requests}
    return said


@settings(max_examples=5)
@given(
    st.lists(
        st.tuples(st.text("abc", min_size=1, max_size=3), st.uuids(), st.uuids()), min_size=2, max_size=5
    )
)
def test_fifty_shuffled_schedules_come_to_the_same(drawn: list[tuple[str, Any, Any]]) -> None:
    names = {name: (str(then), str(now)) for name, then, now in drawn}
    if len({one for pair in names.values() for one in pair}) < 2 * len(names):
        return
    recorded = [turn for name, (then, _) in names.items() for turn in conversation(name, then, 3)]
    fresh = {name: [request for request, _ in conversation(name, now, 3)] for name, (_, now) in names.items()}
    expected = {name: [f"{name} {turn}" for turn in range(3)] for name in names}
    playing = player(recorded)
    for seed in range(50):
        assert run(playing, fresh, random.Random(seed)) == expected
        playing.reset()


# -- what says nothing

SILENT = {
    "idempotency_key": st.uuids().map(str),
    "user_agent": st.sampled_from(("openai/1.0", "python-httpx/0.28", "curl/8")),
    "traceparent": st.from_regex(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", fullmatch=True),
    "tracestate": st.text("abc=", max_size=5),
    "x_stainless_retry_count": st.integers(0, 5).map(str),
    "x_stainless_runtime_version": st.sampled_from(("3.12.1", "3.13.0")),
    "anthropic_version": st.sampled_from(("2023-06-01", "2024-01-01")),
    "x_request_id": st.uuids().map(str),
    "amz_sdk_invocation_id": st.uuids().map(str),
    "date": DATES,
    "cookie": st.text("abc=;", max_size=9),
}
HEADERS = st.fixed_dictionaries({}, optional=SILENT)


@settings(max_examples=40)
@given(HEADERS, HEADERS, RECORDED)
def test_headers_that_name_the_call_and_not_what_is_asked_never_matter(
    then: dict[str, str], now: dict[str, str], values: list[tuple[str, str]]
) -> None:
    def sent(value: tuple[str, str], headers: dict[str, str]) -> Request:
        plain = asked(*value)
        return post(json.loads(plain.body.data), plain.target, **headers)

    playing = player([(sent(value, then), str(number)) for number, value in enumerate(values)])
    answers = [ask(playing, sent(value, now)) for value in reversed(values)]
    assert answers == [str(number) for number in reversed(range(len(values)))]


# -- secrets

KEYS = st.lists(
    st.from_regex(r"sk-[a-z]{4}[0-9][A-Za-z0-9]{12}", fullmatch=True), min_size=2, max_size=4, unique=True
)


@settings(max_examples=40)
@given(KEYS, st.lists(st.integers(0, 3), min_size=1, max_size=12), st.booleans())
def test_two_recorded_secrets_are_never_taken_for_each_other(
    keys: list[str], order: list[int], in_header: bool
) -> None:
    def sent(secret: str, question: int) -> Request:
        body = {"model": "m", "input": f"question {question}"}
        return post(body, authorization=f"Bearer {secret}") if in_header else post(body | {"api_key": secret})

    recorded = [(n, q) for q in range(3) for n in range(len(keys))]
    playing = player([(sent(f"<key:{n + 1}>", q), f"{n}") for n, q in recorded])
    stands_for: dict[str, str] = {}
    counts: dict[tuple[str, int], int] = {}
    for step in order:
        key, question = keys[step % len(keys)], step % 3
        said = ask(playing, sent(key, question))
        if said.isdigit():
            assert stands_for.setdefault(key, said) == said
            counts[key, question] = counts.get((key, question), 0) + 1
    assert len(set(stands_for.values())) == len(stands_for)
    assert all(count == 1 for count in counts.values())
