"""Where exchanges are kept: with the recorder that runs, else in a recording of the shim's own.

What is running is looked for each time: recorders come and go while a server lives. What can not be kept now
waits, up to a bound, and is tried again.
"""

import http.client
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from abs_replay.callers import CONTROL
from abs_replay.errors import AbsReplayError
from abs_replay.exchange import Exchange, Recording, Upstream
from abs_replay.redact import Redactor
from abs_replay.running import TOKEN_HEADER, Running, running
from abs_replay.shim.leftovers import Leftovers
from abs_replay.shim.talk import Place

if TYPE_CHECKING:
    from abs_replay.recorder import Recorder

_PATIENCE_S: Final = 10.0  # for a recorder's answer
_AGAIN_S: Final = 1.0
_BOUND: Final = 64 << 20  # bytes of bodies that wait for a place
_USUAL: Final = Path(".abs/store.duckdb")

type Say = Callable[[str], None]


def store_path(flag: Path | None, environ: Mapping[str, str], folder: Path) -> Path:
    """Where the store lies: the flag, `ABS_STORE`, or the nearest `.abs/store.duckdb` in or above a folder.

    A client starts its servers where it likes: so a store that is there, or recorded into just now, is found
    from any folder below it.
    """
    if named := flag or environ.get("ABS_STORE"):
        return folder / named
    paths = [each / _USUAL for each in (folder, *folder.parents)]
    return next((path for path in paths if path.exists() or running(path)), paths[0])


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line and the environment say of the place."""

    store: Path
    recording: str | None  # an id or a name: `ABS_RECORDING`
    own_name: str | None
    upstream: Upstream

    def recorders(self) -> tuple[Running, ...]:
        """Those that run now and may be sent to, the best first."""
        found = running(self.store)
        if self.recording is None:
            return found
        return tuple(each for each in found if self.recording in (each.recording, each.name))


def wanted(
    store: Path | None, own_name: str | None, place: Place, environ: Mapping[str, str], folder: Path
) -> Wanted:
    """What is wanted of the place for what a shim in a folder sees."""
    upstream = Upstream(place.channel, place.url)
    return Wanted(
        store_path(store, environ, folder), environ.get("ABS_RECORDING") or None, own_name, upstream
    )


class _Refused(Exception):
    """A recorder that did not take an exchange."""


class _Line:
    """A connection to one recorder."""

    def __init__(self, recorder: Running) -> None:
        self.recorder = recorder
        parts = urlsplit(recorder.url)
        self._http = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_PATIENCE_S)

    def send(self, exchange: Exchange) -> None:
        from abs_replay.store.lines import exchange_line
        from abs_replay.store.rows import exchange_row

        line = exchange_line(exchange_row(self.recorder.recording, exchange))
        headers = {TOKEN_HEADER: self.recorder.token, "content-type": "application/json"}
        try:
            self._http.request("POST", f"{CONTROL}exchange", line.encode(), headers)
            with self._http.getresponse() as answer:
                answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._http.close()
            raise _Refused(f"{type(error).__name__}: {error}") from error
        if answer.status != 200:
            raise _Refused(f"it answered {answer.status}")

    def close(self) -> None:
        self._http.close()


class Keeper:
    """Keeps exchanges of one run of a server, at whatever place there is.

    `redactor` makes what takes the secrets out, for a recording of its own; a recorder has its own.
    """

    def __init__(self, wanted: Wanted, redactor: Callable[[], Redactor], say: Say) -> None:
        self._wanted, self._redactor, self._say = wanted, redactor, say
        self._said: set[str] = set()
        self._waiting: deque[Exchange] = deque()
        self._weight = self._lost = 0
        self._line: _Line | None = None
        self._own: Recorder | None = None
        self._again_at = 0.0
        self._leftovers = Leftovers(wanted.store, redactor, self._complain)

    def put(self, exchange: Exchange) -> None:
        """Keep an exchange that has ended, now or as soon as there is a place for it."""
        self._waiting.append(exchange)
        self._weight += _weight(exchange)
        while self._weight > _BOUND and len(self._waiting) > 1:
            self._weight -= _weight(self._waiting.popleft())
            self._lost += 1
        self.retry()

    def retry(self) -> None:
        """Try to keep what waits, unless that failed just now."""
        if self._waiting and time.monotonic() >= self._again_at:
            self._keep_waiting()

    def rest(self) -> None:
        """Nothing comes for a while: hold no connection, which would be in a recorder's way when it ends."""
        if self._line is not None:
            self._line.close()
        self.retry()

    def leave(self, opened: Sequence[Exchange]) -> None:
        """Note what is not answered yet: it is found beside the store if this process is killed."""
        if opened or self._leftovers:
            recording = self._recording(opened)
            if recording is not None:
                self._leftovers.show(recording, opened)

    def _recording(self, opened: Sequence[Exchange]) -> str | None:
        """The recording that what is open belongs to; None where there is none yet, and none can be begun."""
        for recorder in self._wanted.recorders():
            return recorder.recording
        if self._own is None and opened:
            with suppress(AbsReplayError):  # said where an exchange is to be kept
                self._own = self._begin_own(opened[0].started_at)
        return None if self._own is None else self._own.recording

    def close(self) -> None:
        """Keep what waits, or say that it is lost."""
        self._keep_waiting()
        self.rest()
        self._end_own()
        self._leftovers.close()
        if lost := self._lost + len(self._waiting):
            self._complain(f"LOST {lost} exchange{'s' * (lost != 1)}")

    def _keep_waiting(self) -> None:
        while self._waiting:
            if not (self._send(self._waiting[0]) or self._write(self._waiting[0])):
                self._again_at = time.monotonic() + _AGAIN_S
                return
            self._weight -= _weight(self._waiting.popleft())

    def _send(self, exchange: Exchange) -> bool:
        """Give an exchange to a recorder; False where none takes it."""
        for recorder in self._wanted.recorders():
            if self._line is None or self._line.recorder != recorder:
                self._line = _Line(recorder)
            with suppress(_Refused):  # of a connection that it closed meanwhile
                self._line.send(exchange)
                self._end_own()
                return True
            try:
                self._line.send(exchange)
            except _Refused as error:
                self._complain(f"the recorder of {recorder.name} at {recorder.url} takes nothing: {error}")
            else:
                self._end_own()
                return True
        return False

    def _write(self, exchange: Exchange) -> bool:
        """Write an exchange to a recording of our own; False where that is not possible."""
        try:
            if self._own is None:
                self._own = self._begin_own(exchange.started_at)
        except AbsReplayError as error:
            self._complain(f"not recorded yet: {error}")
            return False
        self._own.put(exchange)
        return True

    def _begin_own(self, started_at: float) -> "Recorder":
        from abs_replay.recorder import Recorder

        wanted = self._wanted
        when = time.strftime("%Y-%m-%d-%H%M%S", time.localtime(started_at))
        return Recorder(
            wanted.store,
            Recording(
                id=uuid.uuid4().hex,
                name=wanted.own_name or f"{wanted.upstream.channel.name}-{when}",
                started_at=started_at,
                upstreams=(wanted.upstream,),
            ),
            say=self._complain,
            redactor=self._redactor(),
        )

    def _end_own(self) -> None:
        if self._own is not None:
            self._own.close()
            self._own = None

    def _complain(self, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            self._say(message)


def _weight(exchange: Exchange) -> int:
    response = exchange.response
    return len(exchange.request.body.data) + (len(response.body.data) if response else 0)
