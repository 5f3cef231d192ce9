"""A chat's history stands in a cassette once, and every request comes back byte for byte."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.cassette.exchanges import Earlier
from abs_replay.errors import CassetteError
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role

LLM, OTHER = Channel(Role.LLM, "llm"), Channel(Role.LLM, "other")
LONG = "and so on, at some length, " * 12

type Write = Callable[[Any], str]


def asked(id_: str, body: Any, channel: Channel = LLM, written: Write = json.dumps) -> Exchange:
    data = body if isinstance(body, bytes) else written(body).encode()
    return Exchange(id_, channel, 1.0, Request("POST", "/v1/chat", (), Body(data)), Response(200))


def taped(*exchanges: Exchange, begins: frozenset[str] = frozenset()) -> Cassette:
    return Cassette(Recording("r", "chat", 1.0), exchanges, begins)


def bodies(*exchanges: Exchange, begins: frozenset[str] = frozenset()) -> list[Any]:
    """The bodies as they stand in the file, which must give the very same exchanges back."""
    cassette = taped(*exchanges, begins=begins)
    text = dumps(cassette)
    again = loads(text)
    assert again == cassette
    assert dumps(again) == text
    return [each["request"]["body"] for each in json.loads(text)["exchanges"]]


def said(*words: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"{word} {LONG}"} for word in words]


# -- how large a chat is


def openai(history: list[Any]) -> Any:
    return {"model": "m", "messages": [{"role": r, "content": t} for r, t in history], "stream": False}


def openai_answer(text: str) -> Any:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}


def anthropic(history: list[Any]) -> Any:
    """As its agents ask: the end of what may be kept is marked, and the mark moves on at every turn."""
    messages = [{"role": r, "content": [{"type": "text", "text": t}]} for r, t in history]
    messages[-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
    return {"model": "m", "max_tokens": 9, "system": "Be kind.", "messages": messages}


def anthropic_answer(text: str) -> Any:
    return {"type": "message", "role": "assistant", "content": [{"type": "text", "text": text}]}


def gemini(history: list[Any]) -> Any:
    contents = [{"role": r, "parts": [{"text": t}]} for r, t in history]
    return {"contents": contents, "generationConfig": {"temperature": 0}}


def gemini_answer(text: str) -> Any:
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]}


def responses(history: list[Any]) -> Any:
    return {"model": "m", "input": [{"type": "message", "role": r, "content": t} for r, t in history]}


def responses_answer(text: str) -> Any:
    return {"output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}]}


@pytest.mark.parametrize(
    ("request_of", "answer_of"),
    [
        (openai, openai_answer),
        (anthropic, anthropic_answer),
        (gemini, gemini_answer),
        (responses, responses_answer),
    ],
)
@pytest.mark.parametrize("written", [json.dumps, lambda value: json.dumps(value, separators=(",", ":"))])
def test_a_chat_of_a_hundred_messages_is_less_than_three_times_its_messages(
    request_of: Callable[[list[Any]], Any], answer_of: Callable[[str], Any], written: Write
) -> None:
    history: list[tuple[str, str]] = []
    exchanges = []
    for turn in range(50):
        history.append(("user", f"question {turn} {LONG}{LONG}"))
        answer = f"answer {turn} {LONG}{LONG}"
        one = asked(f"x{turn}", request_of(history), written=written)
        body = Body(written(answer_of(answer)).encode())
        exchanges.append(replace(one, response=Response(200, (("content-type", "application/json"),), body)))
        history.append(("assistant", answer))
    cassette = taped(*exchanges)
    text = dumps(cassette)
    size = len(json.dumps([{"role": role, "content": words} for role, words in history]))
    assert len(text) < 3 * size
    assert loads(text) == cassette


# -- what is pointed to


def test_a_request_that_goes_on_says_only_what_is_new() -> None:
    first = {"model": "m", "messages": said("a"), "tools": [LONG]}
    second = {"model": "n", "messages": said("a", "b", "c"), "tools": [LONG], "user": "u"}
    whole, pointed = bodies(asked("x1", first), asked("x2", second))
    assert whole["json"] == first
    assert pointed == {
        "as": "x1",
        "append": said("b", "c"),
        "set": {"model": "n", "user": "u"},
        "style": "spaced",
    }


def test_a_request_that_was_sent_again_says_nothing_new() -> None:
    body = {"messages": said("a")}
    assert bodies(asked("x1", body), asked("x2", body))[1] == {"as": "x1", "style": "spaced"}


def test_a_history_that_was_changed_at_its_end_is_kept_until_there() -> None:
    first, second = {"messages": said("a", "b", "c")}, {"messages": said("a", "b", "d")}
    pointed = bodies(asked("x1", first), asked("x2", second))[1]
    assert pointed == {"as": "x1", "keep": 2, "append": said("d"), "style": "spaced"}


def test_fields_that_are_gone_are_named() -> None:
    first = {"messages": said("a"), "tools": [], "model": "m"}
    pointed = bodies(asked("x1", first), asked("x2", {"messages": said("a"), "model": "m"}))[1]
    assert pointed == {"as": "x1", "without": ["tools"], "style": "spaced"}


def test_of_two_earlier_requests_the_one_that_says_more_is_pointed_to() -> None:
    with_tools = {"messages": said("a"), "tools": [LONG, LONG]}
    without = {"messages": said("a", "b")}
    last = {"messages": said("a", "b", "c"), "tools": [LONG, LONG]}
    shown = bodies(asked("x1", with_tools), asked("x2", without), asked("x3", last))
    assert shown[1]["as"] == "x1"
    assert shown[2]["as"] == "x1"


@pytest.mark.parametrize(
    "second",
    [
        asked("x2", {"messages": said("a")}, OTHER),  # another channel
        asked("x2", {"model": "m", "messages": said("a")}),  # its keys stand in another order
        asked("x2", {"messages": said("b", "a")}),
        asked("x2", {"input": said("a")}),
        asked("x2", {"messages": []}),
        asked("x2", {"messages": "a"}),
        asked("x2", said("a")),
        asked("x2", b'{"messages":1,"messages":[]}'),
    ],
)
def test_what_does_not_go_on_is_written_whole(second: Exchange) -> None:
    shown = bodies(asked("x1", {"messages": said("a"), "model": "m"}), second)
    assert "as" not in shown[1]


def test_equal_values_in_other_words_are_not_the_same() -> None:
    first = {"messages": [[1, LONG]]}
    for other in ([True, LONG], [1.0, LONG]):
        assert "as" not in bodies(asked("x1", first), asked("x2", {"messages": [other]}))[1]


def test_a_short_history_is_easier_to_read_where_it_stands() -> None:
    shown = bodies(asked("x1", {"messages": ["a"]}), asked("x2", {"messages": ["a", "b"]}))
    assert "as" not in shown[1]


def test_nothing_points_to_an_id_that_stands_twice() -> None:
    body = {"messages": said("a")}
    assert ["as" in each for each in bodies(*(asked(id_, body) for id_ in ("x", "x", "y")))] == [False] * 3


def test_nothing_points_out_of_its_conversation() -> None:
    body = {"messages": said("a")}
    exchanges = [asked(id_, body) for id_ in ("x1", "x2", "y1", "y2")]
    shown = bodies(*exchanges, begins=frozenset(("x1", "y1")))
    assert [each.get("as") for each in shown] == [None, "x1", None, "y1"]


def test_only_what_uses_it_is_of_the_third_format() -> None:
    body = {"messages": said("a")}
    one, same = asked("x1", body), asked("x2", body)
    cassettes = [taped(one), taped(one, same), taped(one, begins=frozenset(("x1",)))]
    assert [json.loads(dumps(each))["abs_cassette"] for each in cassettes] == [1, 3, 3]


def test_what_is_changed_by_hand_is_changed_in_all_that_goes_on_from_it() -> None:
    exchanges = [asked("x1", {"messages": said("a")}), asked("x2", {"messages": said("a", "b")})]
    read = loads(dumps(taped(*exchanges)).replace('"a and so', '"A and so', 1))
    assert [each.request.body.data.count(b'"A and so') for each in read.exchanges] == [1, 1]


# -- any exchanges


MESSAGES = st.sampled_from([*said("a", "b"), [1, LONG], [True, LONG], [1.0, LONG], LONG, "ü", {}, None, 0.5])
FIELDS = st.sampled_from(["model", "tools", "messages", "input", "contents"])
VALUES = st.lists(MESSAGES, max_size=4) | st.sampled_from(["m", LONG, 1, True])
WRITES = st.sampled_from(
    [
        json.dumps,
        lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False),
        lambda value: json.dumps(value, indent=2),
        lambda value: f" {json.dumps(value)}\n",
        lambda value: json.dumps(value).replace("[", "[ "),
        lambda value: json.dumps(value)[:-1] + ', "a": 1, "a": 2}',
        lambda value: json.dumps(value)[:-7],
    ]
)
BODIES = st.builds(
    lambda value, write, cut: (write(value), cut),
    st.dictionaries(FIELDS, VALUES, max_size=4),
    WRITES,
    st.sampled_from([None, None, 10**6]),
)
EXCHANGES = st.builds(
    lambda id_, body, channel: replace(
        asked(id_, body[0].encode(), channel),
        request=Request("POST", "/", (), Body(body[0].encode(), (), body[1])),
    ),
    st.sampled_from("abcdefgh"),
    BODIES,
    st.sampled_from([LLM, LLM, OTHER]),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(EXCHANGES, max_size=6), st.data())
def test_any_histories_come_back_byte_for_byte(exchanges: list[Exchange], data: st.DataObject) -> None:
    ids = [exchange.id for exchange in exchanges]
    begins = data.draw(st.frozensets(st.sampled_from(ids), max_size=2)) if ids else frozenset()
    cassette = taped(*exchanges, begins=begins)
    text = dumps(cassette)
    assert loads(text) == cassette
    assert dumps(loads(text)) == text


# -- what can not be read


def edited(body: Any, **changes: Any) -> str:
    document = json.loads(dumps(taped(asked("x1", {"messages": said("a")}), asked("x2", {"a": 1}))))
    document["exchanges"][1]["request"]["body"] = body
    document["exchanges"][1] |= changes
    return json.dumps(document)


NOWHERE = "as: no exchange that stands before in this conversation is called"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"as": "x9"}, f"{NOWHERE} 'x9'"),
        ({"as": "x2"}, f"{NOWHERE} 'x2'"),  # itself
        ({"as": 1}, f"{NOWHERE} 1"),
        ({"as": ["x1"]}, f"{NOWHERE} ['x1']"),
        ({"as": "x1", "keep": 2}, "keep: expected a number up to 1, which 'x1' has"),
        ({"as": "x1", "keep": True}, "keep: expected a number up to 1"),
        ({"as": "x1", "append": {}}, "append: expected a list"),
        ({"as": "x1", "set": []}, "set: expected an object without messages"),
        ({"as": "x1", "set": {"messages": []}}, "set: expected an object without messages"),
        ({"as": "x1", "without": "a"}, "without: expected a list of keys"),
        ({"as": "x1", "without": [1]}, "without: expected a list of keys"),
        ({"as": "x1", "without": ["tools"]}, "without: expected keys of the request of 'x1'"),
        ({"as": "x1", "without": ["messages"]}, "without: expected keys of the request of 'x1'"),
        ({"as": "x1", "json": {}}, "as, json: expected one of them"),
        ({"as": "x1", "text": ""}, "expected exactly one of json, events, text, base64"),
        ({"as": "x1", "apend": []}, "apend: unknown key"),
        ({"as": "x1", "style": "odd"}, "style: expected one of"),
        ({"append": []}, "expected exactly one of json, events, text, base64"),
    ],
)
def test_a_pointer_that_leads_nowhere_is_refused_with_its_path(body: Any, said: str) -> None:
    with pytest.raises(CassetteError) as error:
        loads(edited(body), "c.json")
    assert str(error.value).startswith(f"c.json: exchanges[1].request.body: {said}")


@pytest.mark.parametrize("before", [b"[1]", b"{}", b"no JSON", b"\xff", b'{"messages": {}}'])
def test_only_a_list_of_messages_can_be_gone_on_from(before: bytes) -> None:
    document = json.loads(dumps(taped(asked("x1", before), asked("x2", {"a": 1}))))
    document["exchanges"][1]["request"]["body"] = {"as": "x1"}
    with pytest.raises(CassetteError, match="the request of 'x1' has none of messages, input, contents"):
        loads(json.dumps(document))


def test_what_stands_later_can_not_be_pointed_to() -> None:
    document = json.loads(edited({"as": "x1"}))
    document["exchanges"].reverse()
    with pytest.raises(CassetteError, match=NOWHERE):
        loads(json.dumps(document))


def test_a_pointer_out_of_its_conversation_is_refused() -> None:
    with pytest.raises(CassetteError, match=NOWHERE):
        loads(edited({"as": "x1"}, begins="conversation"))
    with pytest.raises(CassetteError, match=r"exchanges\[1\]\.begins: expected conversation, or nothing"):
        loads(edited({"as": "x1"}, begins="chapter"))


def test_an_answer_points_to_no_request() -> None:
    document = json.loads(edited({"json": {}}))
    document["exchanges"][1]["response"]["body"] = {"as": "x1"}
    with pytest.raises(CassetteError, match=r"response\.body: as: the response of 'x1' is no JSON"):
        loads(json.dumps(document))


def test_a_small_file_whose_bodies_come_to_gigabytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Earlier, "most", 100_000)
    history = asked("x1", {"messages": said(*("word " * 1000 for _ in range(4)))})
    document = json.loads(dumps(taped(history, asked("x2", {"a": 1}))))
    pointing = {
        "body": {"as": "x1"},
        **{key: document["exchanges"][1]["request"][key] for key in ("method", "target")},
    }
    document["exchanges"][1:] = [
        {**document["exchanges"][1], "id": f"y{number}", "request": pointing} for number in range(9)
    ]
    with pytest.raises(
        CassetteError, match=r"exchanges\[5\]\.request\.body: as: what bodies take from earlier"
    ):
        loads(json.dumps(document))
    monkeypatch.setattr(Earlier, "most", 1_000_000)
    assert len(loads(json.dumps(document)).exchanges) == 10
