"""Requests that mean the same match; no two that were recorded apart are taken for each other."""

import gzip
import json
import time
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role
from abs_replay.matching import Index
from abs_replay.matching.canonical import canonical
from abs_replay.matching.differences import MOST, differences, nearest
from abs_replay.matching.renaming import Bindings, constant, correspond, fingerprint, holds, shape
from abs_replay.spec.ignoring import Ignore
from abs_replay.spec.paths import parsed

LLM = Channel(Role.LLM, "openai")
U1, U2, U3 = (str(uuid.uuid5(uuid.NAMESPACE_URL, str(number))) for number in range(3))


def request(
    body: Any = None, target: str = "/v1/chat/completions", method: str = "POST", **headers: str
) -> Request:
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return Request(method, target, tuple((k.replace("_", "-"), v) for k, v in headers.items()), Body(data))


def key(*arguments: Any, ignore: tuple[Ignore, ...] = (), **more: Any) -> tuple[str, str, str]:
    return canonical(request(*arguments, **more), LLM, ignore).key


def pairs(recorded: Any, asked: Any, **more: Any) -> Any:
    """How two requests correspond: the pairs that are renamed, or None."""
    one, other = request(recorded, **more), request(asked, **more)
    forms = canonical(one, LLM), canonical(other, LLM)
    found = correspond(shape(one, forms[0]), shape(other, forms[1]))
    if found:
        assert "secret" in str(found) or fingerprint(forms[0]) == fingerprint(forms[1])
    return found if found is None else [pair[1:] for pair in found if pair[1] != pair[2]]


def chat(text: str, system: str = "You are kind.") -> dict[str, Any]:
    return {"messages": [{"role": "system", "content": system}, {"role": "user", "content": text}]}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


# -- the canonical form


@given(st.dictionaries(st.text(), JSON_VALUES))
def test_key_order_blanks_and_escapes_do_not_matter(body: dict[str, Any]) -> None:
    turned = dict(reversed(body.items()))
    assert key(body) == key(json.dumps(turned, indent=3, ensure_ascii=False).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a":1}', b'{"a":1.0}'),
        (b'{"a":1.50}', b'{"a":15e-1}'),
        (b'{"a":100}', b'{"a":1E2}'),
        (b'{"a":1.50e400}', b'{"a":15E399}'),
    ],
)
def test_equal_numbers_are_equal_however_written(one: bytes, other: bytes) -> None:
    assert key(one) == key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a":1}', b'{"a":"1"}'),
        (b'{"a":1}', b'{"a":true}'),
        (b'{"a":0.1}', b'{"a":0.1000000000000000055511151231257827}'),
        (b'{"a":[1,2]}', b'{"a":[2,1]}'),
        (b'{"a":null}', b"{}"),
        (b"plain", b"plain "),
        (b'{"a":12345678901234567890.1}', b'{"a":12345678901234567890.2}'),
        (b'{"a":1e-7}', b'{"a":["1e-7"]}'),
        (b'{"a":0.50000000000000000000000000000000001}', b'{"a":0.50000000000000000000000000000000002}'),
        (b'{"a":1e-999999998}', b'{"a":1e-999999999}'),
    ],
)
def test_what_differs_stays_different(one: bytes, other: bytes) -> None:
    assert key(one) != key(other)


def test_the_order_of_a_query_does_not_matter_and_its_values_do() -> None:
    assert key(target="/x?b=2&a=1") == key(target="/x?a=1&b=2")
    assert key(target="/x?a=1") != key(target="/x?a=2")
    assert key(target="/x?a=1&a=2") != key(target="/x?a=1")


def test_method_path_and_channel_matter_and_headers_do_not() -> None:
    assert key(method="GET") != key(method="DELETE")
    assert key(target="/a") != key(target="/b")
    assert key({}, x_stainless_retry_count="1", user_agent="x") == key({})


def test_only_what_is_ignored_is_taken_out() -> None:
    ignore = (
        Ignore(json=parsed("metadata.user")),
        Ignore(json=parsed("items[*].at"), channel="llm"),
        Ignore(query="nonce"),
    )
    one = {"metadata": {"user": 1, "x": 1}, "items": [{"at": 1, "n": 1}]}
    other = {"metadata": {"user": 2, "x": 1}, "items": [{"at": 2, "n": 1}]}
    assert key(one, "/x?nonce=1", ignore=ignore) == key(other, "/x?nonce=2", ignore=ignore)
    assert key(one) != key(other)
    assert key({"items": [{"n": 1}]}, ignore=ignore) != key({"items": [{"n": 2}]}, ignore=ignore)


def test_the_id_of_a_json_rpc_call_does_not_matter_but_being_a_call_does() -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "tools/call",
        "params": {"_meta": {"progressToken": 3}, "n": 3},
    }
    again = {
        "jsonrpc": "2.0",
        "id": "x",
        "method": "tools/call",
        "params": {"_meta": {"progressToken": 9}, "n": 3},
    }
    assert key(call) == key(again)
    assert key(call) != key({name: call[name] for name in call if name != "id"})
    assert key({"id": 3, "method": "x"}) != key({"id": 4, "method": "x"})


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 50_000,
        b'{"a":"\\ud800"}',
        b"\xff\xfe{",
        b'{"a":NaN}',
        b"{",
        b'{"a":1e999999999}',
        b'{"a":1e99999999999999999999}',
        b'{"a":' * 900 + b"1" + b"}" * 900,
    ],
)
def test_no_body_makes_matching_fail(data: bytes) -> None:
    form = canonical(request(data), LLM)
    assert shape(request(data), form).text.startswith("POST ")
    assert fingerprint(form)
    other = canonical(request(data.replace(b"a", b"b")), LLM)
    assert (differences(form, other) == ()) == (b"a" not in data)


# -- renaming


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        (U1, U2),
        ("f" * 12 + "4" + "f" * 3 + "9" + "f" * 15, "0" * 12 + "7" + "0" * 3 + "8" + "0" * 15),
        ("call_abc123", "call_xyz789"),
        ("call_4XkQbT7pWm2", "call_9ZyLcR3aVn1"),
        (f"chatcmpl-{U1}", f"chatcmpl-{U2}"),
        ("2026-11-30T14:26:01Z", "2027-01-02T03:04:05.678Z"),
        ("2026-11-30 14:26", "2027-01-02 03:04"),
        ("Mon, 30 Nov 2026 14:26:01 GMT", "Sat, 02 Jan 2027 03:04:05 GMT"),
        (f"00-{'a' * 32}-{'b' * 16}-01", f"00-{'c' * 32}-{'d' * 16}-01"),
    ],
)
def test_values_that_every_run_makes_afresh_are_renamed(recorded: str, asked: str) -> None:
    assert pairs(chat(f"It is\n{recorded}, ok"), chat(f"It is\n{asked}, ok")) == [(recorded, asked)]
    assert pairs({"arguments": json.dumps({"id": recorded})}, {"arguments": json.dumps({"id": asked})})


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        ("42", "43"),
        ("order 100001", "order 100002"),
        ("run_20241130", "run_20241201"),
        ("call_customers", "call_suppliers"),
        ("2026-11-30", "2026-12-01"),
        ("call_abc123", "msg_abc123"),
        ("refund", "return"),
        ("a" * 64, "b" * 64),
    ],
)
def test_numbers_words_and_plain_dates_are_never_renamed(recorded: str, asked: str) -> None:
    assert pairs(chat(recorded), chat(asked)) is None


@pytest.mark.parametrize(
    "date", ["2026-12-01", "Tuesday, December 1, 2026", "1 December 2026, 10:45 AM", "12/1/2026"]
)
def test_plain_dates_are_renamed_in_system_text_only(date: str) -> None:
    today = date.replace("2026", "2027")
    assert pairs(chat("hi", f"Today is {date}."), chat("hi", f"Today is {today}.")) == [(date, today)]
    assert pairs({"system": [{"text": date}]}, {"system": [{"text": today}]}) == [(date, today)]
    assert pairs({"instructions": date}, {"instructions": today}) == [(date, today)]
    assert pairs(chat(date), chat(today)) is None


def test_boundaries_of_multipart_that_is_formed_loosely_are_renamed() -> None:
    def form(boundary: str, text: str) -> Request:
        data = f'--{boundary}\nContent-Disposition: form-data; name="a"\n\n{text}\n--{boundary}--\n'
        return request(data.encode(), content_type=f"multipart/form-data; boundary={boundary}")

    def alike(one: Request, other: Request) -> bool:
        return bool(correspond(shape(one, canonical(one, LLM)), shape(other, canonical(other, LLM))))

    assert alike(form("XXabc", "hello"), form("YYdefgh", "hello"))
    assert not alike(form("XXabc", "hello"), form("YYdefgh", "bye"))


@pytest.mark.parametrize(
    ("recorded", "asked", "secret"),
    [
        ({"api_key": "<key:1>", "q": 1}, {"api_key": "sk-live-55", "q": 1}, "sk-live-55"),
        ({"a": "Bearer <auth:1>", "id": U1}, {"a": f"Bearer {U3}", "id": U1}, U3),
        ({"a": "<key:1>"}, {"a": "<key:1>"}, None),
    ],
)
def test_a_placeholder_stands_for_any_secret(recorded: Any, asked: Any, secret: str | None) -> None:
    found = pairs(recorded, asked)
    assert [pair[1] for pair in found] == ([secret] if secret else [])


def test_a_placeholder_stands_for_one_whole_secret_and_nothing_else() -> None:
    assert pairs({"k": "<key:1>", "q": 1}, {"k": "abc", "q": 2}) is None
    assert pairs({"k": "<key:1>"}, {"k": "two words"}) is None
    assert pairs({"k": "<key:1>"}, {"k": 'a","x":"b'}) is None
    assert pairs({"k": "<key:1>"}, {"k": ""}) is None


def never(_: str) -> bool:
    return False


def test_renaming_is_one_to_one_and_constant() -> None:
    bindings = Bindings()
    bindings.keep([("uuid", "R1", "A")])
    assert bindings.admit([("uuid", "R1", "A"), ("uuid", "R2", "B")], never)
    assert not bindings.admit([("uuid", "R2", "A")], never)
    assert not bindings.admit([("uuid", "R1", "B")], never)
    assert not Bindings().admit([("uuid", "R1", "A"), ("uuid", "R1", "B")], never)
    assert not Bindings().admit([("uuid", "R1", "A"), ("uuid", "R2", "A")], never)


def test_a_value_that_occurs_in_the_cassette_is_never_renamed() -> None:
    assert not Bindings().admit([("uuid", "R1", "R2")], lambda value: value == "R2")
    assert Bindings().admit([("uuid", "R2", "R2")], lambda value: value == "R2")


def test_times_correspond_within_a_request_and_move_on_between_requests() -> None:
    bindings = Bindings()
    bindings.keep([("time", "12:00", "15:00")])
    assert bindings.admit([("time", "12:01", "15:00")], never)
    assert not bindings.admit([("time", "12:01", "15:00"), ("time", "12:02", "15:00")], never)


@given(st.permutations([U1, U2, U3]), st.permutations([U1, U2, U3]))
def test_two_texts_of_the_same_ids_correspond_by_place(one: list[str], other: list[str]) -> None:
    found = correspond(
        shape(request(one), canonical(request(one), LLM)),
        shape(request(other), canonical(request(other), LLM)),
    )
    assert found is not None
    assert [pair[1:] for pair in found] == list(zip(one, other, strict=True))


# -- the index


def test_a_value_is_known_wherever_it_stands_in_the_cassette() -> None:
    answer = Response(200, (), Body(gzip.compress(f'{{"id":"{U2}"}}'.encode())))
    index = Index([Exchange("1", LLM, 0.0, request({"id": U1}), answer)])
    assert index.known(U1)
    assert index.known(U2)
    assert not index.known(U3)


# -- why two differ


def why(recorded: Any, asked: Any) -> list[str]:
    found = differences(canonical(request(recorded), LLM), canonical(request(asked), LLM))
    return [str(difference) for difference in found]


def test_differences_say_path_and_both_values() -> None:
    assert why(chat("refund"), chat("return")) == [
        'body.messages[1].content: recorded "refund", asked "return"'
    ]
    assert why({"a": 1}, {"b": 1}) == [
        "body.a: recorded 1, asked nothing",
        "body.b: recorded nothing, asked 1",
    ]
    assert why([1], [1, 2]) == ["body[1]: recorded nothing, asked 2"]
    assert why({"a": 1}, {"a": 1.0}) == []


def test_long_texts_are_shown_where_they_begin_to_differ() -> None:
    (line,) = why(chat("x" * 500 + " left " + "y" * 500), chat("x" * 500 + " right " + "y" * 500))
    assert "left" in line
    assert "right" in line
    assert len(line) < 260


def test_the_nearest_differs_least() -> None:
    forms = [
        canonical(request(chat(text)), LLM) for text in ("I want my money back", "Where is order 7?", "Bye")
    ]
    assert nearest(forms, canonical(request(chat("Where is order 8?")), LLM)) == 1
    assert nearest([], forms[0]) is None


def test_the_nearest_of_very_many_is_found_quickly() -> None:
    forms = [canonical(request(chat(f"question {number} " + "x" * number)), LLM) for number in range(2000)]
    assert nearest(forms, canonical(request(chat("question 1500 " + "x" * 1499 + "y")), LLM)) == 1500


def test_what_was_never_answered_and_what_is_no_gzip_hold_their_own_bytes() -> None:
    broken = b"\x1f\x8b" + U2.encode()
    answered = Exchange("1", LLM, 0.0, request({}), Response(200, (), Body(broken)))
    index = Index([Exchange("2", LLM, 0.0, request({"id": U1}), None), answered])
    assert [index.known(value) for value in (U1, U2, U3)] == [True, True, False]


def test_only_conversations_have_a_turn() -> None:
    index = Index([Exchange("1", LLM, 0.0, request({"query": "x"}), None)])
    form = canonical(request(chat("hi")), LLM)
    assert list(index.same_turn(form, LLM)) == []
    assert list(index.same_turn(canonical(request({"query": "x"}), LLM), LLM)) == []


def test_so_many_differences_are_told_and_no_more() -> None:
    assert len(why(list(range(30)), list(range(1, 31)))) == MOST


def test_a_request_that_lacks_something_is_farther_than_one_with_other_words() -> None:
    forms = [canonical(request(one), LLM) for one in ({"a": "left"}, {"a": "lift", "b": 1})]
    assert nearest(forms, canonical(request({"a": "lift", "b": 2}), LLM)) == 1
    assert nearest(forms, canonical(request({"a": "lift"}), LLM)) == 0


def test_a_date_in_system_text_is_renamed_beside_what_is_no_text() -> None:
    def system(date: str) -> dict[str, Any]:
        return {"system": [{"type": "text", "text": f"Today is {date}.", "priority": 1}], "n": 1}

    assert pairs(system("2026-01-02"), system("2026-01-03")) == [("2026-01-02", "2026-01-03")]


def test_values_of_other_kinds_do_not_correspond() -> None:
    assert pairs({"id": U1, "k": "<key:1>"}, {"id": "2026-01-02T10:00:00Z", "k": "secret"}) is None
    assert pairs({"k": "<key:1>"}, {"q": "secret"}) is None


def test_a_multipart_request_corresponds_to_no_other_kind() -> None:
    one, other = request({"id": U1}), request({"id": U2}, content_type='multipart/form-data; boundary="x1"')
    shapes = [shape(each, canonical(each, LLM)) for each in (one, other)]
    assert shapes[0].text == shapes[1].text
    assert correspond(*shapes) is None


@given(
    st.lists(st.text("ab -1") | st.sampled_from((U1, U2, "2026-01-02", "2026-01-02T10:00:00Z")), max_size=6),
    st.lists(st.text("ab -1") | st.sampled_from((U1, U2, "2026-01-02", "2026-01-02T10:00:00Z")), max_size=6),
)
def test_what_has_the_same_shape_holds_what_is_constant_in_it(one: list[str], other: list[str]) -> None:
    requests = [
        request(chat(" ".join(words), f"It is 2026-05-0{n}.")) for n, words in enumerate((one, other), 1)
    ]
    forms = [canonical(each, LLM) for each in requests]
    shapes = [shape(each, form) for each, form in zip(requests, forms, strict=True)]
    assert holds(forms[0], constant(shapes[0]))
    if shapes[0].text == shapes[1].text:
        assert holds(forms[0], constant(shapes[1]))


def test_a_request_lacks_what_another_shape_has_between() -> None:
    form = canonical(request(chat("say yes and no")), LLM)
    head, tail = f"{form.method} {form.target}\n", form.body[-2:]
    assert holds(form, (head, "yes", "no", tail))
    assert not holds(form, (head, "no", "yes", tail))
    assert not holds(form, ("GET", tail))


def test_a_miss_among_many_that_are_much_alike_is_found_quickly() -> None:
    asked_then = [request(chat(f"question {n} of {U1} " + "x" * 4000)) for n in range(1000)]
    exchanges = [Exchange(str(n), LLM, 0.0, one, None) for n, one in enumerate(asked_then)]
    index = Index(exchanges)
    asked = request(chat(f"question 5000 of {U2} " + "x" * 4000))
    begun = time.process_time()
    assert list(index.renamed(asked, index.form(asked, LLM), LLM)) == []
    assert time.process_time() - begun < 0.2
