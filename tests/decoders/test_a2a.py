"""A2A: recorded conversations, and what each version's answers come to."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay import importers
from abs_replay.assembly import assemble
from abs_replay.decoders import Decoded, Said, Thought, Turn, decode
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role

AGENT, TOOL = Channel(Role.AGENT, "agent"), Channel(Role.TOOL, "Orders")


def rpc(method: str, answers: list[Any] | Any, channel: Channel = AGENT, **params: Any) -> Exchange:
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    wrapped = [
        {"jsonrpc": "2.0", "id": 1, "result": one}
        for one in (answers if type(answers) is list else [answers])
    ]
    streamed = isinstance(answers, list)
    data = "".join(f"data: {json.dumps(one)}\n\n" for one in wrapped) if streamed else json.dumps(wrapped[0])
    headers = (("content-type", "text/event-stream" if streamed else "application/json"),)
    request = Request("POST", "/", (), Body(json.dumps(asked).encode()))
    return Exchange("x", channel, 0, request, Response(200, headers, Body(data.encode())), ended_ms=9)


def words(*texts: str, **more: Any) -> dict[str, Any]:
    return {
        "role": "agent",
        "messageId": "m",
        "parts": [{"kind": "text", "text": one} for one in texts],
        **more,
    }


def status(state: str, message: Any = None, **more: Any) -> dict[str, Any]:
    said = {"message": message} if message else {}
    return {"taskId": "t", "contextId": "c", "status": {"state": state, **said}, **more}


def artifact(text: str, append: bool = False, name: str = "a") -> dict[str, Any]:
    parts = [{"kind": "text", "text": text}]
    return {
        "taskId": "t",
        "contextId": "c",
        "artifact": {"artifactId": name, "parts": parts},
        "append": append,
    }


USER = {"role": "user", "messageId": "u", "parts": [{"kind": "text", "text": "Hi"}]}


def send(answers: list[Any] | Any, **more: Any) -> Turn:
    turn = decode(
        rpc("message/stream" if isinstance(answers, list) else "message/send", answers, message=USER)
    ).turn
    assert turn
    return turn


def said(turn: Turn) -> Any:
    return turn.reply and turn.reply.content


@pytest.mark.parametrize(
    ("name", "turns"),
    [
        ("a2a/TestA2APollingIntegration.test_polling_completes_task.yaml", 1),
        ("a2a/TestA2AStreamingIntegration.test_streaming_completes_task.yaml", 1),
        ("agents/TestAgentA2AKickoff.test_agent_kickoff_handles_multi_turn_conversation.yaml", 3),
    ],
)
def test_recorded_agents_are_asked_and_answer_once_a_task(shared: Path, name: str, turns: int) -> None:
    path = shared / "corpus/crewai/lib/crewai/tests/cassettes" / name
    if not path.exists():
        pytest.skip(f"no {path}")
    read = importers.read("vcr", importers.open_source(path)).exchanges
    for channel in (AGENT, TOOL):
        seen = [
            replace(one, id=f"x{i}", started_at=i * 1.0, channel=channel)
            for i, one in enumerate(read)
            if "chat/completions" not in one.request.path
        ]
        decoded = [decode(one) for one in seen]
        assert {one.protocol for one in decoded} == {"a2a"}
        assert not [remark for one in decoded for remark in one.remarks]
        told = [(s.actor, s.action, s.error) for trace in assemble(seen) for s in trace.steps]
        first = ("user", "says", None) if channel is AGENT else ("assistant", "calls", None)
        assert told.count(first) == turns
        assert len(told) == 2 * turns


def test_what_an_agent_says_while_it_works_is_a_thought() -> None:
    turn = send(
        [status("working", words("One moment.")), artifact("Shipped."), status("completed", final=True)]
    )
    assert turn.reply
    assert [type(part) for part in turn.reply.parts] == [Thought, Said]
    assert (said(turn), turn.error) == ("Shipped.", None)


def test_what_an_agent_says_while_it_works_is_its_answer_where_there_is_no_other() -> None:
    turn = send([status("working", words("Shipped.")), status("completed", final=True)])
    assert said(turn) == "Shipped."
    assert turn.reply
    assert turn.reply.parts == ()


def test_a_last_word_that_repeats_the_artifact_is_told_once() -> None:
    turn = send([artifact("Shipped."), status("completed", words("Shipped."), final=True)])
    assert said(turn) == "Shipped."
    turn = send([artifact("Shipped."), status("completed", words("Anything else?"), final=True)])
    assert said(turn) == "Shipped.\nAnything else?"


@given(st.lists(st.text(max_size=4), min_size=1, max_size=6))
def test_an_artifact_in_chunks_is_the_artifact_whole(pieces: list[str]) -> None:
    chunks = [artifact(piece, append=number > 0) for number, piece in enumerate(pieces)]
    streamed = send([*chunks, status("completed", final=True)])
    whole = send(
        {
            "kind": "task",
            "id": "t",
            "status": {"state": "completed"},
            "artifacts": [artifact("".join(pieces))["artifact"]],
        }
    )
    assert said(streamed) == said(whole) == "".join(pieces)


def test_a_snapshot_within_a_stream_does_not_double_what_came_in_chunks() -> None:
    task = {
        "id": "t",
        "contextId": "c",
        "status": {"state": "completed"},
        "artifacts": [artifact("Shipped.")["artifact"]],
    }
    assert said(send([artifact("Ship"), artifact("ped.", append=True), {"task": task}])) == "Shipped."


@pytest.mark.parametrize("state", ["input-required", "TASK_STATE_INPUT_REQUIRED"])
def test_a_question_of_the_agents_is_its_answer(state: str) -> None:
    exchange = rpc(
        "message/send", {"id": "t", "contextId": "c", **status(state, words("Which one?"))}, message=USER
    )
    decoded = decode(exchange)
    assert decoded.remarks == ("state input-required",)
    assert decoded.turn
    assert (said(decoded.turn), decoded.turn.error, decoded.session) == ("Which one?", None, "c")


@pytest.mark.parametrize("state", ["failed", "rejected", "canceled", "TASK_STATE_FAILED"])
def test_a_task_that_came_to_nothing_is_an_error_with_the_agents_words(state: str) -> None:
    turn = send(status(state, words("No.")))
    name = state.lower().removeprefix("task_state_")
    assert (said(turn), turn.error) == ("No.", f"task {name}: No.")


def test_parts_are_words_structures_and_files_by_name_in_each_version() -> None:
    old = words("Look:")
    old["parts"] += [
        {"kind": "data", "data": {"n": 1}},
        {"kind": "file", "file": {"name": "f", "bytes": "aWJt"}},
    ]
    new = {
        "role": "ROLE_AGENT",
        "messageId": "m",
        "parts": [
            {"text": "Look:"},
            {"data": {"n": 1}},
            {"filename": "f", "raw": "aWJt", "mediaType": "a/b"},
        ],
    }
    name = {"bytes": 3, "sha256": "916a98f0fa2a39af"}
    assert said(send(old)) == ["Look:", {"n": 1}, {"kind": "file", "file": {"name": "f", "bytes": name}}]
    assert said(send({"message": new})) == [
        "Look:",
        {"n": 1},
        {"filename": "f", "raw": name, "mediaType": "a/b"},
    ]


def test_texts_beside_each_other_stand_on_lines_of_their_own() -> None:
    assert said(send(words("one", "two"))) == "one\ntwo"


def test_a_stream_without_an_end_is_cut_off() -> None:
    turn = send([status("working"), artifact("Ship")])
    assert (said(turn), turn.error) == ("Ship", "the stream ended before its last event")


def test_a_poll_names_the_task_and_says_nothing_before_its_end() -> None:
    polled = decode(rpc("tasks/get", {"id": "t", **status("working", words("Wait"))}, id="t")).turn
    assert polled
    assert (polled.poll_of, polled.reply, polled.error) == ("t", None, None)


def test_a_poll_whose_task_was_not_seen_asked_tells_its_history() -> None:
    task = {"id": "t", **status("completed", words("Done.")), "history": [USER]}
    (trace,) = assemble([rpc("tasks/get", task, id="t")])
    assert [(step.actor, step.content) for step in trace.steps] == [("user", "Hi"), ("assistant", "Done.")]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tasks/pushNotificationConfig/set", {"taskId": "t"}),
        ("tasks/pushNotification/get", {"id": "t"}),
        ("CreateTaskPushNotificationConfig", {}),
        ("tasks/list", {}),
        ("ListTasks", {}),
        ("GetExtendedAgentCard", {}),
    ],
)
def test_what_is_no_message_says_nothing(method: str, params: dict[str, Any]) -> None:
    assert decode(rpc(method, {}, **params)) == Decoded("a2a")


@pytest.mark.parametrize(
    ("target", "answer", "protocol"),
    [
        ("/tasks/7", {"id": "7", "contextId": "c", "status": {"state": "completed"}}, "a2a"),
        ("/tasks/7", {"id": 7, "title": "wash up"}, "rest"),
        ("/.well-known/agent.json", {}, "a2a"),
    ],
)
def test_tasks_of_other_services_are_theirs(target: str, answer: Any, protocol: str) -> None:
    response = Response(200, (), Body(json.dumps(answer).encode()))
    assert decode(Exchange("x", TOOL, 0, Request("GET", target), response)).protocol == protocol


def test_a_chunk_that_says_nothing_makes_no_artifact() -> None:
    empty = artifact("", name="b")
    empty["artifact"]["parts"] = []
    turn = send([empty, artifact("words"), status("completed", final=True)])
    assert said(turn) == "words"


def test_a_task_is_of_a2a_where_the_request_bears_its_header() -> None:
    request = Request("GET", "/tasks/1", (("a2a-version", "1.0"),), Body(b""))
    answer = Response(200, (("content-type", "application/json"),), Body(b"{}"))
    assert decode(Exchange("x", AGENT, 0, request, answer, ended_ms=9)).protocol == "a2a"


def test_a_chunk_goes_on_from_an_artifact_that_no_stream_began() -> None:
    whole = status("working", kind="task", id="t", artifacts=[artifact("one ")["artifact"]])
    turn = send([whole, artifact("two", append=True), status("completed", final=True)])
    assert said(turn) == "one two"
