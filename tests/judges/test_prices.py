"""What tokens cost."""

import pytest

from abs_replay.judges import anthropic, gemini, openai_compatible
from abs_replay.judges.prices import LONG, PRICES, cost_of


@pytest.mark.parametrize(
    ("model", "tokens", "cost"),
    [
        ("claude-haiku-4-5", (1_000_000, 100_000), 1.5),
        ("claude-haiku-4-5-20251001", (1_000_000, 100_000), 1.5),
        ("gpt-5.4-mini-2026-03-17", (1000, 1000), 0.00525),
        ("claude-haiku-5-5", (100_000, 1000), 0.0105),
        ("claude-haiku-5-5", (100_001, 1000), 0.0525005),
        ("llama3", (1000, 1000), None),
        ("", (1, 1), None),
        ("gpt-5.4-mini", (0, 0), 0.0),
    ],
)
def test_a_listed_model_has_a_price_also_as_a_snapshot_and_with_long_prompts(
    model: str, tokens: tuple[int, int], cost: float | None
) -> None:
    found = cost_of(model, *tokens)

    assert found == (None if cost is None else pytest.approx(cost))


def test_a_price_that_is_given_goes_before_the_table() -> None:
    assert cost_of("llama3", 1_000_000, 1_000_000, (1.0, 2.0)) == 3.0
    assert cost_of("claude-haiku-4-5", 1_000_000, 0, (9.0, 9.0)) == 9.0


def test_what_is_asked_by_default_has_a_price() -> None:
    assert {openai_compatible.MODEL, anthropic.MODEL, gemini.MODEL} <= PRICES.keys()
    assert LONG.keys() <= PRICES.keys()
    assert all(0 < price[0] < price[1] for price in PRICES.values())
