"""Words on a shelf: what stands for a message is equal to it, and gives its words again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay import exact_json
from abs_replay.assembly import assemble, each_trace
from abs_replay.decoders import Call, Message, Said, Shelf
from abs_replay.decoders.shelving import SHORT
from abs_replay.exact_json import Json
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role

LONG = "ü\ud800 word " * SHORT
JSON = (("content-type", "application/json"),)


class Bytes:
    """A room in memory, of so many bytes."""

    def __init__(self, room: int = 1 << 20) -> None:
        self.data, self.room = b"", room

    def append(self, data: bytes) -> bool:
        if len(self.data) + len(data) > self.room:
            return False
        self.data += data
        return True

    def read(self, start: int, size: int) -> bytes:
        return self.data[start : start + size]


@pytest.mark.parametrize(
    "message",
    [Message("user", LONG, at="m[0]"), Message("tool", LONG, (), "c1", "look_up", "m[1]", error="failed")],
)
def test_what_stands_for_a_message_is_equal_to_it_and_found_as_it(message: Message) -> None:
    kept = Shelf(Bytes(), 0).kept(message)
    other = Shelf(Bytes(), 0).kept(message)
    assert type(kept) is not Message
    assert kept == message == kept == other
    assert hash(kept) == hash(message)
    fields = ("role", "content", "calls", "call_id", "name", "at", "parts", "error")
    assert [getattr(kept, one) for one in fields] == [getattr(message, one) for one in fields]


def test_what_stands_for_a_message_is_not_equal_to_another() -> None:
    shelf = Shelf(Bytes(), 0)
    kept = shelf.kept(Message("user", LONG, at="m[0]"))
    others = [
        Message("user", LONG, at="m[1]"),
        Message("user", LONG + ".", at="m[0]"),
        Message("user", {"text": LONG}, at="m[0]"),
        Message("user", LONG, (Call("look_up"),), at="m[0]"),
        shelf.kept(Message("tool", LONG, (), "c1", at="m[0]")),
    ]
    assert not [one for one in others if kept == one]
    words: object = LONG
    assert kept != words


def test_short_words_structures_and_what_says_more_than_words_stay_in_memory() -> None:
    shelf = Shelf(Bytes(), 0)
    for message in (
        Message("user", "short"),
        Message("tool", [LONG]),
        Message("assistant", LONG, (Call("look_up"),)),
        Message("assistant", LONG, parts=(Said(LONG),)),
    ):
        assert shelf.kept(message) is message


def test_the_first_words_and_those_that_have_no_room_stay_in_memory() -> None:
    message = Message("user", LONG)
    shelf = Shelf(Bytes(), 1)
    assert shelf.kept(message) is message
    assert shelf.kept(message) is not message
    assert Shelf(Bytes(10), 0).kept(message) is message


@given(st.lists(st.text(min_size=SHORT, max_size=SHORT + 9), min_size=1, max_size=40))
def test_every_text_is_given_again(texts: list[str]) -> None:
    shelf = Shelf(Bytes(), 0)
    kept = [shelf.kept(Message("user", text)) for text in texts]
    assert [one.content for one in kept] == texts
    assert [one.content for one in reversed(kept)] == texts[::-1]


def test_traces_are_the_same_whether_words_wait_in_memory_or_on_a_shelf() -> None:
    exchanges = [_turn(chat, number) for number in range(5) for chat in ("a", "b")]
    room = Bytes()
    assert tuple(each_trace(exchanges, shelf=Shelf(room, 0))) == assemble(exchanges)
    assert room.data.count(b"a/3") >= 1


def _turn(chat: str, number: int) -> Exchange:
    said = [f"{chat}/{each} {LONG[:1] * SHORT}" for each in range(2 * number + 2)]
    roles = ("user", "assistant")
    messages: list[Json] = [{"role": roles[i % 2], "content": words} for i, words in enumerate(said)]
    answer: Json = {"choices": [{"index": 0, "message": messages.pop()}]}
    sent, got = (
        Body(exact_json.dumps({"messages": messages}).encode()),
        Body(exact_json.dumps(answer).encode()),
    )
    request = Request("POST", "/v1/chat/completions", JSON, sent)
    return Exchange(
        f"{chat}{number}", Channel(Role.LLM, "llm"), float(number), request, Response(200, JSON, got)
    )
