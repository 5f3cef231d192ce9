"""Trajectories of tau-bench: a list of runs, as `historical_trajectories` and `results` hold them.

    [{"task_id", "trial", "reward", "info": {"task": {"instruction", "actions": [...]}}, "traj": [messages]}]

https://github.com/sierra-research/tau-bench. And those of tau2-bench, whose file is an object:

    {"simulations": [{"task_id", "trial", "reward_info", "messages": [...]}], "tasks": [...]}

The reward and the actions that were expected become tags; the words are the simulated user's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from abs_replay.decoders.fields import items, obj, text
from abs_replay.importers import loose_messages
from abs_replay.importers.imported import Imported
from abs_replay.importers.source import Source
from abs_replay.importers.telling import TIMELESS, Facts, Teller, moment, tagged
from abs_replay.trace import Trace

_THE_USERS: Final = "the simulated user calls tools, too: those calls are told as internal"


def recognises(source: Source) -> bool:
    """Whether there are runs with a task and a trajectory, or simulations of tasks."""
    head = (source.text or "")[:1_000_000]
    if '"task_id"' not in head and '"simulations"' not in head:
        return False
    value = source.json
    if isinstance(value, list):
        return bool(value) and {"task_id", "traj"} <= obj(value[0]).keys()
    simulations = items(obj(value).get("simulations"))
    return bool(simulations) and {"task_id", "messages"} <= obj(simulations[0]).keys()


def read(source: Source) -> Imported:
    """Read every run; raises `UsageError`."""
    value = source.need_json()
    simulated = isinstance(value, dict)
    runs = items(obj(value).get("simulations")) if simulated else items(value)
    if not runs:
        raise source.wrong("expected a list of runs with a `traj`, or `simulations`")
    tasks = {str(obj(task).get("id")): obj(task) for task in items(obj(value).get("tasks"))}
    traces = []
    for index, run in enumerate(runs):
        where, key = (
            f"simulations[{index}]" if simulated else f"[{index}]",
            "messages" if simulated else "traj",
        )
        if not isinstance(run, dict) or not isinstance(run.get(key), list):
            raise source.wrong(f"expected a run with `{key}`, a list of messages", path=where)
        traces.append(_simulated(run, tasks) if simulated else _run(run))
    return Imported(traces=tuple(traces), remarks=tuple(_remarks(traces)))


def _run(run: Mapping[str, Any]) -> Trace:
    info = obj(run.get("info"))
    task = obj(info.get("task"))
    teller = Teller()
    for value in run["traj"]:
        for message in loose_messages.messages(value):
            teller.tell(message)
    if error := text(info.get("error")):
        teller.fail(error)
    return teller.trace(
        tagged(
            (
                ("task_id", run.get("task_id")),
                ("trial", run.get("trial")),
                ("reward", run.get("reward")),
                ("expected_actions", task.get("actions")),
                ("expected_outputs", task.get("outputs")),
                ("instruction", task.get("instruction")),
                ("user_cost", info.get("user_cost")),
            )
        )
    )


def _simulated(run: Mapping[str, Any], tasks: Mapping[str, Mapping[str, Any]]) -> Trace:
    teller = Teller()
    for value in map(obj, run["messages"]):
        facts = Facts(moment(value.get("timestamp")), usage=loose_messages.usage(value.get("usage")))
        for message in loose_messages.messages(value):
            error = (text(message.content) or "the tool failed") if value.get("error") is True else None
            teller.tell(replace(message, error=error), facts)
    criteria = obj(tasks.get(str(run.get("task_id")), {}).get("evaluation_criteria"))
    return teller.trace(
        tagged(
            (
                ("task_id", run.get("task_id")),
                ("trial", run.get("trial")),
                ("reward", obj(run.get("reward_info")).get("reward")),
                ("termination_reason", run.get("termination_reason")),
                ("expected_actions", criteria.get("actions")),
                ("agent_cost", run.get("agent_cost")),
                ("user_cost", run.get("user_cost")),
            )
        ),
        moment(run.get("start_time")),
    )


def _remarks(traces: list[Trace]) -> Iterator[str]:
    for trace in traces:
        if all(step.at_ms is None for step in trace.steps):
            yield TIMELESS
        if any(step.visibility == "internal" for step in trace.steps):
            yield _THE_USERS
