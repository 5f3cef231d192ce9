"""Two recordings of one conversation: what differs without meaning becomes rules, and nothing else does."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.cassette import Cassette
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role
from abs_replay.learning import Lesson, learn
from abs_replay.learning.texts import parts, pattern_for, replaced

LLM, TOOL = Channel(Role.LLM, "openai"), Channel(Role.TOOL, "Orders")
STARTED = 1_780_000_000.0


def chat(messages: Sequence[Any], answer: str, query: str = "", at: float = STARTED, **body: Any) -> Exchange:
    asked = {"model": "m", "messages": messages, **body}
    reply = {"choices": [{"message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}]}
    target = f"/v1/chat/completions{query}"
    return exchange(LLM, "POST", target, asked, {"object": "chat.completion", **reply}, at)


def exchange(
    channel: Channel, method: str, target: str, asked: Any, answer: Any, at: float = STARTED
) -> Exchange:
    body = b"" if asked is None else json.dumps(asked).encode()
    json_type = (("content-type", "application/json"),)
    response = Response(200, json_type, Body(json.dumps(answer).encode()))
    return Exchange(f"{at}{target}", channel, at, Request(method, target, json_type, Body(body)), response)


def tape(*exchanges: Exchange) -> Cassette:
    return Cassette(Recording("r", "r", STARTED), exchanges)


def user(words: str) -> dict[str, str]:
    return {"role": "user", "content": words}


def system(words: str) -> dict[str, str]:
    return {"role": "system", "content": words}


def written(lesson: Lesson) -> list[dict[str, str]]:
    return [{k: v for k, v in each.rule.items() if k != "channel"} for each in lesson.proposals]


def whys(lesson: Lesson) -> dict[str, str]:
    return {doubt.where: doubt.why for doubt in lesson.doubts}


def test_equal_recordings_teach_nothing() -> None:
    one = tape(chat([user("hello there")], "Hi"))
    lesson = learn(one, one)
    assert (lesson.pairs, lesson.alike, lesson.proposals, lesson.left) == (1, 1, (), ())


def test_a_nonce_a_time_and_a_random_user_become_one_rule_each_with_evidence() -> None:
    def run(nonce: str, at: int, who: str) -> Cassette:
        return tape(
            *(
                chat([user(words)], "Hi", f"?nonce={nonce}{n}", metadata={"user_id": who, "sent_at": at + n})
                for n, words in enumerate(("hello there", "and again"))
            )
        )

    lesson = learn(run("a8f3", 1_780_000_100, "u-77ab12"), run("c41d", 1_780_000_900, "u-c0ffee1"))
    assert written(lesson) == [
        {"query": "nonce"},
        {"json": "$.metadata.user_id"},
        {"json": "$.metadata.sent_at"},
    ]
    assert {each.rule["channel"] for each in lesson.proposals} == {"llm:openai"}
    assert [(each.pairs, each.settled) for each in lesson.proposals] == [(2, 2)] * 3
    assert lesson.proposals[0].examples == (("a8f30", "c41d0"), ("a8f31", "c41d1"))
    assert (lesson.left, lesson.doubts) == ((), ())


def test_a_sentence_that_is_written_anew_becomes_a_pattern_that_spares_the_rest() -> None:
    def run(tip: str) -> Cassette:
        return tape(chat([system(f"You help.\nTip of the day: {tip}\nAnswer briefly."), user("hello")], "Hi"))

    lesson = learn(run("be kind to animals."), run("never argue about a refund."))
    assert written(lesson) == [{"json": "$.messages[0].content", "pattern": r"Tip of the day: [^\n]*"}]
    assert lesson.left == ()


def test_what_renaming_already_bears_needs_no_rule() -> None:
    def run(uuid: str, nonce: str) -> Cassette:
        return tape(chat([user("hello")], "Hi", metadata={"request_id": uuid, "nonce": nonce}))

    lesson = learn(
        run("0b0e7e10-52c6-4a4b-9ea2-0d6e7a6c1a10", "zz9a8b"),
        run("7f6d1c9a-1d1b-4b8e-8f39-a6f1c0f3b5d2", "q1w2e3"),
    )
    assert written(lesson) == [{"json": "$.metadata.nonce"}]


def test_words_of_the_user_are_never_proposed() -> None:
    lesson = learn(tape(chat([user("order a1b2c3d4 is late")], "Hi")), tape(chat([user("cancel it")], "Hi")))
    assert lesson.proposals == ()
    assert whys(lesson) == {"$.messages[0].content": "the user's words, or taken from them"}
    assert lesson.left == (0,)


def test_an_order_that_the_user_names_is_no_nonce_in_the_tool_either() -> None:
    def run(order: str) -> Cassette:
        asked = exchange(
            TOOL, "POST", "/find", {"order": order, "nonce": order[::-1] + "x9y8z7"}, {"state": "ok"}
        )
        return tape(chat([user(f"where is {order}?")], "let me see"), asked)

    lesson = learn(run("9f8e7d6c"), run("1a2b3c4d"))
    assert whys(lesson)["$.order"] == "the user's words, or taken from them"
    assert written(lesson) == [{"json": "$.nonce"}]
    assert lesson.left == (0, 1)


def test_amounts_and_numbers_of_answers_are_listed_and_not_proposed() -> None:
    def run(amount: float, order: int) -> Cassette:
        return tape(exchange(TOOL, "POST", "/refund", {"amount": amount, "order_ts": order}, {"done": order}))

    lesson = learn(run(12.5, 1001), run(13.75, 1002))
    assert lesson.proposals == ()
    assert whys(lesson)["$.amount"] == "a number that is no time and no nonce"
    assert whys(lesson)["$.order_ts"] == "a number or an id that answers have, too"
    assert lesson.left == (0,)


def test_what_an_answer_brought_matches_by_construction() -> None:
    def run(answer: str, token: str) -> Cassette:
        made = exchange(TOOL, "POST", "/orders", {"sku": "A"}, {"token": token})
        read = exchange(TOOL, "GET", f"/orders/{token}?page={token}", None, {"state": "open"})
        first, second = user("buy one"), user("is it open?")
        said = {"role": "assistant", "content": answer}
        return tape(chat([first], answer), made, read, chat([first, said, second], "yes"))

    lesson = learn(run("I bought it for you.", "tk-1"), run("Done, it is yours.", "tk-2"))
    assert (lesson.proposals, lesson.left, lesson.echoed) == ((), (), 2)


def test_positions_of_a_list_are_left_open_only_where_all_differ() -> None:
    def run(*marks: str) -> Cassette:
        items = [{"text": f"item {n}", "nonce": mark} for n, mark in enumerate(marks)]
        return tape(exchange(TOOL, "POST", "/index", {"items": items}, {"ok": True}))

    everywhere = learn(run("a1b2c3", "d4e5f6"), run("x1y2z3", "u4v5w6"))
    assert written(everywhere) == [{"json": "$.items[*].nonce"}]
    one = learn(run("a1b2c3", "same00"), run("x1y2z3", "same00"))
    assert written(one) == [{"json": "$.items[0].nonce"}]


def test_secrets_are_masked_in_the_evidence() -> None:
    def run(key: str) -> Cassette:
        return tape(exchange(TOOL, "POST", "/x", {"session_seed": f"sk-proj-{key}"}, {"ok": True}))

    lesson = learn(run("Ab1" * 16), run("Cd2" * 16))
    (proposal,) = lesson.proposals
    assert "Ab1Ab1" not in str(proposal.examples)
    assert "Cd2Cd2" not in str(proposal.examples)


def test_a_request_without_partner_is_told_apart_and_would_miss() -> None:
    one, more = chat([user("hello")], "Hi"), exchange(TOOL, "GET", "/extra", None, {})
    lesson = learn(tape(one), tape(one, more))
    assert (lesson.left, lesson.alone, lesson.unasked) == ((1,), (1,), ())
    assert learn(tape(one, more), tape(one)).unasked == (1,)


def test_rules_that_hold_already_are_not_proposed_again() -> None:
    from abs_replay.spec.ignoring import matching

    def run(nonce: str) -> Cassette:
        return tape(chat([user("hello")], "Hi", f"?nonce={nonce}"))

    held = matching({"ignore": [{"query": "nonce"}]}).ignore
    lesson = learn(run("a1b2c3"), run("x9y8z7"), ignore=held)
    assert (lesson.alike, lesson.proposals) == (1, ())


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_parts_of_two_texts_lead_from_one_to_the_other(then: str, now: str) -> None:
    found = parts(then, now)
    assert replaced(then, found) == now
    assert replaced(then, ()) == then


@given(st.from_regex(r"[a-z ]{0,20}", fullmatch=True), st.from_regex(r"[a-z ]{0,20}", fullmatch=True))
def test_a_pattern_takes_out_what_differs(then: str, now: str) -> None:
    import re

    old, new = f"Say hello.\nMotto: {then}\nBye.", f"Say hello.\nMotto: {now}\nBye."
    found = parts(old, new)
    pattern = pattern_for(found) if len(found) == 1 else None
    if pattern is not None:
        assert re.sub(pattern, "", old) == re.sub(pattern, "", new)
        assert re.sub(pattern, "", old).endswith("\nBye.")


def test_what_a_stream_and_a_tool_brought_comes_back_without_a_rule() -> None:
    def run(call: str, customer: str, words: str) -> Cassette:
        arguments = json.dumps({"customer": customer, "note": words})
        function = {"name": "find", "arguments": arguments[:9]}
        deltas: list[Any] = [
            {"role": "assistant", "tool_calls": [{"index": 0, "id": call, "function": function}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": arguments[9:]}}]},
        ]
        called = {"id": call, "type": "function", "function": {"name": "find", "arguments": arguments}}
        history = [
            user("find me"),
            {"role": "assistant", "content": None, "tool_calls": [called]},
            {"role": "tool", "tool_call_id": call, "content": f"found {words}"},
        ]
        found = exchange(TOOL, "POST", "/find", json.loads(arguments), f"found {words}")
        return tape(streamed([user("find me")], deltas), found, chat(history, "here", stream=True))

    lesson = learn(run("call_ab12cd34", "c-77", "by name"), run("call_zz98yy76", "c-99", "by number"))
    assert (lesson.proposals, lesson.doubts, lesson.left) == ((), (), ())
    assert lesson.alike + lesson.echoed == 3


def streamed(messages: Sequence[Any], deltas: Sequence[Any]) -> Exchange:
    chunks = [
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": each}]} for each in deltas
    ]
    data = b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in chunks) + b"data: [DONE]\n\n"
    asked = Body(json.dumps({"model": "m", "messages": messages, "stream": True}).encode())
    response = Response(200, (("content-type", "text/event-stream"),), Body(data))
    return Exchange("s", LLM, STARTED, Request("POST", "/v1/chat/completions", (), asked), response)


def test_a_model_is_a_setting_and_an_item_more_is_a_shape() -> None:
    one = tape(chat([user("hello")], "Hi", tools=[]))
    other = exchange(
        LLM, "POST", "/v1/chat/completions", {"model": "m2", "messages": [user("hello")] * 2}, {}
    )
    lesson = learn(one, tape(other))
    assert lesson.proposals == ()
    assert whys(lesson)["$.model"] == "a setting, or what the request is about"
    assert whys(lesson)["$.tools"] == "only one of both has it"
    assert lesson.left == (0,)


def test_bodies_and_paths_that_are_no_json_are_compared_as_text() -> None:
    def run(token: str, mark: str) -> Cassette:
        request = Request("POST", f"/sessions/{mark}/send", (), Body(f"nonce={token}&text=hello".encode()))
        return tape(Exchange("x", TOOL, STARTED, request, Response(200, (), Body(b"ok"))))

    lesson = learn(run("a1b2c3d4e5", "s9k2m4x7"), run("z9y8x7w6v5", "q1w2e3r4"))
    assert sorted(each["pattern"] for each in written(lesson)) == [r"/sessions/[\w-]+", r"nonce=[\w-]+"]
    assert lesson.left == ()


def test_a_rule_that_makes_recorded_requests_equal_says_so() -> None:
    def run(*nonces: str) -> Cassette:
        asked = [exchange(TOOL, "GET", f"/state?nonce={n}", None, {"n": k}) for k, n in enumerate(nonces)]
        return tape(*asked, exchange(TOOL, "GET", f"/other?nonce={nonces[0]}", None, {}))

    (proposal,) = learn(run("a1b2c3", "d4e5f6"), run("x1y2z3", "u4v5w6")).proposals
    assert (proposal.rule["query"], proposal.settled, proposal.merged) == ("nonce", 3, 2)


def one_body(first: Any, second: Any, channel: Channel = TOOL) -> Lesson:
    """What two requests teach that differ in their bodies alone."""
    then, now = (exchange(channel, "POST", "/x", body, {"ok": True}) for body in (first, second))
    return learn(tape(then), tape(now))


NUMBER = "a number that is no time and no nonce"
SETTING = "a setting, or what the request is about"
ONE_SIDED = "only one of both has it"
NO_RULE = "made afresh, and nothing around it that a rule could name"


@pytest.mark.parametrize(
    ("then", "now", "why"),
    [
        (1, 2, NUMBER),
        (0, 7.5, NUMBER),
        ("1 200,00 €", "1 300,00 €", NUMBER),
        (True, False, SETTING),
        ("express", "standard", SETTING),
        (None, "standard", SETTING),
    ],
)
def test_what_differs_in_a_place_without_a_telling_name_has_a_meaning(then: Any, now: Any, why: str) -> None:
    lesson = one_body({"parcel": then}, {"parcel": now})
    assert (lesson.proposals, whys(lesson)) == ((), {"$.parcel": why})


def test_what_only_one_request_has_is_made_afresh_by_its_name_alone() -> None:
    assert written(one_body({"a": 1, "nonce": "x"}, {"a": 1})) == [{"json": "$.nonce"}]
    lesson = one_body({"a": 1, "note": "a1b2c3d4"}, {"a": 1})
    assert (lesson.proposals, whys(lesson)) == ((), {"$.note": ONE_SIDED})


def test_a_time_and_a_random_word_are_made_afresh_under_any_name() -> None:
    lesson = one_body(
        {"a": "2026-11-30T10:00:00Z", "b": "k3j4h5", "c": "urgent"},
        {"a": "2026-11-30T11:30:00Z", "b": "m9n8b7", "c": "normal"},
    )
    assert whys(lesson) == {"$.c": SETTING}


def test_what_a_tool_said_is_said() -> None:
    def run(found: str) -> Cassette:
        history = [user("find it"), {"role": "tool", "tool_call_id": "c", "content": f"found {found} there"}]
        return tape(chat(history, "Thanks"))

    lesson = learn(run("nobody"), run("somebody"))
    assert whys(lesson) == {"$.messages[1].content": "what the assistant or a tool said"}


def test_a_path_and_a_parameter_that_mean_something_are_named_where_they_stand() -> None:
    def run(place: str, shown: str) -> Cassette:
        return tape(exchange(TOOL, "GET", f"/shops/{place}?kind=book&shown={shown}", None, {}))

    assert whys(learn(run("oslo", "all"), run("bergen", "few"))) == {"path": SETTING, "query shown": SETTING}


def test_a_name_that_no_path_can_say_is_a_doubt() -> None:
    nonces = "q1w2e3r4", "z9y8x7w6"
    assert written(one_body({"my nonce": nonces[0]}, {"my nonce": nonces[1]})) == [{"json": "$['my nonce']"}]
    odd = 'it\'s "odd"'
    assert whys(one_body({odd: nonces[0]}, {odd: nonces[1]})) == {"$": NO_RULE}


def test_a_body_that_begins_afresh_has_no_rule_for_there_is_nothing_before_it() -> None:
    def run(mark: str) -> Cassette:
        request = Request("POST", "/x", (), Body(f"{mark} hello".encode()))
        return tape(Exchange("x", TOOL, STARTED, request, Response(200, (), Body(b"ok"))))

    assert whys(learn(run("a1b2c3d4e5"), run("z9y8x7w6v5"))) == {"text": NO_RULE}


def test_words_of_a_chat_and_requests_without_an_answer_are_heard() -> None:
    chatting = Channel(Role.AGENT, "bot")

    def run(words: str) -> Cassette:
        payload = {"type": "text", "text": f"it is {words}"}
        kept = {"id": "m1", "conversationId": "c", "userId": "u", "payload": payload}
        post = exchange(chatting, "POST", "/hook/messages", {"payload": payload}, {"message": kept})
        post = replace(post, request=replace(post.request, headers=(("x-user-key", "k"),)))
        ask = exchange(TOOL, "POST", "/x", {"nonce": words}, None)
        return tape(post, replace(ask, response=None))

    lesson = learn(run("q1w2e3r4"), run("z9y8x7w6"))
    assert lesson.proposals == ()
    assert whys(lesson)["$.nonce"] == "the user's words, or taken from them"


def test_a_request_that_is_asked_too_often_or_fits_two_answers_is_left() -> None:
    hello = chat([user("hello")], "Hi")
    assert learn(tape(hello), tape(hello, hello)).left == (1,)
    orders = [f"{n}f6d1c9a-1d1b-4b8e-8f39-a6f1c0f3b5d2" for n in range(3)]
    asked = [exchange(TOOL, "GET", f"/orders/{one}", None, {"n": n}) for n, one in enumerate(orders)]
    assert learn(tape(*asked[:2]), tape(asked[2])).alike == 0


@pytest.mark.parametrize(
    ("then", "now", "pattern"),
    [
        ("a1b2c3 is the run.", "d4e5f6 is the run.", r"^[\w-]+"),
        ("- a1b2c3 is the run.", "- d4e5f6 is the run.", None),
        ("Run of a:1 now.", "Run of b:22 now.", r"Run of \S+"),
        ("The tip: one. Answer.", "The tip: two\nand three. Answer.", r"The tip: [\s\S]*?\. Answer\."),
        ("The tip: one", "The tip: two\nand three", None),
        ("Number x1-fast-a is it.", "Number y2-fast-a is it.", r"Number [\w-]+"),
    ],
)
def test_a_pattern_names_what_stands_around_a_part(then: str, now: str, pattern: str | None) -> None:
    assert pattern_for(parts(then, now)) == pattern


def test_texts_of_too_many_words_differ_in_one_part() -> None:
    then, now = ("Say: " + f"{word} " * 1001 + "now." for word in ("one", "two"))
    (part,) = parts(then, now)
    assert (part.before, part.then, replaced(then, [part])) == ("Say: ", then[5:-5], now)
