"""The formats that `schema` asserts: all that 2020-12 names, IRIs among them (SEMANTICS E4)."""

import tomllib
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.evaluators.schema import violations_of
from abs_replay.evaluators.schema_formats import formats_of, uri_of

FORMATS = {  # of 2020-12, each with a text that is one and one that is none
    "date-time": ("2026-02-28T10:00:00Z", "2026-02-30T10:00:00Z"),
    "date": ("2026-02-28", "2026-02-30"),
    "time": ("10:00:00Z", "25:00:00Z"),
    "duration": ("P1DT12H", "P1D12H"),
    "email": ("a@example.org", "example.org"),
    "idn-email": ("ü@example.org", "example.org"),
    "hostname": ("a.example.org", "-a.example.org"),
    "idn-hostname": ("bücher.example.org", "〮한.example.org"),
    "ipv4": ("127.0.0.1", "127.0.0.256"),
    "ipv6": ("::1", "::1::"),
    "uri": ("https://example.org/a?b#c", "https://example.org/ü"),
    "uri-reference": ("/a?b#c", "/a b"),
    "iri": ("https://bücher.example.org/ü?ö#ä", "/ü"),
    "iri-reference": ("/ü?ö#ä", "/ü ö"),
    "uuid": ("2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08aa9811eab4aa73b441d16380"),
    "uri-template": ("/a/{b}", "/a/{b"),
    "json-pointer": ("/a/0/~1b", "a"),
    "relative-json-pointer": ("1/a", "/a"),
    "regex": ("^a+$", "^(a"),
}


def conforms(text: str, format_: str) -> bool:
    return not list(violations_of({"format": format_}, text))


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_of_2020_12_is_asserted(format_: str) -> None:
    good, bad = FORMATS[format_]
    assert conforms(good, format_)
    assert not conforms(bad, format_)
    assert not list(violations_of({"format": format_}, 5))  # a format speaks of texts alone


def test_a_draft_asserts_the_formats_that_it_knows() -> None:
    assert formats_of(jsonschema.Draft202012Validator).checkers.keys() == FORMATS.keys()
    assert formats_of(jsonschema.Draft7Validator).checkers.keys() >= {"iri", "iri-reference"}
    assert not formats_of(jsonschema.Draft6Validator).checkers.keys() & {"iri", "date"}
    assert "uri-reference" not in formats_of(jsonschema.Draft4Validator).checkers


@pytest.mark.parametrize("format_", sorted(FORMATS.keys() - {"json-pointer", "regex", "email", "idn-email"}))
def test_a_line_end_behind_a_value_is_no_part_of_its_format(format_: str) -> None:
    assert conforms(FORMATS[format_][0] + "\n", format_) is (format_ == "relative-json-pointer")


@pytest.mark.parametrize(
    ("text", "format_"),
    [("a{99999999999999}", "regex"), ("²1/a", "relative-json-pointer"), ("(" * 5_000, "regex")],
)
def test_a_text_over_which_a_checker_stumbles_is_none_of_the_format(text: str, format_: str) -> None:
    assert not conforms(text, format_)


@pytest.mark.parametrize(
    ("iri", "uri"),
    [
        ("http://é.example/é", "http://%C3%A9.example/%C3%A9"),
        ("http://a/\U0001f600", "http://a/%F0%9F%98%80"),
        ("http://a/?\ue000#\ue000", "http://a/?%EE%80%80#\ue000"),  # private ones in the query alone
        ("http://a/\ue000", "http://a/\ue000"),
        ("http://a/\ufffe \ud800", "http://a/\ufffe \ud800"),
    ],
)
def test_an_iri_stands_for_a_uri(iri: str, uri: str) -> None:
    assert uri_of(iri) == uri
    assert conforms(iri, "iri") is uri.isascii()


@given(st.text(alphabet="a:/?#[]@%41.é\ue000 \n\t", max_size=12))
def test_what_is_a_uri_is_an_iri_and_no_iri_holds_blanks(text: str) -> None:
    for of_uri, of_iri in (("uri", "iri"), ("uri-reference", "iri-reference")):
        if text.isascii():
            assert conforms(text, of_uri) is conforms(text, of_iri)
        if any(blank in text for blank in " \n\t"):
            assert not conforms(text, of_iri)
    assert conforms(text, "iri-reference") >= conforms(text, "iri")


def test_formats_need_no_grammar_of_iris() -> None:
    """The library loads the one package for them wherever it is installed, and that takes seconds."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert not [name for name in project["dependencies"] if "[format" in name or "rfc3987" in name]
