"""Where the listeners of a recording or a replay are, told to people and to their shells."""

import shlex
from collections.abc import Iterator, Mapping

from abs_replay.exchange import Channel


def listed(
    addresses: Mapping[Channel, str],
    notes: Mapping[Channel, str] | None = None,
    forward: str | None = None,
) -> Iterator[str]:
    """Give a line for each listener, with what is to be noted of it, and for the proxy, if there is one."""
    for channel, url in addresses.items():
        note = (notes or {}).get(channel)
        yield f"  {channel!s:<20} {url}" + (f"  ({note})" if note else "")
    if forward is not None:
        yield f"  {'every other host' if addresses else 'every host':<20} {forward}  (a proxy)"


def exported(variables: Mapping[str, str]) -> Iterator[str]:
    """Give the lines that set these variables; they are made for a shell, which obeys what is not quoted."""
    yield "environment:"
    for name, value in variables.items():
        yield f"  export {name}={shlex.quote(value)}"
