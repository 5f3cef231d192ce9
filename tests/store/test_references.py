"""A wrong name is answered with those that are near."""

from pathlib import Path

import pytest

from abs_replay.errors import StoreError
from abs_replay.store.references import resolve

THINGS = [("r-aa1", "order"), ("r-aa2", "refund"), ("r-b", "order")]
PATH = Path("s.duckdb")


@pytest.mark.parametrize(
    ("ref", "index"), [("r-aa1", 0), ("order", 2), ("last", 2), ("last~1", 1), ("r-b", 2), ("r-aa2", 1)]
)
def test_a_thing_is_named_by_id_name_or_place(ref: str, index: int) -> None:
    assert resolve(ref, THINGS, "recording", PATH) == index


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("r-aa", "recording 'r-aa' could be r-aa1, r-aa2: write more of it"),
        ("ordr", "no recording 'ordr' in s.duckdb: is it order? `abs ls recordings` lists them"),
        (
            "zzz",
            "no recording 'zzz' in s.duckdb: is it order or r-b or refund? `abs ls recordings` lists them",
        ),
        ("last~3", "no recording 'last~3' in s.duckdb: it has only 3 recordings"),
        ("", "no recording '' in s.duckdb: is it order or r-b or refund? `abs ls recordings` lists them"),
    ],
)
def test_a_wrong_name_is_answered_in_one_line(ref: str, message: str) -> None:
    with pytest.raises(StoreError) as caught:
        resolve(ref, THINGS, "recording", PATH)

    assert str(caught.value) == message


def test_an_empty_store_says_so() -> None:
    with pytest.raises(StoreError, match=r"no grading 'last' in s\.duckdb: it has no gradings"):
        resolve("last", [], "grading", PATH)
