"""Lines come out as they went in, wherever the pieces end."""

from hypothesis import given
from hypothesis import strategies as st

from abs_replay.shim.lines import Line, Lines

PIECES = st.lists(st.binary(max_size=8) | st.just(b"\n") | st.just(b"a\nb"))


@given(PIECES)
def test_lines_are_those_of_the_whole_however_it_is_cut(pieces: list[bytes]) -> None:
    lines = Lines()
    found = [line for piece in pieces for line in lines.feed(piece)] + lines.end()
    expected = b"".join(pieces).split(b"\n")
    assert [line.data for line in found] == (expected if expected[-1] else expected[:-1])
    assert not any(line.torn or line.size for line in found)


def test_a_line_that_is_too_long_is_kept_cut_and_the_next_whole() -> None:
    lines = Lines(4)
    assert lines.feed(b"123") == []
    assert lines.feed(b"456\n12345\nab\n") == [Line(b"1234", 6), Line(b"1234", 5), Line(b"ab")]


def test_a_line_that_bytes_are_missing_of_is_marked_and_the_next_is_not() -> None:
    lines = Lines()
    lines.feed(b'{"a"')
    lines.miss()
    assert lines.feed(b"1}\n{}\n") == [Line(b'{"a"1}', torn=True), Line(b"{}")]
    lines.miss()
    assert lines.end() == [Line(b"", torn=True)]
