"""Bytes inside JSON have one name, however they are written."""

import base64
from collections.abc import Callable

import pytest

from abs_replay.decoders import media

BYTES = bytes(range(250, 256)) * 3 + b"x"


@pytest.mark.parametrize("write", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("padding", ["", "=="])
def test_both_alphabets_with_and_without_padding_name_the_same_bytes(
    write: Callable[[bytes], bytes], padding: str
) -> None:
    assert media.named(write(BYTES).decode().rstrip("=") + padding) == media.name(BYTES)


@pytest.mark.parametrize("text", ["no base64!", "a", "\ud800"])
def test_what_is_no_base64_is_named_as_the_text_that_it_is(text: str) -> None:
    assert media.named(text) == media.name(text.encode("utf-8", "surrogatepass"))
