"""What flows through is what the client sent and the upstream answered, and all of it is noted."""

import asyncio
import contextlib
import gzip
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest

from abs_replay.channels import parse_upstream
from abs_replay.errors import RecordingError, UsageError
from abs_replay.exchange import Exchange, Headers, Outcome, Role, header
from abs_replay.tee import Tee
from tests.proxied import (
    EVENTS,
    SSE,
    chunk,
    cut,
    echo,
    endless,
    events,
    listening,
    of_message,
    recording,
    serving,
    upstream,
    write_certificate,
)

pytestmark = pytest.mark.processes


def test_the_upstream_sees_the_path_unchanged_and_the_exchange_shows_what_the_client_sent() -> None:
    async def case() -> None:
        async with recording(echo, "/v1") as proxy, httpx.AsyncClient() as client:
            assert proxy.base.endswith("/v1")
            answer = await client.post(
                f"{proxy.base}/chat?b=2&a=%20", content=b"hi", headers=[(b"X-A", "ä".encode())]
            )
            seen = await proxy.exchange()
            assert answer.text.startswith("POST /v1/chat?b=2&a=%20 HTTP/1.1\r\n")
            assert f"host: {proxy.upstream[7:]}\r\n" in answer.text.lower()
            assert seen.request.method == "POST"
            assert seen.request.target == "/v1/chat?b=2&a=%20"
            assert seen.request.body.data == b"hi"
            assert seen.request.host == proxy.base[7:].partition("/")[0]
            assert header(seen.request.headers, "Host") == seen.request.host
            assert header(seen.request.headers, "x-a") == "ä".encode().decode("latin-1")
            assert seen.response is not None
            assert (seen.response.status, seen.response.reason) == (200, "Fine")
            assert seen.response.headers[0] == ("X-Up", "1")
            assert seen.response.body.data == answer.content
            assert seen.outcome is Outcome.COMPLETE
            assert seen.error is None
            assert seen.ended_ms is not None
            assert seen.ended_ms > 0

    asyncio.run(case())


def test_events_reach_the_client_as_they_come_and_are_noted_with_lengths_and_times() -> None:
    async def case() -> None:
        async with recording(events) as proxy, httpx.AsyncClient() as client:
            loop, arrivals = asyncio.get_running_loop(), []
            async with client.stream("GET", proxy.base) as answer:
                arrivals = [(piece, loop.time()) async for piece in answer.aiter_raw()]
            seen = await proxy.exchange()
            assert tuple(piece for piece, _ in arrivals) == EVENTS
            assert arrivals[-1][1] - arrivals[0][1] > 0.15
            assert seen.response is not None
            body = seen.response.body
            assert body.data == b"".join(EVENTS)
            assert [each.end for each in body.chunks] == [11, 19, 35]
            assert 150 < body.chunks[-1].at_ms - body.chunks[0].at_ms < 2000

    asyncio.run(case())


def test_compressed_bodies_are_kept_as_sent() -> None:
    packed = gzip.compress(b"hello" * 100)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed))
        writer.write(packed)

    async def case() -> None:
        async with recording(serve) as proxy, httpx.AsyncClient() as client:
            assert (await client.get(proxy.base)).content == b"hello" * 100
            seen = await proxy.exchange()
            assert seen.response is not None
            assert seen.response.body.data == packed

    asyncio.run(case())


def test_a_body_over_the_limit_flows_through_whole_and_is_kept_cut() -> None:
    async def case() -> None:
        async with recording(echo, max_body=1000) as proxy, httpx.AsyncClient() as client:
            answer = await client.post(proxy.base, content=b"x" * 300_000)
            seen = await proxy.exchange()
            assert answer.content.endswith(b"x" * 300_000)
            assert seen.response is not None
            for body, size in ((seen.request.body, 300_000), (seen.response.body, len(answer.content))):
                assert body.cut
                assert (len(body.data), body.size) == (1000, size)
                assert body.chunks[-1].end == 1000

    asyncio.run(case())


def test_a_chunked_request_is_noted_piece_by_piece() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        await reader.readuntil(b"0\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        await asyncio.sleep(0.1)
        yield b"two"

    async def case() -> None:
        async with recording(serve) as proxy, httpx.AsyncClient() as client:
            assert (await client.post(proxy.base, content=pieces())).status_code == 204
            seen = await proxy.exchange()
            assert [each.end for each in seen.request.body.chunks] == [3, 6]
            assert seen.response is not None
            assert seen.response.body.data == b""

    asyncio.run(case())


async def trailing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
    writer.write(SSE + chunk(b"data: one\n\n") + b"0\r\nx-checksum: 1\r\n\r\n")


def test_an_answer_with_trailers_ends_for_the_client_as_for_us() -> None:
    async def case() -> None:
        async with recording(trailing) as proxy, httpx.AsyncClient(timeout=5) as client:
            for _ in range(2):  # and the connection is good for another one
                assert (await client.get(proxy.base)).text == "data: one\n\n"
                seen = await proxy.exchange()
                assert (seen.outcome, seen.error) == (Outcome.COMPLETE, None)

    asyncio.run(case())


def test_a_client_that_hangs_up_leaves_what_had_come() -> None:
    async def case() -> None:
        async with recording(endless) as proxy, httpx.AsyncClient() as client:
            async with client.stream("GET", proxy.base) as answer:
                async for _ in answer.aiter_raw():
                    break
            seen = await proxy.exchange()
            assert seen.outcome is Outcome.CLIENT_CLOSED
            assert seen.response is not None
            assert seen.response.body.data == b"data: one\n\n"

    asyncio.run(case())


def test_an_upstream_that_breaks_off_is_noted_and_the_client_sees_the_same() -> None:
    async def case() -> None:
        async with recording(cut) as proxy, httpx.AsyncClient() as client:
            with pytest.raises(httpx.RemoteProtocolError):
                await client.get(proxy.base)
            seen = await proxy.exchange()
            assert seen.outcome is Outcome.UPSTREAM_CLOSED
            assert seen.error
            assert seen.response is not None
            assert seen.response.body.data == b"data: one\n\n"

    asyncio.run(case())


def test_an_upstream_that_answers_nothing_is_noted_as_closed() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        writer.close()

    async def case() -> None:
        async with recording(serve) as proxy, httpx.AsyncClient() as client:
            assert (await client.get(proxy.base)).status_code == 502
            seen = await proxy.exchange()
            assert (seen.outcome, seen.response) == (Outcome.UPSTREAM_CLOSED, None)

    asyncio.run(case())


def test_a_refused_upstream_gives_the_client_a_502_and_the_attempt_is_kept() -> None:
    async def case() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        made: list[Callable[[], Exchange]] = []
        declared = parse_upstream(Role.TOOL, f"Dead=http://127.0.0.1:{port}")
        async with listening([declared], made.append) as addresses, httpx.AsyncClient() as client:
            answer = await client.post(f"{addresses[declared.channel]}/x", content=b"lost?")
            assert answer.status_code == 502
        seen = made[0]()
        assert (seen.outcome, seen.response) == (Outcome.REFUSED, None)
        assert "Connect call failed" in (seen.error or "")
        assert (seen.request.target, seen.channel) == ("/x", declared.channel)
        assert seen.request.body.data == b"lost?"

    asyncio.run(case())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls") / "here.pem")


@pytest.mark.parametrize("trusted", [True, False])
def test_a_tls_upstream_is_reached_if_its_certificate_is_trusted_and_else_noted_as_tls_failed(
    trusted: bool, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    else:
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    tls = serving(certificate)

    async def case() -> None:
        async with recording(echo, tls=tls) as proxy, httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(proxy.base)
            seen = await proxy.exchange()
            assert answer.status_code == (200 if trusted else 502)
            assert seen.outcome is (Outcome.COMPLETE if trusted else Outcome.TLS_FAILED)
            assert "verify failed" in (seen.error or ("" if not trusted else "verify failed"))

    asyncio.run(case())


def test_what_is_in_flight_at_the_end_is_kept_as_far_as_it_came() -> None:
    async def case() -> None:
        async with upstream(endless) as url, httpx.AsyncClient() as client:
            made: list[Callable[[], Exchange]] = []
            declared = parse_upstream(Role.LLM, url)
            async with contextlib.AsyncExitStack() as open_stream:
                async with listening([declared], made.append) as addresses:
                    answer = await open_stream.enter_async_context(
                        client.stream("GET", addresses[declared.channel])
                    )
                    arriving = answer.aiter_raw()
                    assert await anext(arriving) == b"data: one\n\n"
                assert len(made) == 1
                seen = made[0]()
                assert (seen.outcome, seen.error) == (Outcome.UNFINISHED, "the recording ended first")
                assert seen.response is not None
                assert seen.response.body.data == b"data: one\n\n"
                with pytest.raises(httpx.RemoteProtocolError):
                    await anext(arriving)

    asyncio.run(case())


def test_a_tee_that_fails_hangs_nobody_and_says_so() -> None:
    class Broken(bytes):
        def __len__(self) -> int:
            raise MemoryError("no room")

    tee, piece = Tee(0.0, 10), Broken(b"abc")
    assert tee(piece) is piece
    with pytest.raises(MemoryError, match="no room"):
        tee.body()


def test_an_exchange_that_can_not_be_noted_flows_through_and_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def case() -> None:
        async with recording(echo) as proxy, httpx.AsyncClient() as client:
            monkeypatch.setattr("abs_replay.proxy.tap.Noted", None)
            assert (await client.get(proxy.base)).status_code == 200
            with pytest.raises(TypeError):
                await proxy.exchange()

    asyncio.run(case())


def test_a_taken_port_is_named() -> None:
    async def case(port: int) -> None:
        async with listening([parse_upstream(Role.LLM, "http://127.0.0.1:9")], print, port=port):
            raise AssertionError("listened")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RecordingError, match=f"port {port} is taken"):
            asyncio.run(case(port))


@pytest.mark.parametrize(
    ("host", "port", "said"),
    [
        ("192.0.2.1", 0, "can not listen on 192.0.2.1: "),
        ("no-such-host.invalid", 0, "can not listen on no-such-host.invalid: "),
        ("127.0.0.1", 65535, "2 listeners from --port 65535 on: there is no port above 65535"),
    ],
)
def test_where_nothing_can_listen_is_said_in_a_line(host: str, port: int, said: str) -> None:
    async def case() -> None:
        upstreams = [parse_upstream(role, "http://localhost:1") for role in (Role.AGENT, Role.LLM)]
        async with listening(upstreams, lambda _: None, host=host, port=port):
            raise AssertionError

    with pytest.raises((RecordingError, UsageError)) as raised:
        asyncio.run(case())
    assert str(raised.value).startswith(said)
    assert "\n" not in str(raised.value)


def test_upstreams_take_consecutive_ports_and_one_host_may_have_several() -> None:
    async def case() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1] + 1
        declared = [
            parse_upstream(Role.LLM, "http://127.0.0.1:9/v1"),
            parse_upstream(Role.TOOL, "A=http://127.0.0.1:9/a"),
            parse_upstream(Role.TOOL, "B=http://127.0.0.1:9/b/"),
        ]
        async with listening(declared, print, port=port) as addresses:
            assert list(addresses.values()) == [
                f"http://127.0.0.1:{port}/v1",
                f"http://127.0.0.1:{port + 1}/a",
                f"http://127.0.0.1:{port + 2}/b",
            ]
        async with listening(declared, print) as addresses:
            assert len(set(addresses.values())) == 3

    asyncio.run(case())


@pytest.mark.parametrize("url", ["http://me:pass@h/", "http://h/?key=1", "http://h_-$/", "http://h:99999"])
def test_a_url_that_can_not_be_an_upstream_is_a_usage_error(url: str) -> None:
    async def case() -> None:
        async with listening([parse_upstream(Role.LLM, url)], print):
            raise AssertionError("listened")

    with pytest.raises(UsageError):
        asyncio.run(case())


@pytest.mark.parametrize(
    ("message", "connected", "expected"),
    [
        ("Client disconnected.", True, Outcome.CLIENT_CLOSED),
        ("[Errno 110] Connect call failed ('10.0.0.1', 9)", False, Outcome.TIMED_OUT),
        ("[Errno 111] Connect call failed ('127.0.0.1', 9)", False, Outcome.REFUSED),
        ("[Errno -2] Name or service not known", False, Outcome.REFUSED),
        ("peer closed connection without sending complete message body", True, Outcome.UPSTREAM_CLOSED),
    ],
)
def test_who_ended_an_exchange_is_read_from_mitmproxys_message(
    message: str, connected: bool, expected: Outcome
) -> None:
    assert of_message(message, connected) is expected


def test_what_is_asked_of_the_recorder_reaches_no_upstream_and_is_not_kept() -> None:
    asked = []

    def control(method: str, path: str, headers: Headers, body: bytes) -> tuple[int, bytes]:
        asked.append((method, path, header(headers, "x-abs-token"), body))
        if path == "fault":
            raise ValueError("not ready")
        return 201, b'{"marked": true}'

    async def case() -> None:
        async with upstream(echo) as url, httpx.AsyncClient() as client:
            made: list[Callable[[], Exchange]] = []
            declared = parse_upstream(Role.LLM, url + "/v1")
            async with listening([declared], made.append, control=control) as addresses:
                base = addresses[declared.channel].removesuffix("/v1")
                marked = await client.post(
                    f"{base}/__abs__/mark?x=1", content=b"{}", headers={"x-abs-token": "t"}
                )
                assert (marked.status_code, marked.json()) == (201, {"marked": True})
                fault = await client.get(f"{base}/__abs__/fault")
                assert (fault.status_code, fault.json()["error"]) == (
                    500,
                    "the recorder failed: ValueError('not ready')",
                )
                assert (await client.get(f"{base}/__abs__x")).text.startswith("GET /__abs__x ")
            assert len(made) == 1
        assert asked == [("POST", "mark?x=1", "t", b"{}"), ("GET", "fault", None, b"")]

    asyncio.run(case())


def test_a_listener_that_has_no_control_answers_that_nothing_is_there() -> None:
    async def case() -> None:
        async with recording(echo) as proxy, httpx.AsyncClient() as client:
            answer = await client.get(f"{proxy.base}/__abs__/status")
            assert (answer.status_code, answer.json()) == (404, {"error": "there is no /__abs__/status here"})
            assert not proxy.made

    asyncio.run(case())
