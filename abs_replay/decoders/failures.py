"""Why an exchange has no good answer, in words: the connection, the status, the error body."""

from collections.abc import Callable
from typing import Any, Final

from abs_replay.decoders.content import Content
from abs_replay.decoders.fields import error_text, fault, parse_or_none
from abs_replay.exchange import Exchange

UNFINISHED: Final = "the stream ended before its last event"
_LONGEST: Final = 300  # characters of an error body that speaks no known shape


def failure(
    exchange: Exchange, content: Content, words_of: Callable[[Any], str | None] = error_text
) -> str | None:
    """Give the reason why this exchange failed as a whole, or None where a good answer began.

    `words_of` finds the words in an error's JSON body.
    """
    if exchange.response is None:
        reason = f": {exchange.error}" if exchange.error else ""
        return f"no answer ({exchange.outcome}){reason}"
    status = exchange.response.status
    if status < 400:
        return None
    words = words_of(parse_or_none(content.data)) or _packed(content) or content.text.strip()[:_LONGEST]
    return f"HTTP {status}: {words}" if words else f"HTTP {status}"


def no_json(content: Content) -> str | None:
    """Say why an answer can not be read, or None where it is JSON."""
    wrong = fault(content.data) if content.data else "it is empty"
    if wrong and content.remarks:
        return f"the answer can not be read: {'; '.join(content.remarks)}"
    return f"the answer is no JSON ({wrong})" if wrong else None


def unreadable(error: str | None, content: Content) -> str | None:
    """Give an error with what was wrong with the answer's bytes, where a stream's end is missing for that."""
    if error != UNFINISHED or not content.remarks:
        return error
    return f"{error}: {'; '.join(content.remarks)}"


def _packed(content: Content) -> str | None:
    """Say why a body is no text, where its content-encoding could not be undone."""
    if not content.remarks:
        return None
    try:
        content.data.decode()
    except UnicodeDecodeError:
        return f"its body can not be read: {'; '.join(content.remarks)}"
    return None
