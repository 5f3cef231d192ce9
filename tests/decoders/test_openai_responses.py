"""OpenAI's Responses API: every kind of item, plain and streamed, and the traps that servers set."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.decoders import decode, openai_responses
from abs_replay.decoders.events import Call, Decoded, Message, Part, Said, Served, Thought, Turn
from abs_replay.decoders.responses_stream import TEXTS
from abs_replay.decoders.responses_tools import KNOWN
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role
from abs_replay.trace import Usage

EVENTS = (("content-type", "text/event-stream"),)


def exchange(
    answer: object,
    asked: object = "hi",
    target: str = "/v1/responses",
    method: str = "POST",
    status: int = 200,
    role: Role = Role.LLM,
    **more: object,
) -> Exchange:
    data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    sent = b"" if method == "GET" else json.dumps({"model": "asked", "input": asked, **more}).encode()
    headers = EVENTS if isinstance(answer, bytes) else ()
    request = Request(method, target, (), Body(sent))
    return Exchange("x", Channel(role, "m"), 0.0, request, Response(status, headers, Body(data)))


def response(*output: object, **more: object) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "status": "completed", "output": list(output), **more}


def decoded(answer: object, asked: object = "hi", **more: Any) -> Decoded:
    found = decode(exchange(answer, asked, **more))
    assert found.protocol == "openai_responses"
    return found


def turn(answer: object, asked: object = "hi", **more: Any) -> Turn:
    found = decoded(answer, asked, **more).turn
    assert found is not None
    return found


def reply(*output: object) -> Message:
    found = turn(response(*output)).reply
    assert found is not None
    return found


def parts(*output: object) -> tuple[Part, ...]:
    """Give the parts of an answer, whose last item is words so that the order is kept."""
    found = reply(*output, message("end"), {"type": "reasoning", "summary": [{"text": "z"}]}).parts
    assert [type(part) for part in found[-2:]] == [Said, Thought]
    return found[:-2]


def history(*asked: object, **more: Any) -> tuple[Message, ...]:
    return turn(response(), list(asked), **more).history


def message(text: str, **more: object) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content, "id": "msg_1", **more}


def called(name: str = "f", arguments: str = "{}", call_id: str = "c", **more: object) -> dict[str, Any]:
    return {"type": "function_call", "name": name, "arguments": arguments, "call_id": call_id, **more}


def stream(*events: object) -> bytes:
    lines = [event if isinstance(event, str) else f"data: {json.dumps(event)}" for event in events]
    return "".join(f"{line}\n\n" for line in lines).encode()


def event(kind: str, index: int = 0, **more: object) -> dict[str, Any]:
    return {"type": f"response.{kind}", "output_index": index, **more}


# -- which exchanges ----------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        "/openai/v1/responses",
        "/api/v1/responses",
        "/proxy/openai/responses?api-version=1",
        "/openai/deployments/d/responses/",
    ],
)
def test_the_path_is_known_under_any_prefix(target: str) -> None:
    assert turn(response(message("x")), target=target).reply == Message(
        "assistant", "x", at="response.output[0]"
    )


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/v1/responses/resp_1/cancel"),
        ("DELETE", "/v1/responses/resp_1"),
        ("GET", "/v1/responses/resp_1/input_items"),
        ("POST", "/v1/responses/input_tokens"),
        ("POST", "/v1/embeddings"),
    ],
)
def test_what_is_no_turn_is_claimed_by_nobody(method: str, target: str) -> None:
    assert decode(exchange({"object": "list", "data": []}, method=method, target=target)).protocol is None


def test_a_survey_whose_answers_are_called_responses_is_not_claimed() -> None:
    answers = {"answers": [1, 2]}
    assert decode(exchange(answers, target="/forms/responses/17", method="GET")).protocol is None
    asked = Request("POST", "/forms/responses", (), Body(b'{"answers": []}'))
    assert decode(Exchange("x", Channel(Role.LLM, "m"), 0, asked)).protocol is None


def test_an_agent_that_answers_in_items_is_known_at_any_path_and_a_tool_nowhere() -> None:
    for answer in (response(message("x")), stream({"type": "response.created", "response": {}})):
        found = decode(exchange(answer, target="/talk", role=Role.AGENT))
        assert found.protocol == "openai_responses"
    assert decode(exchange(response(), role=Role.TOOL)).protocol == "rest"


# -- what a request says ------------------------------------------------------


def test_instructions_come_first_and_a_text_is_the_users() -> None:
    system, user = turn(response(), "Hello", instructions="Be brief.").history
    assert system == Message("system", "Be brief.", at="request.instructions")
    assert user == Message("user", "Hello", at="request.input")
    listed = turn(response(), "Hello", instructions=[{"role": "developer", "content": "Be kind."}]).history
    assert [(one.role, one.content, one.at) for one in listed[:1]] == [
        ("system", "Be kind.", "request.instructions[0]")
    ]


def test_items_need_no_type_and_content_may_be_parts() -> None:
    image = {"type": "input_image", "image_url": "u"}
    found = history(
        {"role": "developer", "content": "d"},
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}],
        },
        {"type": "message", "role": "user", "content": [image]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "c"}]},
        "no item",
    )
    assert [(one.role, one.content) for one in found] == [
        ("system", "d"),
        ("user", "a\nb"),
        ("user", [image]),
        ("assistant", "c"),
    ]


@pytest.mark.parametrize(
    ("kind", "result", "content", "error"),
    [
        ("function_call_output", {"output": '{"a": 1}'}, {"a": 1}, None),
        ("function_call_output", {"output": [{"type": "input_text", "text": "t"}]}, "t", None),
        ("function_call_output", {"output": "half", "status": "incomplete"}, "half", "status incomplete"),
        ("custom_tool_call_output", {"output": "done"}, "done", None),
        ("shell_call_output", {"output": [{"stdout": "x"}]}, [{"stdout": "x"}], None),
        ("apply_patch_call_output", {"status": "failed", "output": "no file"}, "no file", "no file"),
        ("apply_patch_call_output", {"status": "failed"}, None, "status failed"),
        (
            "computer_call_output",
            {"output": {"type": "computer_screenshot"}},
            {"type": "computer_screenshot"},
            None,
        ),
        ("tool_search_output", {"tools": [{"name": "f"}]}, [{"name": "f"}], None),
    ],
)
def test_results_are_messages_of_their_tools(
    kind: str, result: dict[str, Any], content: object, error: str | None
) -> None:
    (one,) = history({"type": kind, "call_id": "c", **result})
    assert (one.role, one.call_id, one.content, one.error) == ("tool", "c", content, error)


def test_a_result_knows_its_tools_name_where_the_call_stands_before_it() -> None:
    shell = {"type": "local_shell_call", "call_id": "l", "action": {"type": "exec", "command": ["ls"]}}
    asked, one, two, other = history(
        called("f"),
        shell,
        {"type": "local_shell_call_output", "id": "l", "output": "a.txt"},
        {"type": "function_call_output", "call_id": "c", "output": "1"},
        {"type": "function_call_output", "call_id": "gone", "output": "2"},
    )
    assert [call.name for call in asked.calls] == ["f", "local_shell"]
    assert [(result.name, result.call_id) for result in (one, two, other)] == [
        ("local_shell", "l"),
        ("f", "c"),
        (None, "gone"),
    ]


def test_new_items_alone_name_what_they_go_on_from() -> None:
    found = turn(response(message("x")), previous_response_id="resp_0")
    assert (found.parent_id, found.response_id) == ("resp_0", "resp_1")
    for named in ("conv_1", {"id": "conv_1"}):
        assert decoded(response(), conversation=named).session == "conv_1"
    assert decoded(response(conversation={"id": "conv_2"})).session == "conv_2"


def test_what_a_request_only_refers_to_is_remarked() -> None:
    found = decoded(
        response(), [{"id": "msg_1"}, {"type": "item_reference", "id": "fc_1"}], prompt={"id": "pmpt_1"}
    )
    assert found.remarks == (
        "item item_reference is not traced: 2",
        "prompt pmpt_1 is kept by the server: its words are not traced",
    )


def test_a_stored_prompt_needs_no_input() -> None:
    request = Request("POST", "/v1/responses", (), Body(b'{"prompt": {"id": "pmpt_1"}}'))
    answer = Response(200, (), Body(json.dumps(response(message("x"))).encode()))
    found = decode(Exchange("x", Channel(Role.LLM, "m"), 0, request, answer)).turn
    assert found
    assert found.reply


COMPACTION = {"type": "compaction", "id": "cmp_1", "encrypted_content": "e"}


def test_a_compaction_is_a_quiet_turn_that_later_requests_go_on_from() -> None:
    kept = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "first"}]}
    made = decoded(
        {"id": "resp_c", "object": "response.compaction", "output": [kept, COMPACTION]},
        [],
        target="/v1/responses/compact",
        previous_response_id="resp_0",
    )
    assert made.turn == Turn((), model="asked", response_id="cmp_1", parent_id="resp_0", compacts=True)
    assert made.remarks == ("the history was compacted into 2 items",)
    onward = turn(response(), [COMPACTION, {"role": "user", "content": "next"}])
    assert (onward.compacted, onward.parent_id) == (True, "cmp_1")
    # What shows more of the history is known by that.
    known = turn(response(), [kept, COMPACTION, {"role": "user", "content": "next"}])
    assert (known.compacted, known.parent_id, len(known.history)) == (True, None, 2)
    assert not turn(response(COMPACTION)).compacted


def test_a_compaction_that_fails_says_why() -> None:
    found = turn({"error": {"message": "too old"}}, target="/v1/responses/compact", status=400)
    assert found.error == "HTTP 400: too old"


# -- what an answer holds -----------------------------------------------------


def test_words_refusals_and_thoughts_keep_their_order() -> None:
    refusal = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    thought = {"type": "reasoning", "summary": [{"text": "a"}, {"text": "b"}], "content": [{"text": "raw"}]}
    secret = {"type": "reasoning", "summary": [], "encrypted_content": "e"}
    found = reply(secret, message("one"), thought, refusal)
    assert found.content == "one\nNo."
    assert found.parts == (
        Said("one", "response.output[1]"),
        Thought("a\n\nb", "response.output[2]"),
        Thought("raw", "response.output[2]"),
        Said("No.", "response.output[3]"),
    )


def test_text_that_citations_part_is_one_and_citations_are_remarked() -> None:
    pieces = [
        {"type": "output_text", "text": text, "annotations": [{"type": "url_citation"}]}
        for text in ("a ", "b")
    ]
    found = decoded(response({"type": "message", "role": "assistant", "content": pieces}))
    assert found.turn
    assert found.turn.reply
    assert found.turn.reply.content == "a b"
    assert found.remarks == ("annotations are not traced: 2 (url_citation)",)


@pytest.mark.parametrize(
    ("item", "name", "arguments", "call_id"),
    [
        (called("f", '{"n": 1}'), "f", {"n": 1}, "c"),
        (called("f", "{broken"), "f", "{broken", "c"),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "SELECT 1"},
            "sql",
            "SELECT 1",
            "c",
        ),
        (
            {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}},
            "local_shell",
            {"command": ["ls"]},
            "c",
        ),
        (
            {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
            "shell",
            {"commands": ["ls"]},
            "c",
        ),
        (
            {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file", "path": "a"}},
            "apply_patch",
            {"type": "delete_file", "path": "a"},
            "c",
        ),
        (
            {"type": "computer_call", "call_id": "c", "action": {"type": "click", "x": 1}},
            "computer",
            {"type": "click", "x": 1},
            "c",
        ),
        (
            {
                "type": "computer_call",
                "call_id": "c",
                "actions": [{"type": "wait"}],
                "pending_safety_checks": [{"id": "s"}],
            },
            "computer",
            {"actions": [{"type": "wait"}], "pending_safety_checks": [{"id": "s"}]},
            "c",
        ),
        (
            {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"q": 1}},
            "tool_search",
            {"q": 1},
            "c",
        ),
        (
            {
                "type": "mcp_approval_request",
                "id": "mcpr_1",
                "name": "pay",
                "arguments": '{"n": 1}',
                "server_label": "shop",
            },
            "mcp_approval_request",
            {"name": "pay", "arguments": {"n": 1}, "server_label": "shop"},
            "mcpr_1",
        ),
        ({"type": "novel_call", "call_id": "c", "status": "completed", "wish": 1}, "novel", {"wish": 1}, "c"),
    ],
)
def test_what_the_client_is_to_carry_out_is_a_call(
    item: dict[str, Any], name: str, arguments: object, call_id: str
) -> None:
    (call,) = reply(item).calls
    assert (call.name, call.arguments, call.call_id, call.at) == (
        name,
        arguments,
        call_id,
        "response.output[0]",
    )


@pytest.mark.parametrize(
    ("item", "name", "arguments", "content", "error", "answered"),
    [
        (
            {
                "type": "web_search_call",
                "action": {"type": "search", "query": "q", "sources": [{"url": "u"}]},
            },
            "web_search",
            {"type": "search", "query": "q"},
            [{"url": "u"}],
            None,
            True,
        ),
        ({"type": "web_search_call", "status": "completed"}, "web_search", {}, None, None, False),
        ({"type": "web_search_call", "status": "failed"}, "web_search", {}, None, "status failed", True),
        (
            {"type": "file_search_call", "queries": ["q"], "results": [{"text": "t"}]},
            "file_search",
            {"queries": ["q"]},
            [{"text": "t"}],
            None,
            True,
        ),
        (
            {"type": "file_search_call", "queries": ["q"], "results": None},
            "file_search",
            {"queries": ["q"]},
            None,
            None,
            False,
        ),
        (
            {
                "type": "code_interpreter_call",
                "code": "1",
                "outputs": [{"type": "logs", "logs": "a"}, {"type": "logs", "logs": "b"}],
            },
            "code_interpreter",
            {"code": "1"},
            "a\nb",
            None,
            True,
        ),
        (
            {"type": "code_interpreter_call", "code": "1", "outputs": [{"type": "image", "url": "u"}]},
            "code_interpreter",
            {"code": "1"},
            [{"type": "image", "url": "u"}],
            None,
            True,
        ),
        (
            {"type": "code_interpreter_call", "code": "1", "outputs": None},
            "code_interpreter",
            {"code": "1"},
            None,
            None,
            False,
        ),
        (
            {"type": "image_generation_call", "result": "AAAA", "size": "1x1", "output_format": "png"},
            "image_generation",
            {"size": "1x1", "output_format": "png"},
            {"bytes": 3, "sha256": "709e80c88487a241"},
            None,
            True,
        ),
        (
            {"type": "mcp_call", "name": "pay", "arguments": '{"n":1}', "output": '{"ok":true}'},
            "pay",
            {"n": 1},
            {"ok": True},
            None,
            True,
        ),
        (
            {"type": "mcp_call", "name": "pay", "arguments": "", "error": "broke"},
            "pay",
            {},
            None,
            "broke",
            True,
        ),
        (
            {"type": "mcp_call", "name": "pay", "error": {"type": "http_error", "message": "down"}},
            "pay",
            {},
            None,
            "down",
            True,
        ),
        ({"type": "mcp_call", "name": "pay", "error": {"code": 1}}, "pay", {}, None, '{"code":1}', True),
        ({"type": "program", "call_id": "c", "code": "x"}, "program", {"code": "x"}, None, None, False),
        ({"type": "novel_call", "wish": 1}, "novel", {"wish": 1}, None, None, False),
    ],
)
def test_what_the_vendor_carried_out_stands_with_what_the_answer_shows(
    item: dict[str, Any], name: str, arguments: object, content: object, error: str | None, answered: bool
) -> None:
    (found,) = parts({"id": "i", **item})
    assert isinstance(found, Served)
    assert (found.call.name, found.call.arguments) == (name, arguments)
    assert (found.content, found.error, found.answered) == (content, error, answered)


def test_a_result_of_its_own_is_joined_with_the_vendors_call() -> None:
    hosted = {"type": "container_reference", "container_id": "k"}
    shell = {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}, "environment": hosted}
    listed = {"type": "shell_call_output", "call_id": "s", "output": [{"stdout": "a"}]}
    search: dict[str, Any] = {
        "type": "tool_search_call",
        "execution": "server",
        "call_id": None,
        "arguments": {},
    }
    tools = {"type": "tool_search_output", "execution": "server", "call_id": None, "tools": [{"name": "f"}]}
    wanted = [("shell", [{"stdout": "a"}], "[1]"), ("tool_search", [{"name": "f"}], "[3]")]
    for shown, place in (
        (parts(shell, listed, search, tools), "response.output"),
        (_asked(shell, listed, search, tools), "request.input"),
    ):
        found = [(one.call.name, one.content, one.at) for one in shown if isinstance(one, Served)]
        assert found == [(name, content, place + at) for name, content, at in wanted]


def _asked(*items: object) -> tuple[Part, ...]:
    (one,) = history(*items)
    return one.parts


def test_a_local_shell_waits_for_the_client() -> None:
    local = {"type": "shell_call", "call_id": "s", "action": {}, "environment": {"type": "local"}}
    assert [call.name for call in reply(local).calls] == ["shell"]
    asked, result = history(local, {"type": "shell_call_output", "call_id": "s", "output": []})
    assert ([call.name for call in asked.calls], result.name) == (["shell"], "shell")


def test_a_programs_result_in_a_later_answer_is_told() -> None:
    (found,) = parts({"type": "program_output", "call_id": "p", "result": "7", "status": "completed"})
    assert found == Served(Call("program", {}, "p", "response.output[0]"), "7", at="response.output[0]")


def test_an_approval_is_asked_of_the_client_and_granted_or_refused() -> None:
    asked = {"type": "mcp_approval_request", "id": "r", "name": "pay", "arguments": "{}", "server_label": "s"}
    answer = {"type": "mcp_approval_response", "approval_request_id": "r", "approve": False, "reason": "no"}
    _, said = history(asked, answer)
    assert said == Message(
        "tool",
        {"approve": False, "reason": "no"},
        call_id="r",
        name="mcp_approval_request",
        at="request.input[1]",
    )


def test_what_the_steps_do_not_show_is_remarked() -> None:
    tools = {"type": "mcp_list_tools", "server_label": "shop", "tools": [{"name": "pay"}, {"name": "ship"}]}
    failed = {"type": "mcp_list_tools", "server_label": "bank", "tools": [], "error": "no route"}
    other = [{"type": "additional_tools"}, COMPACTION, {"type": "telepathy"}, 7]
    named = called("f", namespace="crm")
    remarks = decoded(response(tools, failed, *other, named, {"type": "novel_call"}, called(""))).remarks
    assert remarks == (
        "mcp_list_tools of shop: pay, ship",
        "mcp_list_tools of bank: no route",
        "namespace of f: crm",
        "item novel_call is not known: its fields are told as arguments",
        "item function_call has no name",
        "item additional_tools is not traced: 1",
        "item compaction is not traced: 1",
        "item telepathy is not traced: 1",
        "item ? is not traced: 1",
    )
    assert decoded(response(), [tools, COMPACTION]).remarks == ()


# -- how an answer ends -------------------------------------------------------


def test_an_answer_that_was_cut_says_so_in_the_vendors_word() -> None:
    cut = response(message("half"), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    assert decoded(cut).remarks == ("status incomplete (max_output_tokens)",)
    assert turn(cut).error is None
    assert decoded(response(status="complete")).remarks == ()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (response(status="failed", error={"code": "x", "message": "broke"}), "broke"),
        (response(status="failed"), "status failed"),
        (response(status="cancelled"), "status cancelled"),
        ({"error": {"message": "in a 200"}}, "in a 200"),
        ([{"error": {"message": "in a list"}}], "in a list"),
        ({"object": "response"}, "the answer has no output"),
    ],
)
def test_an_answer_that_failed_has_no_reply(answer: object, error: str) -> None:
    found = turn(answer)
    assert (found.reply, found.error) == (None, error)


def test_what_came_before_an_answer_failed_is_kept() -> None:
    found = turn(response(message("half"), status="cancelled"))
    assert found.reply
    assert (found.reply.content, found.error) == ("half", "status cancelled")


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_an_answer_in_the_background_is_none_yet(status: str) -> None:
    found = decoded(response(message("ha"), status=status))
    assert found.turn
    assert (found.turn.reply, found.turn.error, found.turn.response_id) == (None, None, "resp_1")
    assert found.remarks == (f"status {status}", "output so far is not traced: 1")


def test_a_poll_asks_for_an_answer_begun_before() -> None:
    found = turn(response(message("done")), method="GET", target="/v1/responses/resp_1?stream=false")
    assert (found.history, found.poll_of, found.response_id) == ((), "resp_1", "resp_1")
    named = turn(
        {**response(message("done")), "id": "7e8e81c2"}, method="GET", target="/v1/responses/7e8e81c2"
    )
    assert named.poll_of == "7e8e81c2"  # xAI's ids
    assert (
        turn({"error": {"message": "gone"}}, method="GET", target="/responses/resp_2", status=404).error
        == "HTTP 404: gone"
    )


def test_usage_and_model_are_the_answers_own() -> None:
    found = turn(response(model="real", usage={"input_tokens": 5, "output_tokens": 2}))
    assert (found.model, found.usage) == ("real", Usage(5, 2))
    assert turn(response()).model == "asked"
    request = Request("POST", "/openai/deployments/my%20gpt/responses", (), Body(b'{"input": "x"}'))
    assert decode(Exchange("x", Channel(Role.LLM, "m"), 0, request)).turn == Turn(
        (Message("user", "x", at="request.input"),), model="my gpt", error="no answer (complete)"
    )


# -- streams ------------------------------------------------------------------

LAST = {
    "type": "response.completed",
    "response": response(message("Hello"), called("f", '{"a":1}', id="fc_1")),
}


def test_the_last_event_holds_the_whole_answer() -> None:
    body = stream(
        ": PROCESSING",
        {"type": "response.created", "response": response(status="in_progress")},
        event("output_item.added", item=message("")),
        event("output_text.delta", content_index=0, delta="He", obfuscation="x"),
        event("output_item.done", item=message("Hello")),
        event("output_item.added", 1, item=called("f", "")),
        event("function_call_arguments.delta", 1, delta='{"a":1}'),
        event("output_item.done", 1, item=called("f", '{"a":1}')),
        LAST,
        "data: [DONE]",
    )
    found = decoded(body)
    assert found.complete is True
    assert found.turn
    assert found.turn.reply == Message(
        "assistant",
        "Hello",
        (Call("f", {"a": 1}, "c", "response.events[4-6]"),),
        at="response.events[1-3]",
    )


def test_an_item_that_the_stream_never_showed_stands_in_its_last_event() -> None:
    found = turn(stream(event("output_item.done", item=called("g")), LAST)).reply
    assert found
    assert (found.at, found.calls[0].at) == ("response.events[1]", "response.events[1]")


def test_items_are_told_apart_by_number_for_their_ids_may_change() -> None:
    added = {"type": "message", "role": "assistant", "content": [], "id": "one"}
    body = stream(
        event("output_item.added", item=added),
        event("output_text.delta", content_index=0, item_id="two", delta="a"),
        event("output_text.delta", content_index=0, item_id="three", delta="b"),
    )
    found = turn(body).reply
    assert found
    assert found.content == "ab"


def test_a_last_event_without_items_leaves_those_that_came() -> None:
    done = [event("output_item.done", 1, item=called("f")), event("output_item.done", item=message("a"))]
    found = turn(stream(*done, {"type": "response.completed", "response": response()})).reply
    assert found
    assert (found.content, [call.name for call in found.calls]) == ("a", ["f"])


@pytest.mark.parametrize(
    ("kind", "item", "slot", "part"),
    [
        ("output_text", {"type": "message", "role": "assistant"}, {"content_index": 0}, Said("ab", "")),
        ("refusal", {"type": "message", "role": "assistant"}, {"content_index": 1}, Said("ab", "")),
        ("reasoning_text", {"type": "reasoning"}, {"content_index": 0}, Thought("ab", "")),
        ("reasoning_summary_text", {"type": "reasoning"}, {"summary_index": 0}, Thought("ab", "")),
        ("function_call_arguments", called("f", ""), {}, Call("f", "ab", "c")),
        (
            "custom_tool_call_input",
            {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": ""},
            {},
            Call("f", "ab", "c"),
        ),
        (
            "mcp_call_arguments",
            {"type": "mcp_call", "name": "f"},
            {},
            Served(Call("f", "ab"), answered=False),
        ),
        (
            "code_interpreter_call_code",
            {"type": "code_interpreter_call"},
            {},
            Served(Call("code_interpreter", {"code": "ab"}), answered=False),
        ),
        (
            "apply_patch_call_operation_diff",
            {"type": "apply_patch_call", "call_id": "c", "operation": {"path": "p", "diff": ""}},
            {},
            Call("apply_patch", {"path": "p", "diff": "ab"}, "c"),
        ),
        (
            "shell_call_command",
            {"type": "shell_call", "call_id": "c"},
            {"command_index": 1},
            Call("shell", {"commands": ["ab"]}, "c"),
        ),
    ],
)
def test_what_came_of_an_item_that_broke_off_is_kept(
    kind: str, item: dict[str, Any], slot: dict[str, int], part: Part
) -> None:
    pieces = [event(f"{kind}.delta", delta=piece, **slot) for piece in ("a", "b")]
    found = decoded(stream(event("output_item.added", item=item), *pieces))
    assert found.complete is False
    assert found.turn
    assert found.turn.error == "the stream ended before its last event"
    reply = found.turn.reply
    assert reply
    (kept,) = reply.parts or (*([Said(reply.content)] if reply.content else []), *reply.calls)
    assert _bare(kept) == _bare(part)
    whole = (
        "command" if kind == "shell_call_command" else {"refusal": "refusal", "output_text": "text"}.get(kind)
    )
    if whole:
        done = event(f"{kind}.done", **slot) | {whole: "ab"}
        again = turn(stream(event("output_item.added", item=item), *pieces, done)).reply
        assert again
        assert (again.content, len(again.calls)) == (reply.content, len(reply.calls))


def _bare(part: Part) -> object:
    if isinstance(part, Served):
        return part.call.name, part.call.arguments, part.content, part.answered
    return (part.name, part.arguments) if isinstance(part, Call) else (type(part), _words(part))


def _words(part: Said | Thought) -> object:
    return part.content if isinstance(part, Said) else part.text


def test_a_stream_that_is_taken_up_in_the_middle_gives_what_it_shows() -> None:
    taken_up = "/v1/responses/resp_1?stream=true&starting_after=7"
    body = stream(event("output_text.delta", content_index=0, delta="rest"))
    found = turn(body, method="GET", target=taken_up)
    assert found.reply
    assert (found.reply.content, found.poll_of) == ("rest", "resp_1")
    nameless = decoded(stream(event("function_call_arguments.delta", delta="{}")))
    assert nameless.remarks == ("item function_call has no name",)


@pytest.mark.parametrize(
    ("failing", "complete"),
    [
        ([{"type": "error", "code": "x", "message": "quota"}], False),
        ([{"type": "error", "error": {"message": "quota"}}], False),
        (['event: error\ndata: {"message": "quota"}'], False),
        (
            [{"type": "response.failed", "response": {"status": "failed", "error": {"message": "quota"}}}],
            True,
        ),
        (
            [
                {"type": "error", "error": {"message": "x"}},
                {"type": "response.failed", "response": {"status": "failed", "error": {"message": "quota"}}},
            ],
            True,
        ),
    ],
)
def test_an_error_in_a_stream_keeps_what_came_before(failing: list[object], complete: bool) -> None:
    found = decoded(stream(event("output_text.delta", content_index=0, delta="half"), *failing))
    assert found.complete is complete
    assert found.turn
    assert found.turn.reply
    assert (found.turn.reply.content, found.turn.error) == ("half", "quota")
    alone = turn(stream(*failing))
    assert (alone.reply, alone.error) == (None, "quota")


def test_events_that_make_no_sense_are_passed_over() -> None:
    body = stream(
        "data: {broken",
        "data: 7",
        event("output_text.delta", content_index=10**9, delta="x"),
        event("output_text.delta", content_index=0, delta=3),
        {"type": "response.output_text.delta", "output_index": "0", "delta": "y"},
        event("wish.delta", delta="z"),
    )
    found = decoded(body)
    assert found.remarks[0] == "an event is no JSON"
    assert found.turn
    assert found.turn.error == "the stream ended before its last event"


# -- answers and their repetition ---------------------------------------------

texts = st.text('ab 先 {}[]"\\\n', min_size=1, max_size=6)
objects = st.dictionaries(texts, st.none() | st.booleans() | st.integers() | texts, max_size=3)
ids = st.sampled_from(["a", "b", "c"])
output_items = st.one_of(
    texts.map(lambda text: message(text, status="completed")),
    st.builds(
        lambda s: {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": s}]}, texts
    ),
    st.builds(lambda n, a, i: called(n, json.dumps(a), i, id="fc", status="completed"), texts, objects, ids),
    st.builds(
        lambda n, t, i: {"type": "custom_tool_call", "id": "ct", "name": n, "input": t, "call_id": i},
        texts,
        texts,
        ids,
    ),
    st.builds(
        lambda q: {"type": "web_search_call", "id": "ws", "action": {"type": "search", "query": q}}, texts
    ),
    st.builds(
        lambda n, a, o: {"type": "mcp_call", "id": "mcp", "name": n, "arguments": json.dumps(a), "output": o},
        texts,
        objects,
        texts,
    ),
)
outputs = st.lists(output_items, min_size=1, max_size=6)


@settings(max_examples=50)
@given(outputs)
def test_an_answer_sent_again_reads_as_it_was_given(output: list[dict[str, Any]]) -> None:
    answer = reply(*output)
    (again,) = history(*output)
    assert (again.content, _calls(again)) == (answer.content, _calls(answer))
    assert list(map(_bare, again.parts)) == list(map(_bare, answer.parts))


@settings(max_examples=50)
@given(outputs)
def test_a_streamed_answer_reads_as_the_plain_one(output: list[dict[str, Any]]) -> None:
    events: list[object] = []
    for index, item in enumerate(output):
        events += [event("output_item.added", index, item=item), event("output_item.done", index, item=item)]
    plain = reply(*output)
    for ended in ([], [{"type": "response.completed", "response": response(*output)}]):
        found = turn(stream(*events, *ended)).reply
        assert found
        assert (found.content, _calls(found)) == (plain.content, _calls(plain))
        assert list(map(_bare, found.parts)) == list(map(_bare, plain.parts))


def _calls(one: Message) -> list[tuple[str, object, str | None]]:
    return [(call.name, call.arguments, call.call_id) for call in one.calls]


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "x", "{}", "failed", "server"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["text", "type", "id"]), inner)
    ),
    max_leaves=4,
)
kinds = st.sampled_from([*KNOWN, "message", "reasoning", "shell_call_output", "mcp_list_tools", "compaction"])
fields = st.sampled_from(
    re.findall(
        r"\S+",
        "id role content summary call_id name arguments input action actions operation queries results code"
        " outputs output result error status server_label tools execution environment",
    )
)
wrong_items = junk | st.builds(lambda kind, of: {**of, "type": kind}, kinds, st.dictionaries(fields, junk))
wrong_events = st.builds(
    lambda name, of: {**of, "type": f"response.{name}"},
    st.sampled_from(["output_item.added", "output_item.done", "completed", "failed", "created"])
    | st.builds(
        lambda name, step: name + step, st.sampled_from([*TEXTS]), st.sampled_from([".delta", ".done"])
    ),
    st.fixed_dictionaries(
        {"output_index": st.integers(0, 2)},
        optional={
            "item": wrong_items,
            "delta": junk,
            "content_index": junk,
            "response": st.fixed_dictionaries({"output": st.lists(wrong_items, max_size=3)}) | junk,
        },
    ),
)


@settings(max_examples=60)
@given(st.lists(wrong_items, max_size=5), st.lists(wrong_events, max_size=6))
def test_no_item_and_no_event_is_too_strange(values: list[object], events: list[object]) -> None:
    # The decoder itself, not `decode`, which would turn a fault into a reason.
    for answer in (response(*values), stream(*events)):
        for asked in (values, []):
            assert openai_responses.decode(exchange(answer, asked)).turn


def test_answers_repeated_without_ids_stay_apart_and_those_with_ids_are_one() -> None:
    bare = [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert [one.content for one in history(*bare)] == ["a", "b"]
    assert [one.content for one in history(message("a"), message("b"))] == ["a\nb"]
    (one,) = history(bare[0], called("f"))
    assert (one.content, [call.name for call in one.calls]) == ("a", ["f"])
