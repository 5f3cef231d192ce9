"""How a flow ended, read from what mitmproxy says of it."""

import errno

from mitmproxy import http

from abs_replay.exchange import Outcome
from abs_replay.proxy.untold import broke_off

# How mitmproxy says that a peer went away; all else that it says of a client is that it could not read it.
WENT_AWAY = (
    "Client disconnected",
    "peer closed connection",
    "stream reset by client",  # HTTP/2, of either side
    "HTTP/2 connection closed",
)


def ending(flow: http.HTTPFlow, tls_failed: bool) -> Outcome:
    """The outcome of a flow with an error; `tls_failed` says that TLS to its upstream did."""
    message = flow.error.msg if flow.error else ""
    by_client, connected = broke_off(flow), flow.server_conn.peername is not None
    if by_client and not any(each in message for each in WENT_AWAY):
        return Outcome.REFUSED  # by us: it is no HTTP
    if by_client:
        return Outcome.CLIENT_CLOSED
    if tls_failed and flow.response is None:
        return Outcome.TLS_FAILED
    return outcome(message, connected)


def outcome(message: str, connected: bool) -> Outcome:
    """Read mitmproxy's error message where it does not say whose it is: who ended an exchange, and when."""
    if message.startswith("Client disconnected"):
        return Outcome.CLIENT_CLOSED
    if connected:
        return Outcome.UPSTREAM_CLOSED
    return Outcome.TIMED_OUT if f"[Errno {errno.ETIMEDOUT}]" in message else Outcome.REFUSED
