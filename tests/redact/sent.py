"""Exchanges with a body that holds a secret, and what is left of it, for the tests of redaction."""

from hypothesis import strategies as st

from abs_replay.exchange import (
    Body,
    Channel,
    Chunk,
    Exchange,
    Headers,
    Request,
    Response,
    Role,
)
from abs_replay.redact import redact

KEY = "sk-proj-Abcdefghijklmnop1234567890"


def exchange(
    body: bytes = b"", content_type: str = "", answer: bytes = b"", ends: tuple[int, ...] = ()
) -> Exchange:
    headers: Headers = (("content-type", content_type),)
    chunks = tuple(Chunk(end, float(end)) for end in ends)
    return Exchange(
        id="1",
        channel=Channel(Role.LLM, "llm"),
        started_at=0.0,
        request=Request("POST", "/", (*headers, ("content-length", str(len(body)))), Body(body)),
        response=Response(200, headers, Body(answer, chunks)),
    )


def body_of(text: bytes, content_type: str = "application/json") -> bytes:
    return redact(exchange(text, content_type)).request.body.data


def answer_of(result: Exchange) -> Body:
    assert result.response
    return result.response.body


SECRET = st.from_regex(r"\Ask-[A-Za-z0-9]{20,40}\Z")


WORDS = st.text(max_size=12)
