"""What mitmproxy knows and tells no addon, told: requests that it can not read, and which side broke off.

It answers 400 to what is no HTTP without a hook, and gives the same words to an upload that its client gave
up and to a download that its upstream did.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from mitmproxy import http
from mitmproxy.connection import Client
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http import _http1
from mitmproxy.proxy.layers.http._events import RequestProtocolError

BY_CLIENT: Final = "abs-by-client"  # a flow's metadata: whether the client's side broke off

_read_headers = _http1.Http1Server.read_headers
_handle_error = layers.HttpStream.handle_protocol_error


@dataclass(frozen=True, slots=True)
class UnreadRequest:
    """The head of a request that was answered with 400."""

    client: Client
    head: bytes


@dataclass
class UnreadRequestHook(commands.StartHook):  # type: ignore[no-untyped-call]
    """Addons have a method `unread_request`."""

    data: UnreadRequest


def _read_and_tell(self: _http1.Http1Server, event: events.ConnectionEvent) -> Iterator[Any]:
    head = bytes(self.buf)
    yield from _read_headers(self, event)
    # It is `done` without a request where the first line or a header could not be read.
    if self.request is None and self.state == self.done and isinstance(event, events.DataReceived):
        yield UnreadRequestHook(UnreadRequest(self.context.client, head))


def _note_and_handle(self: layers.HttpStream, event: Any) -> Iterator[Any]:
    self.flow.metadata[BY_CLIENT] = isinstance(event, RequestProtocolError)
    yield from _handle_error(self, event)


def tell() -> None:
    """From now on in this process."""
    setattr(_http1.Http1Server, "read_headers", _read_and_tell)  # noqa: B010
    setattr(layers.HttpStream, "handle_protocol_error", _note_and_handle)  # noqa: B010


def broke_off(flow: http.HTTPFlow) -> bool | None:
    """Whether the client broke off (else the upstream did); None where neither did."""
    by_client = flow.metadata.get(BY_CLIENT)
    return by_client if isinstance(by_client, bool) else None
