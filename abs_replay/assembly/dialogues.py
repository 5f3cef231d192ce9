"""The rounds of conversations that go on within one exchange (a WebSocket), each a turn of its own."""

from collections.abc import Iterable
from dataclasses import replace

from abs_replay.assembly.pool import Pool
from abs_replay.assembly.sightings import Seen
from abs_replay.decoders import Round


def each_round(everything: Iterable[Seen], pool: Pool) -> list[Seen]:
    """Give all that are no such conversations, and the turns of those."""
    found: list[Seen] = []
    for one in everything:
        rounds = enumerate(one.decoded.rounds, 1)
        found += [_turn(one, said, number, pool) for number, said in rounds] or [one]
    return found


def _turn(one: Seen, said: Round, number: int, pool: Pool) -> Seen:
    line, asides = pool.heard(said.turn.history)
    return replace(
        one,
        decoded=replace(one.decoded, rounds=()),
        turn=pool.told(said.turn),
        start=one.start + said.asked_ms,
        end=one.start + said.answered_ms,
        line=line,
        asides=asides,
        key=one.key or one.decoded.session or one.exchange.id,
        onward=True,
        part=str(number),
    )
