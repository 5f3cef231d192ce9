"""Where what histories hold stands in a trace: system messages, earlier work, cut and resumed answers."""

from dataclasses import replace

import pytest

from abs_replay.decoders import Call, Decoded, Message, Said, Served, Thought, ToolUse
from abs_replay.exchange import Role
from abs_replay.trace import Usage, Visibility
from tests.assembly.wire import A1, A2, LOOK, SEARCH, U1, U2, Wire, brief, parts, said, told, user


@pytest.fixture
def wire() -> Wire:
    return Wire()


def system(text: str) -> Message:
    return Message("system", text)


def words(wire: Wire) -> list[object]:
    return [step.content for step in wire.steps()]


# -- asides --------------------------------------------------------------------


def test_system_messages_are_told_where_they_stand(wire: Wire) -> None:
    first = [system("be kind"), U1, A1, system("be brief"), U2, system("be wise")]
    wire.turn(first, A2, 0)
    wire.turn([*first, A2, user("three"), system("be bold")], said("third"), 20)
    assert words(wire) == [
        "be kind",
        "one",
        "first",
        "be brief",
        "two",
        "be wise",
        "second",
        "three",
        "be bold",
        "third",
    ]


def test_a_system_message_that_changed_is_told_before_what_is_new(wire: Wire) -> None:
    wire.turn([system("be kind"), U1], A1, 0)
    wire.turn([system("be brief"), U1, A1, U2], A2, 20)
    assert words(wire) == ["be kind", "one", "first", "be brief", "two", "second"]


@pytest.mark.parametrize("role", [Role.LLM, Role.AGENT])
def test_a_system_message_that_is_said_once_more_is_told_once_more(role: Role) -> None:
    wire = Wire()
    kind = system("be kind")
    first, second = [kind, U1], [kind, U1, A1, kind, U2]
    for at, history, reply in (
        (0, first, A1),
        (20, second, None),
        (40, second, A2),
        (60, [*second, A2, U1, kind, kind], said("third")),
        (80, [kind, U1, A1, U2, A2, U1, said("third"), U2], said("fourth")),
    ):
        failed = {"error": "HTTP 503", "status": 503} if reply is None else {}
        wire.turn(history, reply, at, role=role, **failed)
    assert words(wire) == [
        *("be kind", "one", "first", "be kind", "two", "second"),
        *("one", "be kind", "be kind", "third", "two", "fourth"),
    ]


def test_a_system_message_stands_behind_what_a_client_added_to_the_reply_before_it(wire: Wire) -> None:
    wire.turn([system("be kind"), U1], A1, 0)
    wire.turn([system("be brief"), U1, said("first. Seen: 3"), system("be wise"), U2], A2, 20)
    assert words(wire) == ["be kind", "one", "first", "be brief", ". Seen: 3", "be wise", "two", "second"]


def test_a_history_of_system_messages_alone_is_told_once(wire: Wire) -> None:
    wire.turn([system("be kind")], A1, 0)
    assert words(wire) == ["be kind", "first"]


def test_a_model_behind_an_agent_is_told_its_system_messages(wire: Wire) -> None:
    exchange = wire.turn([U1], A1, 0, role=Role.AGENT)
    wire.said[-1] = replace(exchange, ended_ms=100.0), wire.said[-1][1]
    quiet = parts(SEARCH)
    wire.turn([system("be kind"), U1, said("draft"), quiet, user("go on"), system("be wise")], A1, 5)
    steps = wire.steps()
    assert [(s.actor, s.content, s.visibility.value) for s in steps] == [
        ("user", "one", "user"),
        ("system", "be kind", "user"),
        ("system", "go on", "internal"),
        ("system", "be wise", "user"),
        ("assistant", "first", "user"),
    ]


def test_what_the_models_side_did_in_a_history_from_before_is_told(wire: Wire) -> None:
    nameless = Served(Call("open", {"page": 2}), "page two")
    history = [U1, parts(Thought("hm"), SEARCH), parts(Said("a"), nameless, Said("b")), U2]
    wire.turn(history, A2, 0)
    assert brief(wire.steps()) == [
        ("user", "says", "one"),
        ("assistant", "thinks", "hm"),
        ("assistant", "calls", "search"),
        ("tool", "responds", "search"),
        ("assistant", "responds", "a"),
        ("assistant", "calls", "open"),
        ("tool", "responds", "open"),
        ("assistant", "responds", "b"),
        ("user", "says", "two"),
        ("assistant", "responds", "second"),
    ]
    assert {source.exchange for step in wire.steps() for source in step.sources} == {"x1"}


def test_a_history_that_begins_with_what_the_models_side_did_is_told_from_there(wire: Wire) -> None:
    wire.turn([parts(SEARCH), U1], A1, 0)
    assert [step.action for step in wire.steps()] == ["calls", "responds", "says", "responds"]


def test_work_that_a_reply_showed_is_not_told_again_from_the_history(wire: Wire) -> None:
    wire.turn([U1], parts(Thought("hm"), SEARCH, Said("first")), 0)
    wire.turn([U1, parts(Thought("hm"), SEARCH), said("first"), U2, parts(SEARCH), user("go on")], A2, 20)
    steps = wire.steps()
    assert [step.action for step in steps] == [
        "says",
        "thinks",
        "calls",
        "responds",
        "responds",
        "says",
        "says",
        "responds",
    ]
    assert [source.exchange for source in steps[2].sources] == ["x1", "x2"]


def test_thoughts_that_a_later_history_repeats_elsewhere_are_not_told(wire: Wire) -> None:
    wire.turn([U1], A1, 0)
    wire.turn([U1, A1, U2, parts(Thought("hm"), Said("so")), user("three")], said("third"), 20)
    assert words(wire) == ["one", "first", "two", "so", "three", "third"]


# -- answers that came in pieces -----------------------------------------------


def test_an_answer_cut_short_and_gone_on_from_is_one_answer(wire: Wire) -> None:
    wire.turn([U1], said("It is "), 0, usage=Usage(3, 2))
    wire.turn([U1], said("It is late."), 20, begun="It is", usage=Usage(5, 1))
    wire.turn([U1, said("It is late."), U2], A2, 40)
    account = wire.account()
    (trace,) = account.traces
    assert [step.content for step in trace.steps] == ["one", "It is late.", "two", "second"]
    answer = trace.steps[1]
    assert (answer.retries, answer.usage, answer.duration_ms) == (0, Usage(8, 3), 30)
    assert [source.exchange for source in answer.sources] == ["x2", "x1"]
    assert account.fates[1].why == "it goes on from the answer before, which was cut short"


@pytest.mark.parametrize("begun", [None, "It was"])
def test_the_same_request_with_another_beginning_is_another_conversation(
    wire: Wire, begun: str | None
) -> None:
    wire.turn([U1], said("It is"), 0)
    wire.turn([U1], said("It is late."), 20, begun=begun)
    assert len(wire.account().traces) == 2


def test_an_answer_that_could_not_be_gone_on_from_stays(wire: Wire) -> None:
    wire.turn([U1], said("It is"), 0)
    wire.turn([U1], None, 20, begun="It is", error="HTTP 400", status=400)
    assert brief(wire.steps())[1:] == [("assistant", "responds", "It is"), ("system", "fails", "llm")]


def test_a_stream_that_failed_behind_a_thought_is_told_as_a_failure(wire: Wire) -> None:
    wire.turn([U1], parts(Thought("hm")), 0, error="overloaded")
    steps = wire.steps()
    assert [(step.action, step.error) for step in steps] == [
        ("says", None),
        ("thinks", None),
        ("fails", "overloaded"),
    ]


@pytest.mark.parametrize("role", [Role.LLM, Role.AGENT])
def test_a_failure_names_the_model_that_was_asked_and_what_it_cost(role: Role) -> None:
    wire = Wire()
    wire.turn([U1], None, 0, role=role, error="HTTP 404", status=404, model="m", usage=Usage(3, 0))
    assert [(s.action, s.model, s.usage) for s in wire.steps()[1:]] == [("fails", "m", Usage(3, 0))]


def test_tokens_of_a_reply_that_begins_with_a_tools_late_result_are_the_models(wire: Wire) -> None:
    paused = parts(Said("Wait."), replace(SEARCH, answered=False))
    for at, history, reply, error in (
        (0, [U1], paused, None),
        (20, [U1, paused], parts(SEARCH, Said("Found.")), None),
        (40, [U1, paused, parts(SEARCH, Said("Found.")), U2], parts(SEARCH), "overloaded"),
    ):
        wire.turn(history, reply, at, model="m", usage=Usage(at + 1, 1), error=error)
    steps = wire.steps()
    assert [(s.actor, s.action, s.error) for s in steps] == [
        ("user", "says", None),
        ("assistant", "responds", None),
        ("assistant", "calls", None),
        ("tool", "responds", None),
        ("assistant", "responds", None),
        ("user", "says", None),
        ("system", "fails", "overloaded"),
    ]
    counted = {step.seq: step.usage for step in steps if step.usage}
    assert counted == {2: Usage(1, 1), 3: Usage(41, 1), 5: Usage(21, 1)}
    assert all(step.model == "m" for step in steps if step.usage)


def test_a_retry_that_comes_to_a_thought_alone_is_told(wire: Wire) -> None:
    wire.turn([U1], None, 0, error="HTTP 503", status=503)
    wire.turn([U1], parts(Thought("hm")), 20)
    assert [(step.action, step.retries) for step in wire.steps()] == [("says", 0), ("thinks", 1)]


# -- echoes ----------------------------------------------------------------------


def test_an_echo_without_the_thought_between_two_texts_is_no_edited_one(wire: Wire) -> None:
    wire.turn([U1], parts(Said("a"), Thought("hm"), Said("b")), 0)
    wire.turn([U1, said("ab"), U2], A2, 20)
    wire.turn([U1, said("a\nb"), U2, A2, user("three")], said("third"), 40)
    account = wire.account()
    (trace,) = account.traces
    assert [step.content for step in trace.steps] == [
        "one",
        "a",
        "hm",
        "b",
        "two",
        "second",
        "three",
        "third",
    ]
    notes = [note.text for noted in account.notes[trace.id] for note in noted if note.kind == "echo"]
    assert notes == ["the next request repeats it"] * 2


@pytest.mark.parametrize(
    ("echo", "added"),
    [
        ([said("Act: look\nObservation: 14")], ["Observation: 14"]),
        ([said("  Act:  look Observation: 14 ")], ["Observation: 14"]),
        ([said("Act: look"), said("Observation: 14")], ["Observation: 14"]),
        ([said("Act:"), said("look"), said("look"), said("14")], ["look", "14"]),
    ],
)
@pytest.mark.parametrize("role", [Role.LLM, Role.AGENT])
def test_what_a_client_puts_behind_a_replys_words_is_a_step_of_its_own(
    role: Role, echo: list[Message], added: list[str]
) -> None:
    wire = Wire()
    wire.turn([U1], said("Act: look"), 0, role=role)
    wire.turn([U1, *echo], A1, 20, role=role)
    wire.turn([U1, *echo, A1, U2], A2, 40, role=role)
    steps = wire.steps()
    told = [("system", "says", text) for text in added]
    assert brief(steps) == [
        ("user", "says", "one"),
        ("assistant", "responds", "Act: look"),
        *told,
        ("assistant", "responds", "first"),
        ("user", "says", "two"),
        ("assistant", "responds", "second"),
    ]
    inner = [step for step in steps if step.visibility is Visibility.INTERNAL]
    assert [(step.content, step.sources[0].exchange) for step in inner] == [(text, "x2") for text in added]
    assert not any(step.segment for step in steps)


@pytest.mark.parametrize(
    ("echo", "note", "segment"),
    [
        ("It is blue", "the next request repeats it, edited: 10 characters for 14", "rewritten"),
        ("is red", "the next request repeats it, edited: 6 characters for 14", None),
        ("It is red, hm.", "the next request repeats it", None),
        (" ", None, None),
    ],
)
def test_an_echo_in_other_words_is_remarked_and_marked_as_rewritten(
    wire: Wire, echo: str, note: str | None, segment: str | None
) -> None:
    wire.turn([U1], said("It is red, hm."), 0)
    wire.turn([U1, said(echo), U2], A2, 20)
    account = wire.account()
    (trace,) = account.traces
    assert [step.content for step in trace.steps] == ["one", "It is red, hm.", "two", "second"]
    assert [step.segment for step in trace.steps] == [None, None, segment, None]
    assert [one.text for one in account.notes[trace.id][1] if one.kind == "echo"] == [note] * bool(note)


def test_an_echo_of_pictures_and_of_nothing_is_no_addition(wire: Wire) -> None:
    picture = Message("assistant", [{"type": "image"}])
    wire.turn([U1], picture, 0)
    wire.turn([U1, picture, said(None), said("look"), U2], A2, 20)
    wire.turn([U1, picture, said(None), said("look"), U2, picture, user("three")], A1, 40)
    account = wire.account()
    (trace,) = account.traces
    assert len(trace.steps) == 6
    echoes = [one.text for noted in account.notes[trace.id] for one in noted if one.kind == "echo"]
    edited = "the next request repeats it, edited"
    assert echoes == ["the next request repeats it", edited, edited]


def test_a_call_that_a_client_left_out_and_the_model_made_again_counts_once(wire: Wire) -> None:
    one, two = Call("look", {"n": 1}, "c1"), Call("look", {"n": 2}, "c2")
    wire.turn([U1], said(None, one, two), 0)
    history = [U1, said(None, one), told("c1", "seen 1")]
    wire.turn(history, said(None, replace(two, call_id="c3")), 20)
    wire.add(Decoded("mcp", uses=(ToolUse("look", {"n": 2}, "seen 2"),)), 32, Role.TOOL)
    wire.turn([*history, said(None, replace(two, call_id="c3")), told("c3", "seen 2")], A1, 60)
    account = wire.account()
    (trace,) = account.traces
    calls = [step for step in trace.steps if step.action == "calls"]
    assert [(step.call_id, step.visibility) for step in calls] == [
        ("c1", Visibility.USER),
        ("c2", Visibility.INTERNAL),
        ("c3", Visibility.USER),
    ]
    assert [step.call_id for step in trace.steps if step.actor == "tool"] == ["c1", "c3"]
    assert [note.text for note in account.notes[trace.id][2]][1:] == ["the next request leaves the call out"]


def test_a_call_that_a_client_left_out_stands_where_nothing_came_in_its_place(wire: Wire) -> None:
    one, two = Call("look", {"n": 1}, "c1"), Call("look", {"n": 2}, "c2")
    wire.turn([U1], said(None, one, two), 0)
    wire.turn([U1, said(None, one), told("c1", "seen 1")], A1, 20)
    assert all(step.visibility is Visibility.USER for step in wire.steps())


def test_a_call_that_a_client_answers_later_was_not_left_out(wire: Wire) -> None:
    one, two = Call("look", {"n": 1}, "c1"), Call("look", {"n": 2}, "c2")
    wire.turn([U1], said(None, one, two), 0)
    history = [U1, said(None, one), told("c1", "seen 1")]
    wire.turn(history, said(None, replace(two, call_id="c3")), 20)
    more = [said(None, replace(two, call_id="c3")), told("c2", "seen 2"), told("c3", "seen 2")]
    wire.turn([*history, *more], A1, 60)
    assert all(step.visibility is Visibility.USER for step in wire.steps())


def test_calls_that_a_client_spreads_over_messages_are_all_kept(wire: Wire) -> None:
    one, two = Call("look", {"n": 1}, "c1"), Call("look", {"n": 2}, "c2")
    wire.turn([U1], said(None, one, two), 0)
    spread = [said(None, one), told("c1", "seen 1"), said(None, two), told("c2", "seen 2")]
    wire.turn([U1, *spread], said(None, replace(two, call_id="c3")), 20)
    steps = wire.steps()
    assert [step.action for step in steps] == ["says", "calls", "calls", "responds", "responds", "calls"]
    assert all(step.visibility is Visibility.USER for step in steps)


# -- which conversation ------------------------------------------------------------


def test_a_history_that_the_vendor_summed_up_and_dropped_goes_on_with_its_conversation(wire: Wire) -> None:
    wire.turn([U1], A1, 0)
    wire.turn([U1, A1, U2], A2, 20)
    wire.turn([A2, user("three")], said("third"), 40, compacted=True)
    wire.turn([A2, user("three"), said("third"), user("four")], said("fourth"), 60, compacted=True)
    steps = wire.steps()
    assert [step.content for step in steps] == [
        "one",
        "first",
        "two",
        "second",
        "three",
        "third",
        "four",
        "fourth",
    ]
    assert [step.seq for step in steps if step.segment] == [5]


def test_the_same_words_without_a_summary_are_another_conversation(wire: Wire) -> None:
    wire.turn([U1], A1, 0)
    wire.turn([A1, U2], A2, 20)
    assert len(wire.account().traces) == 2


def test_a_summary_that_left_the_users_words_standing_is_tied_by_them(wire: Wire) -> None:
    wire.turn([U1], A1, 0)
    wire.turn([U1, A1, U2], A2, 20)
    wire.turn([U1, U2, user("three")], said("third"), 40, compacted=True)
    wire.turn([user("else"), U2, user("three")], said("other"), 60, compacted=True)
    wire.turn([U1, user("else"), user("three")], said("other"), 80, compacted=True)
    traces = wire.account().traces
    assert [step.content for step in traces[0].steps] == ["one", "first", "two", "second", "three", "third"]
    assert [step.segment for step in traces[0].steps][4] == "compacted"
    assert len(traces) == 3


def test_an_api_that_keeps_a_conversation_is_sent_what_is_new_alone(wire: Wire) -> None:
    wire.turn([U1], said(None, LOOK), 0, session="conv")
    wire.turn([told("c1", "seen")], A1, 20, session="conv")
    wire.turn([U2], None, 40, session="conv", error="HTTP 503", status=503)
    wire.turn([U2], A2, 60, session="conv")
    steps = wire.steps()
    assert brief(steps) == [
        ("user", "says", "one"),
        ("assistant", "calls", "look"),
        ("tool", "responds", "look"),
        ("assistant", "responds", "first"),
        ("user", "says", "two"),
        ("assistant", "responds", "second"),
    ]
    assert {(step.segment, step.visibility) for step in steps} == {(None, Visibility.USER)}
    assert [step.retries for step in steps] == [0, 0, 0, 0, 0, 1]


def test_a_client_that_stops_to_bear_an_id_goes_on_with_its_conversation(wire: Wire) -> None:
    wire.turn([U1], A1, 0, session="conv")
    wire.turn([U1], A1, 5, session="other")
    wire.turn([U1, A1, U2], A2, 20)
    first, second = wire.account().traces
    assert [step.content for step in first.steps] == ["one", "first"]
    assert [step.content for step in second.steps] == ["one", "first", "two", "second"]
    assert not any(step.segment for step in second.steps)


def test_a_request_that_failed_has_no_answer_for_a_history_to_repeat(wire: Wire) -> None:
    wire.turn([U1], None, 0, error="HTTP 404", status=404)
    wire.turn([U1], said("almost so"), 20)
    wire.turn([U1, said("nearly so!"), U2], A2, 40)
    wire.turn([user("else")], None, 60, error="HTTP 400", status=400)
    wire.turn([user("else"), A1, U2], A2, 80)
    traces = wire.account().traces
    assert [[step.content for step in trace.steps] for trace in traces] == [
        ["one", None],
        ["one", "almost so", "two", "second"],
        ["else", None, "first", "two", "second"],
    ]


@pytest.mark.parametrize("role", [Role.LLM, Role.AGENT])
def test_words_of_an_unknown_role_are_told_once_as_internal(role: Role) -> None:
    wire = Wire()
    critic = Message("critic", "too long", at="request.messages[1]")
    wire.turn([U1, critic], A1, 0, role)
    wire.turn([U1, critic, A1, U2], A2, 20, role)
    told = [step for step in wire.steps() if step.content == "too long"]
    assert [(step.actor, step.action, step.visibility) for step in told] == [
        ("system", "says", Visibility.INTERNAL)
    ]


def test_words_of_an_unknown_role_are_told_behind_an_agent_too() -> None:
    wire = Wire()
    critic = Message("critic", "too long", at="request.messages[1]")
    wire.turn([U1], A1, 0, Role.AGENT)
    wire.turn([U1, critic], A1, 2)
    (trace,) = wire.account().traces
    (seq,) = [step.seq for step in trace.steps if step.content == "too long"]
    (note,) = wire.account().notes[trace.id][seq - 1]
    assert (note.at, note.text) == (
        "request.messages[1]",
        "the request brings it, in the unknown role 'critic'",
    )


def test_a_compaction_is_an_internal_step_with_its_tokens(wire: Wire) -> None:
    wire.turn([U1], A1, 0, usage=Usage(1, 2), response_id="r1")
    wire.turn([U1, A1], None, 10, error="HTTP 503", status=503)
    wire.turn([U1, A1], None, 20, usage=Usage(30, 40), model="m", response_id="cmp", compacts=True)
    wire.turn([U2], A2, 40, usage=Usage(3, 4), parent_id="cmp", compacted=True)
    (trace,) = wire.account().traces
    assert [step.action for step in trace.steps] == ["says", "responds", "compacts", "says", "responds"]
    compacting = trace.steps[2]
    assert (compacting.actor, compacting.visibility) == ("system", Visibility.INTERNAL)
    assert (compacting.model, compacting.retries) == ("m", 1)
    assert trace.usage == Usage(34, 46)
