"""The runner against agents that really listen: what it sends, answers, keeps, and where it stops."""

from typing import Any

import pytest

from abs_replay.agents.chat_contract import ChatContract
from abs_replay.exact_json import Json
from abs_replay.exchange import Outcome, header
from abs_replay.runner import RunOutcome, run
from abs_replay.spec.rules import MatchesWhen
from abs_replay.spec.session import UNSET, Behavior, Session, Unset
from tests.scripted_agent import Decide, Message, agent, calls, says


def session(*behaviors: Behavior, **fields: Any) -> Session:
    return Session("A session", behaviors, **fields)


def user(at: int, content: Json | Unset = UNSET, requires: str | None = None) -> Behavior:
    return Behavior(f"behaviors[{at}]", "user", "says", content=content, requires=requires)


def assistant(at: int, action: str = "says", **fields: Any) -> Behavior:
    return Behavior(f"behaviors[{at}]", "assistant", action, **fields)


def tool(at: int, target: str | None, content: Json | Unset = UNSET) -> Behavior:
    return Behavior(f"behaviors[{at}]", "tool", "responds", target=target, content=content)


def seen(outcome: RunOutcome) -> list[tuple[str, str, Json]]:
    return [
        (step.actor, step.action, step.arguments if step.action == "calls" else step.content)
        for step in outcome.trace.steps
    ]


def echo(messages: list[Message]) -> Message:
    return says(f"You said {messages[-1]['content']}")


def test_each_line_is_sent_with_the_whole_conversation_so_far() -> None:
    with agent(echo) as (client, asked):
        outcome = run(session(user(0, "Hi"), assistant(1), user(2, "Bye"), assistant(3)), client)

    assert asked == [
        [{"role": "user", "content": "Hi"}],
        [{"role": "user", "content": "Hi"}, says("You said Hi"), {"role": "user", "content": "Bye"}],
    ]
    assert seen(outcome) == [
        ("user", "says", "Hi"),
        ("assistant", "responds", "You said Hi"),
        ("user", "says", "Bye"),
        ("assistant", "responds", "You said Bye"),
    ]
    assert outcome.problem is None


def test_the_trace_names_its_session_its_row_and_its_exchanges() -> None:
    with agent(echo) as (client, _):
        outcome = run(session(user(0, "Hi")), client, bindings={"cases.n": 1}, variables={"v": "x"})

    assert outcome.trace.session == "A session"
    assert outcome.trace.bindings == {"cases.n": 1}
    assert outcome.trace.vars == {"v": "x"}
    assert [step.sources[0].exchange for step in outcome.trace.steps] == [outcome.exchanges[0].id] * 2


def test_all_requests_of_a_run_bear_one_scope_and_another_run_another() -> None:
    with agent(echo) as (client, _):
        runs = [run(session(user(0, "Hi"), user(1, "Bye")), client) for _ in range(2)]

    scopes = [[header(each.request.headers, "x-abs-session") for each in one.exchanges] for one in runs]
    assert all(len(set(of_run)) == 1 and of_run[0] for of_run in scopes)
    assert scopes[0] != scopes[1]


def test_equal_lines_stay_one_conversation() -> None:
    with agent(lambda messages: says(f"{len(messages)}")) as (client, _):
        outcome = run(session(*(user(n, "Again") for n in range(3))), client)

    assert [content for _, _, content in seen(outcome)] == ["Again", "1", "Again", "3", "Again", "5"]


@pytest.mark.parametrize(
    ("content", "sent"),
    [({"a": 1}, '{"a":1}'), ([1, "é"], '[1,"é"]'), (7, "7"), (None, ""), ("  x ", "  x ")],
)
def test_content_that_is_no_text_is_sent_as_compact_json(content: Json, sent: str) -> None:
    with agent(echo) as (client, asked):
        run(session(user(0, content)), client)

    assert asked[0][0]["content"] == sent


def test_a_session_whose_user_says_nothing_sends_nothing() -> None:
    with agent(echo) as (client, asked):
        outcome = run(session(assistant(0)), client)

    assert asked == []
    assert outcome.trace.steps == ()
    assert outcome.trace.session == "A session"


# -- calls that the agent leaves to its client --


def status_after(result: str) -> Decide:
    def decide(messages: list[Message]) -> Message:
        if messages[-1]["role"] == "user":
            return calls(("get_order", {"orderId": "12345"}))
        assert messages[-1]["role"] == "tool"
        return says(f"{result} {messages[-1]['content']}")

    return decide


def test_a_call_is_answered_with_what_the_session_s_tool_responds() -> None:
    played = session(
        user(0, "12345"),
        assistant(1, "calls", target="get_order", with_={"orderId": "12345"}),
        tool(2, "get_order", {"status": "shipped"}),
        assistant(3, "informs"),
    )
    with agent(status_after("It is")) as (client, asked):
        outcome = run(played, client)

    assert asked[1][-1] == {"role": "tool", "tool_call_id": "call_0", "content": '{"status":"shipped"}'}
    assert asked[1][-2] == calls(("get_order", {"orderId": "12345"}))
    assert seen(outcome) == [
        ("user", "says", "12345"),
        ("assistant", "calls", {"orderId": "12345"}),
        ("tool", "responds", {"status": "shipped"}),
        ("assistant", "responds", 'It is {"status":"shipped"}'),
    ]


@pytest.mark.parametrize(("target", "aliases"), [("Order MCP", {"Order MCP": ("get_order",)}), (None, {})])
def test_a_result_fits_by_an_alias_or_where_it_names_no_tool(
    target: str | None, aliases: dict[str, tuple[str, ...]]
) -> None:
    with agent(status_after("It is")) as (client, _):
        outcome = run(session(user(0, "12345"), tool(1, target, "lost"), aliases=aliases), client)

    assert seen(outcome)[-1] == ("assistant", "responds", "It is lost")


def test_calls_side_by_side_get_the_results_of_their_own_arguments() -> None:
    played = session(
        user(0, "Both"),
        assistant(1, "calls", target="get", with_={"id": "a"}),
        tool(2, "get", "of a"),
        assistant(3, "calls", target="get", with_only={"id": "b"}),
        tool(4, "get", "of b"),
    )

    def decide(messages: list[Message]) -> Message:
        if messages[-1]["role"] == "user":
            return calls(("get", {"id": "b"}), ("get", {"id": "a"}))
        return says("done")

    with agent(decide) as (client, asked):
        run(played, client)

    assert [(m["tool_call_id"], m["content"]) for m in asked[1][-2:]] == [
        ("call_0", "of b"),
        ("call_1", "of a"),
    ]


@pytest.mark.parametrize("first", ["calls", "says"])
def test_a_turn_takes_its_own_result_before_that_of_another(first: str) -> None:
    turns = (user(0, "1"), tool(1, "get_order", "one"), user(2, "2"), tool(3, "get_order", "two"))

    def decide(messages: list[Message]) -> Message | int:
        return says("No need") if first == "says" and len(messages) == 1 else status_after("It is")(messages)

    with agent(decide) as (client, _):
        outcome = run(session(*turns), client)

    results = [content for actor, _, content in seen(outcome) if actor == "tool"]
    assert results == (["one", "two"] if first == "calls" else ["two"])


def test_a_turn_without_results_of_its_own_takes_those_that_are_left() -> None:
    turns = (user(0, "1"), user(1, "2"), tool(2, "get_order", "one"), tool(3, "get_order", "two"))
    with agent(status_after("It is")) as (client, _):
        outcome = run(session(*turns), client)

    assert [content for actor, _, content in seen(outcome) if actor == "tool"] == ["one", "two"]


def test_a_call_that_the_session_does_not_answer_ends_the_run_and_says_so() -> None:
    with agent(status_after("It is")) as (client, asked):
        outcome = run(session(user(0, "12345"), tool(1, "other", "x"), user(2, "Hello?")), client)

    assert len(asked) == 1
    assert "'get_order'" in str(outcome.problem)
    assert "tool responds" in str(outcome.problem)
    assert [actor for actor, _, _ in seen(outcome)] == ["user", "assistant"]


# -- lines that hang on what the agent did --

ASK = assistant(1, "asks", id="ask", optional=True, matches_when=MatchesWhen(type="contains", value="number"))


@pytest.mark.parametrize(
    ("answer", "sent"), [("Your number?", ["Hi", "12345", "Bye"]), ("Done.", ["Hi", "Bye"])]
)
def test_a_line_that_requires_what_did_not_happen_is_not_sent(answer: str, sent: list[str]) -> None:
    with agent(lambda _: says(answer)) as (client, asked):
        run(session(user(0, "Hi"), ASK, user(2, "12345", requires="ask"), user(3, "Bye")), client)

    assert [messages[-1]["content"] for messages in asked] == sent


def test_a_line_that_requires_an_unmatched_required_behavior_is_sent() -> None:
    needed = assistant(1, "calls", id="look", target="lookup")
    with agent(echo) as (client, asked):
        run(session(user(0, "Hi"), needed, user(2, "Bye", requires="look")), client)

    assert len(asked) == 2


# -- agents that fail --


def test_an_agent_that_fails_ends_the_run_with_what_it_said_kept() -> None:
    with agent(lambda messages: 500 if len(messages) > 1 else says("Hi")) as (client, asked):
        outcome = run(session(user(0, "1"), user(1, "2"), user(2, "3")), client)

    assert len(asked) == 2
    assert "HTTP 500" in str(outcome.problem)
    assert [exchange.response.status for exchange in outcome.exchanges if exchange.response] == [200, 500]
    assert [c for a, _, c in seen(outcome) if a == "user"] == ["1", "2"]


def test_an_agent_that_is_not_there_gives_a_trace_of_what_was_said_to_it() -> None:
    with agent(echo) as (client, _):
        url = client.url
    client = ChatContract(url, 5)
    outcome = run(session(user(0, "Hi"), assistant(1)), client)
    client.close()

    assert outcome.exchanges[0].outcome is Outcome.REFUSED
    assert "can not be reached" in str(outcome.problem)
    assert seen(outcome)[0] == ("user", "says", "Hi")


def test_an_agent_that_calls_for_ever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("abs_replay.runner.MOST_ROUNDS", 5)
    with agent(lambda _: calls(("again", {}))) as (client, asked):
        outcome = run(session(user(0, "Hi"), *(tool(n, "again", "x") for n in range(1, 20))), client)

    assert len(asked) == 5
    assert "5 times" in str(outcome.problem)


# -- secrets --


def test_secrets_are_sent_but_not_kept() -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
    with agent(echo) as (client, asked):
        outcome = run(session(user(0, f"My key is {secret}")), client, variables={"api_key": "hunter2secret"})

    assert secret in asked[0][0]["content"]
    assert secret not in repr(outcome)
    said, answered = (str(step.content) for step in outcome.trace.steps)
    assert answered == f"You said {said}"
    assert "hunter2secret" not in repr(outcome)
    assert set(outcome.trace.vars) == {"api_key"}
