"""Exchanges with a secret somewhere, for the tests of redaction."""

from abs_replay.exchange import Body, Channel, Chunk, Exchange, Headers, Request, Response, Role
from abs_replay.redact import redact

KEY = "sk-proj-Abcdefghijklmnop1234567890"


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJlLW9mLWl0"


def exchange(
    *,
    target: str = "/v1/chat/completions",
    headers: Headers = (),
    body: bytes = b"",
    answer: bytes = b"",
    answer_headers: Headers = (),
    chunks: tuple[int, ...] = (),
    error: str | None = None,
) -> Exchange:
    return Exchange(
        id="1",
        channel=Channel(Role.LLM, "llm"),
        started_at=0.0,
        request=Request("POST", target, headers, Body(body)),
        response=Response(200, answer_headers, Body(answer, tuple(Chunk(end, 1.0) for end in chunks))),
        error=error,
    )


def request_headers(*headers: tuple[str, str]) -> Headers:
    return redact(exchange(headers=headers)).request.headers


def answer_of(result: Exchange) -> Body:
    assert result.response is not None
    return result.response.body
