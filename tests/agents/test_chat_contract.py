"""The chat contract's client: what it keeps of an answer, and what it says when there is none."""

import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from abs_replay.agents import AGENTS
from abs_replay.agents.agent import Reply
from abs_replay.agents.chat_contract import ChatContract
from abs_replay.errors import UsageError
from abs_replay.exact_json import dumps, loads
from abs_replay.exchange import Outcome, Role, header

HELLO = [{"role": "user", "content": "Grüße"}]
ANSWER = b'{"message": {"role": "assistant", "content": "Hi"}}'

type Talk = Callable[[socket.socket], None]


@contextmanager
def speaking(talk: Talk) -> Iterator[tuple[str, list[bytes]]]:
    """Serve connections with `talk` and note each request; gives the URL and the requests."""
    requests: list[bytes] = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            head = b""
            while b"\r\n\r\n" not in head:
                head += self.request.recv(65536)
            start, _, body = head.partition(b"\r\n\r\n")
            length = int(
                dict(line.lower().split(b": ") for line in start.split(b"\r\n")[1:])[b"content-length"]
            )
            while len(body) < length:
                body += self.request.recv(65536)
            requests.append(start + b"\r\n\r\n" + body)
            talk(self.request)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", requests
        finally:
            server.shutdown()
            thread.join()


def answer(body: bytes, status: str = "200 OK", headers: str = "") -> Talk:
    head = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n{headers}\r\n"
    return lambda connection: connection.sendall(head.encode() + body)


def send(url: str, limit_s: float = 5, headers: dict[str, str] | None = None) -> Reply:
    agent = AGENTS["chat"](url, limit_s)
    try:
        return agent.send(HELLO, headers or {})
    finally:
        agent.close()


def test_a_message_is_sent_as_json_and_the_answer_is_kept_as_it_came() -> None:
    with speaking(answer(ANSWER, headers="X-Twice: a\r\nx-twice: b\r\n")) as (url, requests):
        reply = send(url, headers={"x-abs-session": "s1"})

    assert reply.message == {"role": "assistant", "content": "Hi"}
    assert reply.problem is None
    exchange = reply.exchange
    assert exchange.channel.role is Role.AGENT
    assert exchange.outcome is Outcome.COMPLETE
    assert (exchange.request.method, exchange.request.target) == ("POST", "/chat")
    assert exchange.request.host == url.removeprefix("http://")
    assert header(exchange.request.headers, "x-abs-session") == "s1"
    assert requests[0].partition(b"\r\n\r\n")[2] == exchange.request.body.data
    assert loads(exchange.request.body.data) == {"messages": HELLO}
    assert exchange.response is not None
    assert exchange.response.body.data == ANSWER
    twice = [pair for pair in exchange.response.headers if pair[0].lower() == "x-twice"]
    assert [value for _, value in twice] == ["a", "b"]


def test_chunks_keep_their_ends_and_their_times() -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for piece in (ANSWER[:10], ANSWER[10:]):
            connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            time.sleep(0.08)
        connection.sendall(b"0\r\n\r\n")

    with speaking(talk) as (url, _):
        exchange = send(url).exchange

    assert exchange.response is not None
    chunks = exchange.response.body.chunks
    assert [chunk.end for chunk in chunks] == [10, len(ANSWER)]
    assert chunks[1].at_ms - chunks[0].at_ms > 40
    assert exchange.ended_ms is not None
    assert exchange.ended_ms >= chunks[1].at_ms


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ("", "/chat"),
        ("/", "/chat"),
        ("/chat", "/chat"),
        ("/v2/talk?bot=7", "/v2/talk?bot=7"),
        ("/~t", "/~t/chat"),
        ("/~t/", "/~t/chat"),
        ("/~t/talk", "/~t/talk"),
    ],
)
def test_the_path_of_the_url_is_used_and_chat_where_there_is_none(given: str, target: str) -> None:
    with speaking(answer(ANSWER)) as (url, _):
        assert send(url + given).exchange.request.target == target


@pytest.mark.parametrize(
    "url", ["localhost:8080", "ftp://h/chat", "file:///etc/passwd", "http://", "http://h:x"]
)
def test_a_url_that_is_none_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(UsageError, match="http://localhost:8080/chat"):
        ChatContract(url, 1)


def test_an_agent_that_does_not_listen_is_an_outcome() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    reply = send(f"http://127.0.0.1:{port}")

    assert reply.exchange.outcome is Outcome.REFUSED
    assert reply.exchange.response is None
    assert "can not be reached" in str(reply.problem)


def test_a_tls_failure_is_an_outcome_of_its_own() -> None:
    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        reply = send(f"https://127.0.0.1:{listener.getsockname()[1]}")
        thread.join()

    assert reply.exchange.outcome is Outcome.TLS_FAILED


@pytest.mark.parametrize("dripping", [False, True])
def test_an_answer_that_does_not_end_in_time_is_an_outcome(dripping: bool) -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        for _ in range(20 if dripping else 1):
            connection.sendall(b"{")
            time.sleep(0.05 if dripping else 0.8)

    with speaking(talk) as (url, _):
        started = time.monotonic()
        reply = send(url, limit_s=0.3)
        took = time.monotonic() - started

    assert reply.exchange.outcome is Outcome.TIMED_OUT
    assert "timed out" in str(reply.problem)
    assert reply.exchange.response is not None
    assert reply.exchange.response.body.data.startswith(b"{")
    assert took < 0.75


def test_an_answer_cut_short_is_kept_as_far_as_it_came() -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n" + ANSWER)

    with speaking(talk) as (url, _):
        reply = send(url)

    assert reply.exchange.outcome is Outcome.UPSTREAM_CLOSED
    assert reply.message is None
    assert reply.exchange.response is not None
    assert reply.exchange.response.body.data == ANSWER


@pytest.mark.parametrize(
    ("talk", "words"),
    [
        (
            answer(b'{"error": {"message": "no such model"}}', "500 Internal Server Error"),
            "HTTP 500: no such model",
        ),
        (answer(b'{"error": "\\u001b[2J\\n!"}', "500 Internal Server Error"), "HTTP 500: \\u001b[2J\\n!"),
        (answer(b"", "404 Not Found"), "HTTP 404"),
        (answer(b"", "307 Temporary Redirect", "location: /talk\r\n"), "HTTP 307 to /talk"),
        (answer(b"<html>"), "got '<html>'"),
        (answer(b""), "got an empty body"),
        (answer(b'{"message": "Hi"}'), "expected {"),
        (answer(b"[" * 100_000), "expected {"),
        (answer(b"\xff\xfe"), "expected {"),
    ],
)
def test_what_is_no_answer_is_said_in_words(talk: Talk, words: str) -> None:
    with speaking(talk) as (url, _):
        reply = send(url)

    assert reply.message is None
    assert reply.exchange.outcome is Outcome.COMPLETE
    assert words in str(reply.problem)
    assert url in str(reply.problem)


def test_calls_that_the_agent_leaves_to_its_client_are_given() -> None:
    function = {"name": "get_order", "arguments": '{"id": 1}'}
    call = {"id": "call_1", "type": "function", "function": function}
    message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = dumps({"message": message}).encode()
    with speaking(answer(body)) as (url, _):
        reply = send(url)

    assert [(call.name, call.arguments, call.call_id) for call in reply.calls] == [
        ("get_order", {"id": 1}, "call_1")
    ]
    assert reply.message == message


def test_numbers_in_an_answer_go_back_with_the_history_as_they_came() -> None:
    with speaking(answer(b'{"message": {"role": "assistant", "content": "Hi", "score": 1.10}}')) as (url, _):
        agent = ChatContract(url, 5)
        first = agent.send(HELLO, {})
        assert first.message is not None
        second = agent.send([*HELLO, first.message], {})
        agent.close()

    assert b'"score":1.10' in second.exchange.request.body.data
