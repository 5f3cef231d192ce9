"""`abs replay --forward`: a proxy before the replay server, for clients that insist on `https://` hosts."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from abs_replay.cli.forwarding import way_through
from abs_replay.cli.saying import say
from abs_replay.errors import UsageError
from abs_replay.exchange import Role

if TYPE_CHECKING:
    from abs_replay.player import Miss, Player
    from abs_replay.server import ReplayServer

NEEDED = ("mitmproxy", "h11", "cryptography", "certifi")


def need_mitmproxy() -> None:
    """Raise `UsageError` where what the proxy is made of is not installed."""
    try:
        import abs_replay.proxy  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in NEEDED:
            raise
        raise UsageError("--forward needs mitmproxy: pip install 'abs-replay[record]'") from error


@contextmanager
def forwarded(
    server: "ReplayServer",
    player: "Player",
    on_miss: "Callable[[Miss], None]",
    variables: Mapping[str, str],
    *,
    token: str,
    port: int,
) -> Iterator[tuple[str, dict[str, str]]]:
    """Be a proxy before a replay server; gives its URL, and the variables that lead programs through it, too.

    It listens on the port after those of the server, which begin at `port`, or on a free one where that is 0.
    """
    from abs_replay.proxy import Forwarding
    from abs_replay.proxy.authority import authority
    from abs_replay.proxy.recorded_hosts import RecordedHosts
    from abs_replay.proxy.replay_listener import forwarding
    from abs_replay.proxy.replaying import Leading, asking
    from abs_replay.routes import Route, Routes
    from abs_replay.server.requests import play_scope

    hosts = RecordedHosts(server.upstreams, player.cassette.exchanges)
    ask = asking(player, server.soon, on_miss, play_scope((), token))
    leading = Leading(hosts, server.addresses(), ask, _say_distrusted, token)
    recorded = Routes(tuple(Route(host, Role.TOOL) for host, _ in hosts.addresses))
    forward = Forwarding(authority(os.environ), recorded)
    with forwarding(leading, forward.authority, port and port + len(server.upstreams)) as url:
        way = way_through(url, forward, os.environ, "what was recorded")
        for warning in way.warnings:
            say(f"warning: {warning}")
        # What kept loopback from a proxy that was there before would lead to what is live on loopback.
        others = {name: value for name, value in variables.items() if name not in ("NO_PROXY", "no_proxy")}
        yield url, others | way.variables


def _say_distrusted(host: str) -> None:
    say(f"warning: a client does not trust the certificate for {host}: abs ca trust-help tells what to do")
