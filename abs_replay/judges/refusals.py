"""What a service's refusal says, in one line, and what there is to do about it."""

import json
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Origins:
    """Where somebody said what a wire has, for advice. A wire may have its own as `origins`."""

    address: str = "--judge-base-url"
    key: str = "--judge-api-key, or the vendor's variable"
    model: str = "--judge-model"


_LONGEST: Final = 300  # characters of a service's words


def problem_of(status: int, text: str) -> str:
    """What the service says, in one line."""
    words = " ".join(error_of(text).split())
    return f"status {status}: {words[:_LONGEST] or 'no words'}"


def error_of(text: str) -> str:
    """Find the message in the body of an error; all three vendors write `{"error": {"message": ..}}`."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, list) and value:
        value = value[0]
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        return str(error.get("message") or text)
    return str(error)


def advice(status: int, text: str, origins: Origins) -> str | None:
    """What to do about what no other question would fare better with."""
    if status == 401 or (status == 400 and "API_KEY_INVALID" in text) or "API key not valid" in text:
        return f"is the key right ({origins.key})?"
    if status == 429 and "PerDay" in text:  # Gemini's, with a wait that is much too short
        return "the day's quota is used up"
    if status == 403:
        return "the key may not use this model or endpoint"
    if status in (301, 302, 303, 307, 308, 404, 405, 410):
        return f"is the model's name right ({origins.model}), and the address ({origins.address})?"
    if status == 402 or "insufficient_quota" in text or "credit balance is too low" in text:
        return "the account has no credit left"
    return None
