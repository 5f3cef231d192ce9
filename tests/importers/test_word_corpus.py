"""Every log of the shared corpus that kept words alone becomes traces that say what the file says."""

import json
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from abs_replay import importers
from abs_replay.importers import Imported, open_source, recognise
from abs_replay.trace import Trace, Visibility

FILES = {
    "inspect_ai/tests/log/test_eval_log/log_message_deduplication.eval": ("inspect", 1),
    "inspect_ai/tests/log/test_eval_log/log_streaming.eval": ("inspect", 4),
    "inspect_ai/tests/log/test_eval_log/log_tool_call_error.json": ("inspect", 1),
    "inspect_ai/tests/scorer/logs/2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval": (
        "inspect",
        10,
    ),
    "inspect_ai/tests/timeline/fixtures/events/utility_subagent_loop.json": ("inspect", 3),
    "logfire/tests/otel_integrations/cassettes/test_claude_agent_sdk/tool_use_conversation.json": (
        "claude-code",
        1,
    ),
    "openai-agents-python/tests/fixtures/run_state/resume/v1_13_pending_tool_approval.json": (
        "openai-agents",
        1,
    ),
    "swe-agent/tests/test_data/trajectories/gpt4__swe-agent__test-repo__default_from_url__t-0.00__p-0.95"
    "__c-3.00__install-1/swe-agent__test-repo-i1.traj": ("swe-agent", 1),
    "swe-agent/trajectories/demonstrations/ctf/web/i_got_id_demo.traj": ("swe-agent", 1),
    "swe-agent/trajectories/demonstrations/function_calling_simple.traj": ("swe-agent", 1),
    "swe-agent/trajectories/demonstrations/replay__marshmallow-code__marshmallow-1867__function_calling"
    "__install-1/marshmallow-code__marshmallow-1867.traj": ("swe-agent", 1),
    "tau-bench/historical_trajectories/gpt-4o-airline.json": ("tau-bench", 200),
}


@pytest.fixture(scope="module")
def corpus(shared: Path) -> Path:
    if not (shared / "corpus").is_dir():
        pytest.skip(f"no corpus in {shared}")
    return shared / "corpus"


@cache
def read(path: Path) -> Imported:
    source = open_source(path)
    format_ = recognise(source)
    assert format_ is not None
    return importers.read(format_, source)


@pytest.mark.parametrize("name", FILES, ids=lambda name: name.rsplit("/", 1)[1])
def test_a_log_of_the_corpus_becomes_its_conversations(corpus: Path, name: str) -> None:
    format_, count = FILES[name]
    assert recognise(open_source(corpus / name)) == format_
    traces = read(corpus / name).traces
    assert len(traces) == count
    assert len({trace.id for trace in traces}) == count
    assert all(trace.steps for trace in traces)


def test_tau_bench_is_told_message_by_message(corpus: Path) -> None:
    path = corpus / "tau-bench/historical_trajectories/gpt-4o-airline.json"
    runs = json.loads(path.read_text(encoding="utf-8"))
    for run, trace in zip(runs, read(path).traces, strict=True):
        assert list(_told(trace)) == list(_messages(run["traj"]))
        assert trace.tags["reward"] == str(run["reward"])
        expected = run["info"]["task"]["actions"]
        assert json.loads(trace.tags.get("expected_actions", "[]")) == expected


def _messages(messages: list[dict[str, Any]]) -> Iterator[tuple[object, ...]]:
    """The steps that messages come to, read in the plainest way."""
    for message in messages:
        if message["role"] == "tool":
            yield "tool", message["name"], message["tool_call_id"]
            continue
        if message["content"]:
            yield message["role"], message["content"]
        for call in message.get("tool_calls") or ():
            asked = call["function"]
            yield "calls", asked["name"], json.loads(asked["arguments"]), call["id"]


def _told(trace: Trace) -> Iterator[tuple[object, ...]]:
    for step in trace.steps:
        if step.action == "calls":
            yield "calls", step.target, step.arguments, step.call_id
        else:
            yield (
                (step.actor, step.target, step.call_id)
                if step.actor == "tool"
                else (step.actor, step.content)
            )


def test_the_words_of_inspects_samples_are_those_of_its_messages(corpus: Path) -> None:
    checked = 0
    for name in (name for name in FILES if name.endswith(".eval")):
        samples = _samples(corpus / name)
        for trace in read(corpus / name).traces:
            sample = samples[trace.tags["sample"], trace.tags["epoch"]]
            said = [m["content"] for m in sample["messages"] if m["role"] != "tool" and m["content"]]
            shown = [step.content for step in trace.steps if step.action in ("says", "responds")]
            assert [words for words in shown if words in said] == said
            scores = {f"score.{key}": score["value"] for key, score in sample["scores"].items()}
            assert {key: trace.tags[key] for key in scores} == {
                key: str(value) for key, value in scores.items()
            }
            checked += 1
    assert checked == 15


def _samples(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.startswith("samples/")]
        found = [json.loads(archive.read(name)) for name in names]
    return {(str(sample["id"]), str(sample["epoch"])): sample for sample in found}


def test_answers_in_inspects_logs_have_times_models_and_tokens(corpus: Path) -> None:
    (name,) = (name for name in FILES if "popularity" in name)
    for trace in read(corpus / name).traces:
        answer = trace.steps[-1]
        assert (answer.actor, answer.model) == ("assistant", "gpt-4o-mini-2024-07-18")
        assert answer.usage is not None
        assert 0 < (answer.duration_ms or 0) <= (answer.at_ms or 0) < 5000


def test_every_answer_of_a_tool_in_the_corpus_follows_its_call(corpus: Path) -> None:
    for name in FILES:
        for trace in read(corpus / name).traces:
            called = [step.seq for step in trace.steps if step.action == "calls"]
            answers = [step for step in trace.steps if step.actor == "tool"]
            if called:  # one log of the corpus holds answers alone
                assert all(step.target for step in answers), name
                assert all(min(called) < step.seq for step in answers), name


def test_a_demonstration_is_no_word_of_the_user(corpus: Path) -> None:
    (name,) = (name for name in FILES if name.endswith("swe-agent__test-repo-i1.traj"))
    (trace,) = read(corpus / name).traces
    (demonstration,) = (s for s in trace.steps if str(s.content).startswith("Here is a demonstration"))
    assert (demonstration.actor, demonstration.visibility) == ("system", Visibility.INTERNAL)
    assert sum(step.actor == "user" for step in trace.steps) == 1
