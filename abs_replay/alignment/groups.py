"""Groups of calls, as the author wrote them and as one assistant message made them (SEMANTICS A12, E5)."""

from collections.abc import Iterator, Sequence

from abs_replay.alignment.compatibility import is_call, is_execution, is_tool_response
from abs_replay.spec.rules import ToolCall
from abs_replay.spec.session import Behavior, Evaluation
from abs_replay.trace import Step


def call_group(behaviors: Sequence[Behavior], index: int) -> tuple[int, ...]:
    """Give the consecutive executions up to the one at `index`; only responses may stand between (E5)."""
    group = [index]
    for before in range(index - 1, -1, -1):
        if is_execution(behaviors[before]):
            group.append(before)
        elif not is_tool_response(behaviors[before]):
            break
    return tuple(reversed(group))


def unordered_blocks(behaviors: Sequence[Behavior]) -> dict[int, int]:
    """Number the behaviors that may match in any order: whole groups, with the responses behind them."""
    blocks: dict[int, int] = {}
    for last in range(len(behaviors) - 1, -1, -1):
        if last not in blocks and is_execution(behaviors[last]) and _says_unordered(behaviors[last]):
            first = call_group(behaviors, last)[0]
            end = last + 1
            while end < len(behaviors) and is_tool_response(behaviors[end]):
                end += 1
            blocks.update(dict.fromkeys(range(first, end), first))
    return blocks


def _says_unordered(behavior: Behavior) -> bool:
    return any(
        isinstance(evaluation.rule, ToolCall) and not evaluation.rule.ordered
        for evaluation in _with_parts(behavior.evaluations)
    )


def _with_parts(evaluations: Sequence[Evaluation]) -> Iterator[Evaluation]:
    for evaluation in evaluations:
        yield evaluation
        yield from _with_parts(evaluation.parts)


def parallel_blocks(steps: Sequence[Step]) -> tuple[int, ...]:
    """Give the calls made side by side with the tool responses behind them, as masks of positions."""
    groups: dict[object, list[int]] = {}
    for position, name in _call_groups(steps):
        groups.setdefault(name, []).append(position)
    return tuple(_with_responses(steps, calls) for calls in groups.values() if len(calls) > 1)


def _call_groups(steps: Sequence[Step]) -> Iterator[tuple[int, object]]:
    """Name each call's group: as recorded, else calls with no step between them share one."""
    run = 0
    for position, step in enumerate(steps):
        if step.actor == "system":
            continue  # system steps don't separate parallel calls (A13)
        if is_call(step):
            yield position, step.parallel_group or run
        else:
            run = position + 1


def _with_responses(steps: Sequence[Step], calls: Sequence[int]) -> int:
    ids = {steps[call].call_id for call in calls} - {None}
    mask, behind, own = sum(1 << call for call in calls), True, set(calls)
    for position in range(calls[0] + 1, len(steps)):  # a recorded group may have responses between its calls
        step = steps[position]
        response = is_tool_response(step)
        behind = behind and (response or step.actor == "system" or position in own)
        if response and (step.call_id in ids if step.call_id else behind):
            mask |= 1 << position
    return mask
