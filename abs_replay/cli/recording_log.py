"""What `abs record` says on standard error: words, or JSON lines, or problems alone.

Each JSON line is an event with its time in Unix seconds: `listening`, `exchange`, `mark`, `warning`,
`problem`, `ended`.
"""

import json
import sys
import time
from threading import Lock
from typing import TYPE_CHECKING

import click

from abs_replay.cli.saying import harmless
from abs_replay.exchange import Exchange, Mark

if TYPE_CHECKING:
    from abs_replay.summary import Summary


class Log:
    """Says events in the form that was asked for, and keeps a status line for people who watch."""

    def __init__(self, quiet: bool, as_json: bool) -> None:
        self._quiet, self._as_json = quiet, as_json
        watched = not quiet and not as_json and sys.stderr.isatty()
        self._over = "\r\x1b[K" if watched else ""  # writes over the status
        self._shown = ""
        self._guard = Lock()  # the writer thread says what was kept, others the rest

    def say(self, event: str, words: str, **fields: object) -> None:
        if self._quiet and event != "problem":
            return
        line = json.dumps({"event": event, "time": time.time(), **fields}) if self._as_json else words
        with self._guard:
            self._shown = ""
            click.echo(self._over + "\n".join(map(harmless, line.split("\n"))), err=True)

    def problem(self, message: str) -> None:
        self.say("problem", f"abs: {harmless(message)}", message=message)

    def kept(self, exchange: Exchange) -> None:
        if self._as_json:
            from abs_replay.cli.recording_control import facts_of

            self.say("exchange", "", **facts_of(exchange))

    def marked(self, mark: Mark) -> None:
        named = f", called {mark.name!r}" if mark.name else ""
        self.say("mark", f"mark set: a new conversation begins here{named}", at=mark.at, name=mark.name)

    def status(self, summary: "Summary", open_now: int = 0) -> None:
        """For people who watch; what they type meanwhile is left alone while nothing changes."""
        line = status_line(summary, open_now)
        with self._guard:
            if self._over and line != self._shown:
                self._shown = line
                click.echo(f"{self._over}{line} ", nl=False, err=True)


def status_line(summary: "Summary", open_now: int) -> str:
    """Put what a running recording has come to into one line."""
    from abs_replay.reports.totals import plural

    more = (
        (open_now, f"{open_now} open"),
        (summary.marks, plural(summary.marks, "mark")),
        (summary.spooled, f"{summary.spooled} by way of the spool"),
        (summary.lost, f"{summary.lost} LOST"),
    )
    parts = [counted(summary), f"{summary.bytes:,} bytes", *(words for count, words in more if count)]
    return ", ".join(parts)


def counted(summary: "Summary") -> str:
    """Put a recording's counts into words."""
    from abs_replay.reports.totals import plural

    return f"{plural(summary.exchanges, 'exchange')}, {plural(summary.errors, 'error')}"
