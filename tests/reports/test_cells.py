"""Text in terminal cells, and where it is shown."""

import io
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from abs_replay.reports import Screen, cells
from abs_replay.reports.cells import centred, cut, encodable, escaped, fitted, right, wrapped

TEXTS = st.text(st.sampled_from("ab 日本🙂é…\u0301\u200d├") | st.characters(), max_size=40)


@given(TEXTS)
def test_what_was_escaped_controls_nothing_and_can_be_written(text: str) -> None:
    shown = escaped(text)

    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in shown)
    shown.encode("utf-8")


def test_every_letter_that_is_measured_without_rich_is_as_wide_as_rich_says() -> None:
    assert all(cells.cell_len(chr(code)) == cell_len(chr(code)) for code in range(0x400))


@given(TEXTS)
def test_a_text_is_as_wide_as_rich_says(text: str) -> None:
    assert cells.cell_len(text) == cell_len(text)


@given(TEXTS.map(escaped), st.integers(1, 30))
@example("\u200d", 1)
@example("日本\u200d日", 5)
def test_fitted_text_is_exactly_as_wide_as_asked(text: str, width: int) -> None:
    assert cell_len(fitted(text, width)) == width
    assert cell_len(cut(text, width)) <= width


@given(TEXTS.map(escaped), st.integers(2, 30))
def test_no_wrapped_line_is_wider_than_asked_and_no_word_is_lost(text: str, width: int) -> None:
    lines = wrapped(text, width)

    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_padding_counts_cells_not_characters() -> None:
    assert centred("✅", 8) == "   ✅   "
    assert centred("→", 8) == "   →    "
    assert right("日本", 6) == "  日本"


@given(st.text())
def test_what_an_encoding_lacks_is_escaped_as_json_has_it(text: str) -> None:
    written = encodable(json.dumps(text, ensure_ascii=False), "ascii")

    assert json.loads(written.encode("ascii")) == text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "colour"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_a_terminal_shows_colours_unless_it_is_told_not_to(environment: dict[str, str], colour: bool) -> None:
    screen = Screen.of(Terminal(), environment)

    assert screen is not None
    assert screen.colour is colour


def test_a_pipe_is_no_screen() -> None:
    assert Screen.of(io.StringIO(), {}) is None
