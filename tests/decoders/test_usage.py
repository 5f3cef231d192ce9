"""Tokens are counted as each vendor tells them, and what of them was cached or thought stands apart."""

from typing import Any

import pytest

from abs_replay.decoders.usage import usage
from abs_replay.trace import Usage

CHAT = (("prompt_tokens",), ("completion_tokens",))
RESPONSES = (("input_tokens",), ("output_tokens",))
ANTHROPIC = (("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"), ("output_tokens",))
GEMINI = (("promptTokenCount",), ("candidatesTokenCount", "thoughtsTokenCount"))


@pytest.mark.parametrize(
    ("names", "counters", "counted"),
    [
        (
            CHAT,
            {
                "prompt_tokens": 30,
                "completion_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 20, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            Usage(30, 9, 20, 5),
        ),
        (CHAT, {"prompt_tokens": 30, "prompt_cache_hit_tokens": 20}, Usage(30, 0, 20)),
        (
            RESPONSES,
            {
                "input_tokens": 30,
                "output_tokens": 9,
                "input_tokens_details": {"cached_tokens": 20},
                "output_tokens_details": {"reasoning_tokens": 5},
            },
            Usage(30, 9, 20, 5),
        ),
        (RESPONSES, {"input_tokens": 30, "input_token_details": {"cached_tokens": 20}}, Usage(30, 0, 20)),
        (
            ANTHROPIC,
            {
                "input_tokens": 3,
                "cache_creation_input_tokens": 7,
                "cache_read_input_tokens": 20,
                "output_tokens": 9,
                "output_tokens_details": {"thinking_tokens": 5},
            },
            Usage(30, 9, 20, 5),
        ),
        (
            GEMINI,
            {
                "promptTokenCount": 30,
                "candidatesTokenCount": 4,
                "thoughtsTokenCount": 5,
                "cachedContentTokenCount": 20,
            },
            Usage(30, 9, 20, 5),
        ),
        (CHAT, {"prompt_tokens": 30, "prompt_tokens_details": "many"}, Usage(30, 0)),
        (CHAT, {"prompt_tokens": 30, "prompt_tokens_details": {"cached_tokens": None}}, Usage(30, 0)),
        (CHAT, {"prompt_tokens_details": {"cached_tokens": 20}}, None),
    ],
)
def test_what_was_cached_or_thought_is_told_apart(
    names: tuple[tuple[str, ...], tuple[str, ...]], counters: dict[str, Any], counted: Usage | None
) -> None:
    assert usage(counters, *names) == counted
