"""Trace files: what is read, what is refused and how, and that writing loses nothing."""

import dataclasses
import json
import os
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay import exact_json
from abs_replay.errors import UsageError
from abs_replay.exact_json import Number
from abs_replay.importers import importer, open_source, recognise, trace_file
from abs_replay.trace import Branch, Source, Step, Trace, Usage, Visibility

REPOSITORY = Path(__file__).parents[2]

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
exact = st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda d: Number(str(d)))
values = st.recursive(
    scalars | exact,
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=4), v, max_size=3),
    max_leaves=6,
)
times = st.none() | st.floats(allow_nan=False, allow_infinity=False)
words = st.none() | st.text(max_size=8)


def steps(seq: int) -> st.SearchStrategy[Step]:
    return st.builds(
        Step,
        seq=st.just(seq),
        actor=st.sampled_from(["user", "assistant", "tool", "system", "human"]),
        action=st.sampled_from(["says", "responds", "calls", "hands_off"]),
        target=words,
        content=values,
        arguments=values,
        call_id=words,
        at_ms=times,
        duration_ms=times,
        visibility=st.sampled_from(Visibility),
        parallel_group=words,
        sources=st.lists(st.builds(Source, st.text(max_size=4), st.text(max_size=4)), max_size=2).map(tuple),
        model=words,
        usage=st.none() | st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**6)),
        error=words,
    )


traces = st.builds(
    Trace,
    id=st.text(min_size=1, max_size=8),
    steps=st.integers(1, 2).flatmap(lambda n: st.tuples(*(steps(i) for i in range(1, n + 1)))),
    session=words,
    recording=words,
    started_at=times,
    bindings=st.dictionaries(st.text(max_size=4), values, max_size=2),
    vars=st.dictionaries(st.text(max_size=4), values, max_size=2),
    tags=st.dictionaries(st.sampled_from(["agent_version", "a", "b"]), st.text(max_size=4), max_size=2),
    agent_version=words,
)


@given(st.lists(traces, min_size=1, max_size=2))
def test_what_is_written_is_read_back_the_same(tmp_path_factory: Any, wanted: list[Trace]) -> None:
    path = tmp_path_factory.mktemp("t") / "many.trace.jsonl"
    path.write_bytes(trace_file.write(wanted).encode())
    assert trace_file.read(path) == tuple(wanted)


@given(traces)
def test_a_trace_survives_its_json_form(wanted: Trace) -> None:
    assert trace_file.from_json(exact_json.loads(exact_json.dumps(trace_file.as_json(wanted)))) == wanted


def read_text(tmp_path: Path, text: str, name: str = "x.trace.json") -> tuple[Trace, ...]:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return trace_file.read(tmp_path / name)


def refusal(tmp_path: Path, text: str, name: str = "x.trace.json") -> str:
    with pytest.raises(UsageError) as caught:
        read_text(tmp_path, text, name)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{tmp_path}{os.sep}", "")


STEP = {"seq": 1, "actor": "user", "action": "says"}


def with_step(**fields: object) -> str:
    return json.dumps({"steps": [STEP, {**STEP, "seq": 2, **fields}]})


def test_the_example_of_the_format_is_read_whole(tmp_path: Path) -> None:
    text = """{"trace": "t-0001", "session": "Refund", "bindings": {"cases.userMessage": "..."},
      "tags": {"agent_version": "1.4.2"}, "steps": [
      {"seq": 1, "actor": "user", "action": "says", "content": "Where is my order?", "at_ms": 0},
      {"seq": 2, "actor": "assistant", "action": "calls", "target": "Order MCP",
       "arguments": {"orderId": "12345"}, "call_id": "c1", "at_ms": 410}]}"""
    (trace,) = read_text(tmp_path, text)
    assert (trace.id, trace.session, trace.agent_version) == ("t-0001", "Refund", "1.4.2")
    assert trace.bindings == {"cases.userMessage": "..."}
    assert trace.steps[1] == Step(
        2, "assistant", "calls", "Order MCP", None, {"orderId": "12345"}, "c1", at_ms=410.0
    )


def test_numbers_stay_exact(tmp_path: Path) -> None:
    (trace,) = read_text(tmp_path, '{"steps": [{"seq":1,"actor":"tool","action":"responds","content":0.10}]}')
    assert trace.steps[0].content == Decimal("0.10")
    assert '"content":0.10' in trace_file.write([trace])


def test_an_unnamed_trace_is_called_after_its_file_and_line(tmp_path: Path) -> None:
    line = json.dumps({"steps": [STEP]})
    assert [t.id for t in read_text(tmp_path, line)] == ["x"]
    assert [t.id for t in read_text(tmp_path, f"{line}\n\n{line}\n", "y.trace.jsonl")] == ["y:1", "y:3"]


def test_unknown_fields_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    text = "\ufeff" + json.dumps({"later": 1, "steps": [{**STEP, "later": {}}]})
    assert read_text(tmp_path, text)[0].steps == (Step(1, "user", "says"),)


def test_a_line_separator_inside_a_text_does_not_end_a_line(tmp_path: Path) -> None:
    line = '{"steps":[{"seq":1,"actor":"user","action":"says","content":"a\u2028b"}]}'
    assert read_text(tmp_path, line, "x.jsonl")[0].steps[0].content == "a\u2028b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (with_step(actor="asistant"), "steps[1].actor: 'asistant' is unknown; did you mean 'assistant'?"),
        (with_step(actor="robot"), "'robot' is unknown; use one of user,"),
        (with_step(actor="User"), "did you mean 'user'?"),
        (with_step(actor=""), "use one of user, assistant, tool, system, human, external"),
        (with_step(seq=1), "steps[1].seq: 1 comes after 1; number the steps upward"),
        (with_step(seq="2"), 'steps[1].seq: is "2", not a whole number'),
        (with_step(seq=True), "steps[1].seq: is true, not a whole number"),
        (with_step(target=3), "steps[1].target: is 3, not text"),
        (with_step(at_ms="soon"), 'steps[1].at_ms: is "soon", not a number'),
        (with_step(visibility="hidden"), "steps[1].visibility: 'hidden' is unknown; use user or internal"),
        (with_step(sources=[{"at": "x"}]), "steps[1].sources[0]: has no exchange"),
        (with_step(usage={"input_tokens": "1"}), 'steps[1].usage.input_tokens: is "1", not a whole number'),
        ('{"steps": [{"seq": 1, "actor": "user"}]}', "steps[0]: has no action; add it"),
        ('{"steps": {}}', "steps: is {}, not a list"),
        ('{"steps": [1]}', "steps[0]: is 1, not an object"),
        ('{"tags": {"a": 1}, "steps": [{"seq": 1, "actor": "user", "action": "says"}]}', "tags.a: is 1, not"),
        ('{"steps": []}', "steps: is empty: nothing was observed"),
        ('{"messages": []}', "is no trace: it has no steps"),
        ("[]", "is [], not an object"),
    ],
)
def test_what_is_no_trace_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    said = refusal(tmp_path, text)
    assert said.startswith("x.trace.json: ")
    assert message in said


def test_broken_json_names_its_line(tmp_path: Path) -> None:
    assert refusal(tmp_path, '{\n"steps": [}').startswith("x.trace.json:2: is no JSON")
    good = json.dumps({"steps": [STEP]})
    assert refusal(tmp_path, f"{good}\n{{\n", "x.jsonl").startswith("x.jsonl:2: is no JSON")
    assert refusal(tmp_path, f"{good}\n" + with_step(seq=0), "x.jsonl").startswith("x.jsonl:2: steps[1].seq")


def test_json_lines_under_a_json_name_are_refused_with_the_right_name(tmp_path: Path) -> None:
    line = json.dumps({"steps": [STEP]})
    assert "name it .jsonl" in refusal(tmp_path, f"{line}\n{line}\n")


@pytest.mark.parametrize("text", ['{"steps": NaN}', "[" * 100_000, "1" * 5000])
def test_json_that_can_not_be_held_is_refused(tmp_path: Path, text: str) -> None:
    assert refusal(tmp_path, text).startswith("x.trace.json")


def test_a_file_that_is_missing_empty_or_no_text_is_refused(tmp_path: Path) -> None:
    assert "holds no trace" in refusal(tmp_path, "\n", "x.jsonl")
    with pytest.raises(UsageError, match="can not be read"):
        trace_file.read(tmp_path / "missing.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(UsageError, match="not UTF-8"):
        trace_file.read(tmp_path / "binary.json")


def test_a_trace_file_is_recognised_and_imported(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"steps": [STEP]}))
    (tmp_path / "y.trace.jsonl").write_text(json.dumps({"steps": [STEP]}) + "\n")
    for name, id_ in (("x.json", "x"), ("y.trace.jsonl", "y:1")):
        source = open_source(tmp_path / name)
        assert recognise(source) == "trace"
        assert [trace.id for trace in importer("trace").read(source).traces] == [id_]


def test_every_shared_trace_is_read(shared: Path) -> None:
    files = sorted((shared / "conformance").rglob("trace.json*"))
    assert files
    assert all(trace_file.read(path) for path in files)


def test_retries_segments_and_branches_come_back(tmp_path: Path) -> None:
    step = Step(1, "user", "says", retries=2, segment="rewritten")
    for branch in (Branch("t-1", 3), Branch("t-1")):
        trace = Trace("t-2", (step,), branch_of=branch)
        assert read_text(tmp_path, trace_file.write([trace])) == (trace,)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"seq": 10**400}, "steps[1].seq"),
        ({"at_ms": 10**400}, "steps[1].at_ms"),
        ({"usage": {"input_tokens": 2**63}}, "steps[1].usage.input_tokens"),
    ],
)
def test_numbers_that_nothing_could_keep_are_refused(tmp_path: Path, fields: Any, place: str) -> None:
    assert re.fullmatch(
        rf"x.trace.json: {re.escape(place)}: is \d+..., which is too large",
        refusal(tmp_path, with_step(**fields)),
    )


def test_a_fraction_that_is_too_large_for_a_time_is_refused(tmp_path: Path) -> None:
    text = with_step(at_ms=7).replace("7", "1e400")
    assert refusal(tmp_path, text) == "x.trace.json: steps[1].at_ms: is 1e400, which is too large"


def test_a_key_that_is_there_twice_is_refused_with_its_line(tmp_path: Path) -> None:
    message = 'the key "a" is there twice in one object; mend or export it anew'
    text = '{"steps": [\n{"seq": 1, "content": {"a": 1,\n"a": 2}}]}'
    assert refusal(tmp_path, text) == f"x.trace.json:3: {message}"
    lines = with_step() + "\n" + text.replace("\n", "")
    assert refusal(tmp_path, lines, "x.jsonl") == f"x.jsonl:2: {message}"


def test_what_is_absent_is_left_out_and_what_is_there_is_written() -> None:
    step = Step(1, "user", "says", sources=(Source("e", "at"), Source("f")), usage=Usage(3, 2, 2, 1))
    trace = Trace("t", (step,), tags={"agent_version": "1"}, agent_version="2")
    written = trace_file.as_json(trace)
    assert written["agent_version"] == "2"
    assert written["steps"] == [
        {
            "seq": 1,
            "actor": "user",
            "action": "says",
            "sources": [{"exchange": "e", "at": "at"}, {"exchange": "f"}],
            "usage": {"input_tokens": 3, "output_tokens": 2, "cached_tokens": 2, "reasoning_tokens": 1},
        }
    ]
    assert trace_file.from_json(written) == trace


def test_null_is_absent() -> None:
    step = dict.fromkeys(("target", "call_id", "at_ms", "visibility", "sources", "usage", "retries", "error"))
    told = {"steps": [{"seq": 1, "actor": "user", "action": "says", **step}], "tags": None, "branch_of": None}
    assert trace_file.from_json(told) == Trace("trace", (Step(1, "user", "says"),))


CALL: dict[str, Any] = {"seq": 1, "actor": "assistant", "action": "calls", "target": "Orders"}


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ({"sesion": "A", "steps": [CALL]}, "sesion: is no known key; did you mean 'session'?"),
        ({"steps": [{**CALL, "args": {}}]}, "steps[0].args: is no known key; did you mean 'arguments'?"),
        (
            {"steps": [{"seq": 1, "actor": "assistant", "action": "calls", "taget": "Orders"}]},
            "steps[0].taget: is no known key; did you mean 'target'?",
        ),
        (
            {"steps": [{"seq": 1, "actor": "assistant", "acton": "calls"}]},
            "steps[0].acton: is no known key; did you mean 'action'?",
        ),
        (
            {"steps": [{**CALL, "action": "cals"}]},
            "steps[0].action: 'cals' is unknown; did you mean",
        ),
        ({"steps": [{**CALL, "action": "Calls"}]}, "steps[0].action: 'Calls' is unknown; did you mean"),
    ],
)
def test_what_is_nearly_a_known_key_or_verb_is_refused_with_the_known_one(trace: Any, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        trace_file.from_json(trace)


def test_keys_and_verbs_of_others_are_left_alone() -> None:
    others: dict[str, Any] = {
        "x-note": 1,
        "models": ["a"],
        "model": "a",
        "latency": 5,
        "duration_ms": 5,
        "duration_s": 0.005,
    }
    for verb in ("clicks", "restores", "retries", "enters"):
        (step,) = trace_file.from_json({"steps": [{**CALL, **others, "action": verb}], "origin": "x"}).steps
        assert step.action == verb


def test_the_page_on_traces_names_every_key_that_is_written() -> None:
    page = (REPOSITORY / "docs" / "traces.md").read_text(encoding="utf-8")
    step = Step(
        1,
        "assistant",
        "calls",
        *("look", "words", {}, "c", 1.0, 1.0, Visibility.INTERNAL, "p", (Source("e", "at"),)),
        model="m",
        usage=Usage(3, 2, 2, 1),
        error="e",
        retries=1,
        segment="separate",
    )
    whole = Trace("t", (step,), "s", "r", 1.0, {"a": 1}, {"a": 1}, {"a": "b"}, "1", Branch("b", 1))
    written: Any = trace_file.as_json(whole)
    (told,) = written["steps"]
    assert len(told) == len(dataclasses.fields(Step))
    named = [*written, *told, *told["usage"], *told["sources"][0], *written["branch_of"]]
    assert [key for key in named if f"`{key}`" not in page and f'"{key}"' not in page] == []
