"""WebSockets on their way: bytes pass as they come, a copy is read, and its messages are noted.

mitmproxy's own layer decodes and encodes anew: it holds back a message until its last fragment is there,
answers close frames itself, and tells a client whose server broke off that all is well (1000). `Relay`
passes on what it got, at once, and understands it afterwards; what it can not understand passes, too.
"""

import time
from collections.abc import Iterator
from typing import Final

from mitmproxy import http
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import websocket as layers
from mitmproxy.websocket import WebSocketData, WebSocketMessage
from wsproto.extensions import Extension, PerMessageDeflate
from wsproto.frame_protocol import CloseReason, FrameProtocol, Opcode
from wsproto.utilities import split_comma_header

from abs_replay.exchange import Message, Outcome, WebSocket

ABNORMAL: Final = CloseReason.ABNORMAL_CLOSURE.value  # no close frame came (RFC 6455 §7.1.5)
LEAST: Final = 64  # bytes that a message costs us at least: many empty ones fill the memory, too
FAULT: Final = "abs_websocket_fault"


def install() -> None:
    """Have mitmproxy relay WebSockets in this process as `Relay` does."""
    setattr(layers, "WebsocketLayer", Relay)  # noqa: B010


class Ear:
    """Reads the frames that one side sends, from a copy of its bytes."""

    def __init__(self, from_client: bool, extensions: str) -> None:
        self._from_client, self._extensions = from_client, extensions
        self._protocol: FrameProtocol | None = None
        self._pieces: list[bytes] = []
        self.closed: tuple[int, str] | None = None
        self.fault = ""

    def hears(self, data: bytes) -> list[WebSocketMessage]:
        """The messages that end in these bytes; none after a frame that is not understood (`fault`)."""
        messages: list[WebSocketMessage] = []
        if self.closed is None and not self.fault:
            try:
                messages.extend(self._messages(data))
            except Exception as error:  # the other side has the bytes, and may say what it makes of them
                side = "client" if self._from_client else "server"
                self.fault = f"frames of the {side} are not understood ({error}): its messages are missing"
        return messages

    def _messages(self, data: bytes) -> Iterator[WebSocketMessage]:
        if self._protocol is None:
            self._protocol = FrameProtocol(not self._from_client, _agreed(self._extensions))
        self._protocol.receive_bytes(data)
        for frame in self._protocol.received_frames():
            said = frame.payload
            if isinstance(said, tuple):  # of a close frame
                self.closed = int(said[0]), said[1]
            elif not frame.opcode.iscontrol():
                is_text = isinstance(said, str)
                self._pieces.append(said.encode() if isinstance(said, str) else bytes(said))
                if frame.message_finished:
                    content, self._pieces = b"".join(self._pieces), []
                    opcode = Opcode.TEXT if is_text else Opcode.BINARY
                    yield WebSocketMessage(opcode, self._from_client, content)


def _agreed(extensions: str) -> list[Extension]:
    """What both agreed on. Frames under an extension unknown here are not understood, and pass."""
    agreed: list[Extension] = []
    for each in split_comma_header(extensions.encode("ascii", "replace")):
        if each.partition(";")[0].strip() == PerMessageDeflate.name:
            deflate = PerMessageDeflate()
            deflate.finalize(each)
            agreed.append(deflate)
    return agreed


class Relay(layer.Layer):
    """In place of mitmproxy's layer, with its hooks; what addons do to a message comes too late."""

    def __init__(self, context: Context, flow: http.HTTPFlow) -> None:
        super().__init__(context)
        assert flow.response is not None
        assert flow.websocket is not None
        self.flow, self._socket, self._over = flow, flow.websocket, False
        extensions = flow.response.headers.get("sec-websocket-extensions", "")
        self._ears = {from_client: Ear(from_client, extensions) for from_client in (True, False)}

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, events.Start):
            yield layers.WebsocketStartHook(self.flow)
        elif isinstance(event, events.ConnectionEvent) and not self._over:
            from_client = event.connection == self.context.client
            other = self.context.server if from_client else self.context.client
            if isinstance(event, events.DataReceived):
                yield commands.SendData(other, event.data)
                yield from self._hear(from_client, event.data)
            elif isinstance(event, events.ConnectionClosed):
                self._over = True
                yield commands.CloseConnection(other)
                self._close(ABNORMAL, "", from_client)
                yield layers.WebsocketEndHook(self.flow)
                self.flow.live = False

    def _hear(self, from_client: bool, data: bytes) -> layer.CommandGenerator[None]:
        ear = self._ears[from_client]
        for message in ear.hears(data):
            self._socket.messages.append(message)
            yield layers.WebsocketMessageHook(self.flow)
            self._socket.messages.clear()  # whoever wants it has noted it
        if ear.closed is not None:
            self._close(*ear.closed, from_client)
        if ear.fault:
            self.flow.metadata[FAULT] = ear.fault

    def _close(self, code: int, reason: str, by_client: bool) -> None:
        """The first word of parting counts; the other side's only agrees."""
        if self._socket.close_code is None:
            self._socket.closed_by_client, self._socket.timestamp_end = by_client, time.time()
            self._socket.close_code, self._socket.close_reason = code, reason


class Talk:
    """The messages of one connection as the tap noted them, `limit` bytes of them at most."""

    def __init__(self, start: float, limit: int, socket: WebSocketData) -> None:
        self._start, self._limit, self._socket = start, limit, socket
        self._messages: list[Message] = []
        self._parted: tuple[int | None, str, bool | None] = None, "", None
        self.kept = self.missed = 0

    @property
    def count(self) -> int:
        return len(self._messages) + self.missed

    def note(self, message: WebSocketMessage) -> None:
        """Note a message that passed just now; one over the limit cut, and at last only counted."""
        data, room = message.content, max(0, self._limit - self.kept)
        if not room and len(self._messages) * LEAST >= self._limit:
            self.missed += 1
            return
        at_ms = (time.perf_counter() - self._start) * 1000
        cut = len(data) if len(data) > room else None
        self._messages.append(Message(message.from_client, data[:room], message.is_text, at_ms, cut))
        self.kept += min(len(data), room)

    def websocket(self) -> WebSocket:
        """What was said so far; any thread may ask."""
        return WebSocket(tuple(self._messages), *self._parted)

    def part(self) -> None:
        """Note how they parted, if they did: what comes after is not for this exchange."""
        socket = self._socket
        self._parted = socket.close_code, socket.close_reason or "", socket.closed_by_client

    def ending(self, fault: str) -> tuple[Outcome, str]:
        """How it ended on the wire, and what was wrong with it."""
        said = [fault] if fault else []
        if self.missed:
            said.append(f"{self.missed} more messages are not kept: there were too many for --max-body")
        if self._socket.close_code != ABNORMAL:
            return Outcome.COMPLETE, "; ".join(said)
        side = "client" if self._socket.closed_by_client else "server"
        outcome = Outcome.CLIENT_CLOSED if self._socket.closed_by_client else Outcome.UPSTREAM_CLOSED
        return outcome, "; ".join([f"the {side} was gone without a close frame", *said])
