"""What fits what: the predicates that alignment and evaluators share."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abs_replay.exact_json import Json, equal, loads
from abs_replay.predicates import (
    arguments_of,
    as_text,
    contains,
    fits,
    misfit,
    shown,
    structured,
    unlike,
)

SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "é", "1", "true"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


class TestContains:
    def test_case_is_folded_and_not_merely_lowered(self) -> None:
        assert contains("Hauptstraße 5", "HAUPTSTRASSE")
        assert not contains("Hauptstraße 5", "HAUPTSTRASSE", case_sensitive=True)

    def test_a_letter_with_an_accent_of_its_own_is_another_letter(self) -> None:
        assert not contains("cafe\u0301", "cafe")

    @settings(deadline=None)
    @given(st.text(), st.text(min_size=1))
    def test_normal_forms_make_no_difference(self, text: str, part: str) -> None:
        decomposed = unicodedata.normalize("NFD", text)
        assert contains(text, part) == contains(decomposed, unicodedata.normalize("NFD", part))

    @settings(deadline=None)
    @given(st.text(max_size=5), st.text(min_size=1), st.text(max_size=5))
    def test_ascii_text_holds_every_part_of_itself(self, before: str, part: str, after: str) -> None:
        text = (before + part + after).encode("ascii", "replace").decode()
        assert contains(text, part.encode("ascii", "replace").decode(), case_sensitive=True)


class TestContent:
    def test_null_is_the_empty_text_and_structure_compact_json(self) -> None:
        assert as_text(None) == ""
        assert as_text(loads('{"a": [1, 2.50]}')) == '{"a":[1,2.50]}'

    @pytest.mark.parametrize("text", ['{"a": 1}', ' \n[1, {"b": null}]\t'])
    def test_text_that_wholly_is_an_object_or_list_counts_as_it(self, text: str) -> None:
        assert structured(text) == loads(text)

    @pytest.mark.parametrize("text", ["7", '"a"', "null", "{} {}", '{"a": 1} and words', "{a: 1}", "[1", ""])
    def test_any_other_text_stays_text(self, text: str) -> None:
        assert structured(text) == text

    def test_text_nested_too_deep_to_parse_stays_text(self) -> None:
        deep = "[" * 100_000 + "]" * 100_000
        assert structured(deep) == deep

    def test_no_arguments_are_an_empty_object(self) -> None:
        assert arguments_of(None) == {}
        assert arguments_of('{"id": 1}') == {"id": 1}
        assert arguments_of("[1]") == "[1]"

    def test_long_values_are_shortened_visibly(self) -> None:
        assert shown("x" * 90) == '"' + "x" * 79 + "…"
        assert shown("two\nlines") == '"two\\nlines"'

    def test_a_value_too_deep_to_write_is_named_by_its_type(self) -> None:
        deep: Json = []
        for _ in range(100_000):
            deep = [deep]
        assert shown(deep) == "list nested too deep to show"
        assert shown({"a": deep}) == "object nested too deep to show"


class TestArguments:
    @settings(deadline=None)
    @given(OBJECTS, OBJECTS)
    def test_extra_keys_never_hurt_a_partial_match(
        self, wanted: dict[str, Json], extra: dict[str, Json]
    ) -> None:
        assert fits(wanted, {**extra, **wanted})

    @settings(deadline=None)
    @given(OBJECTS, OBJECTS)
    def test_a_strict_match_is_equality(self, wanted: dict[str, Json], observed: dict[str, Json]) -> None:
        assert fits(wanted, observed, strict=True) == equal(wanted, observed)

    @settings(deadline=None)
    @given(OBJECTS, VALUES, st.booleans())
    @example({"a": 1}, "text", False)
    @example({"a": {"b": 1}}, {"a": "text"}, False)
    @example({"a": {"b": 1}, "c": 2}, {"a": {"b": 1}, "c": 3}, False)
    def test_a_misfit_is_explained_exactly_where_there_is_one(
        self, wanted: dict[str, Json], observed: Json, strict: bool
    ) -> None:
        assert (misfit(wanted, observed, strict=strict) is None) == fits(wanted, observed, strict=strict)

    def test_a_misfit_is_told_behind_what_fits(self) -> None:
        wanted: dict[str, Json] = {"a": {"b": 1}, "c": 2}
        assert misfit(wanted, {"a": {"b": 1, "x": 0}, "c": 3}) == "c: expected 2, observed 3"
        assert misfit(wanted, {"a": {"b": 2}}) == "a.b: expected 1, observed 2"

    def test_objects_are_partial_at_every_depth_and_lists_compare_whole(self) -> None:
        assert fits({"guest": {"name": "Sam"}}, {"guest": {"name": "Sam", "age": 30}, "nights": 2})
        assert not fits({"tags": ["a"]}, {"tags": ["a", "b"]})
        assert not fits({"rooms": [{"a": 1}]}, {"rooms": [{"a": 1, "b": 2}]})

    def test_numbers_compare_by_value_and_kinds_stay_apart(self) -> None:
        assert fits({"n": 1}, loads('{"n": 1.0}'))
        assert not fits({"n": 1}, {"n": "1"})
        assert not fits({"n": 1}, {"n": True})
        assert not fits({"n": None}, {})


class TestStructure:
    @settings(deadline=None)
    @given(VALUES)
    def test_every_value_has_its_own_structure(self, value: Json) -> None:
        assert unlike(structured(value), structured(value)) is None

    @pytest.mark.parametrize(
        ("wanted", "observed", "alike"),
        [
            ("words", "other words", True),
            ({"a": 1, "b": {"c": "x"}}, {"a": 2.5, "b": {"c": "y", "d": 1}, "e": 0}, True),
            ({"a": 1}, {"a": "1"}, False),
            ({"a": 1}, {}, False),
            ([1, 2], ["anything"], True),
            ([], {}, False),
            (True, 1, False),
            (None, None, True),
            (None, "null", False),
            ("text", None, False),
            ({"a": 1}, '{"a": 2}', True),
            ("text", '{"a": 2}', False),
        ],
    )
    def test_structure_is_compared_and_words_are_not(self, wanted: Json, observed: Json, alike: bool) -> None:
        assert (unlike(structured(wanted), structured(observed)) is None) is alike
