"""Who plays the agent of `abs run`: a live one, or its recording behind a replay server."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from abs_replay.agents import AGENTS
from abs_replay.agents.agent import Agent
from abs_replay.agents.chat_contract import PATH
from abs_replay.cassette import Cassette, loads
from abs_replay.decoders import chat_contract
from abs_replay.errors import CassetteError, UsageError
from abs_replay.exchange import Channel
from abs_replay.matching import Match
from abs_replay.player import Miss, Player
from abs_replay.player.miss import explain
from abs_replay.spec.configuration import find


@dataclass(frozen=True, slots=True)
class Stage:
    """The agent, what reports call it, and in words the misses since the last call of `missed`.

    `base_url` is where a recording of the run says that the agent was.
    """

    agent: Agent
    name: str
    base_url: str
    missed: Callable[[], list[str]]


@contextmanager
def open_stage(
    url: str | None, cassette: Path | None, agent_format: str, timeout_s: float
) -> Iterator[Stage]:
    """Open the connection to an agent, or to a replay server in its place; one of the two is given."""
    if url and cassette:
        raise UsageError("--agent and --cassette exclude each other: the agent is live, or replayed")
    if cassette:
        with _replayed(cassette, agent_format, timeout_s) as stage:
            yield stage
        return
    if not url:
        raise UsageError("nothing to run against: say --agent URL, or --cassette FILE")
    with _speaking(url, agent_format, timeout_s) as agent:
        # `/chat` is what a URL without a path leads to, and whoever replays the run is told the same.
        at_chat = urlsplit(agent.url).path == PATH
        yield Stage(agent, agent.url, _origin(agent.url) if at_chat else agent.url, list)


@contextmanager
def _speaking(url: str, agent_format: str, timeout_s: float) -> Iterator[Agent]:
    agent = AGENTS[agent_format](url, timeout_s)
    try:
        yield agent
    finally:
        agent.close()


@contextmanager
def _replayed(file: Path, agent_format: str, timeout_s: float) -> Iterator[Stage]:
    from abs_replay.server import ReplayServer  # it brings uvicorn, which a live agent does not need

    cassette = _read(file)
    channel, path = _front(cassette, file)
    misses: list[Miss] = []

    def missed() -> list[str]:
        told = [explain(miss, cassette.exchanges) for miss in misses]
        misses.clear()
        return told

    said = find(Path.cwd()).match
    player = Player(cassette, Match(said.mode or Match.CANONICAL), said.ignore)
    with ReplayServer(player, on_miss=misses.append) as server:
        # No run token: every conversation bears an `x-abs-session`, which is its scope already.
        address = _origin(server.addresses()[channel])
        declared = next((each.url for each in server.upstreams if each.channel == channel), "")
        with _speaking(address + path, agent_format, timeout_s) as agent:
            yield Stage(agent, str(file), declared or address, missed)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _read(file: Path) -> Cassette:
    try:
        return loads(file.read_text(encoding="utf-8"), str(file))
    except OSError as error:
        raise CassetteError(f"{file}: can not be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CassetteError(f"{file}: is no UTF-8 text, as cassettes are") from None


def _front(cassette: Cassette, file: Path) -> tuple[Channel, str]:
    """Find the channel of the agent, and the path at which it was spoken to."""
    for exchange in cassette.exchanges:
        if chat_contract.claims(exchange):
            return exchange.channel, exchange.request.path
    raise CassetteError(f"{file}: nobody talks to an agent in it: record with --agent URL")
