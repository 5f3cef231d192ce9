"""`--where SQL` chooses the traces that are judged, of a file as of a store."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run

SESSION = """
session: Orders
behaviors:
  - {actor: user, action: says}
  - {actor: assistant, action: informs, evaluations: [{type: contains, value: here}]}
"""
STEPS = [
    {"seq": 1, "actor": "user", "action": "says", "content": "Where is it?"},
    {"seq": 2, "actor": "assistant", "action": "informs", "content": "It is here."},
]
TRACES = [
    {"trace": "good", "session": "Orders", "tags": {"ticket": "42"}, "steps": STEPS},
    {"trace": "short", "session": "Orders", "steps": STEPS[:1]},
]

type Calls = Callable[..., tuple[int, str, str]]


@pytest.fixture
def abs_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Calls:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ABS_STORE", raising=False)
    Path("orders.abs.yaml").write_text(SESSION)
    Path("two.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in TRACES))

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(cli, arguments)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def test_traces_of_a_file_are_chosen_without_a_store(abs_: Calls) -> None:
    grade = ("grade", "orders.abs.yaml", "--traces", "two.jsonl", "--format", "json")

    assert abs_(*grade)[0] == 1
    status, out, _ = abs_(*grade, "--where", "tags->>'ticket' = '42' AND steps > 1")
    assert (status, [each["trace"] for each in json.loads(out)["runs"]]) == (0, ["good"])
    assert not Path(".abs").exists()


def test_traces_of_a_store_are_chosen_by_what_was_judged_before(abs_: Calls) -> None:
    assert abs_("import", "two.jsonl")[0] == 0
    assert abs_("grade", "orders.abs.yaml")[0] == 1
    listed = abs_("ls", "traces", "--where", "steps > 1", "--format", "json")[1]
    assert [each["id"] for each in json.loads(listed)] == ["good"]
    assert abs_("ls", "--where", "steps > 1")[::2] == (
        2,
        "abs: abs ls recordings: --where is about traces; leave it out, or ask abs sql\n",
    )

    failed = "id IN (SELECT trace FROM current_verdicts WHERE status <> 'passed')"
    status, out, _ = abs_("grade", "orders.abs.yaml", "--where", failed, "--format", "json")

    assert (status, [each["trace"] for each in json.loads(out)["runs"]]) == (1, ["short"])


def test_a_condition_that_is_none_or_holds_of_nothing_is_said_in_a_line(abs_: Calls) -> None:
    grade = ("grade", "orders.abs.yaml", "--traces", "two.jsonl", "--where")

    assert abs_(*grade, "id = 'nobody'") == (
        2,
        "",
        "abs: --where: it holds of none of the 2 traces: id = 'nobody'\n",
    )
    status, _, err = abs_(*grade, "idd = 'good'")
    assert (status, err.count("\n"), '"idd" not found' in err) == (2, 1, True)
