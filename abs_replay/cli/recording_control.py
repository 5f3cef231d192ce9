"""What a running recorder does when it is asked under `/__abs__/` of any of its listeners.

    POST mark      {"name": ..}? ends one conversation and names the next; nobody need show the token
    POST exchange  one exchange as a spool's line, secrets and all; the token is needed
    GET status     what was kept so far, and what is still open
    GET recent     ?since=N: what was kept after the N-th, of the last thousand; the token is needed

It answers on the loop that carries every stream, so it only looks at what is in memory.
"""

import hmac
import json
import threading
from collections import deque
from collections.abc import Callable, Sized
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from abs_replay.batches import size
from abs_replay.callers import CONTROL, other_name, page_from_elsewhere
from abs_replay.channels import is_loopback
from abs_replay.exchange import Exchange, Headers, Mark, Recording, header
from abs_replay.recorder import Recorder
from abs_replay.redact import Redactor
from abs_replay.running import TOKEN_HEADER
from abs_replay.store.lines import row_of_line
from abs_replay.store.rows import exchange_of
from abs_replay.summary import Summary

if TYPE_CHECKING:
    from abs_replay.exact_json import Json

RECENT = 1000  # exchanges that who follows may be behind
MOST_NAME = 200  # characters of a mark's name

type Answer = tuple[int, bytes]


class _Refused(Exception):
    """A request that is not served; `status` says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Control:
    """Answers for one recording, once its recorder has begun."""

    def __init__(
        self,
        recording: Recording,
        token: str,
        marked: Callable[[Mark], None] | None = None,
        listens_at: str = "127.0.0.1",
    ) -> None:
        self._recorder: Recorder | None = None
        self._opened: Callable[[], Sized] = tuple
        self._recording, self._token, self._marked = recording, token, marked
        self._recent: deque[dict[str, Json]] = deque(maxlen=RECENT)
        self._count = 0
        self._is_local = is_loopback(listens_at)  # else this machine has names that nobody here knows
        self._guard = threading.Lock()  # the writer thread tells what was kept, the loop asks for it

    def begin(self, recorder: Recorder, opened: Callable[[], Sized]) -> None:
        """Say who records, and what is open now."""
        self._recorder, self._opened = recorder, opened

    @property
    def summary(self) -> Summary:
        return self._running().summary

    def open_now(self) -> int:
        """How many exchanges have begun and not ended."""
        return len(self._opened())

    def kept(self, exchange: Exchange) -> None:
        """Take note of what was kept, for those who follow."""
        facts = facts_of(exchange)
        with self._guard:
            self._count += 1
            self._recent.append(facts)

    def mark(self, name: str | None = None) -> Mark:
        """Set a mark, now; what is said of it has no secret, as what is kept."""
        mark = self._running().mark(name)
        mark = replace(mark, name=name and Redactor().text(name))
        if self._marked:
            self._marked(mark)
        return mark

    def __call__(self, method: str, path: str, headers: Headers, body: bytes) -> Answer:
        """Answer a request for `path`, which stands below `/__abs__/`, with JSON."""
        try:
            return 200, _json(self._answer(method, path, headers, body))
        except _Refused as refused:
            return refused.status, _json({"error": str(refused)})

    def _answer(self, method: str, path: str, headers: Headers, body: bytes) -> "Json":
        parts = urlsplit(path)
        known = {name: verb for verb, name in _REQUESTS}
        if parts.path not in known:
            raise _Refused(404, f"nothing at {CONTROL}{parts.path}; there is {', '.join(known)}")
        if method != known[parts.path]:
            raise _Refused(405, f"{CONTROL}{parts.path} takes {known[parts.path]}")
        refused = page_from_elsewhere(headers)
        if refused is None and self._is_local and not self._shows_token(headers):
            refused = other_name(headers)
        if refused is not None:
            raise _Refused(403, refused)
        return _REQUESTS[method, parts.path](self, parts.query, headers, body)

    def _mark(self, _: str, __: Headers, body: bytes) -> "Json":
        mark = self.mark(_name(body))
        return {"at": mark.at, "name": mark.name}

    def _exchange(self, _: str, headers: Headers, body: bytes) -> "Json":
        self._need_token(headers)
        try:
            exchange = exchange_of(row_of_line(body))
        except (ValueError, TypeError, KeyError) as error:
            raise _Refused(400, f"no exchange: {error}") from None
        self._running().put(exchange)
        return {"id": exchange.id}

    def _status(self, _: str, __: Headers, ___: bytes) -> "Json":
        recording = self._recording
        counts = asdict(self.summary)
        return {"recording": recording.id, "name": recording.name, **counts, "open": self.open_now()}

    def _recently(self, query: str, headers: Headers, _: bytes) -> "Json":
        self._need_token(headers)
        try:
            since = int(parse_qs(query).get("since", ["0"])[0])
        except ValueError:
            raise _Refused(400, "since: expected a whole number") from None
        with self._guard:
            count, recent = self._count, list(self._recent)
        fresh = recent[max(0, since - (count - len(recent))) :] if since < count else []
        return {"count": count, "open": self.open_now(), "exchanges": [*fresh]}

    def _running(self) -> Recorder:
        if self._recorder is None:
            raise _Refused(503, "the recording has not begun")
        return self._recorder

    def _shows_token(self, headers: Headers) -> bool:
        shown = header(headers, TOKEN_HEADER) or ""
        return hmac.compare_digest(shown.encode("latin-1", "replace"), self._token.encode())

    def _need_token(self, headers: Headers) -> None:
        if not self._shows_token(headers):
            raise _Refused(
                403, f"show the recorder's token as {TOKEN_HEADER}; its note beside the store has it"
            )


type _Serve = Callable[[Control, str, Headers, bytes], Json]

_REQUESTS: dict[tuple[str, str], _Serve] = {
    ("POST", "mark"): Control._mark,
    ("POST", "exchange"): Control._exchange,
    ("GET", "status"): Control._status,
    ("GET", "recent"): Control._recently,
}


def facts_of(exchange: Exchange) -> "dict[str, Any]":
    """What a line of a log or of `abs tail` tells of an exchange."""
    response = exchange.response
    return {
        "id": exchange.id,
        "started_at": exchange.started_at,
        "channel": str(exchange.channel),
        "method": exchange.request.method,
        "target": exchange.request.target,
        "status": response.status if response else None,
        "outcome": exchange.outcome.value,
        "error": exchange.error,
        "bytes": size(exchange),
        "ended_ms": exchange.ended_ms,
    }


def _name(body: bytes) -> str | None:
    """The name in a mark's body: none in an empty one, or in `{}`."""
    if not body.strip():
        return None
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    name = document.get("name") if isinstance(document, dict) else document
    if not isinstance(document, dict) or not (name is None or isinstance(name, str)):
        raise _Refused(400, 'expected {"name": "what the next conversation is called"}, or no body')
    if len(name or "") > MOST_NAME:
        raise _Refused(400, f"the name is longer than {MOST_NAME} characters")
    return name or None


def _json(value: "Json") -> bytes:
    return json.dumps(value).encode() + b"\n"
