"""What is wrong in a trace file is told with its line, as far as the file can be walked."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.errors import UsageError
from abs_replay.importers import trace_file
from abs_replay.importers.json_lines import line_of

STEP = {"seq": 1, "actor": "user", "action": "says"}


@pytest.mark.parametrize(
    ("steps", "line", "path"),
    [
        ([STEP, {**STEP, "seq": 2, "actor": "usr"}], 11, "steps[1].actor"),
        ([STEP, {**STEP, "seq": 1}], 10, "steps[1].seq"),
        ([STEP, {"seq": 2, "actor": "user"}], 9, "steps[1]"),
        ([STEP, 5], 9, "steps[1]"),
        ([], 3, "steps"),
    ],
)
def test_a_problem_of_a_trace_file_has_its_line(
    tmp_path: Path, steps: list[Any], line: int, path: str
) -> None:
    file = tmp_path / "t.trace.json"
    file.write_text(json.dumps({"trace": "t", "steps": steps}, indent=2))

    with pytest.raises(UsageError) as raised:
        trace_file.read(file)
    assert str(raised.value).startswith(f"{file}:{line}: {path}: ")


def test_a_file_of_one_line_is_told_without_its_number(tmp_path: Path) -> None:
    file = tmp_path / "t.trace.json"
    file.write_text(json.dumps({"steps": [5]}) + "\n")

    with pytest.raises(UsageError) as raised:
        trace_file.read(file)
    assert str(raised.value).startswith(f"{file}: steps[0]: ")


VALUES = st.recursive(
    st.none() | st.integers() | st.text('ab\n"\\,:[]{}é', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
)


@given(VALUES, st.text("xyz.[]012", max_size=12))
def test_any_path_in_any_text_gives_a_line_of_it(value: object, path: str) -> None:
    text = json.dumps(value, indent=1)
    line = line_of(text, path)

    assert line is None or 1 <= line <= text.count("\n") + 1


def test_the_line_of_the_nearest_value_around_serves_where_the_path_leads_no_further() -> None:
    text = '{\n "tags": {\n  "a.b": 1\n },\n "n": ' + "9" * 5000 + ',\n "z": 1\n}'

    assert line_of(text, "tags.a.b") == 2
    assert line_of(text, "z") == 1
