"""How an answer of Cohere ends, in both versions of its API: why, and what it cost.

https://docs.cohere.com/reference/chat (finish_reason, usage; meta in version 1)
"""

from typing import Any, Final

from abs_replay.decoders.fields import obj
from abs_replay.exact_json import Number
from abs_replay.trace import Usage

_WHOLE: Final = (None, "COMPLETE", "STOP_SEQUENCE", "TOOL_CALL")
_FAILED: Final = ("ERROR", "TIMEOUT")
_MOST: Final = 10**12  # tokens; more are no count


def ending(reason: str | None) -> tuple[str, ...]:
    """Remark that an answer was cut."""
    return () if reason in _WHOLE else (f"finish_reason {reason}",)


def broken(reason: str | None) -> str | None:
    """Say that an answer failed (ERROR, ERROR_TOXIC, ERROR_LIMIT, TIMEOUT)."""
    return f"finish_reason {reason}" if reason and reason.startswith(_FAILED) else None


def usage(value: Any) -> Usage | None:
    """Read the tokens that the model saw and made; those billed where nothing else is told."""
    fields = obj(obj(value).get("tokens")) or obj(obj(value).get("billed_units"))
    asked, made = _whole(fields.get("input_tokens")), _whole(fields.get("output_tokens"))
    return Usage(asked, made) if asked or made else None


def _whole(value: Any) -> int:
    """Read a count, which the vendor's schema has as any number (12.0)."""
    if isinstance(value, bool) or not isinstance(value, int | Number):
        return 0
    return int(value) if 0 < value < _MOST else 0
