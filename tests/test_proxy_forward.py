"""The forward listener: any host is asked for clients, with our certificates, and told apart."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from hypercorn.asyncio import serve
from hypercorn.config import Config
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, Scope

from abs_replay.channels import parse_upstream
from abs_replay.exchange import Headers, Outcome, Role
from abs_replay.routes import Routes, parse_route
from tests.proxied import Authority, authority, cut, echo, forwarding, serving, upstream, write_certificate

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls") / "here.pem")


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority({"ABS_STATE": str(tmp_path_factory.mktemp("state"))})


@pytest.fixture(autouse=True)
def upstreams_are_known(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))


def client(proxy: str, trusted: Authority, http2: bool = False) -> httpx.AsyncClient:
    """A client that trusts our authority, and nobody else."""
    tls = ssl.create_default_context(cafile=str(trusted.certificate))
    return httpx.AsyncClient(proxy=proxy, verify=tls, http2=http2, timeout=10)


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def test_https_is_intercepted_with_our_certificate_and_the_upstream_known_by_the_users_roots(
    certificate: Path, trusted: Authority
) -> None:
    async def case() -> None:
        async with upstream(echo, serving(certificate)) as url, forwarding(trusted, Routes()) as proxy:
            async with client(proxy.base, trusted) as http:
                answer = await http.post(f"{url}/a?b=1", content=b"hi")
            seen = await proxy.exchange()
            host = url.removeprefix("https://")
            assert answer.text.startswith("POST /a?b=1 HTTP/1.1\r\n")
            assert f"host: {host}\r\n" in answer.text.lower()
            assert (seen.request.scheme, seen.request.host, seen.request.target) == ("https", host, "/a?b=1")
            assert (str(seen.channel), seen.outcome) == (f"tool:{host}", Outcome.COMPLETE)
            assert seen.request.body.data == b"hi"

    asyncio.run(case())


def test_plain_http_goes_through_as_the_client_said_it(trusted: Authority) -> None:
    async def case() -> None:
        async with upstream(echo) as url, forwarding(trusted, Routes()) as proxy:
            async with client(proxy.base, trusted) as http:
                answer = await http.get(f"{url}/a?b=1")
            seen = await proxy.exchange()
            assert answer.text.startswith("GET /a?b=1 HTTP/1.1\r\n")
            assert (seen.request.scheme, seen.request.target) == ("http", "/a?b=1")

    asyncio.run(case())


def test_hosts_belong_where_routes_and_declared_upstreams_say(trusted: Authority) -> None:
    async def case() -> None:
        async with upstream(echo) as shop, upstream(echo) as agent:
            routes = Routes((parse_route(f"localhost:{port_of(shop)}=tool:Shop"),))
            declared = parse_upstream(Role.AGENT, f"{agent}/chat")
            routes = Routes(routes.routes, (declared,))
            async with forwarding(trusted, routes) as proxy, client(proxy.base, trusted) as http:
                for url in (f"http://localhost:{port_of(shop)}/x", f"{agent}/chat/1", f"{agent}/other"):
                    await http.get(url)
            seen = [str(made().channel) for made in proxy.made]
            assert seen == ["tool:Shop", "agent", f"tool:{agent.removeprefix('http://')}"]

    asyncio.run(case())


def test_an_ignored_host_keeps_its_own_certificate_and_is_not_recorded(
    certificate: Path, trusted: Authority
) -> None:
    async def case() -> None:
        routes = Routes(ignored=("127.0.0.1",))
        async with (
            upstream(echo, serving(certificate)) as secure,
            upstream(echo) as plain,
            forwarding(trusted, routes) as proxy,
        ):
            theirs = ssl.create_default_context(cafile=str(certificate))
            async with httpx.AsyncClient(proxy=proxy.base, verify=theirs) as http:
                assert (await http.post(f"{secure}/a", content=b"x" * 3_000_000)).status_code == 200
                assert (await http.post(f"{plain}/a", content=b"x" * 3_000_000)).status_code == 200
            assert proxy.made == []

    asyncio.run(case())


def test_a_blocked_host_is_never_asked_and_its_client_is_told_why(
    certificate: Path, trusted: Authority
) -> None:
    async def case() -> None:
        async with (
            upstream(cut, serving(certificate)) as secure,
            upstream(cut) as plain,
            forwarding(trusted, Routes(blocked=("127.*",))) as proxy,
            client(proxy.base, trusted) as http,
        ):
            said = "127.0.0.1 is blocked by --block-host 127.*"
            with pytest.raises(httpx.ProxyError, match=said.replace("*", r"\*")):
                await http.get(secure)
            answer = await http.post(f"{plain}/x", content=b"hi")
            assert (answer.status_code, said in answer.text) == (403, True)
            first, second = [made() for made in proxy.made]
            for each in (first, second):
                assert (each.outcome, each.response, each.error) == (Outcome.REFUSED, None, said)
            assert (first.request.method, first.request.target) == (
                "CONNECT",
                secure.removeprefix("https://"),
            )
            assert (second.request.target, second.request.body.data) == ("/x", b"hi")

    asyncio.run(case())


def test_a_client_that_does_not_trust_us_is_kept_with_the_host_that_it_wanted(
    certificate: Path, trusted: Authority
) -> None:
    async def case() -> None:
        theirs = ssl.create_default_context(cafile=str(certificate))
        async with (
            upstream(echo, serving(certificate)) as url,
            forwarding(trusted, Routes()) as proxy,
            httpx.AsyncClient(proxy=proxy.base, verify=theirs) as http,
        ):
            with pytest.raises(httpx.ConnectError):
                await http.get(url)
            seen = await proxy.exchange()
            host = url.removeprefix("https://")
            assert (seen.outcome, seen.request.host, str(seen.channel)) == (
                Outcome.TLS_FAILED,
                host,
                f"tool:{host}",
            )
            assert "does not trust the recorder's certificate for 127.0.0.1" in (seen.error or "")

    asyncio.run(case())


def test_an_upstream_that_is_not_known_is_kept_as_tls_failed_and_others_of_the_client_are_not(
    trusted: Authority, tmp_path: Path
) -> None:
    other = write_certificate(tmp_path / "other.pem")

    async def case() -> None:
        async with upstream(echo, serving(other)) as url, forwarding(trusted, Routes()) as proxy:
            async with client(proxy.base, trusted) as http:
                assert (await http.get(url)).status_code == 502
            seen = await proxy.exchange()
            assert (seen.outcome, seen.response) == (Outcome.TLS_FAILED, None)
            assert "verify failed" in (seen.error or "")

    asyncio.run(case())


def test_a_listener_of_ours_is_reached_through_the_proxy_and_recorded_once(trusted: Authority) -> None:
    async def case() -> None:
        async with upstream(echo) as url:
            declared = parse_upstream(Role.LLM, f"{url}/v1")
            async with (
                forwarding(trusted, Routes(upstreams=(declared,)), declared) as proxy,
                client(proxy.base, trusted) as http,
            ):
                base = proxy.listeners[declared.channel]
                answer = await http.post(f"{base}/chat", content=b"hi")
                assert answer.text.startswith("POST /v1/chat HTTP/1.1\r\n")
                assert f"host: {url.removeprefix('http://')}\r\n" in answer.text.lower()
                (made,) = proxy.made
                assert str(made().channel) == "llm"
                assert made().request.host == base.removeprefix("http://").partition("/")[0]

    asyncio.run(case())


def test_the_recorder_is_asked_through_the_forward_listener_too(trusted: Authority) -> None:
    def control(method: str, path: str, headers: Headers, body: bytes) -> tuple[int, bytes]:
        return 200, path.encode()

    async def case() -> None:
        async with forwarding(trusted, Routes(), control=control) as proxy:
            async with httpx.AsyncClient() as direct, client(proxy.base, trusted) as http:
                for each in (direct, http):
                    assert (await each.get(f"{proxy.base}/__abs__/status")).text == "status"
                # It leads to itself: nobody is asked for ever.
                assert (await direct.get(f"{proxy.base}/else")).status_code == 502
            (refused,) = [made() for made in proxy.made]
            assert (refused.outcome, refused.request.target) == (Outcome.REFUSED, "/else")

    asyncio.run(case())


async def versions(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer with the version that was spoken, and the length of what came."""
    if scope["type"] != "http":
        return
    length, more = 0, True
    while more:
        event = await receive()
        assert event["type"] == "http.request"
        length, more = length + len(event["body"]), event["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": [], "trailers": False})
    content = f"{scope['http_version']} {length}".encode()
    await send({"type": "http.response.body", "body": content, "more_body": False})


@contextlib.asynccontextmanager
async def http2_upstream(certificate: Path, *protocols: str) -> AsyncIterator[str]:
    """A server that speaks these protocols over TLS, on a port that was free a moment ago."""
    held = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = held.sockets[0].getsockname()[1]
    held.close()
    config, stop = Config(), asyncio.Event()
    config.bind = [f"127.0.0.1:{port}"]
    config.certfile = config.keyfile = str(certificate)
    config.alpn_protocols, config.errorlog, config.graceful_timeout = list(protocols), None, 1
    running = asyncio.create_task(serve(versions, config, shutdown_trigger=stop.wait))
    try:
        await asyncio.sleep(0.2)
        yield f"https://localhost:{port}"
    finally:
        stop.set()
        await running


@pytest.mark.parametrize(
    ("protocols", "upstream_speaks"), [(("h2", "http/1.1"), "2"), (("http/1.1",), "1.1")]
)
def test_http2_is_spoken_with_clients_and_upstreams_that_speak_it(
    certificate: Path, trusted: Authority, protocols: tuple[str, ...], upstream_speaks: str
) -> None:
    async def case() -> None:
        async with (
            http2_upstream(certificate, *protocols) as url,
            forwarding(trusted, Routes()) as proxy,
            client(proxy.base, trusted, http2=True) as two,
            client(proxy.base, trusted) as one,
        ):
            sizes = (10, 2_000_000)
            answers = await asyncio.gather(*(two.post(url, content=b"x" * size) for size in sizes))
            assert [each.http_version for each in answers] == ["HTTP/2", "HTTP/2"]
            assert [each.text for each in answers] == [f"{upstream_speaks} {size}" for size in sizes]
            seen = sorted((made() for made in proxy.made), key=lambda each: len(each.request.body.data))
            assert [each.request.http_version for each in seen] == ["HTTP/2.0"] * 2
            assert [len(each.request.body.data) for each in seen] == [10, 2_000_000]
            assert {each.request.host for each in seen} == {url.removeprefix("https://")}
            assert (await one.get(url)).http_version == "HTTP/1.1"

    asyncio.run(case())


async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
    """A proxy that knows one way: whatever host is asked for is this machine."""
    line, *fields = head.decode().split("\r\n")
    port = line.split()[1].rpartition(":")[2]
    assert line.startswith("CONNECT elsewhere.invalid:")
    assert "proxy-authorization: Basic dTpw" in [field.replace("P", "p", 1) for field in fields]
    there, back = await asyncio.open_connection("127.0.0.1", int(port))
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    back.write(await reader.readuntil(b"\r\n\r\n"))
    writer.write(await there.read(1000))
    back.close()


async def passing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
    """The same proxy, for whatever goes through it."""
    assert head.startswith(b"CONNECT elsewhere.invalid:")
    assert b"proxy-authorization: Basic dTpw" in head.replace(b"Proxy-A", b"proxy-a")
    port = int(head.split()[1].rpartition(b":")[2])
    there, back = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

    async def pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            target.write(data)

    ways = [asyncio.create_task(pass_on(*way)) for way in ((reader, back), (there, writer))]
    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    for way in ways:
        way.cancel()
    back.close()


def test_the_users_own_proxy_is_asked_for_ignored_hosts_too(
    certificate: Path, trusted: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def case() -> None:
        async with upstream(echo, serving(certificate)) as url, upstream(passing) as further:
            monkeypatch.setenv("https_proxy", further.replace("//", "//u:p@"))
            theirs = ssl.create_default_context(cafile=str(certificate))
            theirs.check_hostname = False
            async with (
                forwarding(trusted, Routes(ignored=("elsewhere.invalid",))) as proxy,
                httpx.AsyncClient(proxy=proxy.base, verify=theirs, trust_env=False) as http,
            ):
                answer = await http.get(f"https://elsewhere.invalid:{port_of(url)}/x")
                assert answer.text.startswith("GET /x HTTP/1.1\r\n")
            assert proxy.made == []

    asyncio.run(case())


def test_the_users_own_proxy_is_asked_for_what_it_is_there_for(
    trusted: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def case() -> None:
        async with upstream(echo) as url, upstream(tunnel) as further:
            monkeypatch.setenv("http_proxy", further.replace("//", "//u:p@"))
            elsewhere = f"http://elsewhere.invalid:{port_of(url)}"
            declared = parse_upstream(Role.LLM, elsewhere)
            async with (
                forwarding(trusted, Routes(), declared) as proxy,
                httpx.AsyncClient(trust_env=False) as direct,
                client(proxy.base, trusted) as http,
            ):
                for answer in (
                    await http.get(f"{elsewhere}/x"),
                    await direct.get(f"{proxy.listeners[declared.channel]}/x"),
                    await http.get(f"{url}/x"),
                ):
                    assert answer.text.startswith("GET /x HTTP/1.1\r\n")
            assert {made().outcome for made in proxy.made} == {Outcome.COMPLETE}

    asyncio.run(case())
