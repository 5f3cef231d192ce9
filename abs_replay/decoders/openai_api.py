"""What OpenAI's two APIs, and the many servers that imitate them, have in common.

Azure names the model in the path: https://learn.microsoft.com/azure/ai-services/openai/reference
"""

import re
from typing import Any, Final
from urllib.parse import unquote

from abs_replay.decoders.fields import error_text, obj, text, unwrapped
from abs_replay.exchange import Exchange

_DEPLOYMENT: Final = re.compile(r"/deployments/([^/]+)/")
_LONGEST: Final = 300  # characters of what a gateway quotes


def path(exchange: Exchange) -> str:
    """Give the request's path without a slash at its end."""
    return exchange.request.path.rstrip("/")


def asked_model(exchange: Exchange, body: Any) -> str | None:
    """Give the model that a request asks for, by its body, else by its path."""
    named = _DEPLOYMENT.search(exchange.request.path)
    return text(obj(body).get("model")) or (unquote(named[1]) if named else None)


def error_words(body: Any) -> str | None:
    """Find the words in an error body, with what the server quotes of the cause.

    Groq quotes the call that the model got wrong (console.groq.com/docs/tool-use), OpenRouter the
    provider's own words (openrouter.ai/docs/api-reference/errors).
    """
    fields = unwrapped(body)
    words, error = error_text(fields), obj(fields.get("error"))
    generated, raw = text(error.get("failed_generation")), text(obj(error.get("metadata")).get("raw"))
    quoted = f"failed_generation {generated}" if generated else raw
    if not words or not quoted:
        return words
    return f"{words} ({' '.join(quoted.split())[:_LONGEST]})"
