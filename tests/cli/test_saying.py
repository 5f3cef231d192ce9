"""Whatever stands in names and texts of others: a message is one line, true, and obeyed by no terminal."""

import json
import unicodedata
from pathlib import Path

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run

EVIL = "a\x1b[2J\x1b]0;t\x07\x9b31m\u202eb\nc"
SHOWN = "a\\x1b[2J\\x1b]0;t\\x07\\x9b31m\\u202eb\\nc"
BEHAVIOR = {"actor": "user", "action": "says", "content": "hi"}


def document(**fields: object) -> str:
    return json.dumps({"session": "S", "abs_version": "0.2", "behaviors": [BEHAVIOR], **fields})


def answer(**evaluation: object) -> str:
    reply = {"actor": "assistant", "action": "says", "evaluations": [evaluation]}
    return document(behaviors=[BEHAVIOR, reply])


TRACE = {"trace": EVIL, "session": EVIL, "steps": [{"seq": 1, "actor": "user", "action": "says"}]}
FILES = {
    "key": document(**{EVIL: 1}),
    "type": answer(type=EVIL),
    "fragment": document(behaviors=[{"include": EVIL}]),
    "when": answer(type="contains", value="x", when=f"{EVIL} =="),
    "require": document(behaviors=[{**BEHAVIOR, "requires": EVIL}]),
}


@pytest.mark.parametrize("form", ["table", "json"])
@pytest.mark.parametrize("kind", [*FILES, "trace", "file", "option"])
def test_no_message_controls_a_terminal_or_is_split(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    form: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.abs.yaml").write_text(FILES.get(kind, document()))
    Path("t.trace.json").write_text(json.dumps(TRACE))
    calls = {
        "trace": ("grade", "s.abs.yaml", "--traces", "t.trace.json"),
        "file": ("validate", f"{EVIL}.abs.yaml"),
        "option": ("validate", "s.abs.yaml", f"--{EVIL}"),
    }
    status = run(cli, (*calls.get(kind, ("validate", "s.abs.yaml")), "--format", form))
    out, err = capsys.readouterr()

    assert status == 2
    assert "\\u202eb" in err
    assert err.count("\n") == 1
    for text in (out, err):
        kinds = {unicodedata.category(character) for character in text if character != "\n"}
        assert not kinds & {"Cc", "Cf"}
    if form == "json" and kind != "option":  # click quotes an option as Python does
        assert "\u202e" in json.dumps(json.loads(out), ensure_ascii=False)


def test_warnings_and_what_stands_behind_them_are_single_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "s\x1b[31m\n.abs.yaml"
    Path(name).write_text(document().replace(', "abs_version": "0.2"', ""))

    assert run(cli, ("validate", name)) == 0
    out, err = capsys.readouterr()
    assert out == "1 session in 1 file, 1 behavior, 1 warning\n"
    assert err.startswith("warning: s\\x1b[31m\\n.abs.yaml:1: ")
    assert err.count("\n") == 1
