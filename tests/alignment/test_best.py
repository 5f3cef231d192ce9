"""The best alignment of one turn: what bends the order, and what is done when the search grows too large."""

import time
from collections.abc import Sequence

import pytest

from abs_replay.alignment import best
from abs_replay.alignment.best import Positions, Row, best_alignment

NOBODY = 0


def positions(count: int, *parallel: int) -> Positions:
    """So many steps, none of them a call that anything answers."""
    return Positions(count, parallel, (NOBODY,) * count, (NOBODY,) * count, (), NOBODY)


def repeated(calls: int, answered: int, rows: int) -> tuple[list[Row], Positions]:
    """Calls that are all answered, but the rows' content fits only the answers to `answered`: the last
    steps, one a row. Whichever calls are taken, at most one of these answers can be."""
    count = 2 * calls + rows
    gives = [1 << call for call in range(calls)] + [NOBODY] * (calls + rows)
    answering = [1 << (calls + call) for call in range(calls)]
    fit = ((1 << rows) - 1) << (2 * calls)
    answering[answered] |= fit
    uses = [NOBODY] * calls + [1 << call for call in range(calls)] + [1 << answered] * rows
    steps = Positions(count, (), tuple(gives), tuple(uses), tuple(answering), NOBODY)
    any_call = Row((1 << calls) - 1)
    return [any_call] * rows + [Row(fit, needs_call=True)] * rows, steps


def test_nothing_to_align_is_aligned() -> None:
    assert best_alignment([], positions(3)) == ()
    assert best_alignment([Row(0)], positions(0)) == (None,)


def test_a_row_is_left_out_where_it_costs_two_others() -> None:
    assert best_alignment([Row(0b100), Row(0b001), Row(0b010)], positions(3)) == (None, 0, 1)


def test_of_equally_many_the_first_row_is_served() -> None:
    assert best_alignment([Row(0b10), Row(0b01)], positions(2)) == (1, None)


def test_what_stands_behind_a_row_left_out_keeps_its_place() -> None:
    rows = [Row(0b0010), Row(0b0000), Row(0b0101), Row(0b1000)]
    assert best_alignment(rows, positions(4)) == (1, None, 2, 3)


class TestUnorderedBlocks:
    def test_rows_of_one_block_cross_inside_one_parallel_block(self) -> None:
        rows = [Row(0b10, block=0), Row(0b01, block=0)]
        assert best_alignment(rows, positions(2, 0b11)) == (1, 0)
        assert best_alignment(rows, positions(2)) == (1, None)

    def test_rows_of_two_blocks_do_not_cross(self) -> None:
        rows = [Row(0b10, block=0), Row(0b01, block=7)]
        assert best_alignment(rows, positions(2, 0b11)) == (1, None)

    def test_rows_do_not_cross_from_one_parallel_block_into_another(self) -> None:
        rows = [Row(0b0100, block=0), Row(0b0001, block=0)]
        assert best_alignment(rows, positions(4, 0b0011, 0b1100)) == (2, None)

    def test_a_later_place_inside_the_block_goes_before_an_earlier_one_outside_where_more_match(self) -> None:
        # A recorded group may have another call between its own.
        rows = [Row(0b1100, block=0), Row(0b0010, block=0)]
        assert best_alignment(rows, positions(4, 0b1010)) == (3, 1)

    def test_what_only_the_bound_takes_for_possible_is_not_taken(self) -> None:
        rows = [Row(0b101, block=0), Row(0b001, block=0)]
        assert best_alignment(rows, positions(3, 0b110)) == (0, None)

    def test_a_place_inside_a_block_is_taken_once(self) -> None:
        rows = [Row(0b10, block=0), Row(0b10, block=0), Row(0b01, block=0)]
        assert best_alignment(rows, positions(2, 0b11)) == (1, None, 0)

    def test_a_place_inside_a_block_stays_taken(self) -> None:
        rows = [Row(0b0100, block=0), Row(0b0010, block=0), Row(0b1100, block=0)]
        assert best_alignment(rows, positions(4, 0b0111)) == (2, 1, 3)

    def test_a_row_behind_the_block_stands_behind_all_of_it(self) -> None:
        rows = [Row(0b010, block=0), Row(0b001, block=0), Row(0b010)]
        assert best_alignment(rows, positions(3, 0b011)) == (1, 0, None)

    @pytest.mark.parametrize(
        ("rows", "steps", "expected"),
        [
            # of two blocks
            ([Row(0b010, block=0), Row(0b101, block=7)], positions(3, 0b011), (1, 2)),
            (
                [Row(0b0010, block=0), Row(0b0100, block=7), Row(0b1001, block=7)],
                positions(4, 0b0111),
                (1, 2, 3),
            ),
            # in no parallel block
            ([Row(0b010, block=0), Row(0b101, block=0)], positions(3), (1, 2)),
            # of no block, before
            ([Row(0b0010), Row(0b0100, block=1), Row(0b1001, block=1)], positions(4, 0b0111), (1, 2, 3)),
            # in another parallel block, one that lies between the steps of this one
            (
                [Row(0b00100, block=0), Row(0b01000, block=0), Row(0b10010, block=0)],
                positions(5, 0b00101, 0b01010),
                (2, 3, 4),
            ),
        ],
    )
    def test_a_row_may_not_go_before_what_was_taken(
        self, rows: Sequence[Row], steps: Positions, expected: tuple[int, ...]
    ) -> None:
        assert best_alignment(rows, steps) == expected

    def test_a_row_of_the_block_may_stand_behind_the_parallel_steps(self) -> None:
        assert best_alignment([Row(0b001, block=0), Row(0b100, block=0)], positions(3, 0b011)) == (0, 2)


class TestResponses:
    def test_a_response_needs_its_call(self) -> None:
        steps = Positions(2, (), (0b1, NOBODY), (NOBODY, 0b1), (0b10,), NOBODY)
        assert best_alignment([Row(0b01), Row(0b10, needs_call=True)], steps) == (0, 1)
        assert best_alignment([Row(0b00), Row(0b10, needs_call=True)], steps) == (None, None)
        assert best_alignment([Row(0b10, needs_call=True)], steps) == (None,)

    def test_a_row_left_out_between_a_call_and_its_answer_forgets_nothing(self) -> None:
        steps = Positions(2, (), (0b1, NOBODY), (NOBODY, 0b1), (0b10,), NOBODY)
        assert best_alignment([Row(0b01), Row(0b00), Row(0b10, needs_call=True)], steps) == (0, None, 1)

    def test_an_answer_stands_behind_what_was_taken_before(self) -> None:
        answers = (NOBODY, 0b1, NOBODY, 0b1)
        steps = Positions(4, (), (0b1, NOBODY, NOBODY, NOBODY), answers, (0b1010,), NOBODY)
        rows = [Row(0b0001), Row(0b0100), Row(0b1010, needs_call=True)]
        assert best_alignment(rows, steps) == (0, 2, 3)

    def test_in_a_block_too_an_answer_needs_its_own_call(self) -> None:
        uses = (NOBODY, NOBODY, 0b10, 0b01)
        steps = Positions(4, (0b1111,), (0b01, 0b10, NOBODY, NOBODY), uses, (0b1000, 0b0100), NOBODY)
        rows = [Row(0b0001, block=0), Row(0b1100, block=0, needs_call=True)]
        assert best_alignment(rows, steps) == (0, 3)

    def test_what_answers_one_of_two_calls_answers_either(self) -> None:
        steps = Positions(2, (), (0b01, NOBODY), (NOBODY, 0b10), (0b10, 0b10), NOBODY)
        assert best_alignment([Row(0b01), Row(0b10, needs_call=True)], steps) == (0, 1)

    def test_only_a_row_that_needs_a_call_uses_it_up(self) -> None:
        steps = Positions(3, (), (0b1, NOBODY, NOBODY), (NOBODY, 0b1, 0b1), (0b110,), NOBODY)
        assert best_alignment([Row(0b001), Row(0b010), Row(0b100, needs_call=True)], steps) == (0, 1, 2)

    def test_a_call_of_an_earlier_turn_counts(self) -> None:
        steps = Positions(1, (), (NOBODY,), (0b1,), (0b1,), given=0b1)
        assert best_alignment([Row(0b1, needs_call=True)], steps) == (0,)

    def test_a_free_response_needs_none(self) -> None:
        steps = Positions(1, (), (NOBODY,), (NOBODY,), (NOBODY,), NOBODY)
        assert best_alignment([Row(0b1, needs_call=True, free=0b1)], steps) == (0,)

    def test_an_answer_uses_its_call_up(self) -> None:
        rows, steps = repeated(calls=3, answered=1, rows=2)
        assert best_alignment(rows, steps) == (0, 1, 6, None)

    def test_calls_are_chosen_for_the_answers_that_fit(self) -> None:
        rows, steps = repeated(calls=3, answered=2, rows=2)
        assert best_alignment(rows, steps) == (0, 2, 6, None)


class TestEffort:
    """A search that grows too large ends, with an alignment that looks best."""

    def test_a_search_among_thousands_of_choices_ends(self) -> None:
        rows, steps = repeated(calls=24, answered=3, rows=12)
        begin = time.process_time()
        found = best_alignment(rows, steps)
        assert time.process_time() - begin < 20
        assert found == (*range(12), 48, *[None] * 11)

    @pytest.mark.parametrize(
        ("rows", "steps", "expected"),
        [
            ([Row(0b100), Row(0b001), Row(0b010)], positions(3), (None, 0, 1)),
            ([Row(0b10), Row(0b01)], positions(2), (1, None)),
            ([Row(0b00), Row(0b11)], positions(2), (None, 0)),
            ([Row(0b10, block=0), Row(0b01, block=0)], positions(2, 0b11), (1, 0)),
            ([Row(0b10, block=0), Row(0b01, block=7)], positions(2, 0b11), (1, None)),
            (*repeated(calls=3, answered=1, rows=2), (0, 1, 6, None)),
        ],
    )
    def test_without_any_effort_rows_are_still_taken_and_left_out_by_what_remains(
        self,
        monkeypatch: pytest.MonkeyPatch,
        rows: Sequence[Row],
        steps: Positions,
        expected: tuple[int | None, ...],
    ) -> None:
        monkeypatch.setattr(best, "EFFORT", 0)
        assert best_alignment(rows, steps) == expected

    def test_calls_taken_in_earlier_turns_are_remembered_without_effort(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(best, "EFFORT", 0)
        steps = Positions(1, (), (NOBODY,), (0b1,), (0b1,), given=0b1)
        assert best_alignment([Row(0b1, needs_call=True)], steps) == (0,)

    @pytest.mark.parametrize("effort", [0, 1, 10])
    def test_the_search_is_exact_up_to_its_effort(self, monkeypatch: pytest.MonkeyPatch, effort: int) -> None:
        rows, steps = repeated(calls=3, answered=2, rows=2)
        monkeypatch.setattr(best, "EFFORT", effort)
        assert best_alignment(rows, steps) == (0, 1, None, None)
        monkeypatch.setattr(best, "EFFORT", 11)
        assert best_alignment(rows, steps) == (0, 2, 6, None)

    def test_what_can_not_be_reached_from_somewhere_is_tried_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rows, steps = repeated(calls=8, answered=7, rows=5)
        monkeypatch.setattr(best, "EFFORT", 2_100)
        assert best_alignment(rows, steps) == (0, 1, 2, 3, 7, 16, None, None, None, None)
