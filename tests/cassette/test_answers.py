"""The envelope of an API's answers stands once in a conversation, and answers come back byte for byte."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.cassette.exchanges import Earlier
from abs_replay.cassette.quick import quick
from abs_replay.errors import CassetteError
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role

LLM, TOOL = Channel(Role.LLM, "openai"), Channel(Role.TOOL, "orders")
USAGE = {"prompt_tokens": 100, "completion_tokens": 2, "details": {"cached": 0, "audio": 0, "accepted": 0}}


def answer(id_: str, text: str, tokens: int = 100) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    usage = {**USAGE, "prompt_tokens": tokens}
    return {"id": id_, "object": "chat.completion", "choices": choices, "usage": usage, "cost": 1.50e-7}


def exchange(id_: str, body: Any, channel: Channel = LLM, **style: Any) -> Exchange:
    data = body if isinstance(body, bytes) else json.dumps(body, **style).encode()
    return Exchange(id_, channel, 1.0, Request("POST", "/v1"), Response(200, (), Body(data)))


def taped(*exchanges: Exchange, begins: str = "") -> Cassette:
    return Cassette(Recording("r", "n", 0.0), exchanges, frozenset(begins))


def bodies(*exchanges: Exchange, begins: str = "") -> list[Any]:
    """The bodies of the responses as they stand in the file, which must give the very same exchanges back."""
    cassette = taped(*exchanges, begins=begins)
    text = dumps(cassette)
    assert loads(text) == loads(json.dumps(json.loads(text))) == cassette
    assert dumps(loads(text)) == text
    return [each["response"]["body"] for each in json.loads(text)["exchanges"]]


def test_only_the_values_that_differ_from_an_earlier_answer_are_said() -> None:
    first, second = exchange("a", answer("1", "Yes.")), exchange("b", answer("2", "No.", 250), indent=2)
    whole, said = bodies(first, second)
    assert whole["json"] == answer("1", "Yes.")
    values = {"/id": "2", "/choices/0/message/content": "No.", "/usage/prompt_tokens": 250}
    assert said == {"as": "a", "values": values, "style": "indent 2"}
    assert '"abs_cassette": 5' in dumps(taped(first, second))


def test_an_answer_that_came_again_says_nothing_new() -> None:
    assert bodies(exchange("a", answer("1", "Yes.")), exchange("b", answer("1", "Yes.")))[1] == {
        "as": "a",
        "style": "spaced",
    }


def test_places_with_slashes_and_waves_are_found_again() -> None:
    long = {"a/b~1": 1, "~": [0, {"/": 2}], "more": list(range(90))}
    said = bodies(exchange("a", long), exchange("b", long | {"a/b~1": 3, "~": [0, {"/": 4}]}))[1]
    assert said["values"] == {"/a~1b~01": 3, "/~0/1/~1": 4}


@pytest.mark.parametrize(
    "second",
    [
        exchange("b", answer("1", "Yes."), TOOL),
        exchange("b", answer("1", "Yes.") | {"new": 1}),
        exchange("b", dict(reversed(answer("1", "Yes.").items()))),
        exchange("b", answer("1", "Yes.") | {"choices": {"0": answer("1", "Yes.")["choices"][0]}}),
        exchange("b", b"data: {}\n\n"),
        exchange("b", "text"),
    ],
)
def test_what_is_not_alike_is_written_whole(second: Exchange) -> None:
    assert "as" not in bodies(exchange("a", answer("1", "Yes.")), second)[1]


def test_what_saves_little_is_written_whole() -> None:
    assert "as" not in bodies(exchange("a", {"a": [1, 2]}), exchange("b", {"a": [1, 3]}))[1]


def test_nothing_points_out_of_its_conversation_or_to_an_id_that_stands_twice() -> None:
    body = answer("1", "Yes.")
    assert ["as" in each for each in bodies(*(exchange(one, body) for one in "ab"), begins="ab")] == [
        False
    ] * 2
    assert ["as" in each for each in bodies(*(exchange(one, body) for one in "aab"))] == [False] * 3


def test_what_points_is_read_at_speed() -> None:
    text = dumps(taped(exchange("a", answer("1", "Yes.")), exchange("b", answer("2", "No."))))
    earlier = Earlier()
    first = quick(text, text.index("{", text.index('"exchanges"')), earlier)
    assert first is not None
    second = quick(text, text.index("{", first[2]), earlier)
    assert second is not None
    assert [first[0], second[0]] == list(loads(text).exchanges)


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({"as": "z"}, "as: no exchange that stands before in this conversation is called 'z'"),
        ({"as": "b"}, "as: no exchange that stands before in this conversation is called 'b'"),
        ({"as": 1}, "as: no exchange that stands before"),
        ({"as": "t"}, "as: the response of 't' is no JSON"),
        ({"as": "a", "values": []}, "values: expected an object"),
        ({"as": "a", "values": {"/idd": 1}}, "values: the response of 'a' has nothing at '/idd'"),
        ({"as": "a", "values": {"id": 1}}, "values: the response of 'a' has nothing at 'id'"),
        ({"as": "a", "values": {"": 1}}, "values: the response of 'a' has nothing at ''"),
        ({"as": "a", "values": {"/choices/-": 1}}, "values: the response of 'a' has nothing at '/choices/-'"),
        (
            {"as": "a", "values": {"/choices/0/message/content/0": 1}},
            "values: the response of 'a' has nothing at '/choices/0/message",
        ),
        ({"as": "a", "json": 1}, "as, json: expected one of them"),
        ({"as": "a", "append": []}, "append: unknown key"),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_pointer_that_leads_nowhere_is_refused_with_its_path(
    said: Any, wrong: str, indent: int | None
) -> None:
    taken = taped(
        exchange("a", answer("1", "Yes.")), exchange("t", b"text"), exchange("b", answer("2", "No."))
    )
    document = json.loads(dumps(taken))
    document["exchanges"][2]["response"]["body"] = said
    with pytest.raises(CassetteError) as raised:
        loads(json.dumps(document, indent=indent))
    assert f"exchanges[2].response.body: {wrong}" in str(raised.value)


def test_answers_count_among_what_bodies_may_take_from_earlier_ones() -> None:
    text = dumps(taped(exchange("a", answer("1", "Yes.")), exchange("b", answer("2", "No."))))
    earlier = Earlier()
    earlier.most = 10
    first = quick(text, text.index("{", text.index('"exchanges"')), earlier)
    assert first is not None
    assert quick(text, text.index("{", first[2]), earlier) is None


VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1, 1.0, 1e-7, 10**30, "", "a", "/", "~1", "long " * 30]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["0", "a", "/", "~"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=4))
def test_any_answers_come_back(values: list[tuple[Any, Any]]) -> None:
    fill = list(range(90))  # so that it saves something to point
    bodies(*(exchange(f"x{n}", {"v": a, "w": b, "fill": fill}) for n, (a, b) in enumerate(values)))
