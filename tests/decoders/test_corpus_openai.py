"""Recorded exchanges with OpenAI and servers that imitate it: each is claimed, and tells what was said."""

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from abs_replay.assembly import assemble
from abs_replay.decoders import DECODERS, decode, sse
from abs_replay.decoders.content import response_content
from abs_replay.decoders.events import Call, Decoded, Message, Said, Served, Thought
from abs_replay.decoders.fields import items, obj, parse_or_none
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role
from tests import corpus as corpus_reader

LLM = Channel(Role.LLM, "m")
SAID = b"/chat/completions", b"/responses"


@pytest.fixture
def corpus(shared: Path) -> Path:
    found = shared / "corpus"
    return found if found.is_dir() else pytest.skip("no corpus")


def exchanges(path: Path) -> list[Exchange]:
    """Read a recording, as traffic with a model, an exchange a second."""
    found = corpus_reader.read(path)
    return [replace(one, id=f"x{i}", started_at=float(i), channel=LLM) for i, one in enumerate(found)]


@cache
def recorded(corpus: Path) -> tuple[tuple[Exchange, Decoded], ...]:
    """Give every recorded request to one of the two APIs, and what it comes to."""
    paths = [path for path in sorted(corpus.rglob("*")) if path.suffix in (".yaml", ".yml", ".json")]
    spoken = [path for path in paths if any(one in path.read_bytes() for one in SAID)]
    found = [
        one for path in spoken for one in exchanges(path) if any(s.decode() in one.request.path for s in SAID)
    ]
    return tuple((one, decode(one)) for one in found if one.request.body.data or one.request.method == "GET")


def decoded(corpus: Path, protocol: str) -> list[Decoded]:
    return [found for _, found in recorded(corpus) if found.protocol == protocol]


def file(corpus: Path, name: str) -> Path:
    found = list(corpus.rglob(name))
    return found[0] if found else pytest.skip(f"no {name} in the corpus")


def steps(corpus: Path, name: str) -> list[tuple[str, str, str | None]]:
    """Give the steps of a recording that is one conversation."""
    (trace,) = assemble(exchanges(file(corpus, name)))
    return [(step.actor, step.action, step.target) for step in trace.steps]


def body(corpus: Path, name: str) -> Decoded:
    """Decode a fixture that is an answer's events, one a line or as they were sent."""
    path = file(corpus, name)
    lines = path.read_text(encoding="utf-8").splitlines()
    data = path.read_bytes()
    if path.suffix == ".txt":
        data = "".join(f"data: {line}\n\n" for line in lines if line.strip()).encode()
    chat = "/chat/" in str(path)
    sent: dict[str, Any] = {"messages": [{"role": "user", "content": "?"}]} if chat else {"input": "?"}
    target = "/v1/chat/completions" if chat else "/v1/responses"
    request = Request("POST", target, (), Body(json.dumps(sent).encode()))
    found = decode(Exchange("x", LLM, 0.0, request, Response(200, (), Body(data))))
    assert found.protocol == ("openai_chat" if chat else "openai_responses")
    return found


def test_every_recorded_request_is_claimed_by_one_decoder_and_answered_or_told_why(corpus: Path) -> None:
    found = recorded(corpus)
    claims = [[name for name, one in DECODERS.items() if one.claims(exchange)] for exchange, _ in found]
    counted = Counter(tuple(names) for names in claims)
    assert set(counted) == {("openai_chat",), ("openai_responses",)}
    assert counted["openai_chat",] > 120
    assert counted["openai_responses",] > 60
    for exchange, one in found:
        assert one.turn
        quiet = {"status queued", "status in_progress"} & {*one.remarks}
        told = one.turn.reply or one.turn.error or quiet or exchange.request.path.endswith("/compact")
        assert told, exchange.id


# What steps do not show of the recorded answers, and nothing else.
REMARKS = (
    "annotations are not traced: ",
    "choice 0 of 2 is traced, the others are alternatives",
    "citations are not traced: 8",
    "finish_reason length",
    "mcp_list_tools of ",
    "search_results are not traced: 8",
    "server_label of ",
    "status in_progress",
    "status incomplete (max_output_tokens)",
    "status queued",
    "the history was compacted into ",
)


def test_nothing_recorded_is_remarked_but_what_steps_can_not_show(corpus: Path) -> None:
    remarks = [remark for _, one in recorded(corpus) for remark in one.remarks]
    assert [remark for remark in remarks if not remark.startswith(REMARKS)] == []
    assert sum(1 for _, one in recorded(corpus) if not one.remarks) > 0.85 * len(recorded(corpus))


def pieces(exchange: Exchange) -> tuple[str, str]:
    """Give, read in the plainest way, a chat answer's words and its calls' arguments, run together."""
    content = response_content(exchange)
    streamed = sse.is_stream("", content.text)
    bodies = (
        [parse_or_none(e.data) for e in sse.events(content.text)]
        if streamed
        else [parse_or_none(content.data)]
    )
    choices = [obj(choice) for one in bodies for choice in items(obj(one).get("choices"))]
    told = [
        obj(choice.get("delta") or choice.get("message")) for choice in choices if not choice.get("index")
    ]
    listed = [obj(part).get("text") for one in told for part in items(one.get("content"))]
    said = [one.get(key) for one in told for key in ("content", "refusal")] + listed
    calls = [obj(call) for one in told for call in items(one.get("tool_calls"))]
    calls += [{"function": one["function_call"]} for one in told if one.get("function_call")]
    asked = sorted((call.get("index") or 0, n, call) for n, call in enumerate(calls))
    given = [(obj(call.get("function")) or obj(call.get("custom"))) for _, _, call in asked]
    words = "".join(one for one in said if isinstance(one, str))
    return words, "".join(one.get("arguments") or one.get("input") or "" for one in given)


def test_the_words_and_arguments_of_recorded_chats_are_told_once_and_in_order(corpus: Path) -> None:
    compared = 0
    for exchange, one in recorded(corpus):
        reply = one.turn.reply if one.turn else None
        if one.protocol != "openai_chat" or reply is None:
            continue
        words, arguments = pieces(exchange)
        compared += 1
        assert (reply.content or "") == words, exchange.request.target
        given = [call.arguments for call in reply.calls]
        assert given == _parsed(arguments, given), exchange.request.target
    assert compared > 90


def _parsed(run_together: str, given: list[Any]) -> list[Any]:
    """Read arguments that stand one behind the other; of those that never came there is nothing."""
    found, decoder, at = [], json.JSONDecoder(), 0
    while run_together[at:].startswith("{"):
        value, at = decoder.raw_decode(run_together, at)
        found.append(value)
    rest = [run_together[at:]] if run_together[at:] else []
    return found + rest + [{}] * (len(given) - len(found) - len(rest))


def test_streamed_answers_of_the_responses_api_are_those_of_their_last_events(corpus: Path) -> None:
    compared = 0
    for exchange, one in recorded(corpus):
        text = response_content(exchange).text
        if one.protocol != "openai_responses" or not sse.is_stream("", text):
            continue
        last = next(e for e in reversed(sse.events(text)) if e.data.startswith("{"))
        whole = json.dumps(json.loads(last.data)["response"]).encode()
        plain = decode(replace(exchange, response=Response(200, (), Body(whole)))).turn
        cut = text.replace(last.data, "{}").encode()  # the items' own events are left
        partial = decode(replace(exchange, response=Response(200, (), Body(cut)))).turn
        assert one.turn
        assert plain
        assert partial
        assert _told(one.turn.reply) == _told(plain.reply) == _told(partial.reply)
        compared += 1
    assert compared >= 15


def _told(message: Message | None) -> object:
    assert message
    calls = [(call.name, call.arguments, call.call_id) for call in message.calls]
    return message.content, calls, [type(part) for part in message.parts]


def test_a_recorded_answer_reads_as_its_repetition_in_the_next_request(corpus: Path) -> None:
    name = "chat_function_calling_openai_gpt-5-nano_can_use_tools_with_multi-turn_streaming_conversations.yml"
    turns = [one.turn for one in map(decode, exchanges(file(corpus, name))) if one.turn]
    for before, after in pairwise(turns):
        assert before.reply
        again = after.history[len(before.history)]
        assert _told(again)[:2] == _told(before.reply)[:2]  # type: ignore[index]


# -- whole conversations ------------------------------------------------------


def test_a_chain_of_answers_through_compactions_is_one_conversation(corpus: Path) -> None:
    name = "test_openai_responses_compact_with_auto_previous_response_id_chain.yaml"
    told = steps(corpus, name)
    assert [one for one in told if one[1] != "compacts"] == [
        ("user", "says", None),
        ("assistant", "responds", None),
    ] * 5
    assert len(told) == 13


def test_background_answers_are_one_conversation_with_their_polls(corpus: Path) -> None:
    assert steps(corpus, "test_background_mode_with_tool_vcr.yaml") == [
        ("user", "says", None),
        ("assistant", "calls", "get_weather"),
        ("tool", "responds", "get_weather"),
        ("assistant", "responds", None),
    ]


def test_a_conversation_that_the_server_keeps_is_one(corpus: Path) -> None:
    assert steps(corpus, "test_openai_conversation_id_tool_call_continuation.yaml") == [
        ("system", "says", None),
        ("user", "says", None),
        ("assistant", "calls", "get_conversation_code"),
        ("tool", "responds", "get_conversation_code"),
        ("assistant", "responds", None),
    ]


def test_the_vendors_tools_are_told_where_the_model_called_them(corpus: Path) -> None:
    assert steps(corpus, "test_openai_responses_model_mcp_server_tool_stream.yaml") == [
        ("system", "says", None),
        ("user", "says", None),
        ("assistant", "calls", "ask_question"),
        ("tool", "responds", "ask_question"),
        ("assistant", "responds", None),
    ]


def test_thoughts_in_parts_of_the_content_are_told_before_the_words(corpus: Path) -> None:
    name = "chat_with_extended_thinking_mistral_*_*_between_turns_when_provided.yml"
    turn = [("user", "says", None), ("assistant", "thinks", None), ("assistant", "responds", None)]
    assert steps(corpus, name) == turn * 2


# -- bodies alone -------------------------------------------------------------


def test_a_patch_a_shell_and_a_custom_tool_are_for_the_client(corpus: Path) -> None:
    wanted = {
        "openai-apply-patch-tool.1.chunks.txt": ("apply_patch", "create_file"),
        "openai-local-shell-tool.1.chunks.txt": ("local_shell", "exec"),
        "openai-custom-tool.1.chunks.txt": ("write_sql", None),
        "parallel-tool-call-wrapper.1.chunks.txt": ("parallel", None),
    }
    for name, (tool, kind) in wanted.items():
        found = body(corpus, name)
        assert found.turn
        assert found.turn.reply
        (call,) = found.turn.reply.calls
        assert (call.name, obj(call.arguments).get("type")) == (tool, kind)


def test_an_approval_is_asked_for_and_the_servers_tools_are_remarked(corpus: Path) -> None:
    found = body(corpus, "openai-mcp-tool-approval.1.chunks.txt")
    assert found.turn
    assert found.turn.reply
    (call,) = found.turn.reply.calls
    assert (call.name, obj(call.arguments)["name"]) == ("mcp_approval_request", "create_short_url")
    assert found.remarks[0].startswith("mcp_list_tools of zip1: create_short_url")


def test_ids_that_change_between_events_split_no_item(corpus: Path) -> None:
    found = body(corpus, "github-copilot-id-rotation.1.chunks.txt")
    assert found.turn
    assert found.turn.reply
    thought, said = found.turn.reply.parts
    assert (type(thought), thought.at) == (Thought, "response.events[2-7]")
    assert (type(said), said.at) == (Said, "response.events[8-67]")


def test_a_quota_used_up_in_a_stream_is_an_error(corpus: Path) -> None:
    found = body(corpus, "openai-error.1.chunks.txt")
    assert found.complete is True
    assert found.turn
    assert found.turn.reply is None
    assert str(found.turn.error).startswith("You exceeded your current quota")


def test_thoughts_and_calls_of_other_servers_streams_are_told(corpus: Path) -> None:
    deepseek = body(corpus, "deepseek-tool-call.chunks.txt").turn
    assert deepseek
    assert deepseek.reply
    assert [type(part) for part in deepseek.reply.parts] == [Thought, Call]
    router = body(corpus, "azure-model-router.1.chunks.txt").turn
    assert router
    assert router.reply
    assert router.reply.content
    assert not any(isinstance(part, Served) for part in router.reply.parts)
