"""A file's views: what it is as JSON, lines and YAML, made once; and where it is wrong, with the line."""

import gzip
from pathlib import Path

import pytest

from abs_replay.errors import UsageError
from abs_replay.exact_json import Number
from abs_replay.importers import NOTHING, Line, Source, open_source
from abs_replay.importers.yaml_values import Tagged, read


def source(text: str | bytes, name: str = "x.json") -> Source:
    return Source(Path(name), text if isinstance(text, bytes) else text.encode())


def test_what_is_no_such_thing_is_nothing_and_needing_it_says_the_line() -> None:
    broken = source('{\n"a": 1,\n}')
    assert broken.json is NOTHING
    with pytest.raises(UsageError, match=r"^x.json:3: is no JSON"):
        broken.need_json()
    with pytest.raises(UsageError, match=r"^x.json:2: is no JSON"):
        source('{}\n{"a"\n').need_json_lines()
    with pytest.raises(UsageError, match=r"^x.json:3: is no YAML"):
        source("a: 1\nb: [").need_yaml()
    assert source("a: [").yaml is NOTHING


@pytest.mark.parametrize("data", [b"\xff{}", b"\x00\xff"])
def test_bytes_that_are_no_text_are_told_by_every_view(data: bytes) -> None:
    binary = source(data)
    assert (binary.text, binary.json, binary.json_lines, binary.yaml) == (None, NOTHING, NOTHING, NOTHING)
    for need in (binary.need_text, binary.need_json, binary.need_json_lines, binary.need_yaml):
        with pytest.raises(UsageError, match=r"^x.json:1: is not UTF-8 text"):
            need()


def test_numbers_are_exact_and_lines_know_their_numbers() -> None:
    assert str(source('{"a": 0.10}').json["a"]) == "0.10"
    lines = source('\ufeff{"a": "\u2028"}\n\n[2]\r\n', "x.jsonl").json_lines
    assert lines == (Line(1, {"a": "\u2028"}), Line(3, [2]))
    assert source("  \n").json_lines is NOTHING
    with pytest.raises(UsageError, match="is empty"):
        source("").need_json_lines()


def test_views_are_made_once() -> None:
    once = source('{"a": [1]}')
    assert once.json is once.json
    assert once.json_lines is once.json_lines
    assert once.yaml is once.yaml


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("order.cassette.json", "order"),
        ("t.trace.jsonl", "t"),
        ("a.b.yaml.gz", "a.b"),
        ("plain", "plain"),
        (".hidden", ".hidden"),
    ],
)
def test_a_recording_is_called_like_its_file(name: str, stem: str) -> None:
    assert source("", name).stem == stem


def test_gzip_is_undone_and_what_can_not_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.json.gz").write_bytes(gzip.compress(b'{"a": 1}'))
    assert open_source(tmp_path / "x.json.gz").json == {"a": 1}
    with pytest.raises(UsageError, match="can not be read"):
        open_source(tmp_path)
    with pytest.raises(UsageError, match="can not be read"):
        open_source(tmp_path / "missing")


def test_plain_scalars_are_what_writers_of_yaml_mean() -> None:
    text = "{a: ~, b: yes, c: 017, d: 12, e: 0.10, f: 2020-01-01, g: .nan, h: 1_000, i: '1', 2: k, j: 1e400}"
    got = read(text)
    assert [got[key] for key in "abcde"] == [None, True, "017", 12, Number("0.10")]
    assert [got[key] for key in "fghij2"] == ["2020-01-01", ".nan", "1_000", "1", "1e400", "k"]
    assert str(read("0.10")) == "0.10"


def test_tags_are_told_and_bytes_are_bytes() -> None:
    assert read("[!!binary aGk=, !binary 'aGk=', !x {a: 1}, !!python/tuple [1]]") == [
        *(b"hi", b"hi"),
        *(Tagged("!x", {"a": 1}), Tagged("tag:yaml.org,2002:python/tuple", [1])),
    ]
    assert read("? [a, {b: !x c}]\n: 1\n? !y z\n: 2\n") == {("a", (("b", "c"),)): 1, "z": 2}
    assert read("") is None
    assert read("a: 1\n---\nb: 2\n") == {"a": 1}
