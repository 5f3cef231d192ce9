"""A cassette is read exchange by exchange, and says the same of any text as if it were read at once."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abs_replay.cassette import loads
from abs_replay.cassette.scanning import scan
from abs_replay.errors import CassetteError
from abs_replay.json_styles import parse_at, read, write

HEAD = {"abs_cassette": 1, "name": "n"}
ONE = {"id": "x", "channel": "llm", "request": {"method": "GET", "target": "/"}}


def taken(text: str) -> tuple[Any, list[Any]]:
    items: list[Any] = []

    def take(document: dict[str, Any], number: int, place: int) -> int:
        assert number == len(items)
        assert "abs_cassette" in document
        item, place = parse_at(text, place)
        items.append(item)
        return place

    return scan(text, take), items


def test_each_exchange_is_given_with_its_number_and_not_kept() -> None:
    assert taken(json.dumps({**HEAD, "exchanges": [1, [2], {"a": 3}], "id": "r"}, indent=1)) == (
        {**HEAD, "exchanges": [], "id": "r"},
        [1, [2], {"a": 3}],
    )


@pytest.mark.parametrize("indent", [None, 2])
def test_the_order_of_the_keys_does_not_matter(indent: int | None) -> None:
    orders = (
        {**HEAD, "exchanges": [ONE]},
        {"exchanges": [ONE], **HEAD},
        {**HEAD, "exchanges": [ONE], "id": "r"},
    )
    read = [loads(json.dumps(each, indent=indent)) for each in orders]
    assert [[exchange.id for exchange in each.exchanges] for each in read] == [["x"]] * 3


def test_a_newer_format_is_named_before_what_it_says() -> None:
    for text in (
        '{"abs_cassette": 9, "exchanges": [{"new": 1}]}',
        '{"exchanges": [{"new": 1}], "abs_cassette": 9}',
    ):
        with pytest.raises(CassetteError, match="format 9 is newer"):
            loads(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"abs_cassette": 1, "exchanges": []} {}', "line 1, column 38: no JSON: Extra data"),
        ('{"abs_cassette": 1 "exchanges": []}', "column 20: no JSON: Expecting ',' delimiter"),
        ('{"abs_cassette": 1, "exchanges": [{} {}]}', "exchanges[0]"),
        ('{"abs_cassette": 1, "exchanges": [,]}', "column 35: no JSON: Expecting value"),
        ('{"abs_cassette": 1, "exchanges" []}', "column 33: no JSON: Expecting ':' delimiter"),
        ('{"abs_cassette": 1,}', "column 20: no JSON: Expecting property name enclosed in double quotes"),
        ('{"abs_cassette": 1, "name": 1, "name": 2}', 'no JSON: "name" stands twice in one object'),
        ('{"abs_cassette": 1, "name": ' + "[" * 100_000, "JSON nested too deeply"),
        ('{"abs_cassette": 1, "name": 1e99999999999999999999}', "name: expected text"),
    ],
)
def test_what_is_no_json_is_said_with_its_place(text: str, said: str) -> None:
    with pytest.raises(CassetteError) as error:
        loads(text)
    assert said in str(error.value)


def test_what_stands_between_two_exchanges_is_a_comma() -> None:
    text = json.dumps({**HEAD, "exchanges": [ONE, ONE]}).replace("}}, {", "}} {")
    with pytest.raises(CassetteError, match="Expecting ',' delimiter"):
        loads(text)


VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1.5, "", 'a"b', "[", "}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)
TEXTS = st.builds(
    lambda document, indent: json.dumps(document, indent=indent),
    st.dictionaries(st.sampled_from(["abs_cassette", "exchanges", "name"]), VALUES, max_size=3) | VALUES,
    st.none() | st.just(1),
)


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.integers(0, 60), st.sampled_from(["", "", ",", "]", "}", '"', " ", "1", "{", "\u00a0"]))
@example("{}", 9, "")
@example("{,}", 9, "")
@example('{"abs_cassette":1,"exchanges":[]}', 99, "")
def test_any_text_is_read_or_refused_as_if_at_once(text: str, place: int, put: str) -> None:
    text = text[:place] + put + text[place:]
    assert outcome(lambda: write(whole(*taken(text)))) == outcome(lambda: write(read(text.encode())))


def whole(document: Any, items: list[Any]) -> Any:
    return {**document, "exchanges": items} if items else document


def outcome(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ValueError:
        return "refused"
