"""Searching with an author's pattern: the language of `re`, and a limit in time (SEMANTICS E3)."""

import contextlib
import re
import time
import warnings
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abs_replay.predicates import Undecided
from abs_replay.predicates.patterns import compiled, search

LITERALS = st.sampled_from([*"ab1_ é\n", r"\.", r"\{", r"\n", r"\x41", "ß"])
SETS = st.sampled_from(
    [
        "[ab]",
        "[^a]",
        r"[\w.]",
        r"[^\W\d]",
        r"[\s\S]",
        "[[:alpha:]]",
        "[a-c&&b]",
        r"[^\s\D]",
        "[]a]",
        r"[\]\-]",
    ]
)
CLASSES = st.sampled_from([r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", "."])
EDGES = st.sampled_from(["^", "$", r"\b", r"\B", r"\A", r"\Z", "(?m:^)", "(?m:$)"])
ODDITIES = st.sampled_from(
    ["a{e<=1}", "{", "a{,2}", "x{i}", "(?i:aB)", "(?s:.)", "(?a:é?\\w)", "(a)?(?(1)b|1)"]
)
ATOMS = LITERALS | SETS | CLASSES | EDGES | ODDITIES


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return (
        pair.map("".join)
        | pair.map(lambda two: f"(?:{two[0]}|{two[1]})")
        | st.tuples(inner, st.sampled_from(["*", "+?", "?", "{1,2}", "?+"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        )
        | st.tuples(st.sampled_from(["(", "(?=", "(?!", "(?>"]), inner).map(lambda two: f"{two[0]}{two[1]})")
    )


PATTERNS = st.recursive(ATOMS, _grown, max_leaves=5)
TEXTS = st.text(alphabet="ab1_ é\ne<={}[:AB.́‿²\x1c", max_size=8)


class TestPatterns:
    @given(PATTERNS, TEXTS)
    @settings(max_examples=400, deadline=None)
    @example(r"\B", "")
    @example("[[:alpha:]]", "a:]")
    @example("a{e<=1}", "a")
    @example(r"\w", "‿")
    @example(r"\s", "\x1c")
    def test_a_pattern_means_what_it_means_in_re(self, pattern: str, text: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = re.search(pattern, text) is not None
        assert search(pattern, text) is expected
        assert (compiled(pattern).search(text) is not None) is expected

    @pytest.mark.parametrize(
        "patterns",
        [
            r"a  [^a]  (?i:A)  (?i:[^A])  .  (?s:.)  (?i:a(?-i:b))",
            r"[ab]  [a-c]  [^a-c]  [\w.]  [^\w.]  [\W.]  [^\W.]  [\W\d]  [^\W\D]  [^\W]  [^ab]",
            # Behind a letter: where such a class comes first, `re` itself searches without the flag.
            r"\d  \D  \w  \W  \s  \S  (?a:\w)  a(?a:\W)  a(?a:[\W.])  (?a:\d)  (?a:\s)",
            r"ab|1  (?:a|)b  (a)(b)?  (?:ab){2}  (?:ab){1,}?1  (?:ab){0,1}1  a?+b  (?>a|ab)1",
            r"(?=a)  (?!a)  (?<=a)b  (?<!a)b  (?!)  (?<=a)(?!1)",
            r"^b  (?m:^b)  a$  (?m:a$)  \Ab  a\Z  \bb  \Bb  (?a:\bé)  (?a:a\Bé)  \B",
            r"(a|b)\1  (?i:(a)\1)  (a)?(?(1)b|1)  (a)?(?(1)b)1  (?P<x>a)(?P=x)",
        ],
    )
    def test_every_construct_means_for_both_engines_what_it_means_in_re(self, patterns: str) -> None:
        texts = [
            "a",
            "A",
            "b",
            "B",
            "ab",
            "ba",
            "aa",
            "aA",
            "1",
            "a1",
            "ab1",
            "abab",
            "abab1",
            "é",
            "aé",
            "a.",
            ".",
            "٣",
            "_",
            "b.a",
        ]
        for pattern, text in product(
            patterns.split("  "), ["", *texts, "\x1c", "\n", "a\n", "b\na\n", "a\nb"]
        ):
            expected = re.search(pattern, text)
            found = compiled(pattern).search(text)
            assert (found and found.span()) == (expected and expected.span()), (pattern, text)
            assert search(pattern, text) is (expected is not None), (pattern, text)

    def test_backreferences_and_lookbehinds_work(self) -> None:
        assert search(r"(?P<x>a|b)-(?P=x)1", "a-b1 b-b1")
        assert search(r"(?<=€)\d+", "€47")
        assert not search(r"(?<!€)\b\d+", "€47")

    def test_case_is_ignored_where_the_author_says_so(self) -> None:
        assert search("(?i)STRASSE|straße", "STRAßE")
        assert not search("(?i:a)B", "Ab")

    def test_a_search_ends_at_the_time_limit(self) -> None:
        begin = time.perf_counter()
        with pytest.raises(Undecided, match="took longer than 1 s"):
            search("(a|aa)+$", "a" * 60 + "b")
        assert time.perf_counter() - begin < 10

    def test_a_pattern_that_re_refuses_is_undecided(self) -> None:
        with pytest.raises(Undecided, match="can not be compiled"):
            search("(", "text")
        with pytest.raises(Undecided, match="can not be compiled"):
            search(r"\p{L}", "text")

    def test_a_pattern_is_compiled_once(self) -> None:
        assert compiled("once") is compiled("once")

    @pytest.mark.parametrize(
        ("pattern", "text"),
        [
            ("a*b", "a" * 30_000),
            (".*.*x", "a" * 3_000),
            (r"\s+$", " " * 30_000 + "x"),
            (r"(a)(\1*)*b", "a" * 5_000),
            ("(a?){30}a{30}", "a" * 29),
            ("(?=a*)(?=a*)a*b", "a" * 3_000),
            ("(a|b|ab)(c|bcd)(d*)e", "abcd" * 3_000),
        ],
    )
    def test_no_pattern_runs_much_longer_than_the_time_limit(self, pattern: str, text: str) -> None:
        begin = time.perf_counter()
        with contextlib.suppress(Undecided):
            assert not search(pattern, text)
        assert time.perf_counter() - begin < 10

    def test_a_plain_pattern_is_left_to_re(self) -> None:
        compiled.cache_clear()
        assert search(r"\bA12-1\b", "Order A12-1 is on its way" * 100)
        assert search(r"(?i)order\s+[\w-]+ is", "Order A12-1 is on its way")
        assert compiled.cache_info().currsize == 0
