"""What is wrong with a cassette: one code for each kind of fault, and none for what is as it should be."""

from dataclasses import replace

import pytest

from abs_replay.cassette import Cassette
from abs_replay.checking import CODES, DAY, Finding, Limits, Severity, findings
from abs_replay.exact_json import Json
from abs_replay.exchange import Body, Channel, Exchange, Outcome, Recording, Role, Upstream
from abs_replay.testing import exchange

CHAT: dict[str, Json] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
MESSAGE: Json = {"role": "assistant", "content": "hello"}
ANSWER: dict[str, Json] = {"model": "m", "choices": [{"index": 0, "message": MESSAGE}]}
PATH = "/v1/chat/completions"
EVENTS = (("content-type", "text/event-stream"),)


def chat(text: str = "hi", **more: object) -> Exchange:
    said: Json = {**CHAT, "messages": [{"role": "user", "content": text}]}
    return exchange(said, ANSWER, role=Role.LLM, target=PATH, **more)  # type: ignore[arg-type]


def stream(*pieces: str) -> Exchange:
    return exchange(
        CHAT | {"stream": True}, "".join(pieces).encode(), role=Role.LLM, target=PATH, headers=EVENTS
    )


def cassette(*exchanges: Exchange) -> Cassette:
    channels = dict.fromkeys(each.channel for each in exchanges)
    upstreams = tuple(Upstream(channel, "http://h") for channel in channels)
    return Cassette(Recording("r", "chat", 1000.0, upstreams=upstreams), exchanges)


def told(*exchanges: Exchange, limits: Limits = Limits()) -> list[tuple[str, int | None]]:
    return [(each.code, each.exchange) for each in findings(cassette(*exchanges), limits)]


def test_what_is_as_it_should_be_gives_no_finding() -> None:
    whole = stream('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n', "data: [DONE]\n\n")
    assert told(chat(), whole) == []


def test_a_secret_is_found_and_its_place_said_but_not_what_stands_there() -> None:
    key = "sk-proj-abcdefghijklmnop0123456789"
    base = chat()
    request = replace(
        base.request,
        target=f"{PATH}?api_key={key}",
        headers=(("Authorization", f"Bearer {key}"), ("content-length", "99")),
        body=Body(f'{{"messages": [{{"role": "user", "content": "{key}"}}]}}'.encode()),
    )
    assert base.response is not None
    response = replace(base.response, headers=(("Set-Cookie", "sid=0123456789abcdef0123"),))
    dirty = replace(base, request=request, response=response, error=f"no such key {key}")
    (finding,) = (each for each in findings(cassette(dirty)) if each.code == "secret")
    places = finding.message.partition(":")[0].split(", ")
    assert places == [
        "request header authorization",
        "request body",
        "response header set-cookie",
        "request target",
        "error",
    ]
    assert key not in finding.message


def test_a_secret_in_a_body_alone_is_found_there() -> None:
    base = exchange({"api_key": "0123456789abcdef0123"}, ANSWER, role=Role.LLM, target=PATH)
    lost = replace(base, response=None, outcome=Outcome.REFUSED)
    (finding,) = findings(cassette(lost))
    assert finding.message.startswith("request body: looks like a secret")


def test_a_placeholder_is_no_secret() -> None:
    base = chat()
    clean = replace(base, request=replace(base.request, headers=(("authorization", "Bearer <auth:1>"),)))
    assert told(clean) == []


def test_an_error_that_was_never_followed_by_a_good_answer_is_found() -> None:
    assert told(chat(status=429), chat("else")) == [("error-status", 0)]


def test_a_retry_that_was_answered_makes_the_failures_before_it_meant() -> None:
    lost = replace(chat(), response=None, outcome=Outcome.UPSTREAM_CLOSED)
    good = replace(chat(), started_at=9.0)
    assert told(lost, chat(status=503), good) == []
    assert told(good, lost, chat(status=503)) == []  # files are in another order


def test_a_good_answer_before_an_error_does_not_make_it_a_retry() -> None:
    assert told(chat(), replace(chat(status=500), started_at=9.0)) == [("error-status", 1)]


def test_where_nothing_came_back_beside_answers_it_is_found() -> None:
    lost = replace(chat("lost"), response=None, outcome=Outcome.TIMED_OUT)
    (finding,) = findings(cassette(chat(), lost))
    assert (finding.code, finding.exchange) == ("no-answer", 1)
    assert finding.message == "timed_out: nothing came back"


def test_a_channel_on_which_nobody_ever_answered_was_recorded_so() -> None:
    refused = replace(chat(), response=None, outcome=Outcome.REFUSED, error="no connection")
    elsewhere = replace(chat(), channel=Channel(Role.LLM, "other"))
    assert told(refused, elsewhere) == []


def test_bodies_that_were_kept_cut_are_found_on_both_sides() -> None:
    base = chat()
    assert base.response is not None
    long = Body(b"{}", size=1000)
    both = replace(base, request=replace(base.request, body=long), response=replace(base.response, body=long))
    messages = [each.message for each in findings(cassette(both)) if each.code == "cut"]
    assert messages == [
        "request body: 2 of 1,000 bytes were kept",
        "response body: 2 of 1,000 bytes were kept",
    ]


def test_a_stream_without_a_byte_is_found_but_not_one_of_an_error() -> None:
    empty = stream()
    assert empty.response is not None
    assert told(empty) == [("empty-stream", 0)]
    failed = replace(empty, response=replace(empty.response, status=502))
    assert ("empty-stream", 0) not in told(failed)


def test_a_stream_without_its_last_event_is_found_though_the_connection_ended_well() -> None:
    assert told(stream('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n')) == [("broken-off", 0)]


def test_a_body_that_the_upstream_broke_off_is_found_with_what_was_said() -> None:
    base = exchange(None, "half", role=Role.TOOL, method="GET", target="/orders")
    torn = replace(base, outcome=Outcome.UPSTREAM_CLOSED)
    assert [(each.code, each.message) for each in findings(cassette(torn))] == [
        ("broken-off", "upstream_closed: it ended early")
    ]
    said = replace(torn, error="connection reset")
    assert findings(cassette(said))[0].message == "upstream_closed: connection reset"


def test_copies_are_found_and_answers_that_differ_are_none() -> None:
    other = exchange(CHAT, ANSWER | {"model": "n"}, role=Role.LLM, target=PATH)
    assert told(chat(), other, chat(), chat()) == [("duplicate", 2), ("duplicate", 3)]
    lost = replace(chat(), response=None, outcome=Outcome.REFUSED)
    assert told(lost, lost) == [("duplicate", 1)]


def test_what_no_decoder_reads_is_a_warning() -> None:
    (finding,) = findings(cassette(exchange(b"\x00", b"\x01", role=Role.LLM, target="/x")))
    assert (finding.code, finding.severity) == ("undecoded", Severity.WARNING)


def test_age_counts_only_where_a_limit_is_set() -> None:
    limits = Limits(now=1000.0 + 91 * DAY, oldest=90 * DAY)
    assert [each.message for each in findings(cassette(chat()), limits)] == [
        "recorded 91 days ago, at most 90 are allowed"
    ]
    assert told(chat(), limits=replace(limits, oldest=92 * DAY)) == []
    assert told(chat(), limits=replace(limits, oldest=None)) == []


def test_what_a_replay_did_not_play_is_found_only_with_its_report() -> None:
    first, second = replace(chat(), id="a"), replace(chat("else"), id="b")
    assert told(first, second, limits=Limits(used=frozenset("a"))) == [("unplayed", 1)]
    assert told(first, second) == []


def test_what_a_replay_could_not_play_since_its_channel_was_live_is_not_unplayed() -> None:
    exchange = replace(chat(), id="a")
    limits = Limits(used=frozenset(), unplayable=frozenset({str(exchange.channel)}))
    assert told(exchange, limits=limits) == []


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_severity(code: str) -> None:
    wanted = Severity.ERROR if CODES[code][0] else Severity.WARNING
    assert Finding(code, "").severity is wanted
