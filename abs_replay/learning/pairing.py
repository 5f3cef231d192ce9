"""Which exchanges of two recordings are the same turn: equal ones, then the nearest of what is left."""

from collections.abc import Iterator, Mapping, Sequence

from abs_replay.exchange import Channel, Exchange, Request, header
from abs_replay.matching import Group
from abs_replay.matching.canonical import Canonical, canonical
from abs_replay.matching.differences import distance
from abs_replay.player import Miss, Played, Player, Reason
from abs_replay.player.missing import Admits, Missing
from abs_replay.spec.ignoring import Ignore

_WINDOW = 5  # so far from its place in order is the nearest looked for


class Unexplained(Missing):
    """Misses that nobody reads: to say why takes longer than to play all that does not miss."""

    def used_up(self, group: Group, request: Request, channel: Channel) -> Miss:
        return Miss(Reason.USED_UP, request, channel)

    def unknown(self, request: Request, channel: Channel, form: Canonical, admits: Admits) -> Miss:
        return Miss(Reason.UNKNOWN, request, channel)

    def ambiguous(
        self, request: Request, channel: Channel, form: Canonical, numbers: tuple[int, ...]
    ) -> Miss:
        return Miss(Reason.AMBIGUOUS, request, channel)


def play(player: Player, requests: Sequence[tuple[Exchange, Request]]) -> dict[int, int]:
    """Ask for these requests, each in the scope it was made in: which recorded exchange answered which."""
    found = {}
    for number, (exchange, request) in enumerate(requests):
        result = player.play(request, exchange.channel, _scope(request))
        if isinstance(result, Played):
            found[number] = result.number
    return found


def _scope(request: Request) -> str:
    return header(request.headers, "x-abs-session") or header(request.headers, "mcp-session-id") or ""


def paired(
    recorded: Mapping[int, tuple[Exchange, Canonical]], asked: Mapping[int, tuple[Exchange, Canonical]]
) -> dict[int, int]:
    """Pair what is left of both, asked to recorded: within a method and path first, then within a channel."""
    pairs: dict[int, int] = {}
    for exact in (True, False):
        free = {n: each for n, each in recorded.items() if n not in pairs.values()}
        left = {n: each for n, each in asked.items() if n not in pairs}
        for then, now in _kinds(free, left, exact):
            pairs |= _nearest(then, now, recorded, asked)
    return pairs


def _kinds(
    recorded: Mapping[int, tuple[Exchange, Canonical]],
    asked: Mapping[int, tuple[Exchange, Canonical]],
    exact: bool,
) -> Iterator[tuple[list[int], list[int]]]:
    kinds: dict[object, tuple[list[int], list[int]]] = {}
    for side, exchanges in enumerate((recorded, asked)):
        for number, (exchange, form) in exchanges.items():
            path = form.path if exact else form.path.count("/")
            kinds.setdefault((exchange.channel, form.method, path), ([], []))[side].append(number)
    yield from kinds.values()


def _nearest(
    then: Sequence[int],
    now: Sequence[int],
    recorded: Mapping[int, tuple[Exchange, Canonical]],
    asked: Mapping[int, tuple[Exchange, Canonical]],
) -> dict[int, int]:
    ranked = sorted(
        (distance(recorded[a][1], asked[b][1]), abs(i - j), i, j)
        for i, a in enumerate(then)
        for j, b in enumerate(now)
        if abs(i - j) <= _WINDOW
    )
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, _, i, j in ranked:
        if i not in taken and now[j] not in pairs:
            pairs[now[j]] = then[i]
            taken.add(i)
    return pairs


def merged(exchanges: Sequence[Exchange], rules: Sequence[Ignore], without: Sequence[Ignore]) -> int:
    """How many recorded requests with different answers are equal by `rules`, and not `without` one."""
    forms = [
        tuple(canonical(each.request, each.channel, some).key for some in (rules, without))
        for each in exchanges
    ]
    groups: dict[object, dict[object, set[object]]] = {}
    for each, (form, finer) in zip(exchanges, forms, strict=True):
        response = each.response
        answer = each.outcome, response and (response.status, response.body.data)
        groups.setdefault((each.channel, form), {}).setdefault(finer, set()).add(answer)
    return sum(
        len(finer) for finer in groups.values() if len(finer) > 1 and len(set().union(*finer.values())) > 1
    )
