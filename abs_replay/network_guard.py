"""No way out of this machine while a test runs: connections and name look-ups that leave it raise.

Loopback and Unix sockets work as ever. Guarded are Python's sockets, on which asyncio's, trio's and every
client written in Python rest, and uvloop's loops, which connect by themselves. What was refused is
remembered: a client that swallows the error does not hide it.
"""

import fnmatch
import ipaddress
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from abs_replay.errors import AbsReplayError

# Of a socket's methods: which argument is the address.
CONNECTING = {"connect": 0, "connect_ex": 0, "sendto": -1}
LOOKING_UP = ("getaddrinfo", "gethostbyname", "gethostbyname_ex")


class NetworkBlocked(AbsReplayError, ConnectionRefusedError):
    """Something wanted to leave this machine; an `OSError` too, so that clients say it in their way."""


class Guard:
    """Refuses what leaves this machine; `refused` are the hosts, in the order in which they were wanted.

    `who` is named in the errors, `allowed` are patterns of hosts that are let through.
    """

    def __init__(self, who: str, allowed: Sequence[str] = ()) -> None:
        self.refused: list[str] = []
        self._who, self._allowed = who, allowed

    def check(self, host: object, port: object = None) -> None:
        """Raise `NetworkBlocked` for a host that is elsewhere."""
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
        if not isinstance(name, str) or is_here(name):
            return
        if any(fnmatch.fnmatchcase(name.lower(), pattern.lower()) for pattern in self._allowed):
            return
        where = f"{name}:{port}" if isinstance(port, int) else name
        self.refused.append(where)
        raise NetworkBlocked(self.told(where))

    def told(self, where: str) -> str:
        """What is said of a host."""
        return (
            f"{self._who} wanted to reach {where} while a cassette is replayed: point the client at the "
            "replay's base URL, or let the host through with abs_allow_hosts"
        )


def is_here(host: str) -> bool:
    """Whether a host, by name or address, is this machine; one that is not said is."""
    name = host.lower().rstrip(".")
    if name in ("", "localhost", "ip6-localhost") or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)


@contextmanager
def guarded(guard: Guard) -> Iterator[None]:
    """Refuse while the block runs, in all threads of this process; all is as before at its end."""
    with ExitStack() as patched:
        for name, place in CONNECTING.items():
            method = _connecting(getattr(socket.socket, name), place, guard)
            patched.enter_context(patch.object(socket.socket, name, method))
        for name in LOOKING_UP:
            patched.enter_context(patch.object(socket, name, _looking_up(getattr(socket, name), guard)))
        if (uvloop := sys.modules.get("uvloop")) is not None:
            for name, method in _of_uvloop(uvloop.Loop, guard).items():
                patched.enter_context(patch.object(uvloop.Loop, name, method))
        yield


def _connecting(original: Callable[..., Any], place: int, guard: Guard) -> Callable[..., Any]:
    def connecting(self: socket.socket, *args: Any) -> Any:
        address = args[place] if args else None
        if self.family in (socket.AF_INET, socket.AF_INET6) and isinstance(address, tuple) and address:
            guard.check(*address[:2])
        return original(self, *args)

    return connecting


def _looking_up(original: Callable[..., Any], guard: Guard) -> Callable[..., Any]:
    def looking_up(host: Any, *args: Any, **named: Any) -> Any:
        guard.check(host, args[0] if args else named.get("port"))
        return original(host, *args, **named)

    return looking_up


def _of_uvloop(loop: Any, guard: Guard) -> dict[str, Callable[..., Any]]:
    connect, look_up, datagrams = loop.create_connection, loop.getaddrinfo, loop.create_datagram_endpoint

    def create_connection(self: Any, factory: Any, host: Any = None, port: Any = None, **named: Any) -> Any:
        guard.check(host, port)
        return connect(self, factory, host, port, **named)

    def getaddrinfo(self: Any, host: Any, port: Any, **named: Any) -> Any:
        guard.check(host, port)
        return look_up(self, host, port, **named)

    def create_datagram_endpoint(
        self: Any, factory: Any, local_addr: Any = None, remote_addr: Any = None, **named: Any
    ) -> Any:
        guard.check(*(remote_addr or ())[:2] or (None,))
        return datagrams(self, factory, local_addr, remote_addr, **named)

    made: tuple[Callable[..., Any], ...] = (create_connection, getaddrinfo, create_datagram_endpoint)
    return {function.__name__: function for function in made}
