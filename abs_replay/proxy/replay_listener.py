"""The forward listener of a replay: mitmproxy in a thread of its own, for clients that insist on `https://`."""

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socket import create_server

from mitmproxy.proxy.mode_specs import ProxyMode

from abs_replay.channels import local_url
from abs_replay.errors import RecordingError
from abs_replay.proxy.authority import Authority, roots
from abs_replay.proxy.engine import Engine
from abs_replay.proxy.replaying import Leading

_PATIENCE_S = 30.0


@contextmanager
def forwarding(leading: Leading, trusted: Authority, port: int = 0, host: str = "127.0.0.1") -> Iterator[str]:
    """Listen, and give the proxy's URL; raises `RecordingError`, `UsageError`."""
    thread = _Thread(leading, trusted, host, port or _free_port(host))
    thread.start()
    try:
        yield thread.url()
    finally:
        thread.end()


class _Thread(threading.Thread):
    def __init__(self, leading: Leading, trusted: Authority, host: str, port: int) -> None:
        super().__init__(name="abs-replay-forward", daemon=True)
        self._leading, self._trusted, self._host, self._port = leading, trusted, host, port
        self._known = threading.Event()  # whether it listens
        self._error: Exception | None = None
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            try:
                runner.run(self._serve())
            except Exception as error:
                if self._known.is_set():
                    raise
                self._error = error  # whoever waits for the URL gets it
            finally:
                self._known.set()

    def url(self) -> str:
        """Wait until it listens; raises what kept it from that."""
        if not self._known.wait(_PATIENCE_S):
            raise RecordingError(f"the forward listener did not begin to listen within {_PATIENCE_S:.0f} s")
        if self._error is not None:
            raise self._error
        return local_url(self._host, self._port)

    def end(self) -> None:
        if self.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
        self.join(_PATIENCE_S)

    async def _serve(self) -> None:
        engine = Engine(self._leading, (), roots(os.environ), self._trusted.certificates())
        try:
            await engine.listen([ProxyMode.parse(f"regular@{self._host}:{self._port}")])
            self._known.set()
            await self._stopped.wait()
        finally:
            await engine.stop()


def _free_port(host: str) -> int:
    try:
        with create_server((host, 0)) as held:
            return int(held.getsockname()[1])
    except OSError as error:
        raise RecordingError(f"can not listen on {host}: {error.strerror}") from error
