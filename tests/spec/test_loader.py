"""Loading documents (SEMANTICS D1 to D8): what is refused, where it is said, what only warns."""

import json
import os
from pathlib import Path

import pytest

from abs_replay.errors import Problem, SpecError, UsageError
from abs_replay.spec.configuration import Configuration
from abs_replay.spec.loader import Documents, load

HI = "  - { actor: user, action: says, content: Hi }\n"
HEAD = 'session: S\nabs_version: "0.2"\n'


def _load(folder: Path, text: str | bytes, configuration: Configuration | None = None) -> Documents:
    file = folder / "s.abs.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load([file], configuration or Configuration())


def _problems(folder: Path, text: str | bytes) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as raised:
        _load(folder, text)
    return raised.value.problems


def _only(folder: Path, text: str | bytes) -> Problem:
    (problem,) = _problems(folder, text)
    return problem


def _rule(text: str, *, session: bool = False) -> str:
    if session:
        return f"{HEAD}behaviors:\n{HI}evaluations:\n  - {{ {text} }}\n"
    call = "  - { actor: assistant, action: calls, evaluations: [{ " + text + " }] }\n"
    return f"{HEAD}behaviors:\n{HI}{call}"


@pytest.mark.parametrize(
    ("text", "line", "path"),
    [
        ("- a\n", 1, ""),
        ("session: S\n", 1, ""),
        (f"{HEAD}behaviors: []\n", 3, "behaviors"),
        (f"{HEAD}behaviors: x\n", 3, "behaviors"),
        (f"{HEAD}behaviors:\n  - hello\n", 4, "behaviors[0]"),
        (f"{HEAD}behaviors:\n{HI}description: 5\n", 5, "description"),
        (f"session: 2024\nabs_version: 0.2\nbehaviors:\n{HI}", 1, "session"),
        (f"session: S\nabs_version: '0.3'\nbehaviors:\n{HI}", 2, "abs_version"),
        (f"{HEAD}dataset: {{ path: x }}\nbehaviors:\n{HI}", 3, "dataset"),
        (f"{HEAD}dataset: {{ id: x, file: y }}\nbehaviors:\n{HI}", 3, "dataset.file"),
        (f"{HEAD}behaviors:\n{HI}  -\n    actor: user\n", 5, "behaviors[1]"),
        (f"{HEAD}behaviors:\n{HI}  - include: [x]\n", 5, "behaviors[1].include"),
        (f"{HEAD}fragments:\n  f: {{ behaviors: [] }}\nbehaviors:\n{HI}", 4, "fragments.f"),
        (f"{HEAD}fragments:\n  f:\n    - include: g\nbehaviors:\n{HI}", 5, "fragments.f[0].include"),
        (f"{HEAD}fragments:\n  f:\n    - include: f\nbehaviors:\n{HI}", 5, "fragments.f[0].include"),
        (f"{HEAD}behaviors:\n{HI}  - {{ include: f, actor: user }}\nfragments: {{ f: [] }}\n", 5,
         "behaviors[1].actor"),
        (f"{HEAD}behaviors:\n  - {{ id: a, actor: a, action: b }}\n  - {{ id: a, actor: a, action: b }}\n",
         5, "behaviors[1].id"),
        (f"{HEAD}behaviors:\n{HI}  - {{ id: a, actor: a, action: b, requires: a }}\n", 5,
         "behaviors[1].requires"),
        (f"{HEAD}behaviors:\n{HI}  - {{ actor: assistant, action: a, matches_when: {{ type: contains }} }}\n",
         5, "behaviors[1].matches_when"),
        (f"{HEAD}behaviors:\n{HI}  - {{ actor: assistant, action: a, matches_when: {{ type: [x] }} }}\n",
         5, "behaviors[1].matches_when.type"),
        (f"{HEAD}behaviors:\n{HI}  - actor: assistant\n    action: a\n"
         "    matches_when: { type: regex, pattern: '(' }\n", 7, "behaviors[1].matches_when.pattern"),
    ],
)  # fmt: skip
def test_a_document_is_refused_at_its_first_wrong_place(
    tmp_path: Path, text: str, line: int, path: str
) -> None:
    problem = _only(tmp_path, text)
    assert (problem.line, problem.path) == (line, path)


def test_the_nearest_known_key_is_named(tmp_path: Path) -> None:
    assert "did you mean `behaviors`?" in _only(tmp_path, f"{HEAD}behaviours:\n{HI}").message


def test_a_selector_of_a_sequence_that_picks_optional_behaviors_only_is_refused(tmp_path: Path) -> None:
    text = (
        f"{HEAD}behaviors:\n{HI}"
        "  - { actor: assistant, action: asks, optional: true }\n"
        "  - { actor: assistant, action: calls, target: T, optional: true }\n"
        "  - { actor: assistant, action: calls }\n"
        "evaluations:\n"
        "  - type: sequence\n"
        "    order:\n"
        "      - { actor: assistant, action: calls, target: T }\n"
        "      - { actor: assistant, action: asks }\n"
    )
    assert _only(tmp_path, text).path == "evaluations[0].order[1]"


def test_an_alias_of_the_configuration_is_the_same_name_to_a_selector(tmp_path: Path) -> None:
    text = (
        f"{HEAD}behaviors:\n{HI}  - {{ actor: assistant, action: calls, target: T, optional: true }}\n"
        "evaluations:\n  - { type: sequence, order: [{ actor: assistant, target: get_t }] }\n"
    )
    assert _load(tmp_path, text).sessions
    with pytest.raises(SpecError):
        _load(tmp_path, text, Configuration(aliases={"T": ("get_t",)}))


def test_an_adapter_of_the_configuration_is_known(tmp_path: Path) -> None:
    text = _rule("type: llm_judge, criteria: c, adapter: ours")
    assert _only(tmp_path, text).path == "behaviors[1].evaluations[0].adapter"
    assert _load(tmp_path, text, Configuration(adapters=("ours",))).sessions


def test_a_variable_heard_only_in_an_evaluation_or_as_a_part_is_known(tmp_path: Path) -> None:
    call = "  - { actor: a, action: b, evaluations: [{ type: contains, value: '{{order.id}}' }] }\n"
    rule = "evaluations: [{ type: variable_consistency, variable: order }]\n"
    assert _load(tmp_path, f"{HEAD}behaviors:\n{HI}{call}{rule}").sessions


def test_a_lent_fragment_sees_lent_ones_only(tmp_path: Path) -> None:
    lending = "fragments:\n  outer:\n    - include: inner\n---\n"
    own = f"{HEAD}fragments:\n  inner:\n    - {{ actor: a, action: b }}\nbehaviors:\n{HI}  - include: outer\n"
    problem = _only(tmp_path, lending + own)
    assert (problem.path, problem.line) == ("fragments.outer[0].include", 3)


def test_a_cycle_of_lent_fragments_is_placed_where_behaviors_lead_into_it(tmp_path: Path) -> None:
    lending = "fragments:\n  a: [include: b]\n  b: [include: a]\n---\n"
    problem = _only(tmp_path, f"{lending}{HEAD}behaviors:\n{HI}  - include: a\n")
    assert (problem.path, problem.line) == ("document[1].behaviors[1].include", 9)
    assert "a -> b -> a" in problem.message


def test_fragments_that_multiply_are_refused_in_bounded_time(tmp_path: Path) -> None:
    doubling = "".join(f"  f{i}: [include: f{i + 1}, include: f{i + 1}]\n" for i in range(30))
    text = f"{HEAD}fragments:\n{doubling}  f30: [{{ actor: a, action: b }}]\nbehaviors:\n  - include: f0\n"
    assert "more than" in _only(tmp_path, text).message


def test_a_long_chain_of_fragments_is_a_problem_and_no_traceback(tmp_path: Path) -> None:
    chain = "".join(f"  f{i}: [include: f{i + 1}]\n" for i in range(2000))
    text = f"{HEAD}fragments:\n{chain}  f2000: [{{ actor: a, action: b }}]\nbehaviors:\n  - include: f0\n"
    assert "deep" in _problems(tmp_path, text)[0].message


def test_problems_before_a_syntax_error_are_told_with_it(tmp_path: Path) -> None:
    problems = _problems(tmp_path, f"session: S\nbehaviours:\n{HI}---\nsession: [\n")
    assert [p.path for p in problems] == ["behaviours", ""]
    assert "YAML" in problems[-1].message


def test_problems_of_all_files_are_told_together(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.abs.yaml").write_text("session: S\n")
    with pytest.raises(SpecError) as raised:
        load([tmp_path])
    assert [Path(problem.file or "").name for problem in raised.value.problems] == [
        "a.abs.yaml",
        "b.abs.yaml",
    ]


def test_an_empty_file_has_no_session(tmp_path: Path) -> None:
    problem = _only(tmp_path, "# nothing\n")
    assert (problem.line, problem.path) == (1, "")


def test_keys_without_effect_warn(tmp_path: Path) -> None:
    text = (
        "session: S\nbehaviors:\n"
        "  - { actor: user, action: says }\n"
        "  - actor: assistant\n"
        "    action: says\n"
        "    capture: { 'two words': 1 }\n"
        "    evaluations: [{ type: contains, value: x, threshold: 0.5 }]\n"
        "evaluations:\n"
        "  - { type: never, match: { actor: tool }, blocking: true }\n"
    )
    assert [warning.path for warning in _load(tmp_path, text).warnings] == [
        "",
        "behaviors[1].capture.two words",
        "behaviors[1].evaluations[0].threshold",
        "evaluations[0].blocking",
    ]


def test_newer_features_in_an_older_document_warn(tmp_path: Path) -> None:
    text = f"session: S\nabs_version: 0.1\nbehaviors:\n{HI}  - {{ actor: a, action: asks, optional: true }}\n"
    assert [warning.path for warning in _load(tmp_path, text).warnings] == ["behaviors[1].optional"]


def test_two_sessions_of_one_name_warn(tmp_path: Path) -> None:
    text = f"{HEAD}behaviors:\n{HI}"
    warnings = _load(tmp_path, f"{text}---\n{text}").warnings
    assert [(warning.path, warning.line) for warning in warnings] == [("document[1].session", 6)]


def test_a_directory_gives_its_session_files_once_and_no_hidden_ones(tmp_path: Path) -> None:
    for name in ("b.abs.yaml", "sub/a.abs.json", ".venv/c.abs.yaml", "other.yaml"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"session": name, "behaviors": [{"actor": "a", "action": "b"}]}))
    documents = load([tmp_path, tmp_path / "b.abs.yaml"])
    assert [session.name for session in documents.sessions] == ["b.abs.yaml", "sub/a.abs.json"]


@pytest.mark.parametrize("name", ["nothing.abs.yaml", "empty", "x" * 300])
def test_a_path_that_leads_to_nothing_is_wrong_usage(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"can not be read|no session here"):
        load([tmp_path / name])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_wrong_usage(tmp_path: Path) -> None:
    file = tmp_path / "s.abs.yaml"
    file.write_text("")
    file.chmod(0)
    with pytest.raises(UsageError, match="can not be read"):
        load([file])


@pytest.mark.parametrize(
    ("match", "path", "word"),
    [
        ("x", "", "mapping"),
        ("{ type: contain, value: x }", ".type", "did you mean `contains`?"),
        ("{ type: 3, value: x }", ".type", "must be text"),
    ],
)
def test_a_matches_when_of_no_kind_is_refused(tmp_path: Path, match: str, path: str, word: str) -> None:
    text = f"{HEAD}behaviors:\n{HI}  - {{ actor: assistant, action: informs, matches_when: {match} }}\n"
    problem = _only(tmp_path, text)
    assert problem.path == f"behaviors[1].matches_when{path}"
    assert word in problem.message


def test_a_capture_that_no_reference_can_name_warns(tmp_path: Path) -> None:
    text = f"{HEAD}behaviors:\n  - {{ actor: user, action: says, content: x, capture: {{ 'a b': 1 }} }}\n"
    (warning,) = _load(tmp_path, text).warnings
    assert (warning.path, warning.line) == ("behaviors[0].capture.a b", 4)


def test_what_is_wrong_in_a_fragment_is_told_once_however_often_it_is_included(tmp_path: Path) -> None:
    fragments = "fragments: { f: [{ include: g }] }\n"
    twice = f"{HEAD}{fragments}behaviors: [{{ include: f }}, {{ include: f }}]\n"
    assert [str(p.path) for p in _problems(tmp_path, twice)] == ["fragments.f[0].include"]


def test_evaluations_that_are_none_do_not_hinder_the_other_checks(tmp_path: Path) -> None:
    wrong = "evaluations: [3, { type: contains, value: a, match: 3 }]"
    text = f"{HEAD}behaviors:\n{HI}  - {{ actor: assistant, action: informs, {wrong} }}\n"
    text += "evaluations: [{ type: variable_consistency, variable: v }]\n"
    assert [problem.path for problem in _problems(tmp_path, text)] == [
        "behaviors[1].evaluations[0]",
        "behaviors[1].evaluations[1].match",
        "evaluations[0].variable",
    ]


def test_a_session_of_very_many_behaviors_is_refused(tmp_path: Path) -> None:
    text = f"{HEAD}behaviors:\n" + "- { actor: user, action: says }\n" * 10_001
    assert _only(tmp_path, text) == Problem(
        "more than 10000 behaviors: divide the session", str(tmp_path / "s.abs.yaml"), 3, "behaviors"
    )


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("".join(f"key{n}: x\n" for n in range(2000)), id="unknown"),
        pytest.param("".join(f"x-{n}: x\n" * 2 for n in range(2000)), id="twice"),
    ],
)
def test_of_very_many_problems_a_thousand_are_told(tmp_path: Path, lines: str) -> None:
    *others, last = _problems(tmp_path, f"{HEAD}behaviors:\n{HI}{lines}")
    assert len(others) == 999
    assert last.message == "and more: mend what is told so far"


def test_an_id_that_nobody_has_is_told_in_a_line_of_bounded_length(tmp_path: Path) -> None:
    ids = "".join(f"  - {{ actor: user, action: says, id: a{n} }}\n" for n in range(100))
    wanted = "  - { actor: user, action: says, requires: %s }\n"
    near = _only(tmp_path, f"{HEAD}behaviors:\n{ids}{wanted % 'a7x'}").message
    assert near.endswith("did you mean `a7`?")
    far = _only(tmp_path, f"{HEAD}behaviors:\n{ids}{wanted % 'zebra'}").message
    assert far.endswith("a18, a19 and 80 more")
    assert "did you mean" not in _only(tmp_path, f"{HEAD}behaviors:\n{ids}{wanted % ('a' * 200)}").message


def test_one_mistake_in_very_many_places_is_told_once_with_their_number(tmp_path: Path) -> None:
    path = tmp_path / "s.abs.yaml"
    head = 'session: A\nabs_version: "0.2"\nbehaviors:\n'
    path.write_text(head + "  - include: typo\n" * 300 + "  - { actor: user, action: says, contnt: hi }\n")

    with pytest.raises(SpecError) as raised:
        load([path])

    unknown, missing = raised.value.problems
    assert (unknown.line, unknown.path) == (4, "behaviors[0].include")
    assert unknown.message.endswith("(and in 299 more places)")
    assert (missing.line, missing.path) == (304, "behaviors[300].contnt")

    path.write_text(head + "  - include: typo\n" * 10)
    with pytest.raises(SpecError) as raised:
        load([path])
    assert [problem.line for problem in raised.value.problems] == list(range(4, 14))


def test_a_pattern_that_is_nested_too_deep_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "s.abs.yaml"
    pattern = "(" * 5000 + "a" + ")" * 5000
    rule = f'{{ type: regex, pattern: "{pattern}" }}'
    behavior = f"{{ actor: assistant, action: says, evaluations: [{rule}] }}"
    path.write_text(f'session: A\nabs_version: "0.2"\nbehaviors:\n  - {behavior}\n')

    with pytest.raises(SpecError, match=r"no valid pattern: nested too deep$"):
        load([path])
