"""What models cost: US dollars a million tokens, in and out. What is not listed has no known price.

List prices of the vendors' own endpoints, without discounts (cached input, batches, promotions), as of
`AS_OF`:
    https://developers.openai.com/api/docs/pricing
    https://platform.claude.com/docs/en/about-claude/pricing
    https://ai.google.dev/gemini-api/docs/pricing
A gateway, or a contract, may charge otherwise: `price` of the configuration goes before this table.
"""

import re
from collections.abc import Mapping
from typing import Final

type Price = tuple[float, float]

AS_OF: Final = "2026-11"
PRICES: Final[Mapping[str, Price]] = {
    "gpt-6-sol": (2.0, 10.0),
    "gpt-6-luna": (0.1, 0.5),
    "gpt-5.6-terra": (2.0, 12.0),
    "gpt-5.6-luna": (0.2, 1.2),
    "gpt-5.4": (2.5, 15.0),
    "gpt-5.4-mini": (0.75, 4.5),
    "gpt-4.1": (2.0, 8.0),
    "gpt-4.1-mini": (0.4, 1.6),
    "gpt-4o": (2.5, 10.0),
    "gpt-4o-mini": (0.15, 0.6),
    "claude-opus-5-5": (4.0, 20.0),
    "claude-opus-5": (5.0, 25.0),
    "claude-sonnet-5-5": (2.0, 10.0),
    "claude-sonnet-5": (2.0, 10.0),
    "claude-sonnet-4-6": (3.0, 15.0),
    "claude-sonnet-4-5": (3.0, 15.0),
    "claude-haiku-5-5": (0.1, 0.5),
    "claude-haiku-4-5": (1.0, 5.0),
    "gemini-3.7-flash": (1.5, 7.5),
    "gemini-3.5-flash-lite": (0.3, 2.5),
}
# Prompts of more tokens than this cost so, all of them.
LONG: Final[Mapping[str, tuple[int, Price]]] = {
    "gpt-6-luna": (272_000, (0.2, 0.75)),
    "gpt-5.6-terra": (272_000, (4.0, 18.0)),
    "gpt-5.6-luna": (272_000, (0.4, 1.8)),
    "claude-haiku-5-5": (100_000, (0.5, 2.5)),
}

# A dated snapshot costs what its model does: gpt-5.4-mini-2026-03-17, claude-haiku-4-5-20251001.
_SNAPSHOT: Final = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")


def cost_of(model: str, input_tokens: int, output_tokens: int, price: Price | None = None) -> float | None:
    """Give what tokens cost, None where the price is not known; `price` goes before the table."""
    found = price or _listed(_SNAPSHOT.sub("", model), input_tokens)
    if found is None:
        return None
    return (input_tokens * found[0] + output_tokens * found[1]) / 1_000_000


def _listed(model: str, input_tokens: int) -> Price | None:
    most, long = LONG.get(model, (input_tokens, None))
    return long if long and input_tokens > most else PRICES.get(model)
