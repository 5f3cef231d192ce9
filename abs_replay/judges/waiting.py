"""How long a service asks to wait before it is called again, in seconds, in the ways that vendors say it."""

import email.utils
import math
import re
import time
from collections.abc import Mapping
from typing import Final

# Gemini says it in the body: {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
_RETRY_DELAY: Final = re.compile(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')


def asked_to_wait(headers: Mapping[str, str], text: str = "") -> float | None:
    """Give the wait, None where none is said; `retry-after` is seconds or a date (RFC 9110 10.2.3)."""
    milliseconds = _number(headers.get("retry-after-ms"))  # OpenAI, Azure
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("retry-after")
    seconds = _number(said)
    if seconds is None and said:
        seconds = _until(said)
    if seconds is None and (found := _RETRY_DELAY.search(text)):
        seconds = float(found[1])
    return seconds


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _until(date: str) -> float | None:
    try:
        moment = email.utils.parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return max(0.0, moment - time.time())
