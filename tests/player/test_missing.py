"""A miss suggests the rule that would have helped, and tells no secret of the client's."""

import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.cassette import Cassette
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role
from abs_replay.matching import Match
from abs_replay.matching.suggesting import path_text, written
from abs_replay.player import Miss, Played, Player
from abs_replay.player.miss import answer, explain, explain_played
from abs_replay.spec.configuration import load
from abs_replay.spec.ignoring import Ignore
from abs_replay.spec.paths import Wild, parsed

LLM = Channel(Role.LLM, "openai")


def post(body: Any, target: str = "/v1/chat/completions", **headers: str) -> Request:
    return Request("POST", target, tuple(headers.items()), Body(json.dumps(body).encode()))


def sent(body: bytes) -> Request:
    return Request("POST", "/v1/chat/completions", (), Body(body))


def player(*recorded: Request, ignore: Sequence[Ignore] = (), match: Match = Match.CANONICAL) -> Player:
    exchanges = tuple(
        Exchange(f"e{number}", LLM, 0.0, request, Response(200, (), Body(f"answer {number}".encode())))
        for number, request in enumerate(recorded)
    )
    return Player(Cassette(Recording("r", "n", 0.0), exchanges), match, ignore)


def missed(playing: Player, asked: Request) -> Miss:
    result = playing.play(asked, LLM)
    assert isinstance(result, Miss)
    return result


def chat(system: str = "Be kind.", user: str = "Where is it?", **more: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return {"model": "m", "messages": messages, **more}


def told_by_both(text: str) -> list[dict[str, str]]:
    return [{"role": role, "content": text} for role in ("system", "developer")]


SUGGESTED = [
    (
        post(chat(metadata={"user_id": "ann"})),
        post(chat(metadata={"user_id": "bob"})),
        "- json: $.metadata.user_id",
    ),
    (post(chat(), "/v1?nonce=1&a=b"), post(chat(), "/v1?nonce=2&a=b"), "- query: nonce"),
    (post(chat(), "/v1?a=b"), post(chat(), "/v1?a=b&requestId=2"), "- query: requestId"),
    (
        post(chat("You are in session 4711 now.")),
        post(chat("You are in session 12 now.")),
        "- json: $.messages[*].content\n  pattern: session \\d+",
    ),
    (
        post(chat(created=1)),
        post(chat(created=2, session_id="x")),
        "- json: $.created\n- json: $.session_id",
    ),
    (
        post({"model": "m", "instructions": "Build 1.2.3 of it", "input": "hi"}),
        post({"model": "m", "instructions": "Build 1.2.44 of it", "input": "hi"}),
        "- json: $.instructions\n  pattern: Build \\d+\\.\\d+\\.\\d+",
    ),
    (
        post(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t", "_meta": {"a/b": 1}}}
        ),
        post(
            {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "t", "_meta": {"a/b": 2}}}
        ),
        "- json: $.params._meta['a/b']",
    ),
    (
        post(chat("You are in run a-1/b now.")),
        post(chat("You are in run c_2 now.")),
        "- json: $.messages[*].content\n  pattern: run \\S+",
    ),
    (
        post({"model": "m", "messages": told_by_both("Run 1")}),
        post({"model": "m", "messages": told_by_both("Run 2")}),
        "- json: $.messages[*].content\n  pattern: Run \\d+",
    ),
]


@pytest.mark.parametrize(("recorded", "asked", "rules"), SUGGESTED)
def test_the_rule_that_would_have_matched_is_said_to_operator_and_client_and_works(
    recorded: Request, asked: Request, rules: str, tmp_path: Path
) -> None:
    playing = player(recorded)
    miss = missed(playing, asked)
    assert written(miss.ignoring) == rules
    exchanges = playing.cassette.exchanges
    said = explain(miss, exchanges)
    assert rules.splitlines()[0] in said
    assert rules.splitlines()[0] in json.dumps(json.loads(answer(miss, exchanges)[1]))
    block = said[said.index("  match:\n") :]
    (tmp_path / "abs.config.yaml").write_text("\n".join(line[2:] for line in block.splitlines()))
    configured = load(tmp_path / "abs.config.yaml").match.ignore
    assert isinstance(player(recorded, ignore=configured).play(asked, LLM), Played)


ORDER = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "get", "arguments": {"id": "A1"}},
}


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        (post(chat(user="Where is order 1001?")), post(chat(user="Where is order 1002?"))),
        (post({"model": "m", "input": "hi 1"}), post({"model": "m", "input": "hi 2"})),
        (post(chat("Be kind.")), post(chat("Be brief."))),
        (post(chat(temperature=0.1)), post(chat(temperature=0.2))),
        (post(chat()), post(chat() | {"model": "n"})),
        (post(chat(metadata={"user_id": "a"})), post(chat(user="other", metadata={"user_id": "b"}))),
        (post(ORDER), post(ORDER | {"params": {"name": "get", "arguments": {"id": "A2"}}})),
        (post({"order_id": 1001}, "/orders"), post({"order_id": 1002}, "/orders")),
        (post({"user_id": 1001}, "/users"), post({"user_id": 1002}, "/users")),
        (post({}, "/orders/1"), post({}, "/orders/2")),
        (post({}, "/orders?id=1"), post({}, "/orders?id=2")),
        (post({}, "/orders"), Request("GET", "/orders", (), Body(b"{}"))),
        (post({}, "/orders?sort=up"), post({}, "/orders?sort=down")),
        (post(chat(reply=None)), post(chat(reply="x"))),
        (
            post(chat(metadata=dict.fromkeys("abcdefghijklm", 1))),
            post(chat(metadata=dict.fromkeys("abcdefghijklm", 2))),
        ),
    ],
)
def test_what_is_meant_is_never_suggested_to_be_ignored(recorded: Request, asked: Request) -> None:
    assert missed(player(recorded), asked).ignoring == ()


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        (post({"model": "m"}, "/x?place=oslo"), post({"model": "m"}, "/x?place=bergen")),
        (post({"model": "m", "system": "Run 1"}), post({"model": "m"})),
        (post({"model": "m"}), post({"model": "m", "system": "Run 1"})),
        (post({"model": "m", "system": "Run 1"}), post({"model": "m", "system": "Run 2 now"})),
        (sent(b'{"model": "m", "n": 1e400}'), sent(b'{"model": "m", "n": 2e400}')),
        (sent(b'{"model": "m", "n": %b}' % (b"7" * 5000)), sent(b'{"model": "m", "n": %b}' % (b"8" * 5000))),
    ],
)
def test_what_only_one_says_or_what_looks_like_words_is_not_suggested(
    recorded: Request, asked: Request
) -> None:
    assert missed(player(recorded), asked).ignoring == ()


def test_a_rule_that_would_make_two_recorded_requests_one_is_not_suggested() -> None:
    recorded = [post(chat(user_id=name)) for name in ("ann", "bob")]
    assert missed(player(*recorded), post(chat(user_id="eve"))).ignoring == ()
    assert missed(player(recorded[0]), post(chat(user_id="eve"))).ignoring


def test_no_rule_is_suggested_for_what_renaming_covers() -> None:
    ids = [str(uuid.UUID(int=number)) for number in range(2)]
    recorded = post(chat(f"Conversation {ids[0]}", metadata={"k": "1"}))
    asked = post(chat(f"Conversation {ids[1]}", metadata={"k": "2"}))
    assert written(missed(player(recorded), asked).ignoring) == "- json: $.metadata.k"


@given(
    st.dictionaries(st.text(max_size=6), st.integers() | st.text(max_size=6), max_size=3), st.text(max_size=6)
)
def test_every_suggested_rule_makes_the_nearest_match(metadata: dict[str, Any], value: str) -> None:
    recorded = post(chat(metadata=metadata))
    asked = post(chat(metadata={**metadata, "fresh": value}))
    result = player(recorded).play(asked, LLM)
    if isinstance(result, Miss) and result.ignoring:
        assert isinstance(player(recorded, ignore=result.ignoring).play(asked, LLM), Played)


@given(st.lists(st.integers(0, 99) | st.just(Wild.EVERY) | st.text("ab c.[]'*", min_size=1), min_size=1))
def test_a_path_is_written_as_it_is_read(path: list[Any]) -> None:
    assert parsed(path_text(tuple(path))) == tuple(path)


def test_a_path_that_looks_anywhere_is_written_so() -> None:
    assert path_text(parsed("$..usage[0]")) == "$..usage[0]"


SECRET = "sk-proj-" + "Ab3dE6gH" * 6


@pytest.mark.parametrize(
    "asked",
    [
        post(chat(user=f"my key is {SECRET}")),
        post(chat(), f"/v1/chat/completions?api_key={SECRET}"),
        post(chat(api_key=SECRET)),
        post(chat(user=f"use {SECRET.lower()}"), authorization=f"Bearer {SECRET.lower()}"),
    ],
)
def test_a_secret_that_the_client_sends_is_told_to_nobody(asked: Request) -> None:
    playing = player(post(chat()))
    miss = missed(playing, asked)
    texts = explain(miss, playing.cassette.exchanges), answer(miss, playing.cassette.exchanges)[1].decode()
    assert all(SECRET not in text and SECRET.lower() not in text for text in texts)
    assert any("<" in text for text in texts)


def test_a_recorded_secret_and_the_clients_are_no_difference_to_be_read() -> None:
    playing = player(post(chat(user="hi", api_key="<key:2>")))
    miss = missed(playing, post(chat(user="ho", api_key=SECRET)))
    assert [one.path for one in miss.differences] == ["body.messages[1].content"]


def test_a_key_in_the_query_is_not_told_where_a_request_is_explained() -> None:
    asked = post(chat(), f"/v1/chat/completions?key={SECRET}")
    result = player(post(chat(), "/v1/chat/completions?key=<key:1>")).play(asked, LLM)
    assert isinstance(result, Played)
    assert SECRET not in explain_played(result, asked)
