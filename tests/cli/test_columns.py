"""Columns stand under their headings, and no cell controls the terminal."""

import pytest

from abs_replay.cli.columns import columns, length, moment, size
from abs_replay.reports import Screen


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    rows = [("a", "1", "x"), ("名前", "100", "")]

    assert columns(("ID", "COUNT>", "TAGS"), rows, None) == (
        "ID    COUNT  TAGS\na         1  x\n名前    100\n"
    )


def test_lines_are_cut_to_the_screen_and_the_heading_is_dim() -> None:
    shown = columns(("ID", "WORDS"), [("a", "many words and more")], Screen(12, colour=True))

    assert shown == "\x1b[2mID  WORDS\x1b[0m\na   many wo…\n"


HEADINGS = ("ID", "STARTED", "STATUS>", "SENT>", "REQUEST")
ROWS = [
    ("be75ff14-befb-41f9", "2026-11-30 15:44:20", "200", "0 B", "GET /v1/a"),
    ("be75ff14-1111-41f9", "2026-11-30 15:44:21", "–", "12 B", "POST /v1/a/very/long/path"),
]


def test_a_narrow_screen_shows_the_beginnings_of_ids_and_leaves_out_what_it_can_spare() -> None:
    assert columns(HEADINGS, ROWS, Screen(48, colour=False)) == (
        "ID          STATUS  REQUEST\n"
        "be75ff14-b     200  GET /v1/a\n"
        "be75ff14-1       –  POST /v1/a/very/long/path\n"
    )


def test_a_wide_screen_and_a_pipe_show_everything() -> None:
    whole = columns(HEADINGS, ROWS, None)
    assert columns(HEADINGS, ROWS, Screen(100, colour=False)) == whole
    assert all(cell in whole for row in (HEADINGS[:2], *ROWS) for cell in row)


def test_control_characters_are_escaped() -> None:
    assert columns(("ID",), [("\x1b[31mred\n",)], None) == "ID\n\\x1b[31mred\\n\n"


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, "–"), (0, "0 B"), (999, "999 B"), (1000, "1 kB"), (12_345, "12.3 kB"), (5 * 10**9, "5 GB")],
)
def test_sizes_are_short(count: int | None, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, "–"),
        (0.4, "0 ms"),
        (999.9, "1.0 s"),
        (59_990, "1 min 0 s"),
        (200_000, "3 min 20 s"),
        (7_500_000, "2 h 5 min"),
    ],
)
def test_lengths_are_short(milliseconds: float | None, text: str) -> None:
    assert length(milliseconds) == text


@pytest.mark.parametrize("seconds", [1e300, -1e20, float("inf")])
def test_a_time_that_no_calendar_has_is_shown_as_a_number(seconds: float) -> None:
    assert moment(seconds) == f"{seconds:g}"


def test_a_time_that_was_made_up_is_not_shown() -> None:
    assert [moment(seconds) for seconds in (None, 0.0, 1.5)] == ["–"] * 3
    assert moment(86_400.0 * 3).startswith("1970-01-0")
