"""Recorded exchanges with Anthropic and Bedrock: each is claimed, and comes to what its recorder saw."""

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from abs_replay.assembly import assemble
from abs_replay.decoders import DECODERS, aws_events, decode
from abs_replay.decoders.events import Decoded, Message, Served, Thought
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role
from tests import corpus as corpus_reader

LLM = Channel(Role.LLM, "m")
SAID = b"/v1/messages", b"/model/"


@pytest.fixture
def corpus(shared: Path) -> Path:
    found = shared / "corpus"
    if not found.is_dir():
        pytest.skip("no corpus")
    return found


def exchanges(path: Path) -> list[Exchange]:
    """Read a recording, as traffic with a model."""
    return [replace(one, channel=LLM) for one in corpus_reader.read(path)]


@cache
def recorded(corpus: Path, suffix: str) -> tuple[tuple[Exchange, Decoded], ...]:
    """Give every recorded exchange with a path like that, and what it comes to."""
    paths = [path for path in sorted(corpus.rglob("*")) if path.suffix in (".yaml", ".yml", ".gz", ".json")]
    spoken = [path for path in paths if path.suffix == ".gz" or any(one in path.read_bytes() for one in SAID)]
    found = [one for path in spoken for one in exchanges(path) if suffix in one.request.path]
    return tuple((one, decode(one)) for one in found)


def file(corpus: Path, name: str) -> Path:
    found = list(corpus.rglob(name))
    return found[0] if found else pytest.skip(f"no {name} in the corpus")


def only(corpus: Path, name: str) -> list[Decoded]:
    """Give what one recording's exchanges come to."""
    return [decode(one) for one in exchanges(file(corpus, name))]


def body(path: Path) -> Exchange:
    """Make an exchange of a fixture that is an answer's body, or its events a line."""
    text = path.read_text(encoding="utf-8")
    data = text if path.suffix in (".json", ".sse") or "event:" in text else _events(text)
    given = json.loads(text) if path.suffix == ".json" else {}
    if isinstance(given.get("body"), str):
        data = given["body"]
    sent = json.dumps({"messages": [{"role": "user", "content": "?"}], "max_tokens": 9}).encode()
    request = Request("POST", "/v1/messages", (), Body(sent))
    return Exchange("x", LLM, 0.0, request, Response(200, (), Body(data.encode())))


def _events(text: str) -> str:
    return "".join(f"data: {line}\n\n" for line in text.splitlines() if line.strip())


# The refusals and cuts that were recorded, and what is told as it is: nothing else is remarked.
KNOWN = (
    "stop_reason max_tokens",
    "stop_reason pause_turn",
    "stop_reason refusal",
    "stopReason max_tokens",
    "the history was compacted",
    "the body of anthropic.claude-instant-v1 is told as it is",
    "the body of meta.llama2-13b-chat-v1 is told as it is",
    "the body of amazon.titan-text-express-v1 is told as it is",
    "the body of amazon.titan-text-lite-v1 is told as it is",
)


@pytest.mark.parametrize(
    ("protocol", "suffix", "least", "refused"),
    [("anthropic", "/v1/messages", 70, 3), ("bedrock", "/model/", 30, 5)],
)
def test_every_recorded_exchange_is_understood(
    corpus: Path, protocol: str, suffix: str, least: int, refused: int
) -> None:
    asked = [(one, told) for one, told in recorded(corpus, suffix) if one.request.body.data]
    assert len(asked) >= least
    for one, told in asked:
        assert [name for name, each in DECODERS.items() if each.claims(one)] == [protocol]
        assert told.turn is not None
        assert told.turn.history
        assert told.turn.reply or told.turn.error
        assert told.complete is not False
        assert [remark for remark in told.remarks if not remark.startswith(KNOWN)] == []
    errors = [told.turn.error for _, told in asked if told.turn and told.turn.error]
    assert len(errors) <= refused
    assert all(error.startswith("HTTP 4") for error in errors)


def test_every_recorded_frame_has_its_checksums(corpus: Path) -> None:
    bodies = [one.response.body.data for one, _ in recorded(corpus, "/model/") if one.response]
    streams = [aws_events.read(data) for data in bodies if aws_events.is_stream("", data)]
    assert len(streams) >= 10
    assert [stream.fault for stream in streams if stream.fault] == []


def test_an_echo_in_a_later_request_is_the_reply(corpus: Path) -> None:
    """Requests repeat the replies before them; one client leaves out the words beside calls."""
    found = Counter[str]()
    told = [*recorded(corpus, "/v1/messages"), *recorded(corpus, "/model/")]
    for (_, before), (_, after) in pairwise(told):
        if before.turn and before.turn.reply and after.turn:
            found[_echo(before.turn.reply, before.turn.history, after.turn.history)] += 1
    assert found["whole"] >= 25
    assert found["calls alone"] <= 9
    assert found["edited"] == 0


def _echo(reply: Message, before: tuple[Message, ...], after: tuple[Message, ...]) -> str:
    if len(after) <= len(before) or after[: len(before)] != before:
        return "another conversation"
    said = after[len(before)]
    calls = [[(one.call_id, one.name, one.arguments) for one in message.calls] for message in (reply, said)]
    if calls[0] != calls[1]:
        return "edited"
    return "whole" if said.content == reply.content else "calls alone" if said.content is None else "edited"


def test_a_paused_turn_is_resumed(corpus: Path) -> None:
    first, second = only(corpus, "test_pause_turn_web_search_streaming_vcr.yaml")
    assert first.turn
    assert second.turn
    assert first.turn.reply
    assert second.turn.reply
    asked, answered = first.turn.reply.parts[-1], second.turn.reply.parts[0]
    assert isinstance(asked, Served)
    assert isinstance(answered, Served)
    assert (asked.answered, answered.answered) == (False, True)
    assert asked.call.call_id == answered.call.call_id
    served = [
        part for part in (*first.turn.reply.parts, *second.turn.reply.parts) if isinstance(part, Served)
    ]
    assert len({part.call.call_id for part in served}) == 15


@pytest.mark.parametrize(
    ("name", "conversations"),
    [
        ("test_pause_turn_web_search_streaming_vcr.yaml", 1),
        ("test_agent_loop_streaming[[]v1].yaml.gz", 1),
        ("test_anthropic_mcp_servers.yaml", 1),
        ("test_anthropic_compaction_end_to_end.yaml", 1),
        ("test_tool_search_eval[[]anthropic].yaml", 4),
    ],
)
def test_requests_that_repeat_a_history_are_one_conversation(
    corpus: Path, name: str, conversations: int
) -> None:
    found = exchanges(file(corpus, name))
    dated = [replace(one, id=f"x{i}", started_at=float(i)) for i, one in enumerate(found)]
    traces = assemble(dated)
    assert len(traces) == conversations
    assert all(trace.steps[-1].action == "responds" for trace in traces)


def test_a_compacted_answer_is_remarked(corpus: Path) -> None:
    first, second = only(corpus, "test_anthropic_compaction_end_to_end.yaml")
    assert first.remarks == ("the history was compacted",)
    assert (second.remarks, second.turn and second.turn.compacted) == ((), False)


def test_a_remote_servers_call_is_told_with_its_result(corpus: Path) -> None:
    (told,) = only(corpus, "test_anthropic_mcp_servers_stream.yaml")
    assert told.turn
    assert told.turn.reply
    thought, served, _ = told.turn.reply.parts
    assert isinstance(thought, Thought)
    assert isinstance(served, Served)
    assert served.call.name == "ask_question"
    assert isinstance(served.content, str)


BODIES: list[tuple[str, list[str], list[str], str | None]] = [
    ("anthropic-tool-no-args.chunks.txt", ["Said", "updateIssueList {}"], [], None),
    ("anthropic-web-fetch-tool.error.json", ["Said", "Served unavailable", "Said"], [], None),
    ("anthropic-compaction.1.json", ["Said"], ["the history was compacted"], None),
    ("anthropic-fallback.chunks.txt", ["Said"], ["fallback from claude-fable-5 to claude-opus-4-8"], None),
    ("duplicate-message-start.chunks.txt", ["Said"], [], None),
    (
        "spliced-message-start.chunks.txt",
        ["Thought", 'test-tool {"value": "Sparkle Day"}'],
        ["the stream begins its message again; what came before is left out"],
        None,
    ),
    ("stream-a-refusal.sse", ["Thought", "Said"], ["stop_reason refusal"], None),
    ("stream-a-toolrefusal.sse", ["Served", "Said"], ["stop_reason refusal"], None),
    ("stream-b-fallback.sse", ["Said"], [], None),
    ("basic_response.txt", ["Said"], [], None),
    ("compaction_response.txt", ["Said"], ["the history was compacted"], None),
    ("tool_use_response.txt", ["Said", 'get_weather {"location": "Paris"}'], [], None),
    ("reasoning-tool-use-streaming.json", ["Thought", "Said", "get_weather"], [], None),
    ("redacted-thinking-streaming.json", ["Said"], [], None),
    ("thinking-multi-turn-1.json", ["Thought", "Said"], [], None),
]


@pytest.mark.parametrize(("name", "parts", "remarks", "error"), BODIES, ids=[name for name, *_ in BODIES])
def test_bodies_that_were_kept_alone_come_to_their_parts(
    corpus: Path, name: str, parts: list[str], remarks: list[str], error: str | None
) -> None:
    told = decode(body(file(corpus, name)))
    assert told.turn
    assert told.turn.reply
    found = [_in_words(part) for part in told.turn.reply.parts] or _plain(told.turn.reply)
    assert len(found) == len(parts)
    assert all(one.startswith(wanted) for one, wanted in zip(found, parts, strict=True)), found
    assert (list(told.remarks), told.turn.error) == (remarks, error)


def _in_words(part: Any) -> str:
    if isinstance(part, Served):
        return f"Served {part.error}" if part.error else "Served"
    return f"{part.name} {json.dumps(part.arguments)}" if hasattr(part, "name") else type(part).__name__


def _plain(reply: Message) -> list[str]:
    return [*(["Said"] if reply.content else []), *map(_in_words, reply.calls)]
