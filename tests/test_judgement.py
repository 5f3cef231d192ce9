"""What answers took adds up, and is unknown where a part of it is."""

from abs_replay.judgement import NO_USAGE, Judging, Usage

ONE, OTHER = Usage(1, 10, 2, 0.25), Usage(2, 30, 5, 0.5)


def test_usages_add_up() -> None:
    assert Usage(3, 40, 7, 0.75) == ONE + OTHER
    assert NO_USAGE + ONE == ONE


def test_with_one_price_that_is_not_known_the_sum_is_not_known() -> None:
    assert (ONE + Usage(1, 1, 1, None)).cost is None
    assert (Usage(1, 1, 1, None) + ONE).cost is None


def test_the_judging_of_a_grading_took_what_its_models_took() -> None:
    assert Judging(models={"a": ONE, "b": OTHER}).usage == ONE + OTHER
    assert Judging().usage == NO_USAGE
