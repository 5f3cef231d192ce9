"""What decoders say, told as traces: parts in order, chains of answers, polls, posts, spans, branches."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.assembly import ConversationKey
from abs_replay.decoders import (
    Answer,
    Call,
    Decoded,
    Message,
    Post,
    Said,
    Served,
    Span,
    Thought,
    ToolUse,
    Turn,
)
from abs_replay.exchange import Role
from abs_replay.trace import Branch, Usage, Visibility
from tests.assembly.wire import A1, A2, LOOK, SEARCH, U1, U2, Wire, brief, parts, said, told, user


@pytest.fixture
def wire() -> Wire:
    return Wire()


def test_a_reply_is_told_part_by_part_in_order(wire: Wire) -> None:
    failed = Served(Call("run", {}, "s2"), "boom", error="boom")
    unseen = Served(Call("later", {}, "s3"), answered=False)
    reply = parts(Thought("hm"), Said("Let me see."), SEARCH, failed, unseen, Said("So."), LOOK)
    wire.turn([U1], reply, 0, model="m", usage=Usage(3, 4))
    steps = wire.steps()
    assert brief(steps) == [
        ("user", "says", "one"),
        ("assistant", "thinks", "hm"),
        ("assistant", "responds", "Let me see."),
        ("assistant", "calls", "search"),
        ("tool", "responds", "search"),
        ("assistant", "calls", "run"),
        ("tool", "responds", "run"),
        ("assistant", "calls", "later"),
        ("assistant", "responds", "So."),
        ("assistant", "calls", "look"),
    ]
    assert [step.seq for step in steps if step.visibility is Visibility.INTERNAL] == [2]
    assert [(step.seq, step.error) for step in steps if step.error] == [(7, "boom")]
    assert [(step.seq, step.usage) for step in steps if step.usage] == [(3, Usage(3, 4))]


@pytest.mark.parametrize(
    "echo",
    [
        parts(Thought("hm"), Said("a"), SEARCH, Said("b")),
        parts(Said("a"), SEARCH, Said("b")),
        parts(Thought("other"), Said("a"), Said("b")),
        said("a\nb"),
    ],
)
def test_an_echo_is_known_whatever_thoughts_and_served_parts_a_client_keeps(
    wire: Wire, echo: Message
) -> None:
    wire.turn([U1], parts(Thought("hm"), Said("a"), SEARCH, Said("b")), 0)
    wire.turn([U1, echo, U2], A2, 20)
    wire.turn([U1, said("a\nb"), U2, A2, user("three")], said("third"), 40)
    words = [step.content for step in wire.steps() if step.action in ("says", "responds") and not step.target]
    assert words == ["one", "a", "b", "two", "second", "three", "third"]


def test_a_message_that_only_thinks_is_no_part_of_the_history(wire: Wire) -> None:
    wire.turn([U1], parts(Thought("hm"), Said("a")), 0)
    wire.turn([U1, parts(Thought("hm")), said("a"), U2], A2, 20)
    wire.turn([U1, said("a"), U2, A2, user("three")], said("third"), 40)
    assert [step.content for step in wire.steps() if step.actor == "user"] == ["one", "two", "three"]


def test_a_call_that_a_paused_reply_begins_and_the_next_ends_is_one(wire: Wire) -> None:
    paused = parts(Said("Wait."), replace(SEARCH, answered=False))
    wire.turn([U1], paused, 0)
    wire.turn([U1, paused], parts(SEARCH, Said("Done.")), 20)
    assert brief(wire.steps())[1:] == [
        ("assistant", "responds", "Wait."),
        ("assistant", "calls", "search"),
        ("tool", "responds", "search"),
        ("assistant", "responds", "Done."),
    ]


def test_what_a_tool_failed_with_stands_on_its_answer(wire: Wire) -> None:
    wire.turn([U1], said(None, LOOK), 0)
    wire.turn([U1, said(None, LOOK), told("c1", "no", error="no")], A2, 20)
    assert [step.error for step in wire.steps() if step.actor == "tool"] == ["no"]


# -- answers by id -----------------------------------------------------------


def test_an_answer_that_names_the_one_before_continues_its_conversation(wire: Wire) -> None:
    for at, name in ((0, "a"), (1, "b")):
        wire.turn([U1], said(f"to {name}"), at, response_id=f"{name}1")
    for at, name in ((20, "b"), (21, "a")):
        wire.turn([U2], said(f"more {name}"), at, response_id=f"{name}2", parent_id=f"{name}1")
        wire.turn([user("yes")], said(f"end {name}"), at + 20, response_id=f"{name}3", parent_id=f"{name}2")
    assert [[step.content for step in trace.steps] for trace in wire.account().traces] == [
        ["one", f"to {name}", "two", f"more {name}", "yes", f"end {name}"] for name in ("a", "b")
    ]


def test_an_answer_that_goes_on_from_an_earlier_one_is_a_branch(wire: Wire) -> None:
    wire.turn([U1], A1, 0, response_id="r1")
    wire.turn([U2], A2, 20, response_id="r2", parent_id="r1")
    wire.turn([user("else")], said("other"), 40, response_id="r3", parent_id="r1")
    wire.turn([user("on")], said("on it goes"), 60, response_id="r4", parent_id="r3")
    first, second = wire.account().traces
    assert [step.content for step in first.steps] == ["one", "first", "two", "second"]
    assert [step.content for step in second.steps] == ["one", "first", "else", "other", "on", "on it goes"]
    assert second.branch_of == Branch(first.id, 2)
    assert [step.sources for step in second.steps[:2]] == [step.sources for step in first.steps[:2]]


def test_a_chained_request_that_failed_and_comes_again_is_a_retry(wire: Wire) -> None:
    wire.turn([U1], A1, 0, response_id="r1")
    wire.turn([U2], None, 20, parent_id="r1", error="HTTP 503", status=503)
    wire.turn([U2], A2, 40, response_id="r2", parent_id="r1")
    wire.turn([user("three")], said("third"), 60, parent_id="r2")
    steps = wire.steps()
    assert [step.content for step in steps] == ["one", "first", "two", "second", "three", "third"]
    assert [step.retries for step in steps] == [0, 0, 0, 1, 0, 0]


def test_an_answer_that_nobody_saw_begun_opens_a_conversation(wire: Wire) -> None:
    wire.turn([U1], A1, 0, response_id="r1")
    wire.turn([U2], A2, 20, response_id="r9", parent_id="r8")
    assert len(wire.account().traces) == 2


def test_polls_are_one_answer_told_once(wire: Wire) -> None:
    wire.turn([U1], None, 0, response_id="r1")
    for at in (20, 40):
        wire.turn([], None, at, poll_of="r1", response_id="r1")
    done = replace(A1, at="response.output[0]")
    for at in (60, 80):
        wire.turn([], done, at, poll_of="r1", response_id="r1", model="m", usage=Usage(1, 2))
    wire.turn([U2], A2, 100, response_id="r2", parent_id="r1")
    account = wire.account()
    (trace,) = account.traces
    assert [step.content for step in trace.steps] == ["one", "first", "two", "second"]
    answer = trace.steps[1]
    assert (answer.at_ms, answer.duration_ms, answer.model) == (70, 70, "m")
    assert [source.exchange for source in answer.sources] == ["x4", "x5"]
    assert trace.usage == Usage(1, 2)
    assert all(fate.traces == (trace.id,) for fate in account.fates)


# -- branches and segments ---------------------------------------------------


def test_an_edited_message_makes_a_branch_that_shares_the_steps_before(wire: Wire) -> None:
    wire.turn([U1], A1, 0)
    wire.turn([U1, A1, U2], A2, 20)
    wire.turn([U1, A1, user("two, edited")], said("edited"), 40)
    wire.turn([U1, A1, user("two, edited"), said("edited"), user("three")], said("third"), 60)
    first, second = wire.account().traces
    assert [step.content for step in first.steps] == ["one", "first", "two", "second"]
    assert [step.content for step in second.steps] == [
        "one",
        "first",
        "two, edited",
        "edited",
        "three",
        "third",
    ]
    assert (first.branch_of, second.branch_of) == (None, Branch(first.id, 2))


def test_an_answer_asked_for_again_leaves_the_first_one_where_it_was(wire: Wire) -> None:
    wire.turn([U1], A1, 0)
    wire.turn([U1, A1, U2], A2, 20)
    wire.turn([U1, A1, U2], said("better"), 40)
    wire.turn([U1, A1, U2, said("better"), user("three")], said("third"), 60)
    wire.turn([U1, A1, U2, A2, user("four")], said("fourth"), 80)
    first, second = wire.account().traces
    assert [step.content for step in first.steps] == ["one", "first", "two", "second", "four", "fourth"]
    assert [step.content for step in second.steps] == ["one", "first", "two", "better", "three", "third"]
    assert second.branch_of == Branch(first.id, 2)


def test_a_branch_shares_what_ran_behind_the_agent_before(wire: Wire) -> None:
    agent = {"role": Role.AGENT}
    wire.turn([U1], A1, 0, **agent)
    wire.turn([U1], said(None, LOOK), 1, model="m", usage=Usage(5, 1))
    wire.add(Decoded("mcp", uses=(ToolUse("look", {"n": 1}, "seen"),)), 5, Role.TOOL)
    wire.turn([U1, A1, U2], A2, 100, **agent)
    wire.turn([U1, A1, user("edit")], said("edited"), 200, **agent)
    first, second = wire.account().traces
    shared = [
        ("user", "says", "one"),
        ("assistant", "calls", "look"),
        ("assistant", "responds", "first"),
        ("tool", "responds", "look"),
    ]
    assert sorted(brief(first.steps)[:4]) == sorted(brief(second.steps)[:4]) == sorted(shared)
    assert second.branch_of == Branch(first.id, 4)
    assert second.usage == Usage(5, 1)


def test_examples_that_nobody_answered_here_are_no_history_to_leave(wire: Wire) -> None:
    examples = [user("like this"), said("yes, like this")]
    for at, word in ((0, "one"), (20, "two"), (40, "one")):
        wire.turn([*examples, user(word)], said(f"to {word}"), at)
    assert [trace.branch_of for trace in wire.account().traces] == [None, None, None]


def test_a_history_that_was_summed_up_starts_a_marked_segment(wire: Wire) -> None:
    wire.turn([U1], A1, 0)
    wire.turn([U1, A1, U2], A2, 20)
    wire.turn([user("So far: one."), U2, A2, user("three")], said("third"), 40)
    wire.turn([user("So far: one."), U2, A2, user("three"), said("third"), user("four")], said("4th"), 60)
    steps = wire.steps()
    shown = [step for step in steps if step.visibility is Visibility.USER]
    assert [step.content for step in shown] == [
        "one",
        "first",
        "two",
        "second",
        "three",
        "third",
        "four",
        "4th",
    ]
    assert [(step.content, step.segment) for step in steps if step.segment] == [("So far: one.", "rewritten")]


def test_a_window_that_slides_over_the_history_is_marked_once(wire: Wire) -> None:
    line = [U1]
    for number in range(6):
        reply = said(f"answer {number}")
        wire.turn(line[-3:], reply, number * 20)
        line += [reply, user(f"question {number}")]
    steps = wire.steps()
    assert len(steps) == 12
    assert [step.content for step in steps if step.segment] == ["question 1"]


def test_what_the_vendor_summed_up_is_marked_and_tells_no_word_twice(wire: Wire) -> None:
    wire.turn([U1], A1, 0, session="s")
    wire.turn([U1, A1, U2], A2, 20, session="s")
    wire.turn([U1, U2, user("three")], said("third"), 40, session="s", compacted=True)
    wire.turn(
        [U1, U2, user("three"), said("third"), user("four")], said("4th"), 60, session="s", compacted=True
    )
    steps = wire.steps()
    assert [step.content for step in steps] == [
        "one",
        "first",
        "two",
        "second",
        "three",
        "third",
        "four",
        "4th",
    ]
    assert [step.content for step in steps if step.segment == "compacted"] == ["three"]


def test_a_history_that_shares_nothing_is_another_conversation_or_a_segment_where_an_id_ties_it(
    wire: Wire,
) -> None:
    wire.turn([U1], A1, 0)
    wire.turn([user("other"), said("x"), U2], A2, 20)
    assert len(wire.account().traces) == 2
    tied = Wire()
    tied.turn([U1], A1, 0, session="s")
    tied.turn([user("other"), said("x"), U2], A2, 20, session="s")
    assert [step.segment for step in tied.steps()] == [None, None, "separate", None, None, None]


# -- conversations by ids ------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "how"),
    [
        (ConversationKey(header="X-Chat"), lambda n: {"headers": {"x-chat": n}}),
        (ConversationKey(cookie="chat"), lambda n: {"headers": {"cookie": f"a=b; chat={n}"}}),
        (ConversationKey(cookie="chat"), lambda n: {"headers": {"cookie": f'chat="{n}"; other'}}),
        (
            ConversationKey(body="meta.chats[0]"),
            lambda n: {"body": b'{"meta": {"chats": [%s]}}' % n.encode()},
        ),
    ],
)
def test_a_configured_id_keeps_like_conversations_apart(wire: Wire, by: ConversationKey, how: Any) -> None:
    for at, name in ((0, "1"), (1, "2"), (20, "1"), (21, "2")):
        wire.turn([user(f"words {at}")], said(f"reply {at}"), at, Role.AGENT, **how(name))
    traces = wire.account(by).traces
    assert [[step.content for step in trace.steps if step.actor == "user"] for trace in traces] == [
        ["words 0", "words 20"],
        ["words 1", "words 21"],
    ]
    assert len(wire.account().traces) == 4


def post(id_: str, role: str, text: str, at_ms: float | None = None) -> Post:
    return Post(id_, Message(role, text, at=f"response.{id_}"), at_ms)


def test_posts_that_are_sent_streamed_and_listed_are_told_once_in_time_order(wire: Wire) -> None:
    def chat(session: str, at: float, *posts: Post) -> None:
        wire.add(Decoded("chat", session=session, posts=posts), at, Role.AGENT)

    for name, at in (("a", 0), ("b", 5)):
        stream = (post("m1", "user", f"hi {name}", 30), post("m2", "assistant", f"hello {name}", 500))
        chat(name, at, *stream, post("m4", "assistant", f"second {name}", 900))
        chat(name, at + 20, post("m1", "user", f"hi {name}"))
        chat(name, at + 600, post("m3", "user", f"and {name}"))
        listing = ("m4", "assistant", "second"), ("m3", "user", "and"), ("m1", "user", "hi")
        chat(name, at + 2000, *(post(id_, role, f"{words} {name}") for id_, role, words in listing))
    account = wire.account()
    assert [brief(trace.steps) for trace in account.traces] == [
        [
            ("user", "says", f"hi {name}"),
            ("assistant", "responds", f"hello {name}"),
            ("user", "says", f"and {name}"),
            ("assistant", "responds", f"second {name}"),
        ]
        for name in ("a", "b")
    ]
    first = account.traces[0]
    assert [step.at_ms for step in first.steps] == [0, 470, 580, 870]
    assert [source.exchange for source in first.steps[0].sources] == ["x1", "x2", "x4"]
    assert all(fate.traces for fate in account.fates)


def span(id_: str, start: float, end: float, **more: Any) -> Span:
    return Span(id_, 1000 + start / 1000, 1000 + end / 1000, **more)


def test_spans_alone_are_conversations_with_times_of_their_own(wire: Wire) -> None:
    spans = [
        span("1", 100, 150, turn=Turn((U1,), said(None, LOOK)), session="s"),
        span("2", 160, 180, use=ToolUse("look", {"n": 1}, "seen"), session="s"),
        span("3", 190, 250, turn=Turn((U1, said(None, LOOK), told("c1", "seen")), A1), session="s"),
        span("4", 120, 220, turn=Turn((user("else"),), said("other")), session="t"),
    ]
    wire.add(Decoded("otlp", spans=tuple(spans)), 5000)
    first, second = wire.account().traces
    assert [step.action for step in first.steps] == ["says", "calls", "responds", "responds"]
    assert [step.at_ms for step in first.steps] == pytest.approx([0, 50, 80, 150], abs=0.1)
    assert [step.content for step in second.steps] == ["else", "other"]
    assert first.id != second.id


def test_a_span_of_what_the_wire_shows_is_one_more_source(wire: Wire) -> None:
    wire.turn([U1], said(None, LOOK), 0, response_id="r1")
    wire.add(Decoded("mcp", uses=(ToolUse("look", {"n": 1}, "seen"),)), 20, Role.TOOL)
    wire.turn([U1, said(None, LOOK), told("c1", "seen")], A1, 40)
    bare = [step.sources for step in wire.steps()]
    spans = [
        span("1", 0, 10, turn=Turn((), None, response_id="r1"), trace_id="t"),
        span("2", 20, 30, use=ToolUse("look", {"n": 1}, "seen"), trace_id="t"),
        span("3", 40, 50, turn=Turn((U1,), A1), trace_id="t"),
        span("4", 0, 60, turn=Turn((U1,), A1), trace_id="t"),
    ]
    wire.add(Decoded("otlp", spans=tuple(spans)), 500)
    steps = wire.steps()
    assert len(steps) == len(bare) == 4
    assert ["x4" in [source.exchange for source in step.sources] for step in steps] == [
        False,
        True,
        True,
        True,
    ]


def test_a_span_at_another_time_is_another_turn(wire: Wire) -> None:
    wire.turn([U1], A1, 0)
    wire.add(Decoded("otlp", spans=(span("1", 9000, 9010, turn=Turn((U1,), A1), trace_id="t"),)), 9500)
    assert len(wire.account().traces) == 2


# -- why ------------------------------------------------------------------------


def test_every_exchange_has_a_fate_and_every_step_a_reason(wire: Wire) -> None:
    wire.turn([U1], None, 0, error="HTTP 429: slow down", status=429)
    wire.turn([U1], A1, 20)
    wire.turn([U1, A1, U2], A2, 40)
    wire.add(Decoded(None, reason="no decoder claims it"), 60)
    wire.add(Decoded("mcp"), 80, Role.TOOL)
    account = wire.account()
    (trace,) = account.traces
    assert [(fate.traces, fate.why) for fate in account.fates] == [
        ((trace.id,), ""),
        ((trace.id,), "the same request again"),
        ((trace.id,), "1 message told before, dropped"),
        ((), "no decoder claims it"),
        ((), "mcp: says nothing of a conversation"),
    ]
    notes = account.notes[trace.id]
    assert all(noted[0].kind == "shown" for noted in notes)
    assert [(note.kind, note.exchange) for note in notes[1]] == [
        ("shown", "x2"),
        ("retry", "x1"),
        ("echo", "x3"),
    ]
    assert [step.retries for step in trace.steps] == [0, 1, 0, 0]


scripts = st.lists(st.sampled_from(["yes", "no", "go on", "why?"]), min_size=1, max_size=5)


@given(st.lists(scripts, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_like_conversations_side_by_side_are_each_told_whole(scripts: list[list[str]], chance: Any) -> None:
    """Agents that answer alike for a while: each request must go on from a history that is its own."""
    wire = Wire()
    lines: list[list[Message]] = [[] for _ in scripts]
    waiting = [(number, words) for number, script in enumerate(scripts) for words in script]
    order = sorted(range(len(waiting)), key=lambda _: chance.random())
    queue = {number: [words for n, words in waiting if n == number] for number in range(len(scripts))}
    for at, place in enumerate(order):
        number = waiting[place][0]
        line = [*lines[number], user(queue[number].pop(0))]
        reply = said(f"{len(line)}: {line[-1].content}")
        wire.turn(line, reply, at * 20)
        lines[number] = [*line, reply]
    found = sorted([step.content for step in trace.steps] for trace in wire.account().traces)
    assert found == sorted([message.content for message in line] for line in lines)


def test_a_branch_that_said_nothing_new_shares_all_its_steps(wire: Wire) -> None:
    wire.turn([U1], A1, 0, response_id="r1")
    wire.turn([U2], A2, 20, response_id="r2", parent_id="r1")
    wire.turn([], None, 40, parent_id="r1")
    first, second = wire.account().traces
    assert [step.content for step in first.steps] == ["one", "first", "two", "second"]
    assert [step.content for step in second.steps] == ["one", "first"]
    assert second.branch_of == Branch(first.id, 2)


def test_a_guess_of_who_wrote_is_bettered_by_other_posts_alone(wire: Wire) -> None:
    def roles(*posts: Post) -> list[str]:
        wire.said.clear()
        wire.add(Decoded("chat", session="s", posts=posts), 0, Role.AGENT)
        return [step.actor for step in wire.steps()]

    guessed = Post("2", Message("assistant", "b"), 2.0, "u", guessed=True)
    assert roles(guessed) == ["assistant"]
    assert roles(Post("1", Message("user", "a"), 1.0, "u"), guessed) == ["user", "user"]
    assert roles(Post("1", Message("assistant", "a"), 1.0, "b"), guessed) == ["assistant", "user"]
    assert roles(Post("1", Message("user", "a"), 1.0, "w"), guessed) == ["user", "assistant"]


def test_a_span_that_wraps_another_is_its_turn_and_one_beside_it_is_another(wire: Wire) -> None:
    inner = span("1", 40, 50, turn=Turn((U1,), A1), trace_id="t")
    wire.add(Decoded("otlp", spans=(inner, span("2", 0, 60, turn=Turn((U1,), A1), trace_id="t"))), 500)
    assert len(wire.steps()) == 2
    wire.said.clear()
    wire.add(Decoded("otlp", spans=(inner, span("2", 55, 95, turn=Turn((U1,), A1), trace_id="t"))), 500)
    assert sum(len(trace.steps) for trace in wire.account().traces) == 4


def test_a_use_whose_answer_nobody_saw_stays_open_beside_one_that_was_answered(wire: Wire) -> None:
    uses = (ToolUse("look", {}, ticket="1"), ToolUse("find", {}, error="no answer", ticket="2"))
    wire.add(Decoded("mcp", uses=uses, complete=False), 0, Role.TOOL)
    wire.add(Decoded("mcp", answers=(Answer("1", ToolUse("", {}, "seen"), 0.0),)), 20, Role.TOOL)
    answers = {step.target: (step.content, step.error) for step in wire.steps() if step.actor == "tool"}
    assert answers == {"look": ("seen", None), "find": (None, "no answer")}


def test_a_request_without_messages_is_told_by_its_answer(wire: Wire) -> None:
    wire.turn([U1], A1, 0)
    wire.turn([], A2, 20)
    told_ = [brief(trace.steps) for trace in wire.account().traces]
    assert told_ == [
        [("user", "says", "one"), ("assistant", "responds", "first")],
        [("assistant", "responds", "second")],
    ]


def test_a_request_made_again_before_the_first_came_back_is_a_retry(wire: Wire) -> None:
    wire.turn([U1], None, 0, error="overloaded", status=503)
    wire.turn([U1], A1, 5, headers={"x-stainless-retry-count": "1"})
    steps = wire.steps()
    assert brief(steps) == [("user", "says", "one"), ("assistant", "responds", "first")]
    assert steps[1].retries == 1


def test_empty_words_of_a_history_from_before_are_no_step(wire: Wire) -> None:
    wire.turn([U1, said(""), U2], A2, 0)
    assert [step.content for step in wire.steps()] == ["one", "two", "second"]


def test_an_example_in_a_prompt_before_the_users_words_is_not_told(wire: Wire) -> None:
    wire.turn([U1], A1, 0, Role.AGENT)
    wire.turn([user("an example"), said("so"), U1], A1, 1)
    assert brief(wire.steps()) == [("user", "says", "one"), ("assistant", "responds", "first")]


def test_words_that_a_client_puts_in_place_of_a_call_are_not_told(wire: Wire) -> None:
    wire.turn([U1], said(None, LOOK), 0)
    wire.turn([U1, said("I looked."), U2], A2, 20)
    assert brief(wire.steps()) == [
        ("user", "says", "one"),
        ("assistant", "calls", "look"),
        ("user", "says", "two"),
        ("assistant", "responds", "second"),
    ]


def test_a_post_that_is_seen_earlier_later_on_is_told_at_the_earlier_time(wire: Wire) -> None:
    wire.add(Decoded("chat", session="s", posts=(post("1", "user", "hi", 500),)), 0, Role.AGENT)
    wire.add(Decoded("chat", session="s", posts=(post("1", "user", "hi", 10),)), 5, Role.AGENT)
    wire.add(Decoded("chat", session="s", posts=(post("2", "assistant", "so", 100),)), 6, Role.AGENT)
    steps = wire.steps()
    assert brief(steps) == [("user", "says", "hi"), ("assistant", "responds", "so")]
    assert steps[1].at_ms == 91
    assert [source.exchange for source in steps[0].sources] == ["x2", "x1"]


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_post_that_only_a_list_shows_is_told_where_the_list_has_it(wire: Wire, newest_first: bool) -> None:
    posts = [post("1", "user", "one"), post("2", "assistant", "two"), post("3", "user", "three")]
    for at, shown in ((0, posts[:1]), (100, posts[2:]), (500, posts[::-1] if newest_first else posts)):
        wire.add(Decoded("chat", session="s", posts=tuple(shown)), at, Role.AGENT)
    assert [step.content for step in wire.steps()] == ["one", "two", "three"]


def test_a_list_in_no_order_of_time_moves_no_post(wire: Wire) -> None:
    posts = [post(words, "user", words) for words in ("one", "two", "three", "new")]
    for at, shown in enumerate((posts[:1], posts[1:2], posts[2:3], [posts[2], posts[0], posts[3], posts[1]])):
        wire.add(Decoded("chat", session="s", posts=tuple(shown)), at * 100, Role.AGENT)
    assert [step.content for step in wire.steps()] == ["one", "two", "three", "new"]


def test_a_call_asked_again_whose_first_exchange_was_not_seen_is_told_where_it_was_asked_again(
    wire: Wire,
) -> None:
    again = Answer("state", ToolUse("book", {"day": 1}, "booked"), 5.0, asked=True)
    wire.add(Decoded("mcp", answers=(again,)), 0, Role.TOOL)
    assert brief(wire.steps()) == [("assistant", "calls", "book"), ("tool", "responds", "book")]


def test_a_tool_is_used_where_its_trace_id_was_seen(wire: Wire) -> None:
    ids = [f"00-{digit * 32}-{'1' * 16}-01" for digit in "ab"]
    for id_, words, at in zip(ids, ("one", "two"), (0, 1), strict=True):
        wire.turn([user(words)], said("done"), at, headers={"traceparent": id_})
    use = Decoded("mcp", uses=(ToolUse("look", {"n": 1}, "seen"),))
    wire.add(use, 5, Role.TOOL, headers={"traceparent": ids[0]})
    first, second = wire.account().traces
    assert ("assistant", "calls", "look") in brief(first.steps)
    assert len(second.steps) == 2


def test_a_tools_channel_that_carries_no_use_opens_no_conversation(wire: Wire) -> None:
    wire.add(Decoded("mcp", answers=(Answer("1", ToolUse("", {}, "late"), 0.0),)), 0, Role.TOOL)
    wire.add(Decoded("mcp"), 5, Role.TOOL)
    account = wire.account()
    assert account.traces == ()
    assert [fate.traces for fate in account.fates] == [(), ()]


def test_a_call_that_was_asked_again_twice_is_told_by_each_exchange_once(wire: Wire) -> None:
    again = Answer("state", ToolUse("book", {"day": 1}, "booked"), 5.0, asked=True)
    wire.add(Decoded("mcp", answers=(again,)), 0, Role.TOOL)
    wire.add(
        Decoded("mcp", answers=(replace(again, use=ToolUse("book", {"day": 2}, "full")),)), 20, Role.TOOL
    )
    steps = [step for trace in wire.account().traces for step in trace.steps]
    assert [step.arguments for step in steps if step.action == "calls"] == [{"day": 1}, {"day": 2}]
    assert [step.content for step in steps if step.actor == "tool"] == ["booked", "full"]


def test_words_of_an_unknown_role_in_two_prompts_are_one_step(wire: Wire) -> None:
    critic = Message("critic", "too long", at="request.messages[1]")
    wire.turn([U1], A1, 0, Role.AGENT)
    wire.turn([U1, critic], said(None, LOOK), 1)
    wire.turn([U2, critic], A2, 3)
    found = [step for step in wire.steps() if step.content == "too long"]
    assert [[source.exchange for source in step.sources] for step in found] == [["x2", "x3"]]
