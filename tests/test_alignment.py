"""Behaviors against steps (SEMANTICS A1 to A13), mostly against the rules' own words."""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abs_replay.alignment import Alignment, align
from abs_replay.alignment.compatibility import COMMUNICATION, EXECUTION, criterion_question
from abs_replay.judgement import Answer
from abs_replay.predicates import patterns
from abs_replay.spec.rules import MatchesWhen, ToolCall
from abs_replay.spec.session import Behavior, Evaluation, Session
from abs_replay.trace import Step, Trace, Visibility

UNORDERED = (Evaluation("unordered", ToolCall.model_validate({"type": "tool_call", "ordered": False})),)


def session(*behaviors: Mapping[str, Any], aliases: Mapping[str, tuple[str, ...]] | None = None) -> Session:
    built = (Behavior(at=f"behaviors[{n}]", **fields) for n, fields in enumerate(behaviors))
    return Session("s", tuple(built), aliases=aliases or {})


def trace(*steps: Mapping[str, Any]) -> Trace:
    return Trace("t", tuple(Step(seq=n, **fields) for n, fields in enumerate(steps, 1)))


def statuses(alignment: Alignment) -> list[tuple[str, int | None]]:
    """Each behavior's status and the `seq` of its step."""
    seqs = (None if place.position is None else place.position + 1 for place in alignment.places)
    return [(place.status.value, seq) for place, seq in zip(alignment.places, seqs, strict=True)]


def words(content: Any = "words", **more: Any) -> dict[str, Any]:
    return {"actor": "assistant", "action": "responds", "content": content, **more}


def call(target: str = "T", **more: Any) -> dict[str, Any]:
    return {"actor": "assistant", "action": "calls", "target": target, **more}


def response(target: str = "T", **more: Any) -> dict[str, Any]:
    return {"actor": "tool", "action": "responds", "target": target, **more}


def criterion(value: str) -> MatchesWhen:
    return MatchesWhen(type="contains", value=value)


def judged(criteria: str) -> MatchesWhen:
    return MatchesWhen(type="llm_judge", criteria=criteria)


USER = {"actor": "user", "action": "says"}
INFORMS = {"actor": "assistant", "action": "informs"}


# -- the best alignment, by brute force from the words of A8 and A12 --

TOOLS = ("T", "U")
BEHAVIORS = st.lists(
    st.sampled_from(
        [
            INFORMS,
            call("T"),
            call("T", evaluations=UNORDERED),
            call("U"),
            call("U", evaluations=UNORDERED),
            call("T", with_={"q": 1}),
            call("T", with_={"q": 2}),
            response("T"),
            response("U"),
            {"actor": "tool", "action": "responds"},
        ]
    ),
    max_size=6,
)
STEPS = st.lists(
    st.one_of(
        st.just(words()),
        st.builds(
            lambda tool, q, id_: call(tool, arguments={"q": q}, call_id=id_),
            st.sampled_from(TOOLS),
            st.integers(1, 2),
            st.sampled_from([None, "c1", "c2", "c3"]),
        ),
        st.builds(
            lambda tool, id_: response(tool, call_id=id_),
            st.sampled_from(TOOLS),
            st.sampled_from([None, "c1", "c2", "c3"]),
        ),
    ),
    max_size=6,
).filter(lambda steps: unique([step["call_id"] for step in steps if step["action"] == "calls"]))


def unique(ids: Sequence[str | None]) -> bool:
    named = [id_ for id_ in ids if id_ is not None]
    return len(named) == len(set(named))


def could_take(behavior: Behavior, step: Step) -> bool:
    same_kind = any({behavior.action, step.action} <= kind for kind in (COMMUNICATION, EXECUTION))
    arguments: Any = step.arguments or {}
    fits = all(arguments.get(key) == value for key, value in (behavior.with_ or {}).items())
    named = behavior.target is None or behavior.target == step.target
    return behavior.actor == step.actor and same_kind and named and fits


def same_block(left: int, right: int, behaviors: Sequence[Behavior]) -> bool:
    """One group that says `ordered: false`, with the responses between and behind its calls."""
    for last, behavior in enumerate(behaviors):
        if not behavior.evaluations:
            continue
        first = last
        for before in range(last, -1, -1):
            if behaviors[before].action == "calls":
                first = before
            elif behaviors[before].actor != "tool":
                break
        end = last
        while end + 1 < len(behaviors) and behaviors[end + 1].actor == "tool":
            end += 1
        if first <= left <= end and first <= right <= end:
            return True
    return False


def parallel(left: int, right: int, steps: Sequence[Step]) -> bool:
    """Calls with no step between them, and the tool responses to or right behind them."""
    for first in range(len(steps)):
        end = first
        while end < len(steps) and steps[end].action == "calls":
            end += 1
        if end - first < 2 or (first and steps[first - 1].action == "calls"):
            continue
        ids = {steps[n].call_id for n in range(first, end)} - {None}
        members, behind = set(range(first, end)), True
        for n in range(end, len(steps)):
            behind = behind and steps[n].actor == "tool"
            own = steps[n].call_id in ids if steps[n].call_id else behind
            if steps[n].actor == "tool" and own:
                members.add(n)
        if {left, right} <= members:
            return True
    return False


def allowed(taken: Sequence[int | None], behaviors: Sequence[Behavior], steps: Sequence[Step]) -> bool:
    pairs = [(b, s) for b, s in enumerate(taken) if s is not None]
    if len({s for _, s in pairs}) < len(pairs):
        return False
    for b, s in pairs:
        for b2, s2 in pairs:
            if b < b2 and s > s2 and not (same_block(b, b2, behaviors) and parallel(s, s2, steps)):
                return False
    return answers_its_call(pairs, behaviors, steps)


def answers_its_call(
    pairs: Sequence[tuple[int, int]], behaviors: Sequence[Behavior], steps: Sequence[Step]
) -> bool:
    answered: set[str | None] = set()
    for b, s in pairs:
        behavior, step = behaviors[b], steps[s]
        calls = [
            n
            for n in range(b)
            if behaviors[n].action == "calls" and behavior.target in (None, behaviors[n].target)
        ]
        if behavior.actor != "tool" or step.call_id is None or not calls:
            continue
        ids = {steps[position].call_id for n, position in pairs if n < b and behaviors[n].action == "calls"}
        if not ids & {step.call_id, None} or (step.call_id in answered and None not in ids):
            return False
        answered.add(step.call_id)
    return True


def best(behaviors: Sequence[Behavior], steps: Sequence[Step]) -> list[int | None]:
    """Try every assignment: as many matches as possible, then step by step the earliest, none last."""
    choices = [
        [n for n, step in enumerate(steps) if could_take(behavior, step)] + [None] for behavior in behaviors
    ]
    candidates = [taken for taken in product(*choices) if allowed(taken, behaviors, steps)]
    most = max(sum(step is not None for step in taken) for taken in candidates)
    fullest = [taken for taken in candidates if sum(step is not None for step in taken) == most]
    return list(min(fullest, key=lambda taken: [len(steps) if step is None else step for step in taken]))


@settings(max_examples=500, deadline=None)
@given(BEHAVIORS, STEPS)
def test_the_alignment_is_the_one_that_brute_force_finds(
    behaviors: list[dict[str, Any]], steps: list[dict[str, Any]]
) -> None:
    wanted, observed = session(*behaviors), trace(*steps)
    found = [place.position for place in align(observed, wanted).places]
    assert found == best(wanted.behaviors, observed.steps)


@settings(deadline=None)
@given(BEHAVIORS, STEPS)
def test_steps_increase_with_the_behaviors_where_no_group_is_unordered(
    behaviors: list[dict[str, Any]], steps: list[dict[str, Any]]
) -> None:
    ordered = [{key: value for key, value in fields.items() if key != "evaluations"} for fields in behaviors]
    places = align(trace(*steps), session(*ordered)).places
    positions = [place.position for place in places if place.position is not None]
    assert positions == sorted(set(positions))


# -- optional behaviors and what requires them --

TALK = st.lists(st.sampled_from(["a", "b", "ab", "c"]).map(words), max_size=5)


@st.composite
def talkative(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Behaviors of one or two turns that may be optional and may require an earlier one."""
    behaviors: list[dict[str, Any]] = []
    for n in range(draw(st.integers(1, 6))):
        earlier = draw(st.none() | st.integers(0, n - 1)) if n else None
        requires = None if earlier is None else f"b{earlier}"
        if draw(st.integers(0, 5)) == 0:
            behaviors.append({**USER, "id": f"b{n}", "requires": requires})
        else:
            value = draw(st.sampled_from("abc"))
            optional = draw(st.booleans())
            more = {
                "id": f"b{n}",
                "requires": requires,
                "optional": optional,
                "matches_when": criterion(value),
            }
            behaviors.append({**INFORMS, **more})
    return behaviors


@st.composite
def talk(draw: st.DrawFn) -> list[dict[str, Any]]:
    return [
        dict(USER) if draw(st.integers(0, 4)) == 0 else words(draw(st.sampled_from(["a", "b", "ab", "c"])))
        for _ in range(draw(st.integers(0, 6)))
    ]


def dropped_by_the_rule(behaviors: list[dict[str, Any]], observed: Trace) -> set[int]:
    """Align, drop the first in session order that requires a skipped one, align again (A9)."""
    dropped: set[int] = set()
    while True:
        kept = [n for n in range(len(behaviors)) if n not in dropped]
        bare = session(*({**behaviors[n], "requires": None} for n in kept))
        found = dict(zip(kept, (status for status, _ in statuses(align(observed, bare))), strict=True))
        skipped = dropped | {n for n in kept if found[n] == "skipped"}
        requires = {n: behaviors[n]["requires"] for n in kept if behaviors[n]["requires"]}
        first = next((n for n, id_ in requires.items() if n not in skipped and int(id_[1:]) in skipped), None)
        if first is None:
            return skipped
        dropped.add(first)


def wants(value: str, id_: str, *, optional: bool = False, requires: str | None = None) -> dict[str, Any]:
    more = {"id": id_, "optional": optional, "requires": requires, "matches_when": criterion(value)}
    return {**INFORMS, **more}


def test_one_that_goes_for_good_goes_before_what_an_open_fate_decides() -> None:
    behaviors = [
        wants("b", "b0", optional=True),
        wants("a", "b1", optional=True),
        wants("a", "b2", requires="b0"),
        wants("a", "b3", requires="b1"),
    ]
    found = statuses(align(trace(words("a"), words("a")), session(*behaviors)))
    assert [status for status, _ in found] == ["skipped", "matched", "skipped", "matched"]


@settings(max_examples=300, deadline=None)
@given(talkative(), talk())
@example(  # one that goes for good, behind one whose fate is open
    [
        wants("a", "b0", optional=True),
        wants("b", "b1", optional=True),
        wants("a", "b2", requires="b0"),
        wants("a", "b3", requires="b1"),
        wants("a", "b4"),
    ],
    [words("a"), words("a")],
)
@example(  # and the other way round: what follows depends on what the first leaves free
    [
        wants("b", "b0", optional=True),
        wants("a", "b1", optional=True),
        wants("a", "b2", requires="b0"),
        wants("a", "b3", requires="b1"),
        wants("a", "b4", requires="b3"),
    ],
    [words("a"), words("a")],
)
@example(  # one after the other: each requires the one before
    [
        wants("b", "b0", optional=True),
        wants("a", "b1", requires="b0"),
        wants("a", "b2", requires="b1"),
        wants("a", "b3"),
    ],
    [words("a")],
)
@example(  # a required one that is dropped frees its step for the optional that another requires
    [
        wants("a", "b0"),
        wants("b", "b1", optional=True),
        wants("b", "b2", requires="b1"),
        {**USER, "id": "b3", "requires": "b1"},
        wants("a", "b4"),
    ],
    [words("b"), words("a"), USER, words("a")],
)
@example(  # what hangs on an open fate goes before what goes for good, as it stands before it
    [
        wants("z", "b0", optional=True),
        wants("b", "b1", optional=True),
        wants("q", "b2", requires="b1"),
        wants("c", "b3", requires="b0"),
        wants("a", "b4", requires="b0"),
    ],
    [words("a"), words("b"), words("c"), words("a")],
)
@example(  # dropping one lets the optional that the next requires be seen
    [
        wants("b", "b0", optional=True),
        wants("b", "b1", optional=True),
        wants("a", "b2", requires="b0"),
        wants("q", "b3", requires="b1"),
    ],
    [words("a"), words("b")],
)
def test_what_requires_a_skipped_one_is_dropped_one_after_the_other(
    behaviors: list[dict[str, Any]], steps: list[dict[str, Any]]
) -> None:
    observed = trace(*steps)
    found = statuses(align(observed, session(*behaviors)))
    skipped = {n for n, (status, _) in enumerate(found) if status == "skipped"}
    assert skipped == dropped_by_the_rule(behaviors, observed)


@settings(deadline=None)
@given(talkative(), talk())
@example([wants("a", "b0"), wants("b", "b1", optional=True), wants("a", "b2")], [words("a"), words("ab")])
@example([wants("a", "b0", optional=True), wants("b", "b1")], [words("b"), words("a")])
def test_no_two_behaviors_cross(behaviors: list[dict[str, Any]], steps: list[dict[str, Any]]) -> None:
    places = align(trace(*steps), session(*behaviors)).places
    positions = [place.position for place in places if place.position is not None]
    assert positions == sorted(positions)


@settings(deadline=None)
@given(talkative(), TALK)
def test_an_optional_takes_the_earliest_step_between_its_neighbours(
    behaviors: list[dict[str, Any]], steps: list[dict[str, Any]]
) -> None:
    talk_only = [{**fields, "requires": None} for fields in behaviors if fields["actor"] != "user"]
    found = [place.position for place in align(trace(*steps), session(*talk_only)).places]
    required = {
        p for p, fields in zip(found, talk_only, strict=True) if not fields["optional"] and p is not None
    }
    for n, fields in enumerate(talk_only):
        if not fields["optional"]:
            continue
        low = max((p for p in found[:n] if p is not None), default=0)
        behind = (p for p, f in zip(found[n + 1 :], talk_only[n + 1 :], strict=True) if not f["optional"])
        high = min((p for p in behind if p is not None), default=len(steps) - 1)
        fits = [p for p in range(low, high + 1) if fields["matches_when"].value in steps[p]["content"]]
        own = [p for p in fits if p not in required]
        assert found[n] == next(iter(own or fits), None)


# -- single rules --


class TestTurns:
    def test_a_dropped_user_behavior_opens_no_turn(self) -> None:
        wanted = session(
            USER,
            {**INFORMS, "id": "ask", "optional": True, "matches_when": criterion("number")},
            {**USER, "requires": "ask"},
            call(),
            USER,
            INFORMS,
        )
        observed = trace(USER, call(), USER, words())
        expected = [
            ("sent", 1),
            ("skipped", None),
            ("skipped", None),
            ("matched", 2),
            ("sent", 3),
            ("matched", 4),
        ]
        assert statuses(align(observed, wanted)) == expected

    def test_a_difference_in_the_users_words_is_seen_after_nfc_and_trimming(self) -> None:
        def differs(wanted: Any, observed: Any) -> bool:
            user = {**USER, "content": wanted}
            return align(trace({**USER, "content": observed}), session(user)).places[0].differs

        assert not differs(" caf\u00e9", "cafe\u0301\n")
        assert differs("one", "two")
        assert not differs({"a": 1}, {"a": 1.0})
        assert differs({"a": 1}, "words")

    def test_a_missing_turn_leaves_its_behaviors_unmatched_and_says_so(self) -> None:
        alignment = align(trace(USER), session(USER, USER, INFORMS))
        assert statuses(alignment) == [("sent", 1), ("missing", None), ("unmatched", None)]
        assert alignment.places[2].near == "the trace has no turn 2"


class TestCriteria:
    def test_a_criterion_never_looks_at_a_call(self) -> None:
        wanted = session({**INFORMS, "matches_when": criterion("refund")})
        assert statuses(align(trace(call(arguments={"a": "refund"})), wanted)) == [("unmatched", None)]

    def test_a_hand_off_with_words_can_meet_a_criterion(self) -> None:
        wanted = session({**INFORMS, "matches_when": criterion("colleague")})
        hand_off = {"actor": "assistant", "action": "hands_off", "target": "Desk"}
        assert statuses(align(trace(hand_off), wanted)) == [("unmatched", None)]
        alignment = align(trace({**hand_off, "content": "A colleague helps."}), wanted)
        assert statuses(alignment) == [("matched", 1)]
        assert alignment.seen[0].action == "hands_off"

    def test_a_search_that_takes_too_long_is_an_error_and_no_mismatch(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(patterns, "TIME_LIMIT", 0.05)
        rule = MatchesWhen(type="regex", pattern="(a|aa)+$")
        alignment = align(trace(words("a" * 60 + "b")), session({**INFORMS, "matches_when": rule}))
        assert statuses(alignment) == [("error", None)]
        assert "took longer" in (alignment.places[0].trouble or "")

    def test_a_criterion_that_keeps_taking_too_long_is_given_up(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(patterns, "TIME_LIMIT", 0.01)
        wanted = session({**INFORMS, "matches_when": MatchesWhen(type="regex", pattern="(a|aa)+$")})
        slow, fast = words("a" * 60 + "b"), words("a")
        assert statuses(align(trace(slow, slow, fast), wanted)) == [("matched", 3)]
        alignment = align(trace(slow, slow, slow, fast), wanted)
        assert statuses(alignment) == [("error", None)]
        assert "took longer" in (alignment.places[0].trouble or "")


class TestJudgedCriteria:
    WANTED = session(
        USER, {**INFORMS, "matches_when": MatchesWhen(type="llm_judge", criteria="kind")}, INFORMS
    )
    OBSERVED = trace(USER, words("Go away."), words("Dear friend."))

    def answers(self, *scores: float | None) -> dict[str, Answer]:
        steps = self.OBSERVED.steps[1:]
        return {
            criterion_question("kind", step, "").digest: Answer(
                score, "", "j", None if score is not None else "down"
            )
            for step, score in zip(steps, scores, strict=False)
        }

    def test_every_open_question_is_asked_and_the_turn_pending(self) -> None:
        alignment = align(self.OBSERVED, self.WANTED)
        assert [question.criteria for question in alignment.questions] == ["kind", "kind"]
        assert [place.pending for place in alignment.places] == [False, True, True]

    def test_what_two_behaviors_ask_alike_is_asked_once(self) -> None:
        kind = self.WANTED.behaviors[1].matches_when
        wanted = session(USER, {**INFORMS, "matches_when": kind}, {**INFORMS, "matches_when": kind})
        alignment = align(self.OBSERVED, wanted)
        assert [question.at for question in alignment.questions] == ["behaviors[1].matches_when"] * 2
        assert len({question.digest for question in alignment.questions}) == 2

    def test_a_score_of_one_half_matches(self) -> None:
        alignment = align(self.OBSERVED, self.WANTED, self.answers(0.49, 0.5))
        assert statuses(alignment) == [("sent", 1), ("matched", 3), ("unmatched", None)]
        assert alignment.questions == ()

    def test_an_error_counts_only_where_nothing_else_matches(self) -> None:
        assert statuses(align(self.OBSERVED, self.WANTED, self.answers(None, 0.9)))[1] == ("matched", 3)
        alignment = align(self.OBSERVED, self.WANTED, self.answers(None, 0.1))
        assert statuses(alignment)[1] == ("error", None)
        assert alignment.places[1].trouble == "down"

    def test_later_turns_wait_where_a_user_turn_hangs_on_the_answer(self) -> None:
        asks = {
            **INFORMS,
            "id": "a",
            "optional": True,
            "matches_when": MatchesWhen(type="llm_judge", criteria="x"),
        }
        wanted = session(USER, asks, {**USER, "requires": "a"}, asks | {"id": "b"})
        alignment = align(trace(USER, words("one"), USER, words("two")), wanted)
        assert len(alignment.questions) == 1
        assert alignment.places[3].pending

    def test_earlier_turns_wait_for_nothing(self) -> None:
        asks = {**INFORMS, "id": "a", "optional": True, "matches_when": judged("x")}
        wanted = session(
            USER, INFORMS, USER, asks, {**INFORMS, "requires": "a"}, {**USER, "requires": "a"}, INFORMS
        )
        observed = trace(USER, words("one"), USER, words("two"), USER, words("three"))
        places = align(observed, wanted).places
        assert [place.pending for place in places] == [False, False, False, True, True, False, True]
        assert [place.near for place in places[:4]] == [None] * 4

    def test_open_questions_of_all_turns_are_asked_at_once_where_no_turn_hangs_on_another(self) -> None:
        asks = {**INFORMS, "id": "a", "optional": True, "matches_when": judged("x")}
        wanted = session(USER, asks, {**INFORMS, "requires": "a"}, USER, {**asks, "id": "b"})
        alignment = align(trace(USER, words("one"), USER, words("two")), wanted)
        assert [question.at for question in alignment.questions] == [
            "behaviors[1].matches_when",
            "behaviors[4].matches_when",
        ]


class TestCallsAndResponses:
    def test_a_response_to_no_tool_in_particular_needs_a_call_that_matched(self) -> None:
        anybodys = {"actor": "tool", "action": "responds"}
        observed = trace(call("U", call_id="c1"), response("U", call_id="c1"))
        assert statuses(align(observed, session(call("T"), anybodys))) == [("unmatched", None)] * 2
        assert statuses(align(observed, session(call("U"), anybodys))) == [("matched", 1), ("matched", 2)]

    def test_a_call_without_an_id_may_be_answered_by_any_response(self) -> None:
        observed = trace(call(), response(), response(call_id="c1"))
        wanted = session(call(), response(), response())
        assert statuses(align(observed, wanted)) == [("matched", 1), ("matched", 2), ("matched", 3)]

    def test_of_the_responses_to_a_call_without_an_id_the_first_is_taken(self) -> None:
        observed = trace(call(), response(call_id="c1"), response(call_id="c2"))
        assert statuses(align(observed, session(call(), response()))) == [("matched", 1), ("matched", 2)]

    def test_a_response_may_answer_each_of_several_optional_calls(self) -> None:
        optional = [call("T", optional=True), call("U", optional=True)]
        wanted = session(*optional, response("T"), response("U"))
        observed = trace(
            call("T", call_id="t"), call("U", call_id="u"), response("T", call_id="t"), response("U")
        )
        assert [seq for _, seq in statuses(align(observed, wanted))] == [1, 2, 3, 4]
        observed = trace(call("T"), call("U", call_id="u"), response("T"), response("U", call_id="u"))
        assert [seq for _, seq in statuses(align(observed, wanted))] == [1, 2, 3, 4]

    def test_a_response_without_an_id_may_answer_any_call(self) -> None:
        observed = trace(call(call_id="c1"), response(), response())
        wanted = session(call(), response(), response())
        assert statuses(align(observed, wanted)) == [("matched", 1), ("matched", 2), ("matched", 3)]

    def test_a_call_may_be_answered_after_a_turn_in_which_nothing_is_expected(self) -> None:
        observed = trace(call(call_id="c1"), USER, USER, response(call_id="c1"))
        assert statuses(align(observed, session(call(), USER, USER, response())))[3] == ("matched", 4)

    def test_a_response_without_its_call_matches_nothing(self) -> None:
        observed = trace(call(arguments={"id": 2}, call_id="c1"), response(call_id="c1"))
        alignment = align(observed, session(call(with_={"id": 1}), response()))
        assert statuses(alignment) == [("unmatched", None), ("unmatched", None)]
        assert alignment.places[1].near == "step 2 came closest: it answers a call that no behavior took"

    def test_a_call_is_answered_once(self) -> None:
        observed = trace(
            call(call_id="c1"), response(call_id="c1"), response(call_id="c1"), call(call_id="c2")
        )
        alignment = align(observed, session(call(), response(), response()))
        assert statuses(alignment) == [("matched", 1), ("matched", 2), ("unmatched", None)]
        assert alignment.extra == (3, 4)

    def test_any_response_fits_where_the_session_has_no_call_before_it(self) -> None:
        observed = trace(call(call_id="c1"), response(call_id="c1"))
        assert statuses(align(observed, session(response()))) == [("matched", 2)]

    def test_a_call_of_an_earlier_turn_can_be_answered_later(self) -> None:
        observed = trace(call(call_id="c1"), USER, response(call_id="c1"))
        wanted = session(call(), USER, response())
        assert statuses(align(observed, wanted)) == [("matched", 1), ("sent", 2), ("matched", 3)]

    def test_an_unnamed_response_is_known_by_its_call(self) -> None:
        observed = trace(
            call("Orders", call_id="c1"), {"actor": "tool", "action": "responds", "call_id": "c1"}
        )
        assert statuses(align(observed, session(call("Orders"), response("Orders"))))[1] == ("matched", 2)

    def test_a_response_to_an_optional_call_matches_with_it(self) -> None:
        observed = trace(call(call_id="c1"), response(call_id="c1"))
        wanted = session(call(optional=True), response())
        assert statuses(align(observed, wanted)) == [("matched", 1), ("matched", 2)]

    @pytest.mark.parametrize("group", ["g", None])
    def test_neither_system_nor_internal_steps_separate_parallel_calls(self, group: str | None) -> None:
        hidden = {**words(), "visibility": Visibility.INTERNAL}
        system = {"actor": "system", "action": "updates", "target": "state.x"}
        observed = trace(call("B", parallel_group=group), system, hidden, call("A", parallel_group=group))
        alignment = align(observed, session(call("A"), call("B", evaluations=UNORDERED)))
        assert [place.status for place in alignment.places] == ["matched", "matched"]

    def test_an_alias_of_the_configuration_is_a_name_of_the_target(self) -> None:
        aliases = {"Order MCP": ("get_order",)}
        observed = trace(call("get_order", call_id="c"), response("get_order", call_id="c"))
        wanted = session(call("Order MCP"), response("Order MCP"), aliases=aliases)
        assert statuses(align(observed, wanted)) == [("matched", 1), ("matched", 2)]


class TestAnnotation:
    def test_a_step_takes_its_first_behaviors_action_and_id(self) -> None:
        wanted = session(
            {
                "actor": "assistant",
                "action": "asks",
                "id": "x",
                "optional": True,
                "matches_when": criterion("a"),
            },
            {"actor": "assistant", "action": "informs", "id": "y"},
        )
        (seen,) = align(trace(words("a")), wanted).seen
        assert (seen.action, seen.id, seen.behavior) == ("asks", "x", 0)

    def test_untaken_verbs_of_the_assistant_become_plain_ones(self) -> None:
        observed = trace(
            words(action="asks"),
            call(action="stores"),
            {"actor": "human", "action": "asks"},
            {"actor": "assistant", "action": "hands_off"},
            {"actor": "assistant", "action": "navigates"},
        )
        actions = [seen.action for seen in align(observed, session(USER)).seen]
        assert actions == ["responds", "calls", "asks", "hands_off", "navigates"]

    def test_internal_and_system_steps_are_never_extra(self) -> None:
        observed = trace(
            {**words(), "visibility": Visibility.INTERNAL}, {"actor": "system", "action": "updates"}, words()
        )
        assert align(observed, session(USER)).extra == (3,)


def triples(count: int) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    for n in range(count):
        id_ = f"c{n}"
        steps = [
            call(arguments={"q": n}, call_id=id_),
            response(call_id=id_, content={"n": n}),
            words(f"answer {n}"),
        ]
        yield [call(), response(content={"n": 0}), INFORMS], steps


@pytest.mark.parametrize("missing", [0, 7])
def test_two_thousand_behaviors_meet_two_thousand_steps_in_five_seconds(missing: int) -> None:
    pairs = list(triples(666))
    behaviors = [USER, *(behavior for wanted, _ in pairs for behavior in wanted)]
    steps = [USER, *(step for _, observed in pairs for step in observed)]
    kept = [step for n, step in enumerate(steps) if not missing or n % missing or not n]
    begin = time.process_time()
    alignment = align(trace(*kept), session(*behaviors))
    assert time.process_time() - begin < 5
    assert sum(place.position is not None for place in alignment.places) >= len(kept) * 0.7
