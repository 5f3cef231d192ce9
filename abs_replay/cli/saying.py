"""What commands say beside their reports: lines that no terminal obeys, whatever names and texts are in them.

A name with ESC [ 2 J clears a screen, one with U+202E turns a line round, and a newline makes one message
two; click, on the other hand, cuts escape sequences out of what is piped, which can make a message untrue.
"""

import click


def say(line: str, *, err: bool = True) -> None:
    """Print one line, with what would control a terminal, newlines too, written as `\\x1b`."""
    click.echo(harmless(line), err=err)


def say_lines(text: str, *, err: bool = True) -> None:
    """Print text that has several lines on purpose; names in it have been made `harmless` before."""
    for line in text.split("\n"):
        say(line, err=err)


def harmless(line: str) -> str:
    """Give a line with everything escaped that would control a terminal."""
    if line.isascii() and line.isprintable():
        return line
    from abs_replay.reports.cells import escaped  # which loads rich: nearly no line needs it

    return escaped(line)
