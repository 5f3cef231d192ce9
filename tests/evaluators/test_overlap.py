"""`f1`, `bleu`, `rouge`: what the scores are, what is refused, what is loaded (SEMANTICS E8, R6)."""

import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.errors import SpecError
from abs_replay.evaluators.overlap import SCORES
from abs_replay.spec.loader import load
from abs_replay.spec.rules import METRICS, VARIANTS, TextMetric
from abs_replay.verdicts import Run, Verdict

type JudgedStep = Callable[..., list[Verdict]]
TRUTH = "the cat sat on the mat"


def only(judged_step: JudgedStep, rule: str, content: Any) -> Verdict:
    (verdict,) = judged_step(f"{{ {rule} }}", content)
    return verdict


@pytest.mark.parametrize(
    ("rule", "score"),
    [
        ("type: rouge", 10 / 13),  # 5 words of 6 and of 7, in this order
        ("type: rouge, variant: rouge1, metric: precision", 5 / 7),
        ("type: rouge, variant: rouge2, metric: recall", 3 / 5),
        ("type: rouge, variant: rougeLsum, metric: recall", 5 / 6),
    ],
)
def test_rouge_counts_words_in_order_or_ngrams(judged_step: JudgedStep, rule: str, score: float) -> None:
    verdict = only(judged_step, f'{rule}, ground_truth: "{TRUTH}"', "The cat lay on the mat, now!")
    assert verdict.score == pytest.approx(score)


def test_f1_counts_words_without_case_punctuation_articles_and_blanks(judged_step: JudgedStep) -> None:
    verdict = only(judged_step, 'type: f1, ground_truth: "An apple, a pear;  THE plum."', "apple pear\nPlum")
    assert (verdict.status, verdict.score, verdict.threshold) == ("passed", 1.0, 0.5)


def test_f1_is_the_harmonic_mean_of_precision_and_recall(judged_step: JudgedStep) -> None:
    # expected: free on sunday; observed: it is free on sunday and monday
    rule = "type: f1, ground_truth: Free on Sunday"
    observed = "It is free on Sunday and Monday."
    assert only(judged_step, f"{rule}, metric: precision", observed).score == pytest.approx(3 / 7)
    assert only(judged_step, f"{rule}, metric: recall", observed).score == 1.0
    assert only(judged_step, rule, observed).score == pytest.approx(2 * 3 / 10)


def test_bleu_is_sacrebleus_sentence_score(judged_step: JudgedStep) -> None:
    # 5 of 6 words, 3 of 5 pairs, 1 of 4 triples, no four: smoothed to half of one in three.
    verdict = only(judged_step, f'type: bleu, ground_truth: "{TRUTH}"', "the cat lay on the mat")
    precisions = (5 / 6) * (3 / 5) * (1 / 4) * (1 / 6)
    assert verdict.score == pytest.approx(precisions ** (1 / 4))
    rule = f'type: bleu, variant: bleu1, ground_truth: "{TRUTH}"'
    bleu1 = only(judged_step, rule, "the cat lay on the mat")
    assert bleu1.score == pytest.approx(5 / 6)


def test_the_threshold_decides_and_the_reason_quotes_both_texts(judged_step: JudgedStep) -> None:
    rule = f'type: rouge, metric: recall, ground_truth: "{TRUTH}"'
    verdict = only(judged_step, f"{rule}, threshold: 0.9", "the cat lay on the mat")
    assert verdict.status == "failed"
    assert verdict.reason.startswith("rouge recall 0.8333, threshold 0.9: expected")
    assert TRUTH in verdict.reason
    assert "lay" in verdict.reason
    assert (verdict.evidence, verdict.threshold) == ((1,), 0.9)
    assert only(judged_step, f"{rule}, threshold: 0.8", "the cat lay on the mat").status == "passed"


def test_a_threshold_of_one_is_reached_by_the_text_itself(judged_step: JudgedStep) -> None:
    words = "one two three four five six seven eight nine ten"
    for kind in ("bleu", "rouge", "f1"):
        verdict = only(judged_step, f"type: {kind}, ground_truth: {words}, threshold: 1", words)
        assert (kind, verdict.status) == (kind, "passed")


@pytest.mark.parametrize("kind", ["f1", "bleu", "rouge"])
@pytest.mark.parametrize("content", ["", None, "Zzz"])
def test_nothing_in_common_scores_nothing(judged_step: JudgedStep, kind: str, content: Any) -> None:
    verdict = only(judged_step, f'type: {kind}, ground_truth: "{TRUTH}"', content)
    assert (verdict.status, verdict.score) == ("failed", 0.0)


@pytest.mark.parametrize("kind", ["f1", "bleu"])
def test_a_text_of_any_script_overlaps_with_itself_in_either_form(judged_step: JudgedStep, kind: str) -> None:
    decomposed, composed = "明日 届く cafe\u0301", "明日 届く caf\u00e9"
    assert only(judged_step, f'type: {kind}, ground_truth: "{decomposed}"', composed).score == 1.0


def test_rouge_says_that_it_does_not_know_a_script_rather_than_fail(judged_step: JudgedStep) -> None:
    verdict = only(judged_step, "type: rouge, ground_truth: 明日届きます", "明日届きます")
    assert (verdict.status, verdict.score) == ("error", None)
    assert "a to z" in verdict.reason


def test_rouge_needs_as_many_words_as_its_ngrams_have(judged_step: JudgedStep) -> None:
    for variant, status in (("rougeL", "passed"), ("rouge1", "passed"), ("rouge2", "error")):
        verdict = only(judged_step, f"type: rouge, variant: {variant}, ground_truth: yes", "yes")
        assert (variant, verdict.status) == (variant, status)


def test_texts_too_long_for_a_table_are_an_error_at_once(judged_step: JudgedStep) -> None:
    verdict = only(judged_step, f'type: rouge, ground_truth: "{"word " * 5000}"', "word " * 5000)
    assert verdict.status == "error"
    assert "try rouge1" in verdict.reason


VARIANT_CASES = [(kind, variant) for kind in VARIANTS for variant in (None, *VARIANTS[kind])]


@pytest.mark.parametrize(("kind", "variant"), VARIANT_CASES)
@settings(max_examples=12)  # of each
@given(words=st.lists(st.text("abcxyz123", min_size=1, max_size=5), min_size=9, max_size=20))
def test_a_text_overlaps_wholly_with_itself(kind: str, variant: str | None, words: list[str]) -> None:
    text = " ".join(f"w{word}" for word in words)
    for metric in METRICS[kind] or (None,):
        rule = TextMetric.model_validate(
            {"type": kind, "ground_truth": text, "variant": variant, "metric": metric}
        )
        assert SCORES[kind](rule, text, text) == pytest.approx(1.0)


@given(truth=st.text(min_size=1), words=st.text())
def test_f1_lies_between_none_and_one_and_is_symmetric(truth: str, words: str) -> None:
    rule = TextMetric(type="f1", ground_truth=truth)
    score = SCORES["f1"](rule, truth, words)
    assert 0 <= score <= 1
    assert score == pytest.approx(SCORES["f1"](rule, words, truth))


class TestWhoseWords:
    TEXT = """
behaviors:
  - {{ id: q, actor: user, action: says }}
  - {{ id: lookup, actor: assistant, action: calls, target: KB }}
  - actor: assistant
    action: informs
    content: Open on Sunday
    evaluations: [{{ type: f1, ground_truth: {truth}, response: {response} }}]
  - id: never
    actor: assistant
    action: informs
    optional: true
    matches_when: {{ type: contains, value: zzz }}
"""
    STEPS: tuple[Mapping[str, Any], ...] = (
        {"actor": "user", "action": "says", "content": "When is it open?"},
        {"actor": "assistant", "action": "calls", "target": "KB", "arguments": {}, "call_id": "c"},
        {"actor": "tool", "action": "responds", "target": "KB", "content": "Open on Sunday", "call_id": "c"},
        {"actor": "assistant", "action": "responds", "content": "On Monday"},
    )

    def verdict(self, graded: Callable[..., Run], response: str, truth: str = "self") -> Verdict:
        run = graded(self.TEXT.format(response=response, truth=truth), *self.STEPS)
        return run.verdicts[0]

    @pytest.mark.parametrize(
        ("response", "truth", "score"),
        [
            ("user", "When is it open", 1.0),
            ("q", "When is it open", 1.0),
            ("lookup.responds", "self", 1.0),
            ("self", "self", 0.4),
        ],
    )
    def test_response_names_the_step(
        self, graded: Callable[..., Run], response: str, truth: str, score: float
    ) -> None:
        assert self.verdict(graded, response, truth).score == pytest.approx(score)

    def test_a_truth_that_is_known_at_run_only_to_be_the_content_is_an_error_where_there_is_none(
        self, graded: Callable[..., Run]
    ) -> None:
        text = self.TEXT.replace("    content: Open on Sunday\n", "").replace("{truth}", '"{{{{truth}}}}"')
        run = graded(text.format(response="self"), *self.STEPS, row={"truth": "self"})
        assert (run.verdicts[0].status, run.verdicts[0].score) == ("error", None)
        assert "it has none" in run.verdicts[0].reason

    def test_a_step_that_was_not_observed_fails(self, graded: Callable[..., Run]) -> None:
        verdict = self.verdict(graded, "never")
        assert verdict.status == "failed"
        assert "not observed" in verdict.reason

    def test_a_name_known_only_at_run_that_is_no_step_is_an_error(self, graded: Callable[..., Run]) -> None:
        run = graded(self.TEXT.format(response='"{{who}}"', truth="self"), *self.STEPS, row={"who": "nobody"})
        assert run.verdicts[0].status == "error"
        assert "nobody" in run.verdicts[0].reason


@pytest.mark.parametrize(
    ("rule", "path", "word"),
    [
        ("type: rouge, ground_truth: x, variant: rouge0", "variant", "did you mean"),
        ("type: bleu, ground_truth: x, variant: bleu5", "variant", "did you mean"),
        ("type: f1, ground_truth: x, variant: f2", "variant", "leave the key out"),
        ("type: rouge, ground_truth: x, metric: recal", "metric", "`recall`"),
        ("type: bleu, ground_truth: x, metric: recall", "metric", "leave the key out"),
        ("type: f1", "", "`ground_truth` is missing"),
        ("type: f1, ground_truth: ''", "ground_truth", "empty"),
        ("type: f1, ground_truth: self", "ground_truth", "content"),
        ("type: f1, ground_truth: x, response: quux", "response", "`quux`"),
    ],
)
def test_what_can_be_known_is_refused_at_load(tmp_path: Path, rule: str, path: str, word: str) -> None:
    file = tmp_path / "s.abs.yaml"
    entry = f"  - {{ actor: assistant, action: informs, evaluations: [{{ {rule} }}] }}\n"
    file.write_text(f'session: S\nabs_version: "0.2"\nbehaviors:\n{entry}', encoding="utf-8")
    with pytest.raises(SpecError) as raised:
        load([file])
    (problem,) = raised.value.problems
    assert problem.path == ".".join(filter(None, ("behaviors[0].evaluations[0]", path)))
    assert word in problem.message


def test_the_libraries_load_with_the_first_verdict_that_needs_them() -> None:
    program = (
        "import json, sys; import abs_replay.scoring, abs_replay.cli.grade, abs_replay.cli.validate; "
        "print(json.dumps([name for name in ('numpy', 'nltk', 'sacrebleu') if name in sys.modules]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(ended.stdout) == []


def test_warnings_of_the_libraries_do_not_reach_a_user(judged_step: JudgedStep) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for kind in ("bleu", "rouge"):
            only(judged_step, f'type: {kind}, ground_truth: "{TRUTH}"', f"{TRUTH} . . .")
    assert caught == []
