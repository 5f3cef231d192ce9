"""A cassette made around a block of Python: what `abs record` and `abs export` are to a program, in memory.

The recorder's proxy listens before every upstream, in a thread; what flows is kept without its secrets,
and written as a cassette when the block says so. Needs the extra `record`.
"""

import asyncio
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from abs_replay.assembly import ConversationKey
from abs_replay.cassette import Cassette, dumps
from abs_replay.channels import distinct, environment, parse_upstream
from abs_replay.errors import RecordingError, UsageError
from abs_replay.exchange import Channel, Exchange, Recording, Role, Upstream
from abs_replay.redact import Redactor, rules_of
from abs_replay.spec.configuration import find

START_S = 60.0  # to load mitmproxy takes a second, on a busy machine more


def upstreams_of(declared: Mapping[str, str]) -> tuple[Upstream, ...]:
    """Read `{"llm": "openai", "tool:Orders": "http://localhost:9001"}`; raises `UsageError`."""
    return distinct([_upstream(channel, url) for channel, url in declared.items()])


def _upstream(channel: str, url: str) -> Upstream:
    role, _, name = channel.partition(":")
    if role not in list(Role):
        raise UsageError(f"upstreams: {channel!r} is no channel: say {', '.join(Role)}, or tool:NAME")
    return parse_upstream(Role(role), f"{name}={url}" if name else url)


def _proxy() -> Any:
    """The proxy's way to listen; raises `UsageError` without mitmproxy."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of pyasn1 in ldap3, which mitmproxy imports
            from abs_replay.proxy import listening
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mitmproxy", "h11"):
            raise
        raise UsageError("recording needs mitmproxy: pip install 'abs-replay[record]'") from error
    return listening


class Capture:
    """A recording while the block runs. Raises `RecordingError`, `UsageError`."""

    def __init__(self, name: str, upstreams: Sequence[Upstream], directory: Path) -> None:
        self._recording = Recording(uuid.uuid4().hex, name, time.time(), upstreams=tuple(upstreams))
        said = find(directory)
        self._key = ConversationKey(**said.conversation)
        self._redactor = Redactor(rules_of(said.redact, said.file and said.file.resolve().parent))
        self._made: list[Callable[[], Exchange]] = []
        self._addresses: Mapping[Channel, str] = {}
        self._begun = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="abs-capture", daemon=True)

    @property
    def addresses(self) -> Mapping[Channel, str]:
        """The base URL of every channel."""
        return MappingProxyType(self._addresses)

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that lead a program to the listeners."""
        return environment(self._addresses)

    def start(self) -> None:
        """Listen before every upstream."""
        self._listening = _proxy()
        self._thread.start()
        if not self._begun.wait(START_S):
            raise RecordingError(f"the recorder did not begin to listen within {START_S:.0f} s")
        if self._error is not None:
            self._thread.join()
            raise self._error

    def stop(self) -> None:
        """End every connection; what was open is kept as unfinished."""
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()

    def cassette(self) -> Cassette:
        """What was recorded, without its secrets, by conversation, once it is stopped."""
        from abs_replay.derivation import account_of_exchanges
        from abs_replay.exporters.conversations import by_conversation

        exchanges = sorted((make() for make in self._made), key=lambda exchange: exchange.started_at)
        recording = replace(self._redactor.recording(self._recording), ended_at=time.time())
        kept = tuple(map(self._redactor.redact, exchanges))
        if self._redactor.withheld:
            raise RecordingError(
                f"{self._redactor.withheld} of {len(kept)} exchanges are withheld: a rule of `redact:` failed"
            )
        return by_conversation(Cassette(recording, kept), account_of_exchanges(kept, recording, self._key))

    def write(self, path: Path) -> None:
        """Write the cassette, over one that is there."""
        text, part = dumps(self.cassette()), path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(text, encoding="utf-8")
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise RecordingError(f"{path} can not be written: {error.strerror or error}") from None

    def _run(self) -> None:
        try:
            asyncio.run(self._listen())
        except Exception as error:  # whatever it is, whoever starts this is told
            self._error = error
        finally:
            self._begun.set()

    async def _listen(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        async with self._listening(self._recording.upstreams, self._made.append) as listeners:
            self._addresses = dict(listeners)
            self._begun.set()
            await self._ending.wait()
