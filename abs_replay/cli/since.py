"""Moments as flags name them: a date, a time, or how long ago."""

from datetime import datetime, timedelta

from abs_replay.errors import UsageError

AGO = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def since(text: str, now: datetime, flag: str = "--since") -> float:
    """Read `30m`, `12h`, `7d`, `2w` ago, or a date or time of ISO 8601 (local, without a zone)."""
    if text[:-1].isdecimal() and len(text) < 8 and text[-1] in AGO:
        return (now - timedelta(**{AGO[text[-1]]: int(text[:-1])})).timestamp()
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{flag} {text!r}: say a date (2026-05-31), a time, or 30m, 12h, 7d, 2w") from None
