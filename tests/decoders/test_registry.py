"""One decoder claims an exchange, whatever the order in which they are asked, and reads nearly all of it."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from abs_replay import decoders
from abs_replay.decoders import DECODERS, LAST, Decoded, Decoder, decode
from abs_replay.exchange import Channel, Exchange, Request, Role
from tests import corpus, golden_cases

FIXTURES = golden_cases.exchanges()
ORDERS = [list(DECODERS), list(DECODERS)[::-1], Random(1).sample(list(DECODERS), len(DECODERS))]
# What the corpus holds beside turns, uses and spans: questions about the server, and other APIs of vendors.
ASIDE = re.compile(r"/(embeddings|conversations|files|vector_stores|fileSearchStores|ingest|completions)\b")


@pytest.fixture(scope="module")
def recorded(shared: Path) -> list[Exchange]:
    found = [one for many in corpus.recordings(shared / "corpus").values() for one in many]
    return found or pytest.skip("no corpus")


def claiming(exchange: Exchange) -> list[str]:
    """Name the decoders that claim an exchange; of those that take what is left, only the first to."""
    exact = [name for name in DECODERS if name not in LAST and DECODERS[name].claims(exchange)]
    return exact or [name for name in LAST if DECODERS[name].claims(exchange)]


@pytest.mark.parametrize("name", DECODERS)
def test_each_case_is_claimed_by_its_own_decoder_alone(name: str) -> None:
    assert FIXTURES[name]
    assert [claiming(one) for one in FIXTURES[name]] == [[name]] * len(FIXTURES[name])


@pytest.mark.parametrize("order", ORDERS, ids=["as it is", "backwards", "shuffled"])
def test_the_order_of_the_registry_changes_nothing(order: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    shuffled: Mapping[str, Decoder] = {name: DECODERS[name] for name in order}
    monkeypatch.setattr(decoders, "DECODERS", shuffled)
    for name, exchanges in FIXTURES.items():
        assert {decode(one).protocol for one in exchanges} == {name}


def test_nothing_recorded_is_claimed_twice_on_any_channel(recorded: list[Exchange]) -> None:
    for one in recorded:
        for role in Role:
            seen = replace(one, channel=Channel(role, "m"))
            assert len(claiming(seen)) <= 1, (role, one.request.target)


def test_of_a_models_traffic_only_other_apis_are_left_unclaimed(recorded: list[Exchange]) -> None:
    left = [one for one in recorded if one.channel.role is not Role.TOOL and not claiming(one)]
    assert [one.request.target for one in left if not ASIDE.search(one.request.path)] == []


@dataclass(frozen=True, slots=True)
class Share:
    """How much of a format was read."""

    exchanges: int
    turns: int
    failed: int
    plain: int
    remarks: Counter[str]

    @property
    def line(self) -> str:
        told = ", ".join(f"{remark} ({number})" for remark, number in self.remarks.most_common())
        return (
            f"{self.exchanges:>9} {self.turns:>5} {self.failed:>6} {self.plain:>5} "
            f"{self.plain / self.exchanges:>5.0%}  {told}"
        )


def share(found: Iterable[Decoded]) -> Share:
    """Count what was read; a remark's numbers and names are left out."""
    every = list(found)
    remarks = Counter(re.sub(r"( of|:| \().*|\d+", "", remark) for one in every for remark in one.remarks)
    return Share(
        len(every),
        sum(1 for one in every if one.turn),
        sum(1 for one in every if one.turn and one.turn.error),
        sum(1 for one in every if not one.remarks),
        remarks,
    )


def test_most_of_what_was_recorded_is_read_without_a_remark(recorded: list[Exchange]) -> None:
    """`-s` prints the share of each format."""
    read: dict[str, list[Decoded]] = {}
    for one in map(decode, recorded):
        read.setdefault(one.protocol or "undecoded", []).append(one)
    shares = {name: share(found) for name, found in sorted(read.items())}
    print(f"\n{'format':<17}exchanges turns failed plain share  remarks")
    for name, counted in shares.items():
        print(f"{name:<17}{counted.line}")
    understood = [counted for name, counted in shares.items() if name != "undecoded"]
    not_in_it = {"botpress", "chat_contract", "gemini_live", "openai_realtime"}
    assert set(shares) >= set(DECODERS) - not_in_it
    assert sum(each.plain for each in understood) > 0.9 * sum(each.exchanges for each in understood)


def test_the_corpus_has_a_reason_where_nothing_was_read(recorded: list[Exchange]) -> None:
    assert all(one.protocol or one.reason for one in map(decode, recorded))


def test_what_holds_nothing_is_claimed_by_nobody() -> None:
    for role in (Role.LLM, Role.AGENT):
        for target in ("/", "/v1/messages", "/v1/chat/completions", "/api/chat", "/v2/chat"):
            assert claiming(Exchange("x", Channel(role, "m"), 0.0, Request("POST", target))) == []
