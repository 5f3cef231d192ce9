"""Rules that a judge decides: `llm_judge`, the dimensions, `custom` (SEMANTICS E6).

Nobody is asked here. Without an answer the verdict is pending and a `Question` is left behind;
with one it is the answer's score against the threshold. About words that are not there, or broke off,
nothing is asked: the verdict is failed. A question's evidence is

    {"steps": [{"seq", "actor", "action", "target", "content" | "arguments"}, ...],
     "step": the `seq` of the step that is judged, or null for the whole conversation,
     "query" | "context" | "response": what these fields of the rule refer to, where given,
     "custom": the rule's own keys, `id` among them}

Steps are those that the user could see, up to the judged one, with the actions that their behaviors
gave them. The digest holds all that an answer depends on, so a changed threshold asks nothing.
"""

from collections.abc import Mapping
from typing import Any

from abs_replay.alignment import Seen
from abs_replay.alignment.compatibility import (
    COMMUNICATION,
    EXECUTION,
    category,
    is_blank,
    is_call,
    is_tool_response,
    unsaid,
)
from abs_replay.evaluators.blocking import INPUTS
from abs_replay.evaluators.context import Context, failed, observed_in, verdict
from abs_replay.exact_json import Json
from abs_replay.judgement import Answer, Question, digest_of
from abs_replay.predicates import Undecided
from abs_replay.spec.rules import AnyRule, Custom
from abs_replay.spec.session import Evaluation
from abs_replay.trace import Step
from abs_replay.verdicts import Judged, Status, StepStatus, Verdict

THRESHOLD = 0.5
NOT_ASKED = {"threshold", "blocking", "when", "reason"}  # what an answer does not depend on


class NotObserved(Exception):
    """An input refers to a step that the trace does not have."""


def judged(evaluation: Evaluation, context: Context) -> Verdict:
    rule = evaluation.rule
    if any(place.pending for place in context.alignment.places):
        # The steps may still be annotated otherwise: a question now would be a wrong one.
        return verdict(evaluation, Status.PENDING, "waits until it is known which steps match")
    try:
        inputs = {name: input_of(name, rule, context) for name in INPUTS if getattr(rule, name, None)}
        nothing = _nothing_said(rule, context, inputs)
    except NotObserved as absent:
        return failed(evaluation, str(absent))
    if nothing is not None:
        # No judge is asked: some pass an answer that is not there. Nor is it an `error` or `not_evaluable`
        # (R1): the trace shows all there is, and what should have been said was not, as for a behavior
        # without a step (A10) or a reference to one that was not observed (E6). To leave it out of what
        # is counted would make an agent that breaks down look better than one that answers badly.
        return failed(evaluation, f"there is nothing to judge: {nothing}", *_seqs(context))
    question = _question(evaluation, context, inputs)
    seqs = _seqs(context)
    answer = context.answers.get(question.digest)
    if answer is None:
        context.questions[question.digest] = question
        return verdict(
            evaluation, Status.PENDING, "waits for a judge", evidence=seqs, threshold=_threshold(rule)
        )
    return _answered(evaluation, question.digest, answer, seqs)


def _answered(evaluation: Evaluation, digest: str, answer: Answer, seqs: tuple[int, ...]) -> Verdict:
    threshold, score = _threshold(evaluation.rule), answer.score
    status, reason = Status.ERROR, answer.error or answer.reason
    if answer.error is None and score is not None:
        if 0 <= score <= 1:
            status = Status.PASSED if score >= threshold else Status.FAILED
            reason = f"scored {score:.4g}, threshold {threshold:g}: {answer.reason}"
        else:
            reason, score = f"the judge gave the score {score:g}, which is not between 0 and 1", None
    found = verdict(
        evaluation,
        status,
        reason,
        evidence=seqs,
        score=None if status is Status.ERROR else score,
        threshold=threshold,
        judge=answer.judge or None,
    )
    found.cached, found.duration_ms = answer.cached, answer.duration_ms
    found.judged = Judged(digest, answer.fingerprint, answer.scores, _split(answer, threshold), answer.usage)
    return found


def _split(answer: Answer, threshold: float) -> bool:
    """Whether the votes disagree: another round of them might decide otherwise."""
    return len({score >= threshold for score in answer.scores}) > 1


def _threshold(rule: AnyRule) -> float:
    return THRESHOLD if rule.threshold is None else rule.threshold


def _question(evaluation: Evaluation, context: Context, inputs: Mapping[str, Json]) -> Question:
    rule = evaluation.rule
    fields: dict[str, Any] = rule.model_dump(by_alias=True, exclude_none=True, exclude=NOT_ASKED)
    evidence: dict[str, Json] = {
        "steps": [_described(seen) for seen in _scope(context)],
        "step": context.step.seq if context.behavior is not None else None,
        **inputs,
    }
    if isinstance(rule, Custom):
        evidence["custom"] = {"id": rule.id, **(rule.model_extra or {})}
    digest = digest_of({**fields, "evidence": evidence})
    criteria = getattr(rule, "criteria", None)
    return Question(digest, evaluation.at, rule.type, criteria, evidence, rule.adapter, rule.prompt)


def _scope(context: Context) -> list[Seen]:
    place = context.place
    end = len(context.steps) if place is None or place.position is None else place.position + 1
    return [seen for seen in context.steps[:end] if seen.actor != "system"]


def _seqs(context: Context) -> tuple[int, ...]:
    return tuple(seen.step.seq for seen in _scope(context))


def _nothing_said(rule: AnyRule, context: Context, inputs: Mapping[str, Json]) -> str | None:
    """Say why what is to be judged holds no words: the response, the step, or a whole conversation."""
    if "response" in inputs:
        seen = _meant("response", rule, context)
        failure = unsaid(seen) if seen is not None else None
        return failure or ("the response is empty" if is_blank(inputs["response"]) else None)
    if context.behavior is not None:
        return unsaid(context.step)
    others = [seen.step for seen in _scope(context) if seen.actor != "user"]
    if others and not all(map(unsaid, others)):
        return None
    return "nobody but the user says or does anything" + "".join(f"; {unsaid(step)}" for step in others[-1:])


def _described(seen: Seen) -> dict[str, Json]:
    step: dict[str, Json] = {"seq": seen.step.seq, "actor": seen.actor, "action": seen.action}
    if seen.target is not None:
        step["target"] = seen.target
    step["arguments" if is_call(seen.step) else "content"] = observed_in(seen.step)
    return step


# -- inputs --


def input_of(name: str, rule: AnyRule, context: Context) -> Json:
    """Follow a reference to what was observed; anything that is none is the author's own text."""
    step = _meant(name, rule, context)
    written: str = getattr(rule, name)
    return written if step is None else observed_in(step)


def _meant(name: str, rule: AnyRule, context: Context) -> Step | None:
    """Find the step that an input refers to; None where it is the author's own text."""
    written: str = getattr(rule, name)
    if written == "self":
        return _self(context)
    if written == "user":
        return _last_user(context).step
    id_, _, action = written.partition(".")
    for index, behavior in enumerate(context.session.behaviors):
        if behavior.id == id_ and (not action or action in COMMUNICATION | EXECUTION):
            return _observed(context, index, written, action).step
    return None


def _self(context: Context) -> Step:
    if context.behavior is None:
        raise Undecided("`self` means a behavior's own step, and a session evaluation has none")
    return context.step


def _last_user(context: Context) -> Seen:
    user = next((seen for seen in reversed(_scope(context)) if seen.actor == "user"), None)
    if user is None:
        raise NotObserved("refers to the user's words, and no user step was observed before")
    return user


def _observed(context: Context, index: int, written: str, action: str) -> Seen:
    place, seen = context.alignment.places[index], context.alignment.step_of(index)
    if place.status is StepStatus.ERROR:
        raise Undecided(place.trouble or f"it could not be decided whether `{written}` was observed")
    if seen is None:
        raise NotObserved(f"refers to `{written}`, which was not observed ({place.status})")
    if not action or category(action) == category(context.session.behaviors[index].action):
        return seen
    response = _response(context, place.position or 0) if action in COMMUNICATION else None
    if response is None:
        raise NotObserved(f"refers to `{written}`, and no such step was observed")
    return response


def _response(context: Context, position: int) -> Seen | None:
    """Find the tool response to a call: by its id, else the next one of the same tool."""
    call = context.steps[position].step
    for seen in context.steps[position + 1 :]:
        if is_tool_response(seen.step) and (
            seen.step.call_id == call.call_id if call.call_id else seen.target == call.target
        ):
            return seen
    return None
