"""A trace of 2,000 steps against a session of 2,000 behaviors: within 5 s and 1 GiB, the worst cases too.

There is no peer that aligns. Each case is a process of its own that prints its seconds and its peak memory:
`python -m benchmarks.aligning CASE`.
"""

import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abs_replay.spec.session import Behavior
    from abs_replay.trace import Step

SIZE = 2000

type Case = tuple[list["Behavior"], list["Step"]]


def says(count: int, **more: Any) -> Iterator["Behavior"]:
    from abs_replay.spec.session import Behavior

    for number in range(count):
        yield Behavior(f"behaviors[{number}]", "assistant", "informs", **more)


def calls(numbers: list[int], **more: Any) -> Iterator["Behavior"]:
    from abs_replay.spec.session import Behavior

    for at, number in enumerate(numbers):
        yield Behavior(f"behaviors[{at}]", "assistant", "calls", target="Order", with_={"id": number}, **more)


def texts(different: bool) -> Iterator["Step"]:
    from abs_replay.testing import step

    return (step(content=f"text {number if different else 0}") for number in range(SIZE))


def called(numbers: list[int]) -> Iterator["Step"]:
    from abs_replay.testing import step

    return (step(action="calls", target="Order", arguments={"id": number}) for number in numbers)


def equal_texts() -> Case:
    return list(says(SIZE)), list(texts(different=False))


def criterion(text: str) -> Any:
    from abs_replay.spec.rules import MatchesWhen

    return MatchesWhen(type="contains", value=text)


def different_texts() -> Case:
    """Every behavior fits one text alone, and they stand in another order than the texts."""
    from abs_replay.spec.session import Behavior

    order = random.Random(1).sample(range(SIZE), SIZE)
    behaviors = [
        Behavior(f"behaviors[{at}]", "assistant", "informs", matches_when=criterion(f"text {number:04}"))
        for at, number in enumerate(order)
    ]
    from abs_replay.testing import step

    return behaviors, [step(content=f"text {number:04}") for number in range(SIZE)]


def nothing_fits() -> Case:
    return list(says(SIZE)), list(called(list(range(SIZE))))


def all_optional() -> Case:
    return list(says(SIZE, optional=True)), list(texts(different=True))


def optional_chain() -> Case:
    """Each requires the one before, and the first is skipped."""
    from abs_replay.spec.session import Behavior

    chain = [
        Behavior(
            f"behaviors[{n}]",
            "assistant",
            "hands_off" if n == 0 else "informs",
            id=f"b{n}",
            target="Nobody" if n == 0 else None,
            optional=True,
            requires=f"b{n - 1}" if n else None,
        )
        for n in range(SIZE)
    ]
    return chain, list(called(list(range(SIZE))))


def interleaved_calls() -> Case:
    """A few kinds of calls, in two orders drawn by lot."""
    draw = random.Random(2)
    return list(calls(draw.choices(range(7), k=SIZE))), list(called(draw.choices(range(7), k=SIZE)))


def calls_and_responses() -> Case:
    """Half calls, half responses that each have to answer a call that was taken, out of order."""
    from abs_replay.spec.session import Behavior
    from abs_replay.testing import step

    half = SIZE // 2
    behaviors = list(calls([n % 5 for n in range(half)]))
    behaviors += [Behavior(f"behaviors[{half + n}]", "tool", "responds", target="Order") for n in range(half)]
    order = random.Random(3).sample(range(half), half)
    steps = [
        step(action="calls", target="Order", arguments={"id": (n + 1) % 5}, call_id=f"c{n}")
        for n in range(half)
    ]
    return behaviors, steps + [step("tool", "responds", {}, target="Order", call_id=f"c{n}") for n in order]


def parallel_calls() -> Case:
    """All calls of one message, in an order of their own, that may match in any order."""
    from abs_replay.spec.rules import ToolCall
    from abs_replay.spec.session import Evaluation

    unordered = Evaluation("behaviors[0].evaluations[0]", ToolCall(type="tool_call", ordered=False))
    numbers = list(range(SIZE))
    return list(calls(numbers, evaluations=(unordered,))), list(called(numbers[::-1]))


CASES: Mapping[str, Callable[[], Case]] = {
    "equal_texts": equal_texts,
    "different_texts": different_texts,
    "nothing_fits": nothing_fits,
    "all_optional": all_optional,
    "optional_chain": optional_chain,
    "interleaved_calls": interleaved_calls,
    "calls_and_responses": calls_and_responses,
    "parallel_calls": parallel_calls,
}


def measure(name: str) -> None:
    """Print seconds of CPU, MiB at the peak of the process, and how many behaviors matched."""
    from abs_replay.alignment import align
    from abs_replay.spec.session import Session
    from abs_replay.testing import trace

    behaviors, steps = CASES[name]()
    session, conversation = Session("s", tuple(behaviors)), trace(*steps)
    started = time.process_time()
    alignment = align(conversation, session)
    spent = time.process_time() - started
    matched = sum(place.position is not None for place in alignment.places)
    print(spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, matched)


def run(rounds: int = 3) -> None:
    print(f"aligning {SIZE:,} steps with {SIZE:,} behaviors (target: within 5 s and 1,024 MiB)")
    for name in CASES:
        command = [sys.executable, "-m", "benchmarks.aligning", name]
        done = [subprocess.run(command, capture_output=True, check=True, text=True) for _ in range(rounds)]
        seconds, peaks, matched = zip(*(map(float, one.stdout.split()) for one in done), strict=True)
        listed = " ".join(f"{second:.2f}" for second in seconds)
        figures = f"{median(seconds):.2f} s of CPU, {max(peaks):.0f} MiB, {matched[0]:.0f} matched"
        print(f"  {name}: {figures}, rounds {listed}")


if __name__ == "__main__":
    measure(sys.argv[1])
