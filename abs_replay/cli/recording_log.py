"""What `abs record` says on standard error: words, or JSON lines, or problems alone."""

import json
import sys
from typing import TYPE_CHECKING

import click

from abs_replay.cli.saying import harmless
from abs_replay.exchange import Exchange

if TYPE_CHECKING:
    from abs_replay.recorder import Summary


class Log:
    """Says events in the form that was asked for, and keeps a status line for people who watch."""

    def __init__(self, quiet: bool, as_json: bool) -> None:
        self._quiet, self._as_json = quiet, as_json
        watched = not quiet and not as_json and sys.stderr.isatty()
        self._over = "\r\x1b[K" if watched else ""  # writes over the status

    def say(self, event: str, words: str, **fields: object) -> None:
        if self._quiet and event != "problem":
            return
        line = json.dumps({"event": event, **fields}) if self._as_json else words
        click.echo(self._over + "\n".join(map(harmless, line.split("\n"))), err=True)

    def problem(self, message: str) -> None:
        self.say("problem", f"abs: {harmless(message)}", message=message)

    def kept(self, exchange: Exchange) -> None:
        if self._as_json:
            self.say("exchange", "", **_facts(exchange))

    def status(self, summary: "Summary") -> None:
        """For people who watch."""
        if self._over:
            click.echo(f"{self._over}{counted(summary)}, {summary.bytes:,} bytes ", nl=False, err=True)


def _facts(exchange: Exchange) -> dict[str, object]:
    response = exchange.response
    return {
        "id": exchange.id,
        "channel": str(exchange.channel),
        "method": exchange.request.method,
        "target": exchange.request.target,
        "status": response.status if response else None,
        "outcome": exchange.outcome.value,
        "ended_ms": exchange.ended_ms,
    }


def counted(summary: "Summary") -> str:
    """Put a recording's counts into words."""
    from abs_replay.reports.totals import plural

    return f"{plural(summary.exchanges, 'exchange')}, {plural(summary.errors, 'error')}"
