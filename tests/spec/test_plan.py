"""Plans: rows and filters, the values that are kept, and what is refused before anything is sent."""

from pathlib import Path

import pytest

from abs_replay.errors import SpecError
from abs_replay.exact_json import Json
from abs_replay.spec.loader import load
from abs_replay.spec.plan import plan, rows, variables_used
from abs_replay.spec.variables import Template


def template(folder: Path, path: str) -> Template:
    file = folder / "s.abs.yaml"
    dataset = f"dataset: {{ id: cases, path: {path} }}"
    file.write_text(f"session: S\n{dataset}\nbehaviors: [{{ actor: user, action: says, content: Hi }}]\n")
    return load([file]).sessions[0]


def test_a_session_without_a_dataset_has_one_empty_row(tmp_path: Path) -> None:
    file = tmp_path / "s.abs.yaml"
    file.write_text("session: S\nbehaviors: [{ actor: user, action: says, content: Hi }]\n", encoding="utf-8")

    assert rows(load([file]).sessions[0]) == {None: {}}


def test_filters_keep_the_rows_that_have_all_of_the_values(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('[{"city": "Oslo", "n": 1}, {"city": "Oslo", "n": 2}, {"n": 1}]')
    session = template(tmp_path, "c.json")

    assert list(rows(session)) == [0, 1, 2]
    assert list(rows(session, ["city:Oslo"])) == [0, 1]
    assert rows(session, ["cases.city:Oslo", "n:2"]) == {1: {"city": "Oslo", "n": 2}}
    assert rows(session, ["n:3"]) == rows(session, ["town:Oslo"]) == {}


def test_a_dataset_out_of_folder_and_working_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "project" / "sessions"
    inner.mkdir(parents=True)
    (tmp_path / "secret.csv").write_text("city\nOslo\n")
    (inner.parent / "shared.csv").write_text("city\nOslo\n")
    monkeypatch.chdir(inner.parent)

    assert rows(template(inner, "../shared.csv")) == {0: {"city": "Oslo"}}
    for path in ("../../secret.csv", str(tmp_path / "secret.csv")):
        with pytest.raises(SpecError, match=r"s\.abs\.yaml:2: dataset\.path: .*lies outside"):
            rows(template(inner, path))


def test_the_values_that_a_session_refers_to_are_kept_and_no_others(tmp_path: Path) -> None:
    file = tmp_path / "s.abs.yaml"
    lines = "{{city}} {{customer.name}} {{city.x}} {{fromEnv}}"
    file.write_text(f'session: S\nbehaviors: [{{ actor: user, action: says, content: "{lines}" }}]\n')
    variables: dict[str, Json] = {"city": "Oslo", "customer": {"name": "Ada"}, "other": 1}
    environment = {"ABS_VAR_fromEnv": "x", "ABS_VAR_city": "y", "ABS_VAR_none": "z", "HOME": "/"}

    assert variables_used(load([file]).sessions[0], variables, environment) == {
        "city": "Oslo",
        "customer": {"name": "Ada"},
        "fromEnv": "x",
    }


def test_every_row_is_a_part_with_its_own_session_and_bindings(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("city\nOslo\nRome\n")
    file = tmp_path / "s.abs.yaml"
    line = '{ actor: user, action: says, content: "{{cases.city}} {{greeting}}" }'
    file.write_text(f"session: S\ndataset: {{ id: cases, path: c.csv }}\nbehaviors: [{line}]\n")
    parts = plan(load([file]).sessions, (), {"greeting": "hi", "other": 1})

    assert [part.row for part in parts] == [0, 1]
    assert [part.bindings for part in parts] == [{"cases.city": "Oslo"}, {"cases.city": "Rome"}]
    assert [part.session.behaviors[0].content for part in parts] == ["Oslo hi", "Rome hi"]
    assert parts[0].variables == {"greeting": "hi"}


def test_all_that_is_wrong_is_said_before_anything_is_played(tmp_path: Path) -> None:
    file = tmp_path / "s.abs.yaml"
    file.write_text(
        "session: A\nbehaviors:\n  - { actor: user, action: says }\n"
        "---\nsession: B\nbehaviors:\n  - { actor: user, action: says, content: '{{nobody}}' }\n"
    )
    with pytest.raises(SpecError) as refused:
        plan(load([file]).sessions)

    first, second = refused.value.problems
    assert (first.path, first.line) == ("behaviors[0]", 3)
    assert "nothing can be sent" in first.message
    assert "nobody" in second.message
