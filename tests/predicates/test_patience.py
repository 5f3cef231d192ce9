"""How long one run waits for patterns that do not end soon (SEMANTICS E3, R1)."""

import time
from collections.abc import Callable

import pytest

from abs_replay.predicates import Undecided, patience, patterns
from abs_replay.predicates.patterns import search

SLOW = "(a|aa)+$"


def late(length: int = 60) -> str:
    return "a" * length + "b"


@pytest.fixture(autouse=True)
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "TIME_LIMIT", 0.05)
    monkeypatch.setattr(patience, "PATIENCE", 0.04)


def seconds_of(pattern: str, text: str, reason: str, clock: Callable[[], float] = time.perf_counter) -> float:
    begin = clock()
    with pytest.raises(Undecided, match=reason):
        search(pattern, text)
    return clock() - begin


def test_what_timed_out_is_not_tried_again_on_the_same_text_and_says_the_same() -> None:
    with patience.one_run():
        assert seconds_of(SLOW, late(), "took longer than 0.05 s") >= 0.04
        assert seconds_of(SLOW, late(), "took longer than 0.05 s", time.process_time) < 0.04


def test_a_pattern_that_timed_out_is_given_up_once_a_run_has_waited_long_enough() -> None:
    with patience.one_run():
        seconds_of(SLOW, late(), "took longer")
        why = "took too long on other texts; not tried again"
        assert seconds_of(SLOW, late(70), why, time.process_time) < 0.04


def test_no_pattern_loses_its_second_by_the_fault_of_another() -> None:
    with patience.one_run():
        seconds_of(SLOW, late(), "took longer")
        assert search("(a|ab)+c", "ababc" * 3)  # which could have run away


def test_a_run_knows_nothing_of_the_runs_before_it() -> None:
    for _ in range(2):
        with patience.one_run():
            assert seconds_of(SLOW, late(), "took longer") >= 0.04
