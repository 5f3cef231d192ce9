"""How an answer of Cohere ends, in both versions of its API: why, and what it cost.

https://docs.cohere.com/reference/chat (finish_reason, usage; meta in version 1)
"""

from typing import Any, Final

from abs_replay.decoders.fields import obj
from abs_replay.decoders.usage import usage
from abs_replay.trace import Usage

_WHOLE: Final = (None, "COMPLETE", "STOP_SEQUENCE", "TOOL_CALL")
_FAILED: Final = ("ERROR", "TIMEOUT")


def ending(reason: str | None) -> tuple[str, ...]:
    """Remark that an answer was cut."""
    return () if reason in _WHOLE else (f"finish_reason {reason}",)


def broken(reason: str | None) -> str | None:
    """Say that an answer failed (ERROR, ERROR_TOXIC, ERROR_LIMIT, TIMEOUT)."""
    return f"finish_reason {reason}" if reason and reason.startswith(_FAILED) else None


def cost(value: Any) -> Usage | None:
    """Read the tokens that the model saw and made; those billed where nothing else is told."""
    fields = obj(obj(value).get("tokens")) or obj(obj(value).get("billed_units"))
    counted = {**fields, "cached_tokens": obj(value).get("cached_tokens")}
    return usage(counted, ("input_tokens",), ("output_tokens",))
