"""What a replay came to, at its end: for people in lines, for jobs in a file."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from abs_replay.cli.saying import say
from abs_replay.errors import UsageError

if TYPE_CHECKING:
    from abs_replay.cassette import Cassette
    from abs_replay.exact_json import Json
    from abs_replay.exchange import Channel
    from abs_replay.player import Miss, Summary

_UNUSED_SHOWN = 10
_NONE: Mapping[str, int] = MappingProxyType({})


def report_of(
    cassette: "Cassette",
    summary: "Summary",
    faults: Mapping[str, int] = _NONE,
    live: Mapping[str, int] = _NONE,
    live_channels: "Collection[Channel]" = (),
) -> dict[str, "Json"]:
    """For `abs check --report` and for jobs: ids, since numbers move when a cassette is edited.

    Of the `unplayable` channels nothing recorded could be asked for: they were live, or refused as recorded.
    """
    from abs_replay.player import refused_channels

    unplayable = sorted(map(str, {*live_channels, *refused_channels(cassette.exchanges)}))
    sometimes: dict[str, Json] = {"faults": dict(faults), "live": dict(live), "unplayable": [*unplayable]}
    return {
        "cassette": cassette.recording.name,
        "recording": cassette.recording.id,
        "used": [exchange.id for exchange in summary.used],
        "unused": [exchange.id for exchange in summary.unused],
        "missed": summary.missed,
        "misses": [_told(miss, cassette) for miss in summary.misses],
        **{key: value for key, value in sometimes.items() if value},
    }


def _told(miss: "Miss", cassette: "Cassette") -> "Json":
    from abs_replay.player.miss import explain

    return {
        "reason": miss.reason.value,
        "channel": str(miss.channel),
        "message": explain(miss, cassette.exchanges),
    }


def write_report(path: Path, report: Mapping[str, "Json"]) -> None:
    """Write it as JSON; raises `UsageError`."""
    try:
        path.write_text(f"{json.dumps(report, indent=2)}\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} can not be written: {error.strerror or error}") from None


def show(summary: "Summary", faults: Mapping[str, int] = _NONE) -> None:
    from abs_replay.reports.totals import plural

    used, unused = len(summary.used), len(summary.unused)
    say(f"{plural(used, 'exchange')} used, {unused} unused, {summary.missed} missed")
    if faults:
        kinds = ", ".join(f"{kind} {count}" for kind, count in faults.items())
        say(f"{plural(sum(faults.values()), 'fault')}: {kinds}")
    for exchange in summary.unused[:_UNUSED_SHOWN]:
        asked = f"{exchange.request.method} {exchange.request.path}"
        say(f"  unused: {asked} on {exchange.channel} (id {exchange.id})")
    if unused > _UNUSED_SHOWN:
        say(f"  and {unused - _UNUSED_SHOWN} more")
