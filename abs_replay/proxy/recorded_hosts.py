"""Which channel answers for a host: where the traffic of a cassette went when it was recorded.

The exchanges of a declared channel name the recorder's listener as their host, and the channel's URL tells
where they went; those of what came through a proxy, or was imported, name the host themselves.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from abs_replay.channels import base_path, is_loopback
from abs_replay.exchange import Channel, Exchange, Outcome, Upstream
from abs_replay.routes import USUAL_PORTS

LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "::1")

type Address = tuple[str, int]


class RecordedHosts:
    """The hosts that a cassette knows, each with what was recorded there."""

    def __init__(self, upstreams: Sequence[Upstream], exchanges: Sequence[Exchange]) -> None:
        declared = [(_where(upstream.url), upstream) for upstream in upstreams]
        self._declared = [(place, base_path(each), each.channel) for place, each in declared if place]
        self._declared.sort(key=lambda one: -len(one[1]))
        bases = {each.channel: place for place, each in declared if place}
        self._at: dict[Address, list[Exchange]] = {}
        self._asked: dict[tuple[Address, str], Channel] = {}
        for exchange in exchanges:
            if (place := _place(exchange, bases)) is not None:
                self._at.setdefault(place, []).append(exchange)
                self._asked.setdefault((place, exchange.request.path), exchange.channel)

    @property
    def addresses(self) -> tuple[Address, ...]:
        return tuple(sorted({*self._at, *(place for place, _, _ in self._declared)}))

    @property
    def known(self) -> tuple[str, ...]:
        """The hosts as people write them."""
        return tuple(f"{host}:{port}" for host, port in self.addresses)

    @property
    def has_tls_failures(self) -> bool:
        return any(self.tls_failed(*place) for place in self._at)

    def channel(self, host: str, port: int, target: str) -> Channel | None:
        """Whose a request is: who was asked that path there; whose URL it is under; whose the host is."""
        place, path = (host.lower().rstrip("."), port), target.partition("?")[0]
        if (asked := self._asked.get((place, path))) is not None:
            return asked
        declared = [(base, channel) for there, base, channel in self._declared if there == place]
        under = (channel for base, channel in declared if f"{path}/".startswith(f"{base}/"))
        others = (*(each.channel for each in self._at.get(place, ())), *(channel for _, channel in declared))
        return next(iter((*under, *others)), None)

    def tls_failed(self, host: str, port: int) -> Sequence[Exchange]:
        """What was recorded there, if it is nothing but handshakes that failed."""
        there = self._at.get((host.lower().rstrip("."), port), [])
        return there if _all_failed(there) else ()


def address(url: str) -> Address:
    """Where a URL leads."""
    parts = urlsplit(url)
    return (parts.hostname or "").rstrip("."), parts.port or USUAL_PORTS[parts.scheme]


def _where(url: str) -> Address | None:
    """The same of a URL that may be no URL, or one of no network: `stdio:`."""
    with suppress(ValueError, KeyError):  # an imported host can be any text
        found = address(url)
        return found if found[0] else None
    return None


def _place(exchange: Exchange, bases: dict[Channel, Address]) -> Address | None:
    request, base = exchange.request, bases.get(exchange.channel)
    there = _where(f"{request.scheme}://{request.host}") if request.host else None
    return base if base is not None and (there is None or is_loopback(there[0])) else there


def _all_failed(exchanges: Iterable[Exchange]) -> bool:
    return {exchange.outcome for exchange in exchanges} == {Outcome.TLS_FAILED}
