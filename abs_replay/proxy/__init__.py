"""mitmproxy, embedded: a loopback listener per upstream, one for all other hosts, and a tap on what flows.

The client must not notice: bodies flow chunk by chunk, and the copy is taken on the way. Hooks run
on the loop that carries every stream, so they only note references; turning what was noted into an
`Exchange` is left to whoever calls the function that `keep` is given (the recorder's writer thread).
"""

import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from mitmproxy import http
from mitmproxy.proxy.mode_specs import ProxyMode

from abs_replay.channels import base_path, local_url
from abs_replay.errors import RecordingError, UsageError
from abs_replay.exchange import Channel, Upstream
from abs_replay.proxy.authority import Authority, roots
from abs_replay.proxy.control import Control, ControlAddon, nothing_here
from abs_replay.proxy.ending import outcome
from abs_replay.proxy.engine import Engine
from abs_replay.proxy.forward import Forward, is_forward, is_ours
from abs_replay.proxy.onward import Onward
from abs_replay.proxy.tap import MAX_BODY, ChannelOf, Keep, Noted, Tap
from abs_replay.routes import Routes

__all__ = [
    "MAX_BODY",
    "ChannelOf",
    "Control",
    "ControlAddon",
    "Forwarding",
    "Keep",
    "Listeners",
    "Tap",
    "is_ours",
    "listening",
    "nothing_here",
    "outcome",
]

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Forwarding:
    """What a forward listener needs: whose certificates it shows, and where hosts belong."""

    authority: Authority
    routes: Routes


class Listeners(dict[Channel, str]):
    """Each channel's base URL, and where the forward listener is, if there is one."""

    forward: str | None = None


@asynccontextmanager
async def listening(
    upstreams: Sequence[Upstream],
    keep: Keep,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    max_body: int = MAX_BODY,
    control: Control = nothing_here,
    forwarding: Forwarding | None = None,
    watch: Callable[[Callable[[], Sequence[Noted]]], None] = lambda opened: None,
) -> AsyncIterator[Listeners]:
    """Listen for every upstream, then for all other hosts, on consecutive ports (0: any free ones).

    `control` answers what clients ask of a listener under `/__abs__/`, on the loop that carries every stream.
    `watch` is given a function that tells what is open.

    What is still open when this ends is kept as unfinished. Raises `RecordingError` where a port is
    taken, `UsageError` for an upstream that can not be one. One at a time in a process: mitmproxy's
    context is global.
    """
    count = len(upstreams) + (forwarding is not None)
    if port + count > 65536:
        raise UsageError(f"{count} listeners from --port {port} on: there is no port above 65535")
    ports = range(port, port + count) if port else _free_ports(host, count)
    declared = dict(zip(ports, upstreams, strict=False))
    modes = [_mode(upstream, host, number) for number, upstream in declared.items()]
    if forwarding is not None:
        modes.append(ProxyMode.parse(f"regular@{host}:{ports[-1]}"))
    engine = _engine(keep, max_body, control, forwarding, _places(host, declared), frozenset(ports))
    watch(engine.tap.unfinished)
    try:
        await engine.listen(modes)
        yield _listeners(host, declared, ports[-1] if forwarding is not None else None)
    finally:
        await engine.stop()


def _engine(
    keep: Keep,
    max_body: int,
    control: Control,
    forwarding: Forwarding | None,
    places: Mapping[tuple[str, int], Upstream],
    own: frozenset[int],
) -> Engine[Tap]:
    routes = forwarding.routes if forwarding else Routes()
    forward = Forward(routes, places)
    by_port = {port: upstream.channel for (_, port), upstream in places.items()}

    def channel_of(flow: http.HTTPFlow) -> Channel:
        if is_forward(flow):
            return forward.channel(flow)
        return by_port[flow.client_conn.proxy_mode.custom_listen_port or 0]

    tap = Tap(keep, channel_of, max_body, own_host=forward.names_us)
    certificates = forwarding.authority.certificates() if forwarding else None
    onward = Onward(os.environ, own, routes.is_ignored)
    addons = (ControlAddon(control, forward.is_ours), forward, onward)
    return Engine(tap, addons, roots(os.environ), certificates)


def _places(host: str, declared: Mapping[int, Upstream]) -> dict[tuple[str, int], Upstream]:
    """The upstreams by all the names under which this machine knows their listeners."""
    return {(name, port): each for port, each in declared.items() for name in (*LOCAL_NAMES, host)}


def _listeners(host: str, declared: Mapping[int, Upstream], forward: int | None) -> Listeners:
    urls = {each.channel: local_url(host, port) + base_path(each) for port, each in declared.items()}
    listeners = Listeners(urls)
    listeners.forward = None if forward is None else local_url(host, forward)
    return listeners


def _mode(upstream: Upstream, host: str, port: int) -> ProxyMode:
    parts = urlsplit(upstream.url)
    if parts.username or parts.query or parts.fragment:
        raise UsageError(f"{upstream.url!r}: leave out user, query and fragment; the client says them")
    try:
        return ProxyMode.parse(f"reverse:{parts.scheme}://{parts.netloc}@{host}:{port}")
    except ValueError as error:
        raise UsageError(f"{upstream.url!r} can not be an upstream: {error}") from error


def _free_ports(host: str, count: int) -> list[int]:
    """Ports that are free together: all are held until all are known."""
    with ExitStack() as held:
        try:
            family, _, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
            servers = (socket.create_server(address[:2], family=family) for _ in range(count))
            sockets = [held.enter_context(server) for server in servers]
        except OSError as error:
            raise RecordingError(f"can not listen on {host}: {error.strerror}; name another host") from error
        return [each.getsockname()[1] for each in sockets]
