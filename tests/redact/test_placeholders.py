"""What is looked for elsewhere, and in which forms it stands there."""

import json
from urllib.parse import quote

import pytest

from abs_replay.redact.placeholders import FEW, Placeholders


def learned(*secrets: str) -> Placeholders:
    placeholders = Placeholders()
    for secret in secrets:
        placeholders.of("key", secret.encode())
    return placeholders


def found(placeholders: Placeholders, text: str) -> list[str]:
    data = text.encode()
    return [data[start:stop].decode() for start, stop, _ in placeholders.found(data)]


@pytest.mark.parametrize("secret", ["my secret-0001", 'say "secret-0001"', "secret-0001/x"])
@pytest.mark.parametrize("others", [0, FEW + 1])
def test_a_secret_is_found_as_it_is_in_a_url_and_in_json_among_few_and_many(secret: str, others: int) -> None:
    placeholders = learned(secret, *(f"another-secret-{number:03}" for number in range(others)))
    forms = {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}
    assert set(found(placeholders, " it is ".join(["x" * 300, *forms]))) == forms


def test_among_many_no_secret_is_found_in_a_text_that_has_none() -> None:
    placeholders = learned(*(f"another-secret-{number:03}" for number in range(FEW + 1)))
    assert found(placeholders, "another secret, and short words " * 20) == []


def test_what_holds_a_placeholder_is_sought_as_it_is() -> None:
    secret = "session <key:1> of 2026-11-30"
    placeholders = learned(secret)
    assert found(placeholders, f"{secret} {quote(secret)}") == [secret]
