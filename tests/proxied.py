"""Servers that speak HTTP byte by byte, and a proxy before one, for the tests of the recorder."""

import asyncio
import contextlib
import datetime
import ipaddress
import ssl
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from abs_replay.channels import parse_upstream
from abs_replay.exchange import Exchange, Role, Upstream
from abs_replay.routes import Routes

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of pyasn1 in ldap3, which mitmproxy imports
    from abs_replay.proxy import Control, Forwarding, Listeners, listening, nothing_here
    from abs_replay.proxy import outcome as of_message
    from abs_replay.proxy.authority import Authority, authority, bundle, roots, state_folder

__all__ = [
    "Authority",
    "Forwarding",
    "authority",
    "bundle",
    "listening",
    "of_message",
    "roots",
    "state_folder",
]

SSE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
EVENTS = (b"data: one\n\n", b"data: tw", b"o\n\ndata: three\n\n")

type Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@contextlib.asynccontextmanager
async def upstream(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A real server that reads a request's head and leaves the rest to `serve`; gives its URL."""

    writers: list[asyncio.StreamWriter] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                await serve(reader, writer, head)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


class Recording:
    """A proxy, and what it handed over."""

    listeners: Listeners

    def __init__(self, url: str, base: str) -> None:
        self.upstream, self.base = url, base
        self.made: list[Callable[[], Exchange]] = []

    async def exchange(self) -> Exchange:
        for _ in range(200):
            if self.made:
                return self.made.pop(0)()
            await asyncio.sleep(0.01)
        raise AssertionError("no exchange was noted")


@contextlib.asynccontextmanager
async def recording(
    serve: Serve, path: str = "", max_body: int = 1 << 20, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Recording]:
    """A listener before one upstream."""
    async with upstream(serve, tls) as url:
        declared, made = parse_upstream(Role.LLM, url + path), []
        async with listening([declared], lambda make: made.append(make), max_body=max_body) as addresses:
            result = Recording(url, addresses[declared.channel])
            result.made = made
            yield result


@contextlib.asynccontextmanager
async def forwarding(
    trusted: Authority, routes: Routes, *declared: Upstream, control: Control = nothing_here
) -> AsyncIterator[Recording]:
    """A forward listener, and listeners before what is declared; `base` is where the proxy is."""
    made: list[Callable[[], Exchange]] = []
    async with listening(
        declared, made.append, forwarding=Forwarding(trusted, routes), control=control
    ) as listeners:
        result = Recording(declared[0].url if declared else "", listeners.forward or "")
        result.made, result.listeners = made, listeners
        yield result


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
    """Answer with the head and the body that came."""
    length = next((int(v.split(b":")[1]) for v in head.lower().split(b"\r\n") if b"content-length:" in v), 0)
    body = head + await reader.readexactly(length)
    writer.write(b"HTTP/1.1 200 Fine\r\nX-Up: 1\r\ncontent-length: %d\r\n\r\n" % len(body) + body)


async def events(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
    writer.write(SSE)
    for event in EVENTS:
        writer.write(chunk(event))
        await writer.drain()
        await asyncio.sleep(0.1)
    writer.write(b"0\r\n\r\n")


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
    writer.write(SSE + chunk(b"data: one\n\n"))
    await reader.read()


async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
    writer.write(SSE + chunk(b"data: one\n\n"))
    await writer.drain()
    await asyncio.sleep(0.05)
    writer.close()


def write_certificate(path: Path) -> Path:
    """A certificate for this machine by its loopback names, that nobody has to trust, with its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return path


def serving(certificate: Path) -> ssl.SSLContext:
    """TLS for a server with this certificate."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    return tls
