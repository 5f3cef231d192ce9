"""Errors say in one line what is wrong and where, and end a command with their status."""

import pytest

from abs_replay.errors import AbsReplayError, Problem, ReplayMiss, SpecError, StoreError, StoreLocked


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (Problem("is no number", "a.yaml", 3, "x.y"), "a.yaml:3: x.y: is no number"),
        (Problem("is empty", "a.yaml", None, ""), "a.yaml: is empty"),
        (Problem("is no number", None, None, "x.y"), "x.y: is no number"),
    ],
)
def test_a_problem_is_told_with_what_is_known_of_its_place(problem: Problem, line: str) -> None:
    assert str(problem) == line


def test_every_problem_is_told() -> None:
    error = SpecError([Problem("one", "a", 1, ""), Problem("two", "a", 2, "")])
    assert str(error) == "a:1: one\na:2: two"
    assert [each.message for each in error.problems] == ["one", "two"]


def test_a_locked_store_names_its_holder() -> None:
    assert StoreLocked("is locked").holder == "another process"
    error = StoreLocked("is locked by `abs ui` (process 7)", "`abs ui` (process 7)")
    assert (str(error), error.holder) == ("is locked by `abs ui` (process 7)", "`abs ui` (process 7)")
    assert isinstance(error, StoreError)


def test_only_a_miss_is_a_failure_and_no_error() -> None:
    assert (ReplayMiss.exit_status, AbsReplayError.exit_status) == (1, 2)
