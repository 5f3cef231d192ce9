"""`abs check-evidence`, as it is called, over a store that has seen one channel alone."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.exchange import Recording, Role
from abs_replay.store import Store
from abs_replay.testing import exchange

SESSION = """
session: Orders
behaviors:
  - {actor: user, action: says}
  - {actor: assistant, action: informs, evaluations: [{type: contains, value: here}]}
evaluations:
  - {type: never, match: {actor: assistant, action: calls, target: refund}}
  - {type: llm_judge, criteria: Is it kind?}
"""

type Calls = Callable[..., tuple[int, str, str]]


@pytest.fixture
def abs_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Calls:
    monkeypatch.chdir(tmp_path)
    for name in ("ABS_STORE", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    Path("orders.abs.yaml").write_text(SESSION)
    store = Store(Path(".abs/store.duckdb"))
    store.begin(Recording("r-1", "demo", 1.0, session="Orders"))
    asked = {"messages": [{"role": "user", "content": "Where is it?"}]}
    answered = {"message": {"role": "assistant", "content": "It is here."}}
    store.append("r-1", [exchange(asked, answered, role=Role.AGENT)])

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(cli, arguments)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def test_what_can_not_be_decided_is_listed_with_the_reason_and_the_status_is_1(abs_: Calls) -> None:
    status, out, _ = abs_("check-evidence", "orders.abs.yaml")

    assert status == 1
    assert out.startswith("1 check can not be decided: nothing that would show a tool call was recorded")
    assert "\n  Orders · evaluations[0] · never: calls refund: 1 of 1 trace\n" in out
    assert "\n1 check can not be decided: no judge configured: set OPENAI_API_KEY" in out
    assert (
        "\n1 check can be decided on every trace:\n"
        '  Orders · behaviors[1].evaluations[0] · contains "here"\n\n'
        "1 of 3 checks can be decided on every trace. A check is an evaluation, or whether "
    ) in out


def test_a_reason_stands_once_with_all_that_it_keeps_from_being_decided(abs_: Calls) -> None:
    Path("orders.abs.yaml").write_text(SESSION + "  - {type: llm_judge, criteria: Is it short?}\n" * 60)

    _, out, _ = abs_("check-evidence", "orders.abs.yaml")

    assert out.count("no judge configured") == 1
    assert "61 checks can not be decided: no judge configured" in out
    assert '\n  Orders · evaluations[2] · llm_judge "Is it short?": 1 of 1 trace\n' in out
    assert "\n  .. and 11 more: --format json lists them\n" in out


def test_with_a_judge_and_a_channel_of_the_model_all_can_be_decided(abs_: Calls) -> None:
    Store(Path(".abs/store.duckdb")).append(
        "r-1", [replace(exchange("hello", "you", role=Role.LLM), id="e-2")]
    )
    judge = ("--adapter", "openai", "--judge-model", "m", "--judge-api-key", "k-1")

    status, out, _ = abs_("check-evidence", "orders.abs.yaml", "--format", "json", *judge)

    found = json.loads(out)
    assert (status, found["sessions_without_traces"]) == (0, [])
    assert [(each["at"], each["decidable"], each["lacks"]) for each in found["evaluations"]] == [
        ("behaviors[1].evaluations[0]", 1, []),
        ("evaluations[0]", 1, []),
        ("evaluations[1]", 1, []),
    ]


def test_a_session_that_no_trace_plays_is_told(abs_: Calls) -> None:
    Path("other.abs.yaml").write_text(SESSION.replace("Orders", "Other"))
    status, out, _ = abs_("check-evidence", "orders.abs.yaml", "other.abs.yaml", "--format", "json")

    assert (status, json.loads(out)["sessions_without_traces"]) == (1, ["Other"])
