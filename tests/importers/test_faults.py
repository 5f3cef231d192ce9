"""What is wrong with a file that nobody recognises."""

from pathlib import Path

import pytest

from abs_replay.importers import Source, recognise
from abs_replay.importers.faults import fault

LINE = b'{"a": 1}\n'


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("x.jsonl", LINE + b'{"a', ":2: is no JSON (Unterminated string starting at, column 2)"),
        ("x.jsonl", LINE + b'{"a": NaN}\n', ":2: is no JSON that can be read (NaN is no JSON number)"),
        ("x.jsonl", LINE + b'{"a": "\xe9"}\n', ":2: is not UTF-8 text (byte 0xe9)"),
        ("x.jsonl.gz", LINE + b"[", ":2: is no JSON (Expecting value, column 2)"),
        ("x.ndjson", LINE + b"[", ":2: is no JSON (Expecting value, column 2)"),
        ("x.json", LINE + b"[", ":2: is no JSON (Expecting value, column 2)"),
        ("x.json", b'{\n"a": "NaN",\n"b": NaN}', ":3: is no JSON that can be read (NaN is no JSON number)"),
        ("x.json", b'{\n"a": 1,', ":2: is no JSON"),
        ("x.JSON", b'{\n"a": 1}\nmore', ":3: is no JSON (Extra data, column 1)"),
        ("x.json", b"", ": is empty"),
        ("x.yaml", b"\n \n", ": is empty"),
        ("x.log", b"", ": is empty"),
        ("x.yaml", b"# soon\n", ": holds nothing but comments"),
        ("x.yml", b"a: [1\nb: 2", ":2: is no YAML that can be read"),
        ("x.csv", b"a,b\n\xff,1\n", ":2: is not UTF-8 text (byte 0xff)"),
    ],
)
def test_the_first_fault_is_told_with_its_line(name: str, data: bytes, told: str) -> None:
    source = Source(Path(name), data)
    assert recognise(source) is None
    assert (fault(source) or "").startswith(name + told)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.json", b'{\n"a": 1}'),
        ("x.json", LINE + LINE),
        ("x.jsonl", b'{\n"a": 1}'),
        ("x.yaml", b"a: 1"),
        ("x.csv", b"a,b\n"),
        ("notes.txt", b"\xff"),
        ("README", b"\xff"),
    ],
)
def test_what_is_as_its_ending_promises_has_no_fault(name: str, data: bytes) -> None:
    assert fault(Source(Path(name), data)) is None
