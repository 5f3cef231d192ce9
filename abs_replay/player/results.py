"""What becomes of a request in replay: an exchange that answers it, or a miss; and the sum of it all."""

from dataclasses import dataclass
from enum import StrEnum

from abs_replay.exchange import Channel, Exchange, Request, Response
from abs_replay.matching.differences import Difference
from abs_replay.matching.renaming import Pair
from abs_replay.spec.ignoring import Ignore

# Every miss counts; so many are kept with their reasons. A client in a loop must not fill the memory.
KEPT_MISSES = 100


class Reason(StrEnum):
    """Why a request has no answer."""

    UNKNOWN = "unknown"  # nobody recorded it
    USED_UP = "used_up"  # recorded, and played as often as recorded
    AMBIGUOUS = "ambiguous"  # several recorded ones with different answers fit equally
    WEBSOCKET = "websocket"  # recorded as one, and asked as plain HTTP
    MESSAGE = "message"  # said on a WebSocket, where nobody said it then
    LIVE_WEBSOCKET = "live_websocket"  # to be opened on a channel that is asked live
    UNREADABLE = "unreadable"  # no HTTP/1.1: TLS, HTTP/2, or a path too long


class How(StrEnum):
    """Why an exchange answers a request."""

    SAME_BYTES = "the same bytes"
    SAME_MEANING = "the same meaning"  # in canonical form, but for what is ignored
    RENAMED = "the same but for fresh values"
    SAME_TURN = "the same turn"  # under `loose`
    RESUMED = "the rest"  # of a stream, after the event that the client had last


@dataclass(frozen=True, slots=True)
class Played:
    """The recorded exchange that answers, its number, and the response as it must go out.

    `response` is that of the exchange itself unless ids in it follow the request; `pairs` are the values
    that stand for recorded ones.
    """

    number: int
    exchange: Exchange
    response: Response | None
    how: How
    pairs: tuple[Pair, ...] = ()


@dataclass(frozen=True, slots=True)
class Miss:
    """A request without answer, and what helps to see why.

    `nearest` is the number of the recorded exchange that comes closest, `candidates` those of an
    ambiguous one; `recorded` says how often a used-up request was recorded. `ignoring` are the rules with
    which the nearest would have matched. Of `request` and `differences` secrets are masked.
    """

    reason: Reason
    request: Request
    channel: Channel
    nearest: int | None = None
    differences: tuple[Difference, ...] = ()
    candidates: tuple[int, ...] = ()
    recorded: int = 0
    ignoring: tuple[Ignore, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """What was played so far, over all scopes; `misses` are the first `KEPT_MISSES` of `missed`."""

    used: tuple[Exchange, ...]
    unused: tuple[Exchange, ...]
    missed: int
    misses: tuple[Miss, ...]
