"""When events came, as far as a recording says."""

import gzip

from abs_replay.decoders.arrivals import arrivals, ended
from abs_replay.decoders.content import response_content
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Request, Response, Role

DATA = b"data: 1\n\ndata: 2\n\ndata: 3\n\n"


def exchange(body: Body) -> Exchange:
    asked = Request("POST", "/")
    return Exchange("x", Channel(Role.LLM, "m"), 0.0, asked, Response(200, (), body), ended_ms=99.0)


def test_an_event_came_with_the_chunk_that_brought_its_end() -> None:
    one = exchange(Body(DATA, (Chunk(9, 5.0), Chunk(20, 7.0), Chunk(27, 9.0))))
    assert arrivals(one, response_content(one)) == [5.0, 7.0, 9.0]
    assert ended(one) == 9.0


def test_of_a_packed_body_or_one_without_chunks_the_end_alone_is_known() -> None:
    for body in (Body(DATA), Body(gzip.compress(DATA), (Chunk(5, 1.0),))):
        one = exchange(body)
        assert arrivals(one, response_content(one)) == [None] * 3
    assert ended(exchange(Body(DATA))) == 99.0
    assert ended(Exchange("x", Channel(Role.LLM, "m"), 0.0, Request("POST", "/"), ended_ms=3.0)) == 3.0
