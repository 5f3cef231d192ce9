"""A cassette answers what was recorded, in the order it was recorded, and misses everything else."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.cassette import Cassette
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Outcome, Recording, Request, Response, Role
from abs_replay.matching import Match
from abs_replay.player import KEPT_MISSES, Miss, Played, Player, Reason
from abs_replay.player.miss import answer, explain, explain_played
from abs_replay.spec.ignoring import Ignore

LLM, MCP = Channel(Role.LLM, "openai"), Channel(Role.TOOL, "mcp")
U = [str(uuid.uuid5(uuid.NAMESPACE_URL, str(number))) for number in range(6)]


def request(body: Any, target: str = "/v1/chat/completions", **headers: str) -> Request:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request("POST", target, tuple((k.replace("_", "-"), v) for k, v in headers.items()), Body(data))


def chat(text: str, system: str = "Be kind.") -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    return {"model": "m", "messages": messages}


def exchange(asked: Request, said: str = "ok", channel: Channel = LLM, **headers: str) -> Exchange:
    data = said.encode()
    fields = tuple((k.replace("_", "-"), v) for k, v in headers.items())
    return Exchange(said, channel, 0.0, asked, Response(200, fields, Body(data, (Chunk(len(data), 1.0),))))


def player(exchanges: Sequence[Exchange], match: Match = Match.CANONICAL) -> Player:
    return Player(Cassette(Recording("r", "n", 0.0), tuple(exchanges)), match)


def said(result: Played | Miss) -> str:
    """What a request was answered, or the reason why it was not."""
    if isinstance(result, Miss):
        return result.reason.value
    assert result.response is not None
    return result.response.body.data.decode()


# -- order


def test_the_same_request_is_answered_in_recorded_order_and_then_misses() -> None:
    hello = request(chat("hello"))
    playing = player([exchange(hello, "one"), exchange(hello, "two")])
    assert [said(playing.play(hello, LLM)) for _ in range(3)] == ["one", "two", "used_up"]


def test_recorded_order_is_that_of_times_and_not_of_the_file() -> None:
    asked = request(chat("hi"))
    later, earlier = (replace(exchange(asked, text), started_at=at) for text, at in (("b", 2.0), ("a", 1.0)))
    unsaid = exchange(asked, "0")
    playing = player([later, earlier, unsaid])
    assert [said(playing.play(asked, LLM)) for _ in range(3)] == ["0", "a", "b"]


def test_every_scope_plays_from_the_beginning() -> None:
    hello = request(chat("hello"))
    playing = player([exchange(hello, "one"), exchange(hello, "two")])
    assert said(playing.play(hello, LLM, "a")) == "one"
    assert said(playing.play(hello, LLM, "b")) == "one"
    assert said(playing.play(hello, LLM, "a")) == "two"


def test_reset_begins_again() -> None:
    hello = request(chat("hello"))
    playing = player([exchange(hello, "one")])
    assert said(playing.play(hello, LLM)) == "one"
    assert said(playing.play(hello, LLM)) == "used_up"
    playing.reset()
    assert said(playing.play(hello, LLM)) == "one"
    assert playing.summary().missed == 1


TEXTS = st.lists(st.text(max_size=8) | st.sampled_from(U), min_size=1, max_size=8, unique=True)


@given(TEXTS, st.data())
def test_permuting_the_requests_permutes_the_answers(texts: list[str], data: st.DataObject) -> None:
    playing = player([exchange(request(chat(text)), f"answer {n}") for n, text in enumerate(texts)])
    order = data.draw(st.permutations(range(len(texts))))
    answers = [said(playing.play(request(chat(texts[number])), LLM)) for number in order]
    assert answers == [f"answer {number}" for number in order]
    assert playing.summary().unused == ()


# -- renaming


def test_two_recorded_orders_are_never_taken_for_each_other() -> None:
    playing = player([exchange(request({"order": U[0]}), "zero"), exchange(request({"order": U[1]}), "one")])
    assert said(playing.play(request({"order": U[1]}), LLM)) == "one"
    assert said(playing.play(request({"order": U[0]}), LLM)) == "zero"
    assert said(playing.play(request({"order": U[1]}), LLM)) == "used_up"


def test_a_fresh_id_keeps_standing_for_the_same_recorded_one() -> None:
    first, second = {"step": "first", "run": U[0]}, {"step": "second", "run": U[0]}
    playing = player([exchange(request(first), "one"), exchange(request(second), "two")])
    assert said(playing.play(request({**first, "run": U[1]}), LLM)) == "one"
    assert said(playing.play(request({**second, "run": U[2]}), LLM)) == "unknown"
    assert said(playing.play(request({**second, "run": U[1]}), LLM)) == "two"


def test_a_recorded_id_in_capitals_is_taken_for_no_other() -> None:
    playing = player([exchange(request(b"", f"/orders/{one}"), one) for one in U[:2]])
    assert said(playing.play(request(b"", f"/orders/{U[0]}"), LLM)) == U[0]
    assert said(playing.play(request(b"", f"/orders/{U[0].upper()}"), LLM)) == "unknown"


def test_a_value_that_was_asked_as_recorded_stands_for_no_other_in_that_scope() -> None:
    first, second = (exchange(request(b"", f"/orders/{U[0]}"), answer) for answer in ("pending", "shipped"))
    playing = player([first, second])
    assert said(playing.play(first.request, LLM)) == "pending"
    assert said(playing.play(request(b"", f"/orders/{U[5]}"), LLM)) == "unknown"
    assert said(playing.play(request(b"", f"/orders/{U[5]}"), LLM, "another")) == "pending"
    assert said(playing.play(first.request, LLM)) == "shipped"


def test_a_fresh_id_that_fits_two_different_answers_is_ambiguous() -> None:
    playing = player([exchange(request({"order": U[0]}), "zero"), exchange(request({"order": U[1]}), "one")])
    result = playing.play(request({"order": U[2]}), LLM)
    assert isinstance(result, Miss)
    assert result.reason is Reason.AMBIGUOUS
    assert result.candidates == (0, 1)
    assert "exchanges[0]" in explain(result, playing.cassette.exchanges)
    assert "exchanges[1]" in explain(result, playing.cassette.exchanges)


def test_answers_that_send_the_client_elsewhere_differ() -> None:
    asked = [request(b"", f"/go/{one}") for one in U[:2]]
    away = [Response(302, (("Location", place),)) for place in ("/a", "/b")]
    there = [replace(exchange(one), response=answer) for one, answer in zip(asked, away, strict=True)]
    assert said(player(there).play(request(b"", f"/go/{U[5]}"), LLM)) == "ambiguous"


def test_a_fresh_id_that_fits_two_equal_answers_is_answered() -> None:
    playing = player([exchange(request({"order": U[0]}), "same"), exchange(request({"order": U[1]}), "same")])
    fresh = [playing.play(request({"order": U[number]}), LLM) for number in (2, 3, 4)]
    assert [said(result) for result in fresh] == ["same", "same", "unknown"]


def test_strict_renames_nothing() -> None:
    playing = player([exchange(request({"run": U[0]}))], Match.STRICT)
    assert said(playing.play(request({"run": U[1]}), LLM)) == "unknown"
    assert said(playing.play(request({"run": U[0]}), LLM)) == "ok"


def test_numbers_never_match_other_numbers() -> None:
    playing = player([exchange(request({"amount": 100001}))], Match.LOOSE)
    assert said(playing.play(request({"amount": 100002}), LLM)) == "unknown"


def test_loose_takes_the_same_turn_with_another_prompt() -> None:
    recorded = [
        exchange(request(chat("hi", "Old prompt.")), "a"),
        exchange(request(chat("bye", "Old.")), "b"),
    ]
    asked = request(chat("bye", "New prompt."))
    assert said(player(recorded).play(asked, LLM)) == "unknown"
    assert said(player(recorded, Match.LOOSE).play(asked, LLM)) == "b"
    assert said(player(recorded, Match.LOOSE).play(request(chat("ciao", "New.")), LLM)) == "unknown"


def test_loose_does_not_choose_between_different_answers() -> None:
    recorded = [exchange(request(chat("hi", "A.")), "a"), exchange(request(chat("hi", "B.")), "b")]
    assert said(player(recorded, Match.LOOSE).play(request(chat("hi", "C.")), LLM)) == "ambiguous"


def test_a_clock_in_the_prompt_does_not_make_a_replay_miss() -> None:
    prompts = [f"It is 2026-11-30T14:2{minute}:00Z." for minute in range(3)]
    playing = player([exchange(request(chat(f"q{n}", p)), f"a{n}") for n, p in enumerate(prompts)])
    now = "It is 2027-05-05T10:00:00Z."
    assert [said(playing.play(request(chat(f"q{n}", now)), LLM)) for n in range(3)] == ["a0", "a1", "a2"]


# -- secrets


def test_any_key_does_where_only_one_was_used() -> None:
    playing = player([exchange(request(chat("hi"), authorization="Bearer <auth:1>"))])
    assert said(playing.play(request(chat("hi"), authorization="Bearer sk-other"), LLM)) == "ok"


def test_a_wrong_key_beside_the_right_one_stays_a_different_request() -> None:
    right, wrong = "Bearer <auth:1>", "Bearer <auth:2>"
    recorded = [(right, "200"), (wrong, "401"), (right, "200 again")]
    playing = player([exchange(request(chat("hi"), authorization=key), text) for key, text in recorded])
    asked = [request(chat("hi"), authorization=f"Bearer {key}") for key in ("good", "bad", "bad", "good")]
    assert [said(playing.play(one, LLM)) for one in asked] == ["200", "401", "used_up", "200 again"]


def test_a_placeholder_in_a_body_matches_any_secret_one_to_one() -> None:
    recorded = [exchange(request({"key": "<key:1>", "n": n}), f"a{n}") for n in range(2)]
    playing = player(recorded)
    assert said(playing.play(request({"key": "sk-55", "n": 0}), LLM)) == "a0"
    assert said(playing.play(request({"key": "sk-66", "n": 1}), LLM)) == "unknown"
    assert said(playing.play(request({"key": "sk-55", "n": 1}), LLM)) == "a1"


def test_a_placeholder_in_a_query_matches_any_secret() -> None:
    target = "/v1beta/models/g:generateContent?alt=sse&key="
    playing = player([exchange(request(chat("hi"), f"{target}<key:1>")), exchange(request(chat("yo"), "/x"))])
    assert said(playing.play(request(chat("hi"), f"{target}placeholder"), LLM)) == "ok"


# -- JSON-RPC and MCP


def rpc(number: Any, method: str = "tools/call", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def test_the_answer_to_a_json_rpc_call_carries_its_id() -> None:
    answer_text = json.dumps({"jsonrpc": "2.0", "id": 3, "result": {"id": 3, "content": []}})
    playing = player([exchange(request(rpc(3)), answer_text, MCP)])
    result = json.loads(said(playing.play(request(rpc("seventeen")), MCP)))
    assert result == {"jsonrpc": "2.0", "id": "seventeen", "result": {"id": 3, "content": []}}


def test_ids_in_a_stream_follow_and_the_chunks_keep_their_borders() -> None:
    events = [
        'data: {"jsonrpc":"2.0","method":"notifications/x","params":{"progressToken":3,"n":3}}\r\n\r\n',
        'data: {"jsonrpc":"2.0","id":3,"method":"sampling/createMessage"}\r\n\r\n',
        'event: message\r\ndata: {"jsonrpc":"2.0","id":3,"result":{"id":3}}\r\n\r\n',
    ]
    text = "".join(events)
    ends = [len("".join(events[: number + 1])) for number in range(3)]
    recorded = exchange(request(rpc(3, _meta={"progressToken": 3})), text, MCP)
    body = Body(text.encode(), tuple(Chunk(end, 1.0) for end in ends))
    recorded = replace(recorded, response=Response(200, (), body))
    result = player([recorded]).play(request(rpc(1234, _meta={"progressToken": 1234})), MCP)
    assert isinstance(result, Played)
    assert result.response is not None
    starts = [0, *(chunk.end for chunk in result.response.body.chunks)]
    sent = [said(result)[start:end] for start, end in pairwise(starts)]
    assert sent == [
        events[0].replace('Token":3', 'Token":1234'),
        events[1],
        events[2].replace('"id":3,', '"id":1234,'),
    ]


def test_every_mcp_client_gets_a_session_of_its_own_and_plays_what_was_recorded_in_it() -> None:
    def session(name: str, answer_text: str) -> list[Exchange]:
        begin = exchange(request(rpc(0, "initialize")), "begun", MCP, mcp_session_id=name)
        call = exchange(request(rpc(1), mcp_session_id=name), answer_text, MCP, mcp_session_id=name)
        return [begin, call]

    playing = player([*session("s1", "first"), *session("s2", "second")])
    begun = [playing.play(request(rpc(0, "initialize")), MCP, scope) for scope in ("", "", "another")]
    names = [
        dict(one.response.headers)["mcp-session-id"]
        for one in begun
        if isinstance(one, Played) and one.response
    ]
    assert names == ["s1", "s2", "s1-2"]
    for name, expected in zip(reversed(names), ("first", "second", "first"), strict=True):
        result = playing.play(request(rpc(1), mcp_session_id=name), MCP, f"mcp {name}")
        assert said(result) == expected
        assert isinstance(result, Played)
        assert result.response is not None
        assert dict(result.response.headers)["mcp-session-id"] == name


# -- misses


def test_a_miss_names_the_nearest_and_what_differs() -> None:
    playing = player([exchange(request(chat("I want a refund"))), exchange(request(chat("Where is it?")))])
    result = playing.play(request(chat("I want a voucher")), LLM)
    assert isinstance(result, Miss)
    text = explain(result, playing.cassette.exchanges)
    assert "POST /v1/chat/completions on llm:openai: nobody recorded this request" in text
    assert "nearest: exchanges[0]" in text
    assert 'body.messages[1].content: recorded "I want a refund", asked "I want a voucher"' in text


def test_a_miss_on_an_empty_channel_says_so() -> None:
    playing = player([])
    result = playing.play(request(chat("hi")), LLM)
    assert isinstance(result, Miss)
    assert "nothing was recorded on llm:openai" in explain(result, ())


@pytest.mark.parametrize(
    ("asked", "content_type", "at"),
    [
        (request(chat("x")), "application/json", ["error", "message"]),
        (request(chat("x"), "/anthropic/v1/messages"), "application/json", ["error", "message"]),
        (request(chat("x"), "/v1beta/models/g:generateContent"), "application/json", ["error", "message"]),
        (request(rpc(7), "/mcp"), "application/json", ["error", "message"]),
        (request(chat("x"), "/chat"), "application/problem+json", ["title"]),
    ],
)
def test_a_miss_answers_in_the_shape_of_the_api(asked: Request, content_type: str, at: list[str]) -> None:
    playing = player([])
    result = playing.play(asked, LLM)
    assert isinstance(result, Miss)
    given_type, body = answer(result, ())
    assert given_type == content_type
    document = json.loads(body)
    if b"jsonrpc" in asked.body.data:
        assert document["id"] == 7
    for name in at:
        document = document[name]
    assert "nobody recorded this request" in document


def test_misses_are_counted_without_end_and_kept_up_to_a_limit() -> None:
    playing = player([])
    for number in range(KEPT_MISSES + 5):
        playing.play(request(chat(str(number))), LLM)
    summary = playing.summary()
    assert summary.missed == KEPT_MISSES + 5
    assert len(summary.misses) == KEPT_MISSES


def test_what_two_scopes_asked_alike_counts_as_used_twice_if_both_were_answered_alike() -> None:
    hello = request(chat("hello"))
    for second, unused in (("one", 0), ("two", 1)):
        playing = player([exchange(hello, "one"), replace(exchange(hello, second), id="other")])
        assert [said(playing.play(hello, LLM, scope)) for scope in ("a", "b")] == ["one", "one"]
        assert len(playing.summary().unused) == unused


def test_the_summary_tells_used_from_unused_and_leaves_out_what_nobody_can_ask() -> None:
    refused = Exchange("r", MCP, 0.0, request({}), None, Outcome.REFUSED)
    playing = player([exchange(request(chat("a")), "a"), exchange(request(chat("b")), "b"), refused])
    playing.play(request(chat("a")), LLM)
    summary = playing.summary()
    assert [one.id for one in summary.used] == ["a"]
    assert [one.id for one in summary.unused] == ["b"]


@given(st.binary(max_size=80), st.text(st.characters(max_codepoint=255), max_size=20))
def test_no_request_makes_the_player_fail(data: bytes, target: str) -> None:
    playing = player([exchange(request(rpc(1)), "x"), exchange(request({"k": "<key:1>"}), "y")])
    result = playing.play(Request("POST", target, (), Body(data)), LLM)
    if isinstance(result, Miss):
        assert explain(result, playing.cassette.exchanges)
        assert answer(result, playing.cassette.exchanges)


def test_what_was_no_request_is_a_miss_of_its_channel_that_says_so() -> None:
    playing = player([])
    told = explain(playing.unreadable(LLM), ())
    assert told == "something on llm:openai that is no HTTP/1.1 request: TLS, HTTP/2, or a path too long"
    assert playing.summary().missed == 1


def test_what_was_renamed_is_used_up_like_what_was_not() -> None:
    playing = player([exchange(request({"id": U[0]}), "one")])
    assert [said(playing.play(request({"id": U[1]}), LLM)) for _ in range(2)] == ["one", "used_up"]


def test_a_request_that_was_never_answered_is_played_as_its_failure() -> None:
    refused = Exchange("r", LLM, 0.0, request({"id": U[0]}), None, Outcome.REFUSED)
    result = player([refused]).play(request({"id": U[1]}), LLM)
    assert isinstance(result, Played)
    assert (result.response, result.exchange.outcome) == (None, Outcome.REFUSED)
    both = player([refused, exchange(request({"id": U[2]}), "one")])
    assert said(both.play(request({"id": U[3]}), LLM)) == "ambiguous"


# -- why something matched


def explained(playing: Player, asked: Request) -> str:
    result = playing.play(asked, LLM)
    assert isinstance(result, Played)
    return explain_played(result, asked)


def test_each_way_to_match_is_told_with_what_stood_for_what() -> None:
    first, second = f"call_{U[0]}", f"call_{U[1]}"
    playing = player([exchange(request(chat(first))), exchange(request({"b": 1, "a": 2}))], Match.LOOSE)
    place = "POST /v1/chat/completions on llm:openai: "
    recorded = "as exchanges[0], POST /v1/chat/completions (id ok)"
    playing.reset()
    assert explained(playing, request(chat(first))) == f"{place}the same bytes {recorded}"
    playing.reset()
    assert explained(playing, request({"a": 2, "b": 1})).startswith(
        f"{place}the same meaning as exchanges[1]"
    )
    playing.reset()
    renamed = explained(playing, request(chat(second)))
    assert renamed == f"{place}the same but for fresh values {recorded}: {second} for {first}"
    playing.reset()
    assert explained(playing, request(chat(first, "Be quick."))) == f"{place}the same turn {recorded}"


def test_the_clients_own_secret_is_not_told() -> None:
    playing = player([exchange(request(chat("my key is <key:1>")))])
    told = explained(playing, request(chat("my key is sk-0123456789abcdef")))
    assert told.endswith(": a secret for <key:1>")


def test_keys_do_not_count_where_their_header_is_ignored() -> None:
    good, bad = request({}, authorization="Bearer <auth:1>"), request({}, authorization="Bearer <auth:2>")
    cassette = Cassette(Recording("r", "n", 0.0), (exchange(good, "one"), exchange(bad, "two")))
    other = request({}, authorization="Bearer x")
    apart = Player(cassette)
    assert [said(apart.play(each, LLM)) for each in (bad, other)] == ["two", "one"]
    alike = Player(cassette, ignore=(Ignore(header="Authorization", channel="llm"),))
    assert [said(alike.play(each, LLM)) for each in (bad, other)] == ["one", "two"]
