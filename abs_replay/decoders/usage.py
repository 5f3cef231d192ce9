"""What an answer cost, in tokens, as the vendor counts them."""

from collections.abc import Mapping, Sequence
from typing import Any

from abs_replay.decoders.fields import count, obj
from abs_replay.trace import Usage

# Where the vendors tell what of it came from their cache, and what was thought and not said:
# OpenAI (completions, Responses, Realtime), DeepSeek, Anthropic, Gemini, Cohere.
_CACHED = (
    "prompt_tokens_details.cached_tokens",
    "input_tokens_details.cached_tokens",
    "input_token_details.cached_tokens",
    "prompt_cache_hit_tokens",
    "cache_read_input_tokens",
    "cachedContentTokenCount",
    "cached_tokens",
)
_REASONING = (
    "completion_tokens_details.reasoning_tokens",
    "output_tokens_details.reasoning_tokens",
    "output_tokens_details.thinking_tokens",
    "thoughtsTokenCount",
)


def usage(counters: Mapping[str, Any], asked: Sequence[str], made: Sequence[str]) -> Usage | None:
    """Add up the counters of what went in and of what came out; None where none of them says a thing."""
    went_in, came_out = (sum(count(counters.get(key)) for key in keys) for keys in (asked, made))
    if not went_in and not came_out:
        return None
    return Usage(went_in, came_out, cached(counters), reasoned(counters))


def cached(counters: Mapping[str, Any]) -> int:
    """Count what of the tokens that went in was read from a cache."""
    return _first(counters, _CACHED)


def reasoned(counters: Mapping[str, Any]) -> int:
    """Count what of the tokens that came out was thought and not said."""
    return _first(counters, _REASONING)


def _first(counters: Mapping[str, Any], paths: Sequence[str]) -> int:
    for path in paths:
        outer, dot, inner = path.rpartition(".")
        found = count((obj(counters.get(outer)) if dot else counters).get(inner))
        if found:
            return found
    return 0
