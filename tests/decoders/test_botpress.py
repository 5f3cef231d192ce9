"""Botpress: posts are told once, by whoever wrote them, wherever they were seen."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.assembly import assemble
from abs_replay.decoders import decode
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Request, Response, Role

AGENT = Channel(Role.AGENT, "agent")
KEY = (("x-user-key", "<key:1>"),)


def exchange(method: str, target: str, body: Any, answer: Any, **more: Any) -> Exchange:
    headers = more.pop("headers", KEY)
    sent = b"" if body is None else json.dumps(body).encode()
    if isinstance(answer, list):
        kind, data = (
            "text/event-stream",
            "".join(f"event: message\ndata: {json.dumps(one)}\n\n" for one in answer),
        )
    else:
        kind, data = "application/json", json.dumps(answer)
    response = Response(more.pop("status", 200), (("content-type", kind),), Body(data.encode()))
    request = Request(method, target, headers, Body(sent))
    given: dict[str, Any] = {"id": "x", "channel": AGENT, "started_at": 0.0, "ended_ms": 10.0} | more
    return Exchange(request=request, response=response, **given)


def kept(name: str, who: str, words: str, second: int = 0, **more: Any) -> dict[str, Any]:
    payload = more.pop("payload", {"type": "text", "text": words})
    at = f"2026-01-01T00:00:{second:02}Z"
    return {"id": name, "conversationId": "c", "userId": who, "payload": payload, "createdAt": at, **more}


def sent(name: str, words: str, second: int = 0, **more: Any) -> Exchange:
    message = kept(name, "u", words, second)
    body = {"conversationId": "c", "payload": message["payload"]}
    return exchange("POST", "/hook/messages", body, {"message": message}, **more)


def listed(*messages: dict[str, Any], **more: Any) -> Exchange:
    newest = sorted(messages, key=lambda one: str(one["createdAt"]), reverse=True)
    return exchange("GET", "/hook/conversations/c/messages", None, {"messages": newest}, **more)


def told(*seen: Exchange) -> list[tuple[str, Any]]:
    return [(step.actor, step.content) for trace in assemble(seen) for step in trace.steps]


def test_a_list_alone_takes_the_first_author_for_the_user() -> None:
    assert told(listed(kept("1", "u", "Hi", 1), kept("2", "b", "Hello", 2))) == [
        ("user", "Hi"),
        ("assistant", "Hello"),
    ]


def test_who_wrote_in_a_list_is_known_from_what_the_user_sent() -> None:
    greeting, hi = kept("1", "b", "Welcome", 1), kept("2", "u", "Hi", 2)
    polled = listed(greeting, hi, kept("3", "b", "Hello", 3), id="y", started_at=2.0)
    assert told(listed(greeting), sent("2", "Hi", 2, id="z", started_at=1.0), polled) == [
        ("assistant", "Welcome"),
        ("user", "Hi"),
        ("assistant", "Hello"),
    ]


def test_the_users_key_says_who_the_user_is() -> None:
    claimed = base64.urlsafe_b64encode(b'{"id":"u"}').decode().rstrip("=")
    headers = (("x-user-key", f"e30.{claimed}.sig"),)
    seen = listed(kept("1", "b", "Welcome", 1), kept("2", "u", "Hi", 2), headers=headers)
    assert told(seen) == [("assistant", "Welcome"), ("user", "Hi")]


def test_an_answer_that_a_later_list_shows_stands_where_the_list_has_it() -> None:
    whole = [kept("1", "u", "One?", 1), kept("2", "b", "One.", 2), kept("3", "u", "Two?", 3)]
    first, second = (
        sent(n, words, at, id=f"s{n}", started_at=at) for n, words, at in (("1", "One?", 1), ("3", "Two?", 3))
    )
    seen = (first, second, listed(*whole, id="l", started_at=9.0))
    assert told(*seen) == [("user", "One?"), ("assistant", "One."), ("user", "Two?")]


messages = st.lists(st.tuples(st.booleans(), st.text(min_size=1, max_size=3)), min_size=1, max_size=6)


@settings(max_examples=40)
@given(messages.filter(lambda said: not all(bot for bot, _ in said)), st.data())
def test_each_post_is_told_once_however_often_it_was_seen(
    said: list[tuple[bool, str]], data: st.DataObject
) -> None:
    whole = [kept(str(n), "b" if bot else "u", words, n) for n, (bot, words) in enumerate(said)]
    seen: list[Exchange] = []
    for n, (bot, words) in enumerate(said):
        if not bot:
            seen.append(sent(str(n), words, n, id=f"s{n}", started_at=n * 1.0))
        elif n + 1 < len(said) and data.draw(st.booleans()):
            continue  # a later list shows it
        seen.append(listed(*whole[: n + 1], id=f"l{n}", started_at=n + 0.5))
    wanted = [("assistant" if bot else "user", words) for bot, words in said]
    assert sorted(told(*seen)) == sorted(wanted)
    if not any(bot for bot, _ in said) or all(bot == (n % 2 == 1) for n, (bot, _) in enumerate(said)):
        assert told(*seen) == wanted


def test_a_signal_came_with_its_chunk() -> None:
    signals = [
        {"type": "message_created", "data": kept("1", "u", "Hi", 1, isBot=False)},
        {"type": "message_created", "data": kept("2", "b", "Hello", 2, isBot=True)},
    ]
    one = exchange("GET", "/hook/conversations/c/listen", None, signals)
    assert one.response
    data = one.response.body.data
    split = data.index(b"\n\n") + 2
    chunks = (Chunk(split - 9, 100.0), Chunk(split, 200.0), Chunk(len(data), 5000.0))
    timed = Exchange(
        "x", AGENT, 0.0, one.request, Response(200, one.response.headers, Body(data, chunks)), ended_ms=9e4
    )
    posts = decode(timed).posts
    assert [(post.message.role, post.at_ms, post.guessed) for post in posts] == [
        ("user", 200.0, False),
        ("assistant", 5000.0, False),
    ]


PAYLOADS: list[tuple[dict[str, Any], Any]] = [
    ({"type": "text", "text": "a"}, "a"),
    ({"type": "markdown", "markdown": "*a*"}, "*a*"),
    (
        {"type": "bloc", "items": [{"type": "text", "text": "a"}, {"type": "markdown", "markdown": "b"}]},
        "a\nb",
    ),
]
PAYLOADS += [
    (payload, payload)
    for payload in (
        {"type": "image", "imageUrl": "http://x/p.png"},
        {"type": "audio", "audioUrl": "http://x/a"},
        {"type": "video", "videoUrl": "http://x/v"},
        {"type": "file", "fileUrl": "http://x/f", "title": "f"},
        {"type": "location", "latitude": 1, "longitude": 2},
        {"type": "card", "title": "t", "actions": []},
        {"type": "carousel", "items": [{"title": "t", "actions": []}]},
        {"type": "choice", "text": "Which?", "options": []},
        {"type": "dropdown", "text": "Which?", "options": []},
        {"type": "bloc", "items": [{"type": "image", "imageUrl": "u"}]},
        {"type": "custom", "url": "u", "data": {}},
    )
]


@pytest.mark.parametrize(("payload", "content"), PAYLOADS)
def test_words_are_text_and_all_else_is_a_structure(payload: dict[str, Any], content: Any) -> None:
    (post,) = decode(listed(kept("1", "u", "", 1, payload=payload))).posts
    assert post.message.content == content


def test_what_became_of_a_message_is_remarked() -> None:
    signals = [
        {"type": "message_deleted", "data": {"id": "1", "conversationId": "c", "userId": "u"}},
        {"type": "message_updated", "data": kept("2", "u", "Hi")},
        {
            "type": "message_stream_delta",
            "data": {"streamId": "s", "conversationId": "c", "delta": {"text": "It"}},
        },
        {"type": "message_stream_delta", "data": {"streamId": "s", "conversationId": "c", "delta": " is"}},
        {"type": "participant_added", "data": {"conversationId": "c", "participantId": "u"}},
    ]
    decoded = decode(exchange("GET", "/hook/conversations/c/listen", None, signals))
    assert (decoded.posts, decoded.session) == ((), "c")
    assert decoded.remarks == (
        "message 1 was deleted later; it stands as it was made",
        "message 2 was updated later; it stands as it was made",
        "a message was begun and not ended: It is",
    )


def test_a_message_that_was_not_taken_fails_in_its_conversation() -> None:
    taken = sent("1", "Hi", 1)
    refused = sent("2", "Hm", 2, id="y", started_at=1.0, status=500)
    (trace,) = assemble([taken, refused])
    assert [(step.actor, step.action) for step in trace.steps] == [
        ("user", "says"),
        ("user", "says"),
        ("system", "fails"),
    ]


@pytest.mark.parametrize(
    ("method", "target", "body", "answer"),
    [
        ("GET", "/conversations/c/messages", None, {"messages": [{"id": "1", "text": "Hi"}]}),
        ("GET", "/conversations/c/messages", None, {"messages": []}),
        ("POST", "/v1/messages", {"messages": [], "max_tokens": 1}, {}),
        ("GET", "/orders/7", None, {}),
    ],
)
def test_other_chats_are_not_taken_for_botpress(method: str, target: str, body: Any, answer: Any) -> None:
    assert decode(exchange(method, target, body, answer, headers=())).protocol != "botpress"


def test_what_a_signal_does_not_say_of_its_author_is_known_from_the_key_or_guessed() -> None:
    claims = base64.urlsafe_b64encode(json.dumps({"id": "u"}).encode()).decode().rstrip("=")
    signals = [{"type": "message_created", "data": kept(n, who, n)} for n, who in (("1", "b"), ("2", "u"))]
    target = "/hook/conversations/c/listen"
    for key, roles in ((f"h.{claims}.s", ["assistant", "user"]), ("h.%.s", ["user", "user"])):
        seen = exchange("GET", target, None, signals, headers=(("x-user-key", key),))
        assert [post.message.role for post in decode(seen).posts] == roles


def test_a_stream_of_signals_is_known_without_a_key() -> None:
    signals = [{"type": "message_created", "data": kept("1", "u", "Hi", isBot=False)}]
    seen = exchange("GET", "/hook/conversations/c/listen", None, signals, headers=())
    assert decode(seen).protocol == "botpress"


def test_one_message_that_is_fetched_is_a_post() -> None:
    seen = exchange("GET", "/hook/messages/1", None, {"message": kept("1", "u", "Hi")})
    assert [post.post_id for post in decode(seen).posts] == ["1"]


def test_a_message_of_the_bots_side_without_a_payload_gives_no_turn() -> None:
    seen = exchange("POST", "/hook/messages", {"conversationId": "c"}, {"message": kept("1", "u", "Hi")})
    decoded = decode(seen)
    assert (decoded.turn, decoded.posts, decoded.session) == (None, (), "c")


def test_a_payload_that_is_posted_to_a_conversation_is_botpress_without_a_key() -> None:
    assert decode(sent("1", "Hi", headers=())).protocol == "botpress"
    bare = exchange("POST", "/hook/messages", {"payload": {}}, {}, headers=())
    assert decode(bare).protocol != "botpress"


def test_a_message_without_an_id_is_remarked_and_is_no_post() -> None:
    nameless = kept("1", "u", "Hi") | {"id": None}
    decoded = decode(listed(nameless, kept("2", "u", "Well")))
    assert [post.post_id for post in decoded.posts] == ["2"]
    assert decoded.remarks == ("a message has no id or no payload",)
