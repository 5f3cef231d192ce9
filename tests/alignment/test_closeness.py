"""What is said of a behavior that found no step: the one that came closest, and what did not fit."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from abs_replay.alignment import align
from abs_replay.spec.rules import MatchesWhen
from abs_replay.spec.session import Behavior, Session
from abs_replay.trace import Step, Trace

TALK: Mapping[str, Any] = {"actor": "assistant", "action": "responds"}
CALL: Mapping[str, Any] = {"actor": "assistant", "action": "calls"}
RESPONSE: Mapping[str, Any] = {"actor": "tool", "action": "responds"}


def near(behaviors: Sequence[Mapping[str, Any]], *steps: Mapping[str, Any]) -> str | None:
    """What is said of the last behavior; steps are numbered from 11."""
    built = tuple(Behavior(at=f"behaviors[{n}]", **fields) for n, fields in enumerate(behaviors))
    trace = Trace("t", tuple(Step(seq=n, **fields) for n, fields in enumerate(steps, 11)))
    place = align(trace, Session("s", built)).places[-1]
    assert place.status == "unmatched"
    return place.near


def criterion(**fields: Any) -> Mapping[str, Any]:
    return {**TALK, "matches_when": MatchesWhen.model_validate(fields)}


@pytest.mark.parametrize(
    ("behavior", "steps", "said"),
    [
        (TALK, [], "the turn has no step of assistant"),
        (TALK, [RESPONSE], "the turn has no step of assistant"),
        (TALK, [RESPONSE, CALL], "step 12 came closest: assistant calls, expected assistant responds"),
        (
            {**CALL, "target": "Pay"},
            [TALK, {**CALL, "target": "Mail"}],
            'step 12 came closest: its target is "Mail", expected "Pay"',
        ),
        (
            {**CALL, "target": "Pay", "with_": {"n": 1}},
            [
                {**CALL, "target": "Mail", "arguments": {"n": 1}},
                {**CALL, "target": "Pay", "arguments": {"n": 2}},
            ],
            "step 12 came closest: n: expected 1, observed 2",
        ),
        (
            {**CALL, "with_only": {"n": 1}},
            [{**CALL, "arguments": '{"n": 1, "m": 2}'}],
            "step 11 came closest: m: expected no such key",
        ),
        (
            {**CALL, "with_": {"n": 1}},
            [{**CALL, "arguments": "n = 1"}],
            'step 11 came closest: the arguments: expected an object, observed "n = 1"',
        ),
        ({**CALL, "with_": {"n": 1}}, [CALL], "step 11 came closest: n: expected 1, observed no such key"),
        (
            {**RESPONSE, "content": '{"a": 1}'},
            [{**RESPONSE, "content": '{"b": 1}'}],
            'step 11 came closest: the content has no "a"',
        ),
        (
            {**RESPONSE, "content": None},
            [{**RESPONSE, "content": "words"}],
            "step 11 came closest: the content is text, expected null",
        ),
        (
            criterion(type="contains", value="refund"),
            [{**TALK, "content": "No."}],
            'step 11 came closest: "No." does not meet contains "refund"',
        ),
        (
            criterion(type="regex", pattern="^refund"),
            [{**TALK, "content": "No."}],
            'step 11 came closest: "No." does not meet regex "^refund"',
        ),
        (
            {**criterion(type="contains", value="refund"), "target": "Desk"},
            [CALL, {**TALK, "target": "Lobby", "content": "refund"}],
            'step 12 came closest: its target is "Lobby", expected "Desk"',
        ),
        (
            criterion(type="contains", value="refund"),
            [RESPONSE, CALL],
            "step 12 came closest: assistant calls, expected assistant responds",
        ),
        (
            {**TALK, "action": "hands_off", "content": {"a": 1}},
            [{**TALK, "content": "Bye."}],
            "step 11 came closest: the content is text, expected object",
        ),
    ],
)
def test_the_step_that_came_furthest_is_named_with_what_did_not_fit(
    behavior: Mapping[str, Any], steps: list[Mapping[str, Any]], said: str
) -> None:
    assert near([behavior], *steps) == said


def test_of_equally_close_steps_the_first_that_nobody_took_is_named() -> None:
    taken = {**CALL, "target": "Pay"}
    other = {**CALL, "target": "Pay", "with_": {"n": 1}}
    assert near([taken, other], taken, taken) == "step 12 came closest: n: expected 1, observed no such key"
    assert near([taken, other], taken) == "step 11 came closest: n: expected 1, observed no such key"


def test_a_step_that_fits_was_taken_or_stands_in_another_place() -> None:
    pay, mail = {**CALL, "target": "Pay"}, {**CALL, "target": "Mail"}
    assert near([pay, pay], pay) == "step 11 came closest: it fits, but behaviors[0] took it"
    assert near([pay, pay, mail], mail, pay, pay) == "step 11 came closest: it fits, but not in this order"


def test_an_answer_that_fits_answers_another_call() -> None:
    pay = {**CALL, "target": "Pay", "arguments": {"n": 2}, "call_id": "c"}
    answer = {**RESPONSE, "target": "Pay", "call_id": "c"}
    wanted: list[Mapping[str, Any]] = [
        {**CALL, "target": "Pay", "with_": {"n": 1}},
        {**RESPONSE, "target": "Pay"},
    ]
    assert near(wanted, pay, answer) == "step 12 came closest: it answers a call that no behavior took"
    early = {**answer, "call_id": None}
    wanted = [{**CALL, "target": "Pay"}, TALK, {**RESPONSE, "target": "Pay"}]
    assert near(wanted, early, pay, TALK) == "step 11 came closest: it fits, but not in this order"
