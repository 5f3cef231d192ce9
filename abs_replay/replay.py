"""A cassette served around a block of Python: what `abs replay -- COMMAND` is to a program.

with abs_replay.replaying("refund.cassette.json") as replay:
    client = OpenAI(base_url=replay.url("llm"), api_key="none")

Each channel is served on loopback, on a free port, by a thread. What was asked is logged, with why it was
answered. At the end `ReplayMiss` is raised where anything was asked that nobody recorded, even if the
client swallowed it; an error of the block's own is passed on with a note of it.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Literal, Self

from abs_replay.cassette import Cassette, loads
from abs_replay.channels import replay_environment
from abs_replay.errors import CassetteError, ReplayMiss, SpecError, UsageError
from abs_replay.exact_json import Json, dumps
from abs_replay.exchange import Channel, Exchange, Request, Upstream
from abs_replay.matching import Match
from abs_replay.player import Miss, Played, Player
from abs_replay.player.miss import explain, explain_played
from abs_replay.reports.totals import plural
from abs_replay.server import ReplayServer
from abs_replay.spec import ignoring
from abs_replay.spec.configuration import find
from abs_replay.spec.ignoring import Matching
from abs_replay.spec.yaml_nodes import read as read_yaml

type Wanted = Literal["strict", "canonical", "loose"] | Mapping[str, Json]

KEPT = 10_000  # requests in the log; a client in a loop must not fill the memory
SHOWN = 10  # misses, and unused exchanges, that a message tells of


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of the log. `answered_by` is the id of the recorded exchange, None for a miss.

    `why` says in words how it matched, or what is nearest and what differs.
    """

    channel: str
    request: Request
    answered_by: str | None
    why: str

    @property
    def missed(self) -> bool:
        return self.answered_by is None


class Replay:
    """A cassette that is served while the block runs; see `replaying`."""

    def __init__(self, cassette: Cassette, matching: Matching, fail_missed: bool, fail_unused: bool) -> None:
        self.cassette = cassette
        self._fail_missed, self._fail_unused = fail_missed, fail_unused
        self._log: list[Asked] = []
        self._player = Player(cassette, Match(matching.mode or Match.CANONICAL), matching.ignore)
        self._server = ReplayServer(self._player, on_miss=self._note_miss, on_played=self._note_played)
        self.addresses: Mapping[Channel, str] = {}
        self._environment: dict[str, str] = {}

    # -- where it is

    @property
    def urls(self) -> Mapping[str, str]:
        """The base URL of every channel, by its name: `llm:openai`, `tool:Orders`, `agent`."""
        return MappingProxyType({str(channel): url for channel, url in self.addresses.items()})

    def url(self, channel: str) -> str:
        """The base URL of a channel, by its name, or by its role where there is one such (`llm`)."""
        return self.addresses[chosen(tuple(self.addresses), channel)]

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that `abs replay -- COMMAND` would set; keys that are missing are placeholders."""
        return MappingProxyType(self._environment)

    # -- what came

    @property
    def requests(self) -> tuple[Asked, ...]:
        """What was asked so far, in the order in which it was looked up."""
        return tuple(self._log)

    @property
    def misses(self) -> tuple[Asked, ...]:
        """What was asked and is not recorded."""
        return tuple(asked for asked in self._log if asked.missed)

    @property
    def unused(self) -> tuple[Exchange, ...]:
        """What is recorded and was not asked so far."""
        return self._player.summary().unused

    def reset(self) -> None:
        """Begin the play again; what was asked stays in the log, what was used stays used."""
        self._player.reset()

    def failure(self, *, with_unused: bool = True) -> str | None:
        """Say what is wrong with what was asked so far; None where nothing is."""
        summary, name = self._player.summary(), self.cassette.recording.name
        told: list[str] = []
        if self._fail_missed and summary.missed:
            told.append(f"{plural(summary.missed, 'request')} missed in cassette {name}:")
            told += [asked.why for asked in self.misses[:SHOWN]]
        if self._fail_unused and with_unused and summary.unused:
            told.append(f"{plural(len(summary.unused), 'exchange')} unused of cassette {name}:")
            told += [_named(exchange) for exchange in summary.unused[:SHOWN]]
        return "\n".join(told) or None

    # -- while it runs

    def start(self) -> None:
        """Listen; raises `RecordingError` where that can not be."""
        self._server.start()
        self.addresses = self._server.addresses()
        self._environment = replay_environment(self.addresses, os.environ, self.cassette.recording.upstreams)

    def stop(self) -> None:
        """End every connection."""
        self._server.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        failure = self.failure(with_unused=error is None)
        if failure and error is None:
            raise ReplayMiss(failure)
        if failure and error is not None:
            error.add_note(failure)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def _note_played(self, played: Played, request: Request) -> None:
        exchange = played.exchange
        self._note(Asked(str(exchange.channel), request, exchange.id, explain_played(played, request)))

    def _note_miss(self, miss: Miss) -> None:
        why = explain(miss, self.cassette.exchanges)
        self._note(Asked(str(miss.channel), miss.request, None, why))

    def _note(self, asked: Asked) -> None:
        if len(self._log) < KEPT:
            self._log.append(asked)


def replaying(
    cassette: str | os.PathLike[str] | Cassette,
    *,
    match: Wanted | None = None,
    channels: Sequence[str] | None = None,
    fail_missed: bool = True,
    fail_unused: bool = False,
    directory: str | os.PathLike[str] | None = None,
) -> Replay:
    """Serve a cassette while a `with` block runs, or an `async with`.

    A relative name is looked for in `directory` [default: the working directory], from which upward the
    configuration is found, too. `match` is a mode, or what the configuration's key `match:` takes, whose
    ignore rules are added to that. `channels` are those to be served (`llm`, `tool:Orders`); the others are
    as if nobody had recorded them. Raises `CassetteError`, `SpecError`, `UsageError`; at the end
    `ReplayMiss` for what was missed, and with `fail_unused` for what was not asked for.
    """
    folder = Path.cwd() if directory is None else Path(directory)
    whole = cassette if isinstance(cassette, Cassette) else read(folder / cassette)
    served = whole if channels is None else only(whole, channels)
    return Replay(served, _matching(match, find(folder).match), fail_missed, fail_unused)


def read(path: Path) -> Cassette:
    """Read a cassette; raises `CassetteError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CassetteError(f"{path} can not be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise CassetteError(f"{path} is no UTF-8 text, as cassettes are") from None
    return loads(text, str(path))


def only(cassette: Cassette, names: Sequence[str]) -> Cassette:
    """The cassette with no channels but these; raises `UsageError` for one that it has not."""
    if isinstance(names, str):
        names = [names]
    upstreams = cassette.recording.upstreams
    seen = dict.fromkeys(
        (*(each.channel for each in upstreams), *(each.channel for each in cassette.exchanges))
    )
    wanted = {channel for name in names for channel in _named_so(tuple(seen), name)}
    declared: tuple[Upstream, ...] = tuple(each for each in upstreams if each.channel in wanted)
    exchanges = tuple(each for each in cassette.exchanges if each.channel in wanted)
    return Cassette(replace(cassette.recording, upstreams=declared), exchanges)


def chosen(channels: Sequence[Channel], name: str) -> Channel:
    """The one channel of that name, or of that role; raises `UsageError` where there is none, or several."""
    found = _named_so(channels, name)
    exact = [channel for channel in found if name == str(channel)] or found
    if len(exact) != 1:
        raise UsageError(f"{name!r} is {', '.join(map(str, exact))}: say which")
    return exact[0]


def _named_so(channels: Sequence[Channel], name: str) -> list[Channel]:
    found = [channel for channel in channels if name in (str(channel), channel.role.value)]
    if not found:
        known = ", ".join(map(str, channels)) or "none"
        raise UsageError(f"there is no channel {name!r}; there is {known}")
    return found


def _matching(wanted: Wanted | None, configured: Matching) -> Matching:
    if wanted is None:
        return configured
    if isinstance(wanted, str):
        wanted = {"mode": wanted}
    document = read_yaml(dumps({"match": dict(wanted)}).encode(), "match=").documents[0]
    problems = list(ignoring.problems(document, wanted))
    if problems:
        raise SpecError(problems)
    said = ignoring.matching(wanted)
    return Matching(said.mode or configured.mode, configured.ignore + said.ignore)


def _named(exchange: Exchange) -> str:
    return f"{exchange.request.method} {exchange.request.path} on {exchange.channel} (id {exchange.id})"
