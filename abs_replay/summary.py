"""What a recording came to, counted while it goes on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from abs_replay.batches import size
from abs_replay.exchange import WITHHELD, Exchange, Outcome, header
from abs_replay.store import Kept, exchanges_in

STREAMS = ("text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream")


@dataclass(frozen=True, slots=True)
class Summary:
    """What a recording came to. `errors` had no whole or no good answer; `lost` were not kept."""

    exchanges: int = 0
    streams: int = 0
    bytes: int = 0
    errors: int = 0
    lost: int = 0
    spooled: int = 0
    marks: int = 0

    def plus(self, kept: Sequence[Kept]) -> "Summary":
        exchanges = exchanges_in(kept)
        return replace(
            self,
            exchanges=self.exchanges + len(exchanges),
            streams=self.streams + sum(map(is_stream, exchanges)),
            bytes=self.bytes + sum(map(size, exchanges)),
            errors=self.errors + sum(map(is_error, exchanges)),
            marks=self.marks + len(kept) - len(exchanges),
        )


def is_stream(exchange: Exchange) -> bool:
    """Whether the answer came as a stream of events."""
    response = exchange.response
    return response is not None and (header(response.headers, "content-type") or "").startswith(STREAMS)


def is_error(exchange: Exchange) -> bool:
    """Whether there was no whole answer, or none of success, or its content could not be kept.

    SDKs hang up on whole streams, too.
    """
    whole = exchange.outcome in (Outcome.COMPLETE, Outcome.CLIENT_CLOSED)
    withheld = (exchange.error or "").startswith(WITHHELD)
    return exchange.response is None or exchange.response.status >= 400 or not whole or withheld
