"""Decoders of other packages: entry points in the group `abs_replay.decoders`.

    [project.entry-points."abs_replay.decoders"]
    acme_chat = "my_package.acme_chat"

Such an entry point leads to a module (an object will do) with `claims(exchange) -> bool` and
`decode(exchange) -> Decoded`. They are asked after the built-in protocols and before `chat_contract` and
`rest`, which take whatever is left of an agent's channel and of a tool's.
"""

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from abs_replay import plugins
from abs_replay.exchange import Exchange

if TYPE_CHECKING:
    from abs_replay.decoders import Decoded, Decoder


def installed(built_in: Collection[str]) -> Mapping[str, "Decoder"]:
    """Give the decoders of installed packages, by name; raises `UsageError` for one that is broken."""
    return _loaded(tuple(sorted(plugins.names(plugins.DECODERS, built_in))), tuple(sys.path))


@lru_cache(8)
def _loaded(names: tuple[str, ...], _: tuple[str, ...]) -> Mapping[str, "Decoder"]:
    return {name: _load(name) for name in names}


@dataclass(frozen=True, slots=True)
class _Guarded:
    """A decoder of another package, which can not end the process."""

    decoder: "Decoder"

    def claims(self, exchange: Exchange) -> bool:
        with plugins.foreign():
            return self.decoder.claims(exchange)

    def decode(self, exchange: Exchange) -> "Decoded":
        with plugins.foreign():
            return self.decoder.decode(exchange)


def _load(name: str) -> "Decoder":
    found = plugins.load(plugins.DECODERS, name, ())
    if not callable(getattr(found, "claims", None)) or not callable(getattr(found, "decode", None)):
        raise plugins.wrong(plugins.DECODERS, name, "has no `claims` and `decode`")
    return _Guarded(cast("Decoder", found))
