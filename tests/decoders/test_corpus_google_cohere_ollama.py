"""Real recordings of Gemini, Cohere and Ollama: one decoder claims each, and it says what they say."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from abs_replay.decoders import DECODERS, Call, decode
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role
from tests import corpus as corpus_reader

PATHS = re.compile(r".*(:(stream)?generateContent|/v[12]/chat|/api/chat)$", re.IGNORECASE)
NAMES = ("gemini", "cohere", "cohere_v1", "ollama")
MARKED = re.compile(rb"generateContent|/v[12]/chat|/api/chat|api\.cohere", re.IGNORECASE)


def recorded(path: Path) -> list[Exchange]:
    """Give the exchanges of a recording with one of these models, on the channel of a model."""
    found = corpus_reader.read(path)
    llm = Channel(Role.LLM, "m")
    return [Exchange(f"x{i}", llm, i, one.request, one.response, one.outcome) for i, one in enumerate(found)]


@pytest.fixture(scope="module")
def exchanges(shared: Path) -> list[Exchange]:
    files = [path for path in sorted((shared / "corpus").rglob("*.y*ml")) if MARKED.search(path.read_bytes())]
    found = [one for path in files for one in recorded(path) if PATHS.match(one.request.path)]
    return found or pytest.skip("no corpus")


def test_every_request_is_claimed_by_one_decoder(exchanges: list[Exchange]) -> None:
    claimed = [[name for name, decoder in DECODERS.items() if decoder.claims(one)] for one in exchanges]
    counts = Counter(names[0] for names in claimed if len(names) == 1)
    assert sum(counts.values()) == len(exchanges)
    assert counts >= Counter(gemini=39, cohere=9, cohere_v1=16, ollama=4)


def test_every_turn_has_a_reply_or_says_why_not(exchanges: list[Exchange]) -> None:
    decoded = [decode(one) for one in exchanges]
    assert {one.protocol for one in decoded} == set(NAMES)
    assert all(one.turn and one.turn.model and (one.turn.reply or one.turn.error) for one in decoded)
    assert {remark for one in decoded for remark in one.remarks} == {"finish_reason MAX_TOKENS"}
    good = [one for one in decoded if one.turn and not one.turn.error]
    assert all(one.turn and one.turn.usage and one.complete is not False for one in good)


def chunks(shared: Path, name: str, **sent: object) -> Exchange:
    """Make an exchange of a body alone, of which each line is the data of an event."""
    path = next((shared / "corpus").rglob(name), None) or pytest.skip("no corpus")
    data = "".join(f"data: {line}\n\n" for line in path.read_text(encoding="utf-8").splitlines() if line)
    gemini = "contents" in sent
    target = "/v1/models/m:streamGenerateContent" if gemini else "/v2/chat"
    request = Request("POST", target, (), Body(json.dumps(sent).encode()))
    return Exchange("x", Channel(Role.LLM, "m"), 0.0, request, Response(200, (), Body(data.encode())))


GEMINI = {"contents": [{"parts": [{"text": "hi"}]}]}
COHERE = {"messages": [{"role": "user", "content": "hi"}], "model": "m"}


@pytest.mark.parametrize(
    ("name", "sent", "names"),
    [
        ("google-stream-no-args-tool-call.chunks.txt", GEMINI, None),
        ("google-stream-tool-call-arguments.chunks.txt", GEMINI, ["getWeather", "getWeather"]),
        (
            "google-stream-tool-call-array-arguments-missing-terminal-function-call.chunks.txt",
            GEMINI,
            ["writeItems"],
        ),
        ("cohere-empty-tool-call.chunks.txt", COHERE, ["currentTime"]),
        ("cohere-tool-call.chunks.txt", COHERE, None),
        ("cohere-reasoning.chunks.txt", COHERE, []),
    ],
)
def test_bodies_alone_are_whole(
    shared: Path, name: str, sent: dict[str, object], names: list[str] | None
) -> None:
    found = decode(chunks(shared, name, **sent))
    assert found.complete
    assert found.remarks == ()
    assert found.turn
    assert found.turn.reply
    assert found.turn.error is None
    assert names is None or [call.name for call in found.turn.reply.calls] == names
    assert all(isinstance(call.arguments, dict) for call in found.turn.reply.calls)


def test_arguments_in_pieces_come_together(shared: Path) -> None:
    name = "google-stream-tool-call-array-arguments-missing-terminal-function-call.chunks.txt"
    found = decode(chunks(shared, name, **GEMINI)).turn
    assert found
    assert found.reply
    (call,) = found.reply.calls
    assert isinstance(call, Call)
    assert isinstance(call.arguments, dict)
    assert [item["itemid"] for item in call.arguments["operations"]] == ["apple_001", "banana_001"]


def test_recorded_answers_of_gemini_cli_are_read(shared: Path) -> None:
    files = sorted((shared / "corpus" / "gemini-cli").rglob("*.responses")) or pytest.skip("no corpus")
    lines = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    streamed = [line["response"] for line in lines if line["method"] == "generateContentStream"]
    assert len(streamed) > 5
    request = Request("POST", "/v1/models/m:streamGenerateContent", (), Body(json.dumps(GEMINI).encode()))
    for values in streamed:
        response = Response(200, (), Body(json.dumps(values).encode()))
        found = decode(Exchange("x", Channel(Role.LLM, "m"), 0.0, request, response))
        assert found.protocol == "gemini"
        assert found.turn
        assert found.turn.reply
        assert set(found.remarks) <= {"finish_reason MALFORMED_FUNCTION_CALL"}
