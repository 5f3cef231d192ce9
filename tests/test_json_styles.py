"""JSON styles: what the encoder can not write is refused, and a stand-in is put back."""

import pytest

from abs_replay.exact_json import Number
from abs_replay.json_styles import STYLES, stand_in, write


def test_what_is_no_json_is_refused_in_words() -> None:
    with pytest.raises(TypeError, match="set is no JSON"):
        stand_in({1})


@pytest.mark.parametrize("style", STYLES)
def test_a_number_is_written_as_it_came_in_every_style(style: str) -> None:
    assert "0.10" in write({"a": [Number("0.10")]}, style)
