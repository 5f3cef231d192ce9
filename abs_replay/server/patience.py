"""How long an answer tells its client to wait before it asks again, at the pace of the replay.

A replay that waits for nothing must not make its client wait either: `retry-after` (RFC 9110 §10.2.3) says
0 then, and so do the times at which a rate limit is lifted. A date becomes seconds, since it has passed.
The cassette keeps what was recorded; answers other than errors go out as they are but for `retry-after`.
"""

import math
import re
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from abs_replay.exchange import Response

_RESET = re.compile(r"(?:[a-z0-9-]+-)?ratelimit-(?:[a-z0-9-]+-)?reset(?:-[a-z0-9-]+)?")
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
_DURATION = re.compile(
    r"(?:\d{1,9}(?:\.\d{1,9})?(?:ms|us|µs|ns|h|m|s|d))+"
)  # Go's, which OpenAI writes: 6m0s
_PIECE = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s|d)")
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_EPOCH = 1_000_000_000  # larger numbers are moments, and smaller ones seconds to wait


def in_its_time(response: Response, started_at: float, speed: float | None) -> Response:
    """The response with its waits at the pace of the replay; itself where it has none."""
    headers = tuple(
        (name, _value(name.lower(), value, response.status, started_at, speed))
        for name, value in response.headers
    )
    return response if headers == response.headers else replace(response, headers=headers)


def _value(name: str, value: str, status: int, started_at: float, speed: float | None) -> str:
    if name == "retry-after":
        return _retry_after(value, started_at, speed)
    if status < 400:
        return value
    if name == "retry-after-ms" and _NUMBER.fullmatch(value):
        return _scaled(value, speed)
    if "reset" in name and _RESET.fullmatch(name):
        return _reset(value, started_at, speed)
    return value


def _retry_after(value: str, started_at: float, speed: float | None) -> str:
    if _NUMBER.fullmatch(value):
        return _scaled(value, speed)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return value
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return _scaled(str(max(0, math.ceil(moment.timestamp() - started_at))), speed)


def _scaled(value: str, speed: float | None) -> str:
    """Whole numbers stay whole, as the standard has them, and no wait becomes longer than its share."""
    if speed is None:
        return "0"
    if speed == 1:
        return value
    wait = float(value) / speed
    return f"{wait:.3f}" if "." in value else str(math.floor(wait))


def _reset(value: str, started_at: float, speed: float | None) -> str:
    """Durations follow the pace. Moments do so only where nothing waits: they are over at once."""
    if _NUMBER.fullmatch(value):
        if float(value) < _EPOCH:
            return _scaled(value, speed)
        return value if speed is not None else str(min(int(float(value)), int(started_at)))
    if _DURATION.fullmatch(value):
        return _duration(value, speed)
    return value if speed is not None else _passed(value, started_at)


def _duration(value: str, speed: float | None) -> str:
    if speed is None or speed == 1:
        return "0s" if speed is None else value
    wait = sum(float(number) * _SECONDS[unit] for number, unit in _PIECE.findall(value)) / speed
    return f"{wait:.3f}s" if wait >= 1 else f"{wait * 1000:.0f}ms"


def _passed(value: str, started_at: float) -> str:
    """Anthropic's moments (RFC 3339): the one at which the request was made, when it is over."""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    begun = datetime.fromtimestamp(started_at, UTC)
    return value if moment <= begun else begun.strftime("%Y-%m-%dT%H:%M:%SZ")
