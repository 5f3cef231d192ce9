"""A file of faults is read whole, or told what is wrong with it, by line."""

from pathlib import Path

import pytest

from abs_replay.errors import SpecError, UsageError
from abs_replay.exchange import Channel, Role
from abs_replay.spec.faults import FaultRule, Faults, load

WHOLE = """\
seed: 7
faults:
  - {latency: 12.5, every: 3}
  - {cut: 2, first: 1, channel: llm}
  - {status: 503, path: ^/orders, probability: 0.25}
  - {rate_limit: 20}
  - {malformed: 1, channel: "tool:Orders"}
"""


def faults(folder: Path, text: str) -> Faults:
    file = folder / "faults.yaml"
    file.write_text(text)
    return load(file)


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    rules = (
        FaultRule("latency", 12.5, every=3),
        FaultRule("cut", 2, "llm", first=1),
        FaultRule("status", 503, path="^/orders", probability=0.25),
        FaultRule("rate_limit", 20),
        FaultRule("malformed", 1, "tool:Orders"),
    )
    assert faults(tmp_path, WHOLE) == Faults(rules, 7)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must be a mapping with `faults`"),
        ("- a", "faults.yaml:1: must be a mapping with `faults`, a list of rules"),
        ("seed: 1", "must be a mapping with `faults`"),
        ("faults: 3", "faults.yaml:1: faults: must be a list of rules"),
        ("faults: []\n---\nfaults: []", "faults are one document"),
        ("seed: x\nfaults: []", "faults.yaml:1: seed: must be a whole number"),
        ("sed: 1\nfaults: []", "unknown key `sed`: did you mean `seed`?"),
        ("faults:\n  - cut", "faults.yaml:2: faults[0]: must be a mapping of latency, cut"),
        ("faults:\n  - first: 1", "faults.yaml:2: faults[0]: must have one of latency, cut"),
        ("faults:\n  - {cut: 1, status: 500}", "must have one of latency, cut"),
        (
            "faults:\n  - cut: 1\n    evry: 2",
            "faults.yaml:3: faults[0].evry: unknown key `evry`: did you mean",
        ),
        ("faults:\n  - cut: -1", "faults[0].cut: must be chunks, 0 to 1000000"),
        ("faults:\n  - cut: 1.5", "faults[0].cut: must be chunks"),
        ("faults:\n  - latency: true", "faults[0].latency: must be ms, 0 to 600000"),
        ("faults:\n  - latency: .nan", "faults[0].latency: must be ms"),
        ("faults:\n  - status: 200", "faults[0].status: must be an HTTP status, 400 to 599"),
        ("faults:\n  - rate_limit: soon", "faults[0].rate_limit: must be seconds"),
        ("faults:\n  - malformed: 0", "faults[0].malformed: must be the number of a chunk, from 1"),
        ("faults:\n  - {cut: 1, every: 0}", "faults[0].every: must be a whole number from 1"),
        ("faults:\n  - {cut: 1, first: 1.0}", "faults[0].first: must be a whole number from 1"),
        ("faults:\n  - {cut: 1, probability: 2}", "faults[0].probability: must be a number from 0 to 1"),
        ("faults:\n  - {cut: 1, channel: model}", "faults[0].channel: must be agent, llm, tool, or one of"),
        ("faults:\n  - {cut: 1, path: 3}", "faults[0].path: must be text"),
        ("faults:\n  - {cut: 1, path: '('}", "faults[0].path: can not be compiled"),
        ("faults: [", "faults.yaml:"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SpecError) as raised:
        faults(tmp_path, text)
    assert said in str(raised.value)


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as raised:
        faults(tmp_path, "faults:\n  - {cut: -1}\n  - {status: 1, first: 0}\n")
    assert [problem.line for problem in raised.value.problems] == [2, 3, 3]


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can not be read"):
        load(tmp_path / "none.yaml")


def test_a_rule_concerns_a_role_a_channel_and_a_path() -> None:
    orders, model = Channel(Role.TOOL, "Orders"), Channel(Role.LLM, "openai")
    assert FaultRule("cut", 1).concerns(orders, "/x")
    assert FaultRule("cut", 1, "tool").concerns(orders, "/x")
    assert FaultRule("cut", 1, "tool:Orders", "/x").concerns(orders, "/a/x")
    assert not FaultRule("cut", 1, "tool:Orders").concerns(model, "/x")
    assert not FaultRule("cut", 1, path="^/x").concerns(orders, "/a/x")
