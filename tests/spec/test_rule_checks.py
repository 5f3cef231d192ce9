"""What is refused in an evaluation at load, and where (SEMANTICS D2, D7, D8)."""

import json
from pathlib import Path
from typing import Any

import pytest

from abs_replay.errors import Problem, SpecError
from abs_replay.spec.loader import Documents, load

HI = "  - { actor: user, action: says, content: Hi }\n"
HEAD = 'session: S\nabs_version: "0.2"\n'


def _load(folder: Path, text: str) -> Documents:
    file = folder / "s.abs.yaml"
    file.write_text(text)
    return load([file])


def _problems(folder: Path, text: str) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as raised:
        _load(folder, text)
    return raised.value.problems


def _only(folder: Path, text: str) -> Problem:
    (problem,) = _problems(folder, text)
    return problem


def _rule(text: str, *, session: bool = False) -> str:
    if session:
        return f"{HEAD}behaviors:\n{HI}evaluations:\n  - {{ {text} }}\n"
    call = "  - { actor: assistant, action: calls, evaluations: [{ " + text + " }] }\n"
    return f"{HEAD}behaviors:\n{HI}{call}"


@pytest.mark.parametrize(
    ("rule", "path", "word"),
    [
        ("type: contains, value: 2", "value", "text"),
        ("type: contains, value: ''", "value", "empty"),
        ("type: contains", "", "`value` is missing"),
        ("type: exact_match", "", "`value` is missing"),
        ("value: 1", "", "`type` is missing"),
        ("type: [contains], value: x", "type", "unknown"),
        ("type: contains, value: x, case_sensitive: 'no'", "case_sensitive", "true or false"),
        ("type: contains, value: x, when: ~", "when", "null"),
        ("type: contains, value: x, when: 'a ='", "when", "condition"),
        ("type: contains, value: x, when: true", "when", "text"),
        ("type: llm_judge, criteria: c, threshold: 2", "threshold", "at most 1"),
        ("type: llm_judge, criteria: c, threshold: high", "threshold", "number"),
        ("type: llm_judge", "", "criteria"),
        ("type: custom", "", "`id` is missing"),
        ("type: tool_call, with: { a: 1 }, with_only: { a: 1 }", "with_only", "exclude"),
        ("type: tool_call, with: x", "with", "mapping"),
        ("type: regex, pattern: '(?<a>x'", "pattern", "pattern"),
        ("type: regex, pattern: '({{a}}'", "pattern", "pattern"),
        ("type: schema, schema: { type: objekt }", "schema.type", "JSON Schema"),
        ("type: schema, schema: { $ref: '#/$defs/x' }", "schema.$ref", "nothing is there"),
        ("type: schema, schema: { $ref: other.json }", "schema.$ref", "out of the document"),
        ("type: schema, schema: { pattern: '(' }", "schema.pattern", "regex"),
        ("type: schema, schema: { $schema: 'http://example.org/draft-03' }", "schema.$schema", "draft"),
        ("type: all_of, evaluations: [{ type: never }]", "evaluations[0].type", "belongs to the session"),
        ("type: any_of, evaluations: x", "evaluations", "list"),
        ("type: any_of, evaluations: [1]", "evaluations[0]", "mapping"),
    ],
)  # fmt: skip
def test_a_step_evaluation_is_refused_at_the_key_or_value_that_is_wrong(
    tmp_path: Path, rule: str, path: str, word: str
) -> None:
    problem = _only(tmp_path, _rule(rule))
    assert problem.path == f"behaviors[1].evaluations[0].{path}".rstrip(".")
    assert problem.line == 5
    assert word in problem.message


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("type: count, match: { actor: user }", ""),
        ("type: count, match: { actor: user }, max: 1, min: 2", "min"),
        ("type: count, match: { actor: user }, min: 1.5", "min"),
        ("type: count, match: { actor: user }, min: -1", "min"),
        ("type: count, match: { actor: user }, min: 1e999999999", "min"),
        ("type: llm_judge, criteria: c, threshold: 1e400", "threshold"),
        (f"type: llm_judge, criteria: c, threshold: 1{'0' * 400}", "threshold"),
        ("type: count, match: {}, min: 1", "match"),
        ("type: never, match: { actor: ~ }", "match.actor"),
        ("type: never, match: user", "match"),
        ("type: sequence, order: []", "order"),
        ("type: sequence, order: [{}]", "order[0]"),
        ("type: within, after: { actor: user }, match: { actor: user }, max_steps: 0", "max_steps"),
        ("type: within, after: { actor: user }, match: { actor: user }, max_steps: two", "max_steps"),
        ("type: within, after: { actor: user }, match: { actor: user }", ""),
        ("type: expected, behavior: nobody", "behavior"),
        ("type: variable_consistency, variable: v", "variable"),
        ("type: all_of, evaluations: [{ type: expected, behavior: b }]", "evaluations[0].behavior"),
        ("type: contains, value: x", "type"),
    ],
)
def test_a_session_evaluation_is_refused_at_the_key_or_value_that_is_wrong(
    tmp_path: Path, rule: str, path: str
) -> None:
    problem = _only(tmp_path, _rule(rule, session=True))
    assert (problem.path, problem.line) == (f"evaluations[0].{path}".rstrip("."), 6)


@pytest.mark.parametrize(
    "rule",
    [
        "type: count, match: { actor: user }, min: '{{n}}', max: 0",
        "type: count, match: { actor: user }, min: 3.0",
        "type: within, after: { actor: user }, match: { actor: user }, max_steps: '{{n}}', every: '{{b}}'",
        "type: custom, id: mine, match: { whatever: ~ }, min: 2, max: 1, evaluations: [x], schema: 5",
        "type: llm_judge, criteria: '{{c}}', threshold: '{{t}}', adapter: '{{a}}'",
        "type: never, match: { actor: user, x-why: me }, x-note: y",
        "type: llm_judge, prompt: own",
    ],
)
def test_what_only_the_run_can_tell_is_not_refused_at_load(tmp_path: Path, rule: str) -> None:
    assert len(_load(tmp_path, _rule(rule, session=True)).sessions) == 1


def test_a_schema_is_checked_but_for_its_references(tmp_path: Path) -> None:
    schema = "{ type: '{{t}}', minimum: '{{m}}', required: ['{{r}}'], pattern: '^{{p}}$' }"
    assert _load(tmp_path, _rule(f"type: schema, schema: {schema}")).sessions


def test_a_reference_inside_an_embedded_schema_resolves_from_its_own_id(tmp_path: Path) -> None:
    inner = "{ $id: 'http://x/i', $defs: { n: { type: number } }, $ref: '#/$defs/n' }"
    schema = f"{{ $id: 'http://x/o', $defs: {{ i: {inner} }}, properties: {{ a: {{ $ref: i }} }} }}"
    assert _load(tmp_path, _rule(f"type: schema, schema: {schema}")).sessions


def test_a_deeply_nested_schema_is_a_problem_at_most(tmp_path: Path) -> None:
    schema: dict[str, Any] = {}
    for _ in range(44):
        schema = {"properties": {"a": schema}}
    rule = {"type": "schema", "schema": schema}
    call = {"actor": "tool", "action": "responds", "evaluations": [rule]}
    text = json.dumps({"session": "s", "abs_version": "0.2", "behaviors": [call]})
    assert _load(tmp_path, text).sessions


@pytest.mark.parametrize(
    ("rule", "path", "word"),
    [
        ("type: f1, ground_truth: self", "ground_truth", "has none"),
        ("type: rouge, ground_truth: x, response: bb", "response", "known: self, user"),
        (
            "type: all_of, evaluations: [{ type: f1, ground_truth: x, response: b.says }]",
            "evaluations[0].response",
            "known",
        ),
    ],
)
def test_what_a_text_metric_compares_must_be_there(tmp_path: Path, rule: str, path: str, word: str) -> None:
    problem = _only(tmp_path, _rule(rule))
    assert problem.path == f"behaviors[1].evaluations[0].{path}"
    assert word in problem.message


def test_a_text_metric_may_name_a_behavior_or_leave_the_name_to_the_run(tmp_path: Path) -> None:
    behavior = "{ id: b, actor: assistant, action: informs, content: x, evaluations: [%s] }"
    metrics = (
        "{ type: f1, ground_truth: self, response: b }, { type: f1, ground_truth: x, response: '{{r}}' }"
    )
    assert _load(tmp_path, f"{HEAD}behaviors:\n{HI}  - {behavior % metrics}\n").sessions


def test_a_wrong_number_is_not_told_again_for_what_it_excludes(tmp_path: Path) -> None:
    problem = _only(tmp_path, _rule("type: count, match: { actor: user }, min: 0, max: -1", session=True))
    assert problem.message == "must be at least 0"


def test_a_schema_that_aliases_nest_too_deeply_is_a_problem(tmp_path: Path) -> None:
    nested = "".join(f"x-{n}: &s{n} {{ not: *s{n - 1} }}\n" for n in range(1, 300))
    rule = "type: schema, schema: *s299"
    text = _rule(rule).replace("behaviors:", f"x-0: &s0 {{}}\n{nested}behaviors:")
    assert _only(tmp_path, text).message == "the schema is nested too deeply"


@pytest.mark.parametrize("schema", ["5", "[]", "x"])
def test_what_is_no_schema_at_all_is_refused(tmp_path: Path, schema: str) -> None:
    problem = _only(tmp_path, _rule(f"type: schema, schema: {schema}"))
    assert problem.message == "a JSON Schema is a mapping, true or false"


def test_a_draft_that_only_the_run_tells_is_not_refused_at_load(tmp_path: Path) -> None:
    schema = "{ $schema: '{{draft}}', type: objekt }"
    assert _load(tmp_path, _rule(f"type: schema, schema: {schema}")).sessions
