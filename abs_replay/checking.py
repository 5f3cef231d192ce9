"""What is wrong with a cassette that is to be trusted for years: findings, each with a stable code.

A finding that makes a job lie (a secret in git, an error that was recorded by accident, a stream that broke
off) is an error; one that only weighs (copies, what no decoder reads) is a warning. Pure: what depends on
the clock or on what a replay used is handed in.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from abs_replay.cassette import Cassette
from abs_replay.decoders import decode
from abs_replay.decoders.events import Decoded
from abs_replay.exchange import Body, Channel, Exchange, Headers, Outcome, Request, Response, header
from abs_replay.matching.canonical import canonical
from abs_replay.redact import Redactor

DAY = 24 * 3600.0
type Told = tuple[str, str]  # code and message

STREAMS = ("text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream")

# Codes are kept for ever: jobs name them. An error fails the job, a warning does under `--strict`.
CODES: Mapping[str, tuple[bool, str]] = {
    "secret": (True, "something that looks like a secret"),
    "error-status": (True, "an error that was answered, and never followed by a good answer"),
    "broken-off": (True, "a body or a stream that did not come to its end"),
    "empty-stream": (True, "a stream without a single byte"),
    "no-answer": (True, "nothing came back, on a channel where other requests were answered"),
    "cut": (True, "a body that was longer than what was kept"),
    "unplayed": (True, "nothing asked for it in the replay that was reported"),
    "old": (True, "recorded longer ago than allowed"),
    "duplicate": (False, "the same request with the same answer, again"),
    "undecoded": (False, "no decoder reads it, so that no trace shows it"),
}


class Severity(StrEnum):
    """What a finding does to the exit status."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong: its code, what exactly, and the number of its exchange (None: the whole cassette)."""

    code: str
    message: str
    exchange: int | None = None

    @property
    def severity(self) -> Severity:
        return Severity.ERROR if CODES[self.code][0] else Severity.WARNING


@dataclass(frozen=True, slots=True)
class Limits:
    """`now` and `oldest` in Unix seconds and seconds; `used` are the ids that a replay played.

    Of the `unplayable` channels it could play nothing.
    """

    now: float = 0.0
    oldest: float | None = None
    used: Collection[str] | None = None
    unplayable: Collection[str] = ()


def findings(cassette: Cassette, limits: Limits = Limits()) -> tuple[Finding, ...]:
    """Everything wrong with a cassette: what is of the whole of it first, then by exchange."""
    exchanges, redactor = cassette.exchanges, Redactor()
    answered = {exchange.channel for exchange in exchanges if exchange.response is not None}
    repeated, recovered = _repeated(exchanges), _recovered(exchanges)
    found = list(_age(cassette, limits))
    for number, exchange in enumerate(exchanges):
        told = [*_secret(redactor, exchange), *_use(exchange, limits), *_copy(repeated.get(number))]
        if number not in recovered:
            told += _answer(exchange, exchange.channel in answered)
        told += _body(exchange)
        found += [Finding(code, message, number) for code, message in told]
    return tuple(found)


def _age(cassette: Cassette, limits: Limits) -> Iterator[Finding]:
    age = limits.now - cassette.recording.started_at
    if limits.oldest is not None and age > limits.oldest:
        yield Finding(
            "old", f"recorded {age / DAY:.0f} days ago, at most {limits.oldest / DAY:g} are allowed"
        )


def _use(exchange: Exchange, limits: Limits) -> Iterator[Told]:
    if limits.used is None or str(exchange.channel) in limits.unplayable:
        return
    if exchange.id not in limits.used:
        yield "unplayed", "nothing asked for it in the replay that was reported"


# -- secrets


def _secret(redactor: Redactor, exchange: Exchange) -> Iterator[Told]:
    clean = redactor.redact(exchange)
    if clean is not exchange:
        places = ", ".join(dict.fromkeys(_changed(exchange, clean)))
        yield "secret", f"{places}: looks like a secret; record it anew, or redact it"


def _changed(exchange: Exchange, clean: Exchange) -> Iterator[str]:
    """The places in which they differ, and never what stands there."""
    yield from _changed_message("request", exchange.request, clean.request)
    if exchange.response is not None and clean.response is not None:
        yield from _changed_message("response", exchange.response, clean.response)
    if exchange.request.target != clean.request.target:
        yield "request target"
    if exchange.error != clean.error:
        yield "error"


def _changed_message(side: str, dirty: Request | Response, clean: Request | Response) -> Iterator[str]:
    for name in _changed_headers(dirty.headers, clean.headers):
        yield f"{side} header {name}"
    if dirty.body != clean.body:
        yield f"{side} body"


def _changed_headers(dirty: Headers, clean: Headers) -> Iterator[str]:
    for (name, value), (_, cleaned) in zip(dirty, clean, strict=True):
        if value != cleaned and name.lower() != "content-length":
            yield name.lower()


# -- answers


def _answer(exchange: Exchange, answered: bool) -> Iterator[Told]:
    """A failure; one on a channel where nobody ever answered is what was to be recorded."""
    response = exchange.response
    if response is None and answered:
        yield "no-answer", f"{exchange.outcome}: {exchange.error or 'nothing came back'}"
    if response is not None and response.status >= 400:
        yield "error-status", f"answered {response.status}, and never better"


def _body(exchange: Exchange) -> Iterator[Told]:
    response = exchange.response
    if exchange.request.body.cut:
        yield "cut", f"request body: {_sizes(exchange.request.body)}"
    if response is None:
        return
    if response.body.cut:
        yield "cut", f"response body: {_sizes(response.body)}"
    elif not response.body.data and _is_stream(response.headers) and response.status < 400:
        yield "empty-stream", "the stream holds nothing"
    else:
        yield from _decoded(exchange, decode(exchange))


def _decoded(exchange: Exchange, decoded: Decoded) -> Iterator[Told]:
    """Whether a stream was whole is for its decoder to say; where none can, the connection does."""
    if decoded.complete is False:
        yield "broken-off", "the stream ended before its last event"
    elif decoded.complete is None and exchange.outcome not in (Outcome.COMPLETE, Outcome.CLIENT_CLOSED):
        yield "broken-off", f"{exchange.outcome}: {exchange.error or 'it ended early'}"
    if decoded.protocol is None:
        yield "undecoded", decoded.reason or "no decoder reads it"


def _is_stream(headers: Headers) -> bool:
    return (header(headers, "content-type") or "").startswith(STREAMS)


def _sizes(body: Body) -> str:
    return f"{len(body.data):,} of {body.size:,} bytes were kept"


# -- requests that were made more than once


def _key(exchange: Exchange) -> tuple[Channel, tuple[str, str, str]]:
    return exchange.channel, canonical(exchange.request, exchange.channel).key


def _recovered(exchanges: Sequence[Exchange]) -> frozenset[int]:
    """The failures that a later good answer to the same request makes a retry, which is meant."""
    good: dict[object, float] = {}
    for exchange in exchanges:
        if exchange.response is not None and exchange.response.status < 400:
            key = _key(exchange)
            good[key] = max(good.get(key, 0.0), exchange.started_at)
    return frozenset(
        number for number, each in enumerate(exchanges) if good.get(_key(each), -1.0) > each.started_at
    )


def _repeated(exchanges: Sequence[Exchange]) -> dict[int, int]:
    """Which exchanges are a copy, and of which earlier one."""
    first: dict[object, int] = {}
    copies: dict[int, int] = {}
    for number, exchange in enumerate(exchanges):
        response = exchange.response
        key = _key(exchange), exchange.outcome, response and (response.status, response.body.data)
        first.setdefault(key, number)
        if first[key] != number:
            copies[number] = first[key]
    return copies


def _copy(of: int | None) -> Iterator[Told]:
    if of is not None:
        yield "duplicate", f"the same request and answer as exchanges[{of}]"
