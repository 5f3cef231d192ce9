"""No log makes a reader of words raise anything but one line that names the file; nothing is unpacked."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay import importers
from abs_replay.errors import UsageError
from abs_replay.importers import IMPORTERS, Source, recognise, trace_file
from abs_replay.trace import ACTORS, Trace

FIXTURES = Path(__file__).parents[2] / "fixtures" / "importers"
FORMATS = (
    *("inspect", "tau-bench", "swe-agent", "claude-code", "openai-agents"),
    *("langsmith", "langfuse", "otel", "messages"),
)
KEYS = [
    *("role", "content", "messages", "tool_calls", "function", "arguments", "name", "id", "type", "usage"),
    *("input", "output", "outputs", "inputs", "generations", "choices", "message", "text", "kwargs", "lc"),
    *("events", "event", "timestamp", "samples", "eval", "attachments", "traj", "history", "parts", "data"),
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
ODD = ["user", "assistant", "tool", "constructor", "AIMessage", "ai", "\ud800", "{'a': 1}", '{"a": 1}', 2**80]
VALUES = st.recursive(
    SCALARS | st.sampled_from([*ODD, "function_call", "tool_use", "2026-05-01T10:00:00Z", 10**400, "[]"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=6,
)


def _documents() -> list[tuple[str, bool, Any]]:
    found = []
    for path in sorted(path for format_ in FORMATS for path in (FIXTURES / format_).glob("*.*")):
        if path.name.endswith((".trace.jsonl", ".txt", ".eval", ".csv", "console.json")):
            continue
        text = path.read_text(encoding="utf-8")
        lines = path.suffix == ".jsonl"
        found.append(
            (path.parent.name, lines, list(map(json.loads, text.splitlines())) if lines else json.loads(text))
        )
    return found


DOCUMENTS = _documents()


def read(format_: str, source: Source) -> None:
    """Ask who knows a file, and read it as one format; what is read are whole traces, or one line."""
    recognise(source)
    try:
        imported = importers.read(format_, source)
    except UsageError as error:
        message = str(error)
    else:
        message = str(source.path)
        assert imported.traces
        _are_whole(imported.traces)
    assert message.startswith(str(source.path))
    assert "\n" not in message


def _are_whole(traces: tuple[Trace, ...]) -> None:
    for trace in traces:
        assert trace.steps
        assert all(step.actor in ACTORS for step in trace.steps)
        assert [step.seq for step in trace.steps] == sorted({step.seq for step in trace.steps})
        written = trace_file.write([trace])
        assert trace_file.read_text(Path("x.jsonl"), written) == (trace,)


def _changed(value: Any, data: st.DataObject) -> Any:
    """The value with something else at one place."""
    if isinstance(value, dict | list) and value and data.draw(st.integers(0, 9)):
        places = list(value) if isinstance(value, dict) else list(range(len(value)))
        place = data.draw(st.sampled_from(places))
        copy = dict(value) if isinstance(value, dict) else list(value)
        copy[place] = _changed(value[place], data)
        return copy
    return data.draw(VALUES)


@settings(max_examples=80)
@given(st.data())
def test_a_log_with_something_else_at_one_place(data: st.DataObject) -> None:
    format_, lines, document = data.draw(st.sampled_from(DOCUMENTS))
    changed = _changed(document, data)
    as_lines = lines and isinstance(changed, list)
    text = "\n".join(map(json.dumps, changed)) if as_lines else json.dumps(changed)
    read(format_, Source(Path("x.jsonl" if lines else "x.json"), text.encode()))


@settings(max_examples=40)
@given(st.sampled_from(FORMATS), VALUES)
def test_any_json(format_: str, value: Any) -> None:
    read(format_, Source(Path("x.json"), json.dumps(value).encode()))


@settings(max_examples=40)
@given(st.sampled_from(["inputs", "outputs"]), VALUES)
def test_any_value_that_a_model_was_given_or_gave(key: str, value: Any) -> None:
    run = {"id": "1", "run_type": "llm", "start_time": "2026-05-01T10:00:00Z", "inputs": "Hi", key: value}
    read("langsmith", Source(Path("x.json"), json.dumps([run]).encode()))


@pytest.mark.parametrize("format_", FORMATS)
def test_deep_nesting_is_one_line(format_: str) -> None:
    deep = "[" * 5000 + "]" * 5000
    for text in (
        deep,
        '{"messages": ' + deep + "}",
        '{"samples": ' + '{"role": ' * 5000 + "1" + "}" * 5000 + "}",
    ):
        with pytest.raises(UsageError, match="deep") as raised:
            importers.read(format_, Source(Path("x.json"), text.encode()))
        assert "\n" not in str(raised.value)


def _zip(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target.getvalue()


HEADER = b'{"eval": {"task": "t"}, "status": "success"}'
SAMPLE = b'{"id": 1, "epoch": 1, "messages": [{"role": "user", "content": "Hi"}]}'


def test_an_archive_that_expands_without_end_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("abs_replay.importers.archives.LARGEST", 1 << 20)
    data = _zip({"header.json": HEADER, "samples/1_epoch_1.json": b" " * (8 << 20)})
    assert len(data) < 1 << 16
    with pytest.raises(UsageError, match="expands to more than 1 MiB"):
        importers.read("inspect", Source(Path("x.eval"), data))


def test_many_members_together_may_not_expand_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("abs_replay.importers.archives.LARGEST", 1 << 20)
    padded = SAMPLE + b" " * (200 << 10)
    data = _zip({"header.json": HEADER} | {f"samples/{n}_epoch_1.json": padded for n in range(9)})
    with pytest.raises(UsageError, match="expands to more than 1 MiB"):
        importers.read("inspect", Source(Path("x.eval"), data))


def test_a_name_in_an_archive_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    data = _zip(
        {
            "header.json": HEADER,
            "../evil.json": SAMPLE,
            "/evil.json": SAMPLE,
            "samples/../../evil.json": SAMPLE,
            "samples/1_epoch_1.json": SAMPLE,
        }
    )
    imported = importers.read("inspect", Source(Path("x.eval"), data))
    assert [trace.steps[0].content for trace in imported.traces] == ["Hi", "Hi"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["work"]


@settings(max_examples=40)
@given(st.integers(0, 400), st.binary(max_size=8))
def test_a_damaged_archive_is_one_line(at: int, there: bytes) -> None:
    data = _zip({"header.json": HEADER, "samples/1_epoch_1.json": SAMPLE})
    read("inspect", Source(Path("x.eval"), data[:at] + there + data[at + len(there) :]))
    read("inspect", Source(Path("x.eval"), data[:at]))


def test_an_encrypted_or_strangely_packed_member_is_one_line() -> None:
    data = bytearray(_zip({"header.json": HEADER, "samples/1_epoch_1.json": SAMPLE}))
    entry = data.index(b"PK\x01\x02")
    for offset, value, message in ((8, 1, "encrypted"), (10, 93, "packed in a way")):
        changed = bytearray(data)
        changed[entry + offset] = value
        changed[6 if offset == 8 else 8] = value
        with pytest.raises(UsageError, match=message):
            importers.read("inspect", Source(Path("x.eval"), bytes(changed)))


@pytest.mark.parametrize(
    ("format_", "text", "message"),
    [
        (
            "messages",
            '[{"role": "user", "content": "Hi"}]\n{"messages": 3}\n',
            "x.jsonl:2: expected a conver",
        ),
        (
            "messages",
            '{"messages": [{"role": "user"}, 4]}\n{}\n',
            "x.jsonl:1: messages[1]: expected a message",
        ),
        ("langsmith", '{"id": "1", "run_type": "llm"}\n{"id": "2"}\n', "x.jsonl:2: expected a run"),
        ("langfuse", '{"id": "1"}\n{"id": "2"}\n', "x.jsonl:1: expected a trace"),
        ("claude-code", '{"type": "user"\n', "x.jsonl:1: is no JSON"),
        ("otel", '{"resourceSpans": []}\n{"a": 1}\n', "x.jsonl:2: expected an export"),
        ("otel", '{\n"resourceSpans": []}\n{"a": \n}\n', "x.jsonl:3: is no JSON"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(format_: str, text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        importers.read(format_, Source(Path("x.jsonl"), text.encode()))
    assert str(raised.value).startswith(message)


def test_all_readers_of_words_are_tried_here() -> None:
    assert set(FORMATS) <= set(IMPORTERS)
