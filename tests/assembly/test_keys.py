"""Where ids of conversations are looked for."""

import pytest

from abs_replay.assembly import ConversationKey
from abs_replay.exchange import Body, Channel, Exchange, Headers, Request, Response, Role


def exchange(sent: bytes = b"", got: bytes = b"", headers: Headers = ()) -> Exchange:
    request = Request("POST", "/", (), Body(sent))
    return Exchange("x1", Channel(Role.AGENT, "agent"), 0.0, request, Response(200, headers, Body(got)))


def test_an_id_that_only_the_response_bears_is_found() -> None:
    by = ConversationKey(header="X-Chat", cookie="chat", body="chat.id")
    assert by.of(exchange(headers=(("x-chat", "1"),))) == "1"
    assert by.of(exchange(headers=(("set-cookie", "chat=2; path=/"),))) == "2"
    assert by.of(exchange(got=b'{"chat": {"id": "3"}}')) == "3"
    assert by.of(exchange(headers=(("set-cookie", "a=b; chat=2"), ("cookie", "chat=; a=b")))) is None


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'{"chats": [7]}', "7"),
        (b'{"chats": [0.5]}', "0.5"),
        (b'{"chats": [true]}', None),
        (b'{"chats": [""]}', None),
        (b'{"chats": []}', None),
        (b'{"chats": 7}', None),
        (b"no json", None),
    ],
)
def test_an_id_in_a_body_is_a_text_or_a_number(body: bytes, found: str | None) -> None:
    assert ConversationKey(body="$.chats[0]").of(exchange(body)) == found


def test_a_cookie_is_found_behind_other_headers() -> None:
    headers = (("accept", "chat=1"), ("set-cookie", "chat=2"))
    assert ConversationKey(cookie="chat").of(exchange(headers=headers)) == "2"
