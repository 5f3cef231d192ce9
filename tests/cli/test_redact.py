"""`abs redact`: nothing that its rules name is left in any byte of a store or a cassette."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from abs_replay import cassette
from abs_replay.cassette import Cassette
from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.derivation import traces_of
from abs_replay.exchange import Body, Channel, Exchange, Mark, Recording, Request, Response, Role, Upstream
from abs_replay.store import Store

KEY = "sk-proj-Abcdefghijklmnop1234567890"
MAIL = "someone.else@example.com"
RULES = """
redact:
  pii: [email]
  json: ["$.user.pin"]
"""
LLM = Channel(Role.LLM, "llm")


def chat(number: int, said: str) -> Exchange:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": said}], "user": {"pin": 1234}})
    answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": f"you said {said}"}}]}
    return Exchange(
        f"exchange-{number}",
        LLM,
        float(number),
        Request("POST", "/v1/chat/completions", (("content-type", "application/json"),), Body(body.encode())),
        Response(200, (("content-type", "application/json"),), Body(json.dumps(answer).encode())),
        ended_ms=5.0,
    )


RECORDING = Recording(
    "r1", f"of {MAIL}", 1.0, None, None, {"who": MAIL}, (Upstream(LLM, "http://me:pass-word-1@localhost/v1"),)
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ABS_STORE", raising=False)
    (tmp_path / "abs.config.yaml").write_text(RULES)
    return tmp_path


@pytest.fixture
def store(folder: Path) -> Store:
    made = Store(folder / "store.duckdb")
    made.begin(RECORDING)
    made.append(
        "r1",
        [chat(1, "hello"), chat(2, f"I am {MAIL}"), Mark(2.5, f"for {MAIL}"), chat(3, f"my key is {KEY}")],
    )
    made.end("r1", 9.0)
    return made


def abs_(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["redact", *map(str, arguments)], standalone_mode=False)


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_store_loses_what_the_rules_name_in_every_byte(folder: Path, store: Store) -> None:
    assert MAIL in "".join(str(trace) for trace in traces_of(store))  # which keeps them
    result = abs_(store.path)
    assert result.output.startswith(f"{store.path}: 3 of 3 exchanges, and "), result.exception
    for secret in (MAIL.encode(), KEY.encode(), b"pass-word-1", b'"pin": 1234'):
        assert secret not in bytes_of(folder)
    kept = {each.id: each.request.body.data for each in store.exchanges()}
    assert b'"content": "I am <email:1>"' in kept["exchange-2"]
    assert b'"pin": "<field:1>"' in kept["exchange-1"]
    assert store.recording("r1").tags == {"who": "<email:1>"}
    assert store.recording("r1").upstreams[0].url.endswith("@localhost/v1")
    again = abs_(store.path)
    assert again.output == f"{store.path}: 0 of 3 exchanges changed\n"


def test_the_traces_of_a_store_are_derived_anew(folder: Path, store: Store) -> None:
    abs_(store.path)
    shown = "".join(str(trace) for trace in traces_of(store))
    assert "I am <email:1>" in shown
    assert MAIL not in shown


def test_check_changes_nothing_and_says_by_its_status_whether_anything_would_change(
    folder: Path, store: Store
) -> None:
    before = store.path.read_bytes()
    result = abs_("--check", store.path)
    assert (result.return_value, "3 of 3 exchanges" in result.output) == (1, True)
    assert "would be changed" in result.output
    assert store.path.read_bytes() == before
    abs_(store.path)
    assert abs_("--check", "--format", "json", store.path).return_value == 0


def test_rules_of_another_file_hold_instead(folder: Path, store: Store) -> None:
    rules = folder / "other.yaml"
    rules.write_text("redact: {patterns: [{name: word, pattern: hello}]}")
    assert abs_("--rules", rules, store.path).return_value == 0
    assert b"<word:1>" in store.exchanges()[0].request.body.data
    assert MAIL.encode() in store.exchanges()[1].request.body.data


def test_a_cassette_is_rewritten_in_its_place_or_elsewhere(folder: Path) -> None:
    path, other = folder / "a.cassette.json", folder / "b.cassette.json"
    path.write_text(cassette.dumps(Cassette(RECORDING, (chat(1, "hello"), chat(2, MAIL)))))
    assert abs_("--check", path).return_value == 1
    assert abs_(path, "--output", other).output == f"{path}: 2 of 2 exchanges, and 1 other text changed\n"
    assert MAIL in path.read_text()
    assert MAIL not in other.read_text()
    assert cassette.loads(other.read_text()).recording.tags == {"who": "<email:1>"}
    assert json.loads(abs_("--format", "json", path).output) == {
        "path": str(path),
        "check": False,
        "exchanges": 2,
        "of": 2,
        "texts": 1,
    }
    assert path.read_text() == other.read_text()
    before = path.stat().st_mtime_ns
    assert abs_(path).output == f"{path}: 0 of 2 exchanges changed\n"
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none.cassette.json",), "none.cassette.json: can not be read: No such file or directory"),
        (("odd.json",), "odd.json: is no cassette: it is not UTF-8"),
        (("abs.config.yaml",), "it is no DuckDB file"),
        (("none.duckdb",), "no store at none.duckdb"),
        (("store.duckdb", "--output", "x"), "--output is for cassettes"),
        (("--rules", "none.yaml"), "none.yaml: can not be read: No such file or directory"),
        (
            ("--rules", "wrong.yaml"),
            "wrong.yaml:1: redact.pii[0]: `mail` is not known: write email, phone, card, iban",
        ),
    ],
)
def test_what_can_not_be_used_is_told_in_one_line(
    arguments: tuple[str, ...], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "odd.json").write_bytes(b"\xff")
    (folder / "wrong.yaml").write_text("redact: {pii: [mail]}")
    assert run(cli, ["redact", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_secrets_that_are_kept_on_purpose_are_warned_of(
    folder: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "abs.config.yaml").write_text("redact: {builtin: false}")
    assert run(cli, ["redact", str(store.path)]) == 0
    assert "WARNING: `redact: {builtin: false}` keeps passwords" in capsys.readouterr().err
    assert KEY.encode() in store.exchanges()[2].request.body.data
