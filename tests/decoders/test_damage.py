"""Damaged golden cases: each decoder takes them without raising, and reads what came before a cut."""

from random import Random

import pytest

from abs_replay.assembly import assemble
from abs_replay.decoders import DECODERS, Decoded, Said
from abs_replay.exchange import Exchange
from tests import damage

decoders = pytest.mark.parametrize("name", DECODERS)
SPOTS, CUTS, FLIPS = 150, 40, 40  # of each decoder; `tests/fuzz/decoders.py` tries all
AGAIN = "the stream begins its message again; what came before is left out"


@decoders
def test_a_wrong_value_at_any_field_raises_nothing(name: str) -> None:
    random, claimed = Random(name), 0
    cases = damage.cases(name)
    for number in range(SPOTS):
        case = damage.opened(cases[number % len(cases)])
        spots = damage.spots(case)
        if spots:
            damage.hurt(random.choice(spots), random)
        one = damage.made(case)
        claimed += name in damage.read(one)
        assemble([one])
    assert claimed > SPOTS / 2  # else this would try other decoders, and not this one


@decoders
def test_a_bit_flipped_anywhere_raises_nothing(name: str) -> None:
    random, claimed = Random(name), 0
    cases = damage.cases(name)
    for number in range(FLIPS):
        one = damage.made(damage.opened(cases[number % len(cases)]))
        hurt = [
            damage.flipped(data, random.randrange(len(data) or 1), random.randrange(8))
            for data in damage.bodies(one)
        ]
        read = damage.read(damage.with_bodies(one, hurt[0], damage.bodies(one)[1]))
        read |= damage.read(damage.with_bodies(one, damage.bodies(one)[0], hurt[1]))
        claimed += name in read
    assert claimed > FLIPS / 2


@decoders
def test_what_came_before_a_cut_is_read(name: str) -> None:
    random = Random(name)
    cases = damage.cases(name)
    for number in range(CUTS):
        one = damage.made(damage.opened(cases[number % len(cases)]))
        request, response = damage.bodies(one)
        ends = sorted(random.randrange(len(response) + 1) for _ in range(2))
        earlier, later, whole = (read(name, one, request, response[:end]) for end in (*ends, len(response)))
        if earlier and earlier.turn and whole and whole.turn:
            assert earlier.turn.history == whole.turn.history
        if whole and AGAIN not in whole.remarks:
            assert begins(earlier, later)
            assert begins(later, whole)


def read(name: str, one: Exchange, request: bytes, response: bytes) -> Decoded | None:
    return damage.read(damage.with_bodies(one, request, response)).get(name)


def begins(less: Decoded | None, more: Decoded | None) -> bool:
    """Say whether all that one answer says, another says, too, which may go on."""
    said, more_said = words(less), words(more)
    return more_said.startswith(said) and calls(less) == calls(more)[: len(calls(less))]


def words(found: Decoded | None) -> str:
    reply = found.turn.reply if found and found.turn else None
    if reply is None:
        return ""
    said = (
        [part.content for part in reply.parts if isinstance(part, Said)] if reply.parts else [reply.content]
    )
    return "".join(one for one in said if isinstance(one, str))


def calls(found: Decoded | None) -> list[str]:
    reply = found.turn.reply if found and found.turn else None
    return [call.name for call in reply.calls] if reply else []


@decoders
def test_nothing_is_nested_too_deep_and_no_line_is_too_long(name: str) -> None:
    one = damage.made(damage.opened(damage.cases(name)[0]))
    request, response = damage.bodies(one)
    lists, objects = b"[" * 10_000 + b"]" * 10_000, b'{"a":' * 10_000 + b"1" + b"}" * 10_000
    for inner in (lists, objects, b'"' + b"x" * 10**6):
        for data in (inner, b"data: " + inner + b"\n\n", response.replace(b'"', b'"' + inner[:10_000], 1)):
            damage.read(damage.with_bodies(one, request, data))
            damage.read(damage.with_bodies(one, data, response))
