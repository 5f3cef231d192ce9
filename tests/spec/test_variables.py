"""Resolving references (SEMANTICS V1 to V7): where values come from and how places read them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.errors import Problem, SpecError, UsageError
from abs_replay.exact_json import Json, Number, loads
from abs_replay.spec import references, rules
from abs_replay.spec.configuration import Configuration
from abs_replay.spec.loader import load
from abs_replay.spec.resolved_rules import build
from abs_replay.spec.rule_types import EVALUATORS_VERSION
from abs_replay.spec.rules import Contains
from abs_replay.spec.session import UNSET, Evaluation, Session
from abs_replay.spec.variables import Sources, Template, parse_variables


def _template(folder: Path, **fields: Any) -> Template:
    file = folder / "s.abs.yaml"
    file.write_text(json.dumps({"session": "S", "abs_version": "0.2", **fields}))
    (session,) = load([file], Configuration(aliases={"T": ("get_t",)})).sessions
    return session


def _session(folder: Path, sources: Sources, *behaviors: Any, evaluations: tuple[Any, ...] = ()) -> Session:
    return _template(folder, behaviors=behaviors, evaluations=evaluations).resolve(sources)


def _says(content: Any, **more: Any) -> dict[str, Any]:
    return {"actor": "user", "action": "says", "content": content, **more}


def _content(folder: Path, content: Any, sources: Sources) -> Any:
    return _session(folder, sources, _says(content)).behaviors[0].content


def _missing(folder: Path, sources: Sources, *behaviors: Any) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as raised:
        _session(folder, sources, *behaviors)
    return raised.value.problems


def test_the_first_source_that_has_a_value_gives_it(tmp_path: Path) -> None:
    everywhere = {"a": "row", "b": "var", "c": "recorded", "d": "environment"}
    sources = Sources(
        row={"a": "row"},
        variables=dict.fromkeys("ab", "var"),
        recorded=dict.fromkeys("abc", "recorded"),
        environment={f"ABS_VAR_{key}": "environment" for key in "abcd"} | {"e": "no prefix"},
    )
    content = {key: f"{{{{{key}}}}}" for key in everywhere}
    assert _content(tmp_path, content, sources) == everywhere


@pytest.mark.parametrize(
    ("row", "reference"),
    [
        ({"city": "Rome"}, "city"),
        ({"city": "Rome"}, "cases.city"),
        ({"cases.city": "Rome"}, "cases.city"),
        ({"cases": {"city": "Rome"}}, "cases.city"),
        ({"cases.city": {"name": ["Oslo", "Rome"]}}, "cases.city.name.1"),
        ({"city": "Rome", "cases.city": "Rome", "cases": {}}, "cases.city"),
    ],
)
def test_a_row_has_its_keys_dotted_or_plain(tmp_path: Path, row: dict[str, Any], reference: str) -> None:
    template = _template(tmp_path, behaviors=[_says(f"{{{{{reference}}}}}")], dataset={"id": "cases"})
    assert template.resolve(Sources(row=row)).behaviors[0].content == "Rome"
    assert template.bindings(row) == {reference: "Rome"}


def test_a_capture_hides_every_source_outside(tmp_path: Path) -> None:
    behaviors = [
        _says("x", capture={"a": 1}),
        _says("{{a}}"),
        _says("x", capture={"a": "{{a}}2"}),
        _says("{{a}}"),
    ]
    session = _session(tmp_path, Sources(row={"a": "row"}), *behaviors)
    assert [behavior.content for behavior in session.behaviors] == ["x", 1, "x", "12"]
    assert session.values == {"a": "12"}


def test_a_nearer_capture_that_lacks_a_part_hides_a_farther_one(tmp_path: Path) -> None:
    behaviors = [_says("x", capture={"a": {"b": 1}}), _says("x", capture={"a": {}}), _says("{{a.b}}")]
    (problem,) = _missing(tmp_path, Sources(), *behaviors)
    assert problem.path == "behaviors[2].content"
    assert "behaviors[1]" in problem.message


def test_own_captures_count_for_evaluations_and_not_for_each_other(tmp_path: Path) -> None:
    rule = {"type": "contains", "value": "{{a}}"}
    session = _session(
        tmp_path,
        Sources(variables={"a": "0"}),
        _says("{{a}}", capture={"a": "1", "b": "{{a}}"}, evaluations=[rule]),
    )
    behavior = session.behaviors[0]
    assert (behavior.content, behavior.capture) == ("0", {"a": "1", "b": "0"})
    assert isinstance(behavior.evaluations[0].rule, rules.Contains)
    assert behavior.evaluations[0].rule.value == "1"
    assert behavior.values == {"a": "0"}


def test_every_reference_without_a_source_is_told_with_what_was_looked_at(tmp_path: Path) -> None:
    rule = {"type": "contains", "value": "x", "when": "{{c}} == 1"}
    behaviors = [
        _says("{{a}} {{b.c}}", capture={"d": {"e": 1}}),
        _says("x", target="{{d.f}}", evaluations=[rule]),
    ]
    problems = _missing(tmp_path, Sources(row={"r": 1}, variables={"v": 1}), *behaviors)
    places = ["behaviors[0].content"] * 2 + ["behaviors[1].target", "behaviors[1].evaluations[0].when"]
    assert [problem.path for problem in problems] == places
    assert all(problem.file and problem.line for problem in problems)
    for part in ("{{a}}", "the dataset row (r)", "--var (v)", "ABS_VAR_a"):
        assert part in problems[0].message
    assert "captures before it (d)" in problems[2].message


def test_a_missing_value_in_a_fragment_is_told_where_the_fragment_is_written(tmp_path: Path) -> None:
    template = _template(
        tmp_path, fragments={"f": [_says({"a": ["{{x}}"]})]}, behaviors=[_says("1"), {"include": "f"}]
    )
    with pytest.raises(SpecError) as raised:
        template.resolve(Sources())
    assert raised.value.problems[0].path == "fragments.f[0].content.a[0]"
    assert template.resolve(Sources(row={"x": 1})).behaviors[1].at == "behaviors[1]"


@pytest.mark.parametrize(
    ("value", "text"),
    [("é", "é"), (2, "2"), (True, "true"), (None, "null"), (Number("2.50"), "2.50"),
     ({"b": [1, "é"], "a": Number("1.0")}, '{"b":[1,"é"],"a":1.0}')],
)  # fmt: skip
def test_a_value_keeps_its_type_alone_and_is_compact_json_inside_text(
    tmp_path: Path, value: Any, text: str
) -> None:
    sources = Sources(row={"v": value})
    assert _content(tmp_path, ["{{v}}", "{{  v\t}}", "<{{v}}>"], sources) == [value, value, f"<{text}>"]
    call = {"actor": "assistant", "action": "calls", "target": "{{v}}"}
    assert _session(tmp_path, sources, call).behaviors[0].target == text


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("\\{{v}}", "{{v}}"),
        ("\\{{#if}}", "{{#if}}"),
        ("{{{v}}}", "{1}"),
        ("{{v }}{{v}}", "11"),
        ("{{v.}} {{.v}} {{v..w}} {{v w}} {{}} {{ }} {{v!}} {v} {{v}", None),
        ("{{\nv}}", None),
    ],
)
def test_only_the_grammar_of_references_is_a_reference(
    tmp_path: Path, written: str, read: str | None
) -> None:
    assert _content(tmp_path, written, Sources(row={"v": "1"})) == (written if read is None else read)


def test_a_value_nested_too_deeply_for_text_is_a_problem(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    (problem,) = _missing(tmp_path, Sources(row={"v": deep}), _says("<{{v}}>"))
    assert "deep" in problem.message


def test_positions_of_lists_are_digits_and_inside(tmp_path: Path) -> None:
    sources = Sources(row={"v": ["a", {"0": "b"}]})
    assert _content(tmp_path, ["{{v.0}}", "{{v.1.0}}"], sources) == ["a", "b"]
    for reference in ("v.2", "v.-1", "v.x", "v.0.0"):
        assert len(_missing(tmp_path, sources, _says(f"{{{{{reference}}}}}"))) == 1


def _rule(folder: Path, rule: dict[str, Any], row: dict[str, Any]) -> Any:
    call = {"actor": "assistant", "action": "calls", "evaluations": [rule]}
    return _session(folder, Sources(row=row), call).behaviors[0].evaluations[0]


@pytest.mark.parametrize(
    ("pattern", "read"),
    [
        ("^{{v}}$", "^1\\.5\\+$"),
        (r"\{{v}}", r"\{{v}}"),
        (r"\\{{v}}", r"\\1\.5\+"),
        (r"\d{2}{{v}}", r"\d{2}1\.5\+"),
    ],
)
def test_a_value_in_a_pattern_stands_for_itself(tmp_path: Path, pattern: str, read: str) -> None:
    rule = _rule(tmp_path, {"type": "regex", "pattern": pattern}, {"v": "1.5+"}).rule
    assert rule.pattern == read


def test_a_pattern_inside_a_schema_escapes_and_values_in_it_do_not(tmp_path: Path) -> None:
    schema = {"pattern": "^{{v}}$", "const": {"pattern": "{{v}}"}, "minimum": "{{n}}"}
    rule = _rule(tmp_path, {"type": "schema", "schema": schema}, {"v": "a.b", "n": Number("1.50")}).rule
    assert rule.schema_ == {"pattern": "^a\\.b$", "const": {"pattern": "a.b"}, "minimum": Number("1.50")}


def test_keys_of_the_format_hold_no_references_and_keys_of_the_author_do(tmp_path: Path) -> None:
    never = {"type": "never", "match": {"actor": "{{v}}", "target": "{{v}}"}}
    custom = {"type": "custom", "id": "i", "action": "{{v}}", "deep": {"type": "{{v}}"}}
    with_ = {"id": "{{v}}", "action": ["{{v}}"], "{{v}}": 1}
    call = {"actor": "assistant", "action": "{{v}}", "id": "{{v}}", "with": with_}
    session = _session(tmp_path, Sources(row={"v": 7}), call, evaluations=(never, custom))
    behavior, (selecting, own) = session.behaviors[0], session.evaluations
    assert (behavior.action, behavior.id) == ("{{v}}", "{{v}}")
    assert behavior.with_ == {"id": 7, "action": [7], "{{v}}": 1}
    assert isinstance(selecting.rule, rules.Never)
    assert (selecting.rule.match.actor, selecting.rule.match.target) == ("{{v}}", "7")
    assert own.rule.model_extra == {"action": 7, "deep": {"type": 7}}


@pytest.mark.parametrize(
    ("rule", "row", "word"),
    [
        ({"type": "contains", "value": "{{v}}"}, {"v": ""}, "value: must not be empty"),
        ({"type": "contains", "value": "x", "case_sensitive": "{{v}}"}, {"v": "yes"}, "true or false"),
        ({"type": "llm_judge", "criteria": "c", "threshold": "{{v}}"}, {"v": 2}, "at most 1"),
        ({"type": "llm_judge", "criteria": "c", "adapter": "{{v}}"}, {"v": "gnome"}, "gnome"),
        ({"type": "regex", "pattern": "{{v}}*"}, {"v": ""}, "pattern"),
        ({"type": "schema", "schema": "{{v}}"}, {"v": {"type": "objekt"}}, "objekt"),
        (
            {"type": "schema", "schema": "{{v}}"},
            {"v": {"$ref": "http://example.org/"}},
            "out of the document",
        ),
        ({"type": "schema", "schema": {"minimum": "{{v}}"}}, {"v": "{{x}}"}, "minimum"),
    ],
)
def test_a_check_that_fails_only_at_run_makes_the_evaluation_invalid(
    tmp_path: Path, rule: dict[str, Any], row: dict[str, Any], word: str
) -> None:
    evaluation = _rule(tmp_path, rule, row)
    assert word in (evaluation.invalid or "")
    assert evaluation.rule.type == rule["type"]


def test_whole_numbers_and_thresholds_come_as_the_rules_want_them(tmp_path: Path) -> None:
    selector = {"actor": "user"}
    within = {"type": "within", "after": selector, "match": selector, "max_steps": "{{n}}", "every": "{{b}}"}
    judged = {"type": "llm_judge", "criteria": "{{n}}", "threshold": "{{t}}"}
    row = loads('{"n": 3.0, "b": true, "t": 0.70}')
    session = _session(tmp_path, Sources(row=row), _says("x"), evaluations=(within, judged))
    counted, scored = (evaluation.rule for evaluation in session.evaluations)
    assert isinstance(counted, rules.Within)
    assert (counted.max_steps, counted.every) == (3, True)
    assert isinstance(scored, rules.Judged)
    assert (scored.criteria, scored.threshold) == ("3.0", 0.7)


def test_what_was_written_and_what_it_refers_to_is_kept(tmp_path: Path) -> None:
    rule = {
        "type": "all_of",
        "evaluations": [{"type": "contains", "value": "{{o.id}}", "when": "'{{c}}' == 'x'"}],
    }
    call = {
        "actor": "assistant",
        "action": "calls",
        "with": {"id": "{{o.id}}", "note": "for {{n}}"},
        "evaluations": [rule],
        "x-note": "{{unheard}}",
    }
    session = _session(tmp_path, Sources(row={"o": {"id": 1}, "n": "N", "c": "x"}), call)
    behavior = session.behaviors[0]
    assert behavior.written["with"] == {"id": "{{o.id}}", "note": "for {{n}}"}
    assert "evaluations" not in behavior.written
    assert behavior.references == {"o.id", "n", "c"}
    assert behavior.values == {"o.id": 1, "n": "N", "c": "x"}
    assert behavior.content is UNSET
    assert behavior.evaluations[0].references == {"o.id", "c"}
    assert behavior.evaluations[0].parts[0].at == "behaviors[0].evaluations[0].evaluations[0]"
    when = behavior.evaluations[0].parts[0].when
    assert when is not None
    assert when.values == {"c": "x"}
    assert session.aliases == {"T": ("get_t",)}


def test_a_fingerprint_is_of_what_an_evaluation_says_once_resolved(tmp_path: Path) -> None:
    def of(rule: dict[str, Any], **row: Any) -> str:
        fingerprint: str = _rule(tmp_path, rule, row).fingerprint
        return fingerprint

    plain = of({"type": "contains", "value": "a"})
    assert [len(part) for part in plain.split(".")] == [32, 32, 1]  # question, decision, version
    assert of({"value": "{{v}}", "type": "contains", "x-note": "n"}, v="a") == plain
    assert of({"type": "contains", "value": "b"}) != plain
    when = {"type": "contains", "value": "a", "when": "{{v}} == 1"}
    assert len({of(when, v=1), of(when, v=2), plain}) == 3
    parts = {"type": "all_of", "evaluations": [{"type": "contains", "value": "{{v}}"}]}
    assert of(parts, v="a") != of(parts, v="b")


def test_what_decides_over_an_answer_changes_no_question(tmp_path: Path) -> None:
    def parts(**more: Any) -> list[str]:
        rule = {"type": "llm_judge", "criteria": "kind?", **more}
        return str(_rule(tmp_path, rule, {"v": "1"}).fingerprint).split(".", 2)

    question, decision, version = parts()
    for more in ({"threshold": 0.5}, {"blocking": True}, {"when": "{{v}} == 1"}, {"reason": "rude"}):
        assert parts(**more)[0] == question, more
        assert parts(**more)[1] != decision, more
    asked = parts(criteria="short?")
    assert (asked[0] != question, asked[1:]) == (True, [decision, version])


def test_the_kind_of_a_composition_decides_and_asks_nothing(tmp_path: Path) -> None:
    def parts(type_: str, *values: str) -> list[str]:
        rule = {"type": type_, "evaluations": [{"type": "contains", "value": value} for value in values]}
        return str(_rule(tmp_path, rule, {}).fingerprint).split(".", 2)

    every, some = parts("all_of", "a", "b"), parts("any_of", "a", "b")
    assert every[0] == some[0]
    assert every[1] != some[1]
    assert parts("all_of", "b", "a")[0] != every[0]


def test_what_decides_over_a_part_changes_no_question_of_the_whole(tmp_path: Path) -> None:
    def parts(**more: Any) -> list[str]:
        part = {"type": "llm_judge", "criteria": "kind?", **more}
        return str(_rule(tmp_path, {"type": "all_of", "evaluations": [part]}, {}).fingerprint).split(".", 2)

    usual, strict = parts(), parts(threshold=0.9)
    assert (usual[0] == strict[0], usual[1] == strict[1]) == (True, False)


def test_the_version_of_a_composition_is_that_of_all_its_parts() -> None:
    rule = Contains(type="contains", value="a")
    part = Evaluation("e.evaluations[0]", rule, fingerprint="q.d.nice=1.2.0")
    whole = build("e", {"type": "all_of", "evaluations": [{}]}, {}, (part, part), ())
    assert whole.fingerprint.split(".", 2)[2] == f"{EVALUATORS_VERSION}+nice=1.2.0"


def test_variables_of_the_command_line_are_text_or_json() -> None:
    given_ = ["a=1", "b:=1.50", "c=x=y", "d:=[true]", "e=", "cases.city=Rome", "f=:=", "größe=XL"]
    assert parse_variables(given_) == {
        "a": "1", "b": Number("1.50"), "c": "x=y", "d": [True], "e": "", "cases.city": "Rome", "f": ":=",
        "größe": "XL",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["a", "=1", "a b=1", "a:=", "a:=x", "a:=NaN", ":=1", "a:=" + "[" * 100_000])
def test_a_variable_that_can_not_be_read_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError, match="--var"):
        parse_variables([text])


_NAMES = st.text(st.characters(categories=["L", "M", "Nd"], include_characters="_-"), min_size=1, max_size=8)


@given(
    path=st.lists(_NAMES, min_size=1, max_size=3),
    blanks=st.text(" \t", max_size=2),
    value=st.text(max_size=9),
)
@settings(max_examples=100, deadline=None)
def test_names_of_any_script_are_references(path: list[str], blanks: str, value: str) -> None:
    name = ".".join(path)
    text = f"a {{{{{blanks}{name}{blanks}}}}} b"
    assert references.parse(text) == ("a ", references.Reference(name), " b")
    assert references.fill(text, {name: value}.__getitem__) == f"a {value} b"
    assert references.alone(text[2:-2]) == name


@given(text=st.text("{}a.\\ \t\n!", max_size=30))
@settings(max_examples=300, deadline=None)
def test_text_without_references_and_escapes_is_left_as_it_is(text: str) -> None:
    if not list(references.names(text)) and "\\{{" not in text:
        assert references.fill(text, lambda name: None) == text
    if not list(references.names(text, pattern=True)):
        assert "".join(map(str, references.parse(text, pattern=True))) == text


@pytest.mark.parametrize(
    ("captured", "match", "path"),
    [
        ("2,1", {"type": "regex", "pattern": "a{{{v}}}"}, "pattern"),
        ("", {"type": "contains", "value": "{{v}}"}, "value"),
    ],
)
def test_a_criterion_that_a_capture_breaks_is_refused_at_load(
    tmp_path: Path, captured: str, match: dict[str, str], path: str
) -> None:
    answer = {"actor": "assistant", "action": "informs", "matches_when": match}
    with pytest.raises(SpecError) as raised:
        _template(tmp_path, behaviors=[_says("x", capture={"v": captured}), answer])
    assert [problem.path for problem in raised.value.problems] == [f"behaviors[1].matches_when.{path}"]


@pytest.mark.parametrize("doubled", ["{{v%d}}{{v%d}}", ["{{v%d}}", "{{v%d}}"]])
def test_captures_that_double_each_other_are_refused_before_they_grow(tmp_path: Path, doubled: Any) -> None:
    def after(n: int) -> Any:
        return json.loads(json.dumps(doubled).replace("%d", str(n)))

    behaviors = [_says("x", capture={"v0": "some text"})]
    behaviors += [_says("x", capture={f"v{n + 1}": after(n)}) for n in range(60)]
    with pytest.raises(SpecError, match="come to more than 16 MiB"):
        _template(tmp_path, behaviors=behaviors)


def test_data_that_references_repeat_without_end_are_refused_with_the_session(tmp_path: Path) -> None:
    template = _template(tmp_path, behaviors=[_says("{{v}}" * 200)])
    with pytest.raises(SpecError, match="come to more than 16 MiB"):
        template.resolve(Sources(row={"v": "x" * 100_000}))
    assert len(str(template.resolve(Sources(row={"v": "x" * 1000})).behaviors[0].content)) == 200_000


def test_captures_that_nest_each_other_too_deeply_are_refused_at_load(tmp_path: Path) -> None:
    behaviors = [_says("x", capture={"v0": 1})]
    for n in range(30):
        nested: Any = f"{{{{v{n}}}}}"
        for _ in range(50):
            nested = [nested]
        behaviors.append(_says("x", capture={f"v{n + 1}": nested}))
    rule = {"type": "exact_match", "value": "{{v30}}"}
    answer = {"actor": "assistant", "action": "informs", "evaluations": [rule]}
    with pytest.raises(SpecError, match="nested too deeply"):
        _template(tmp_path, behaviors=[*behaviors, answer])


def test_a_long_text_of_references_without_a_value_takes_no_more_room_than_it_has(tmp_path: Path) -> None:
    template = _template(tmp_path, behaviors=[_says("{{v}} " * 50_000)])
    with pytest.raises(SpecError) as raised:
        template.resolve(Sources())
    assert len(raised.value.problems) == 1


def test_references_are_found_in_all_texts_of_a_value_and_in_no_key() -> None:
    value: Json = {"{{a}}": ["{{b}} and {{c}}", {"d": "{{e.f}}"}, 1, None]}
    assert list(references.names(value)) == ["b", "c", "e.f"]
