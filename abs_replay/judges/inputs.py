"""What services that want texts, rather than a whole conversation, are given of a question.

`response` is what is judged: what the rule refers to, else the judged step, else the assistant's last
words. `query` is what the rule refers to, else the user's last words before it; `context` what the rule
refers to, else what tools returned before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from abs_replay.exact_json import Json, dumps
from abs_replay.judgement import Question
from abs_replay.judges.criteria import numbered
from abs_replay.judges.fence import defused, fenced
from abs_replay.judges.prompt import criteria_of

type Step = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Texts, empty where there is none. `steps` end with the judged one; `custom` are the rule's own keys."""

    response: str
    query: str
    context: str
    steps: tuple[Step, ...]
    custom: Mapping[str, Json]

    @property
    def calls(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if is_call(step))


def inputs_of(question: Question) -> Inputs:
    """Take the texts out of a question's evidence."""
    evidence = question.evidence if isinstance(question.evidence, Mapping) else {}
    custom = evidence.get("custom")
    steps = _until_judged(_steps(evidence.get("steps")), evidence)
    at = next((i for i in reversed(range(len(steps))) if _is_judged(steps[i], evidence)), len(steps))
    judged, before = steps[at : at + 1], steps[:at]
    asked = next((words_of(one) for one in reversed(before) if _is_users(one)), "")
    return Inputs(
        response=_given(evidence, "response") or "".join(map(words_of, judged)),
        query=_given(evidence, "query") or asked,
        context=_given(evidence, "context") or "\n".join(words_of(one) for one in before if _is_result(one)),
        steps=steps,
        custom=custom if isinstance(custom, Mapping) else {},
    )


def words_of(step: Step) -> str:
    """A step's words, or its arguments, as text."""
    return _text(step.get("arguments") if is_call(step) else step.get("content"))


def is_call(step: Step) -> bool:
    return "arguments" in step


def _steps(value: Json) -> tuple[Step, ...]:
    listed = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return tuple(step for step in listed if isinstance(step, Mapping))


def _until_judged(steps: tuple[Step, ...], evidence: Mapping[str, Json]) -> tuple[Step, ...]:
    """Evidence ends with the judged step already; where it should not, what comes later is none of it."""
    number = evidence.get("step")
    if number is None:
        return steps
    at = next((i for i, step in enumerate(steps) if step.get("seq") == number), len(steps))
    return steps[: at + 1]


def _is_judged(step: Step, evidence: Mapping[str, Json]) -> bool:
    if "step" not in evidence:
        return True  # a `matches_when` shows one step, and nothing else
    number = evidence["step"]
    if number is not None:
        return step.get("seq") == number
    return step.get("actor") == "assistant" and not is_call(step) and bool(words_of(step).strip())


def _is_users(step: Step) -> bool:
    return step.get("actor") == "user" and not is_call(step)


def _is_result(step: Step) -> bool:
    return step.get("actor") == "tool" and not is_call(step)


def _given(evidence: Mapping[str, Json], name: str) -> str:
    return _text(evidence.get(name))


def _text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else dumps(value)


def wanted(question: Question) -> str:
    """What the author wants, in one text: the instruction, and the criteria as a numbered list."""
    preamble, criteria = numbered(criteria_of(question))
    listed = [f"{n}. {defused(each)}" for n, each in enumerate(criteria, 1)]
    before = [defused(text.strip()) for text in (question.prompt or "", preamble) if text.strip()]
    return "\n".join([*before, *listed])


def record(question: Question, name: str) -> str:
    """The whole evidence in a fence of that name, as a prompt of ours has it."""
    evidence = question.evidence if isinstance(question.evidence, Mapping) else {}
    entries: list[Json] = [*_steps(evidence.get("steps"))]
    entries += [{key: value} for key, value in evidence.items() if key not in ("steps", "step", "custom")]
    return fenced(entries, name)
