"""Uvicorn's protocol for WebSockets, loaded where a cassette has some: it lets the application break off."""

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request


class SocketProtocol(WebSocketsSansIOProtocol):
    """The application's task begins after this, so it finds what is put into its scope here."""

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.handshake_complete:
            self.scope["abs.close"] = self.transport.abort  # type: ignore[typeddict-unknown-key]
