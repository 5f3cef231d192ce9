"""Dataset files: rows as they are, problems with their lines (SEMANTICS V7)."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from abs_replay.errors import SpecError, UsageError
from abs_replay.exact_json import Number
from abs_replay.spec.datasets import read_rows


def _file(folder: Path, name: str, data: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return file


@pytest.mark.parametrize(
    ("name", "data", "rows"),
    [
        ("a.json", '[{"a": 1.50}, {"b": [null]}]', ({"a": Number("1.50")}, {"b": [None]})),
        ("a.jsonl", '{"a": 1}\r\n\n{"a": "é\\u2028"}', ({"a": 1}, {"a": "é\u2028"})),
        ("a.jsonl", '{"a": "x\u2028y"}\n', ({"a": "x\u2028y"},)),
        (
            "a.CSV",
            'a,b c\n1,"x\ny"\n\n"say ""hi""",\n',
            ({"a": "1", "b c": "x\ny"}, {"a": 'say "hi"', "b c": ""}),
        ),
        ("a.csv", b"\xef\xbb\xbfa\r\n1\r\n", ({"a": "1"},)),
    ],
)
def test_rows_are_as_the_file_has_them(
    tmp_path: Path, name: str, data: str | bytes, rows: tuple[object, ...]
) -> None:
    assert read_rows(_file(tmp_path, name, data)) == rows


@pytest.mark.parametrize(
    ("name", "data", "lines"),
    [
        ("a.json", '{"a": 1}', [1]),
        ("a.json", '[{"a": 1}, 2, []]', [1, 1]),
        ("a.json", "[", [1]),
        ("a.json", '[{"a": 1},\n{"a": 1]', [2]),
        ("a.json", '[{"a": 1},\n{"a": 1,\n"a": 2}]', [3]),
        ("a.jsonl", '{"a": 1}\n{"a": {"b": 1, "b": 2}}', [2]),
        ("a.jsonl", '{"a": %s}' % ("9" * 5000), [1]),
        ("a.jsonl", "{\n" * 5000, list(range(1, 1001))),
        ("a.json", "[" * 200_000, [1]),
        ("a.json", '[{"a": NaN}]', [1]),
        ("a.jsonl", '{"a": 1}\n[]\n\n{"a"}\n{"b": 2}\n', [2, 4]),
        ("a.csv", 'a,b\n1\n"x\ny",2\n1,2,3\n', [2, 5]),
        ("a.csv", "a,a\n1,2\n", [1]),
        ("a.csv", 'a\n"x\n', [2]),
        ("a.csv", "a,b\n", [None]),
        ("a.json", "[]", [None]),
        ("a.jsonl", "", [None]),
        ("a.csv", b"a\n\xff\n", [None]),
    ],
)
def test_every_row_that_is_none_is_told_with_its_line(
    tmp_path: Path, name: str, data: str | bytes, lines: list[int | None]
) -> None:
    file = _file(tmp_path, name, data)
    with pytest.raises(SpecError) as raised:
        read_rows(file)
    assert [problem.line for problem in raised.value.problems] == lines
    assert {problem.file for problem in raised.value.problems} == {str(file)}


@pytest.mark.parametrize("name", ["nothing.csv", "rows.txt", "folder.json"])
def test_a_file_that_is_no_dataset_is_wrong_usage(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(UsageError, match=name):
        read_rows(tmp_path / name)


_CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b"]), _CELLS, min_size=2), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_all_three_forms_hold_the_same_rows(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, ["a", "b"])
    writer.writeheader()
    writer.writerows(rows)
    as_json = [json.dumps(row, ensure_ascii=False) for row in rows]
    assert list(read_rows(_file(tmp_path, "r.csv", table.getvalue()))) == rows
    assert list(read_rows(_file(tmp_path, "r.jsonl", "\n".join(as_json)))) == rows
    assert list(read_rows(_file(tmp_path, "r.json", f"[{','.join(as_json)}]"))) == rows


def test_a_value_that_is_too_long_for_csv_is_told_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n3," + "x" * 140_000 + "\n")

    with pytest.raises(SpecError) as raised:
        read_rows(path)

    (problem,) = raised.value.problems
    assert problem.line == 3
    assert problem.message.startswith("a value has more than 131,072 characters: close the quotation mark")
