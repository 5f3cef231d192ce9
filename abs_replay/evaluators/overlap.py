"""How far a step's words overlap with a ground truth: `f1`, `bleu`, `rouge` (SEMANTICS E8).

- `f1`: over words, as SQuAD's evaluation script counts them (Rajpurkar et al. 2016, arXiv:1606.05250; where
  one side has no words, as in version 2.0). `metric`: `precision`, `recall` or `fmeasure` (the default).
- `bleu`: sacreBLEU's sentence score (Post 2018, W18-6319): tokenizer `13a`, exponential smoothing, effective
  order, over 100. `variant`: `bleu1` to `bleu4` (the default), the longest n-gram that counts.
- `rouge`: the `rouge-score` package (Lin 2004, W04-1013), no stemming. `variant`: `rouge1` to `rouge9`,
  `rougeL` (the default), `rougeLsum`; `metric` as for `f1`.

`response` says whose words are compared: `self` (the default), `user`, `id`, `id.action` as in E6. Texts are
compared after NFC. The libraries load with the first verdict that needs them, and fetch nothing.
"""

import re
import string
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from unicodedata import normalize

from abs_replay.evaluators.context import Context, failed, observed_in, verdict
from abs_replay.evaluators.judged import NotObserved, input_of
from abs_replay.exact_json import Json
from abs_replay.predicates import Undecided, as_text, shown
from abs_replay.spec.rules import TextMetric
from abs_replay.spec.session import UNSET, Evaluation
from abs_replay.verdicts import Status, Verdict

THRESHOLD = 0.5
TOLERANCE = 1e-9  # the same text twice may score 0.9999999999999998
LARGEST_TABLE = 4_000_000  # cells of the longest common subsequence, 2000 words by 2000: a few seconds

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)

type Score = Callable[[TextMetric, str, str], float]


def overlap(evaluation: Evaluation, context: Context) -> Verdict:
    """Score the observed words against the ground truth and compare with the threshold (R6)."""
    rule = evaluation.rule
    assert isinstance(rule, TextMetric)
    truth = normalize("NFC", _ground_truth(rule, context))
    try:
        words = normalize("NFC", as_text(_response(rule, context)))
    except NotObserved as absent:
        return failed(evaluation, str(absent))
    with warnings.catch_warnings(action="ignore"):  # theirs are nothing that a user could mend
        score = min(max(SCORES[rule.type](rule, truth, words), 0.0), 1.0)
    threshold = THRESHOLD if rule.threshold is None else rule.threshold
    return verdict(
        evaluation,
        Status.PASSED if score + TOLERANCE >= threshold else Status.FAILED,
        f"{_name(rule)} {score:.4g}, threshold {threshold:g}: "
        f"expected {shown(truth)}, observed {shown(words)}",
        evidence=(context.step.seq,),
        score=score,
        threshold=threshold,
    )


def _name(rule: TextMetric) -> str:
    return " ".join(filter(None, (rule.variant or rule.type, rule.metric)))


def _ground_truth(rule: TextMetric, context: Context) -> str:
    if rule.ground_truth != "self":
        return rule.ground_truth
    here = context.here
    if here is None or here.content is UNSET:
        raise Undecided("`ground_truth: self` means the behavior's content, and it has none")
    return as_text(here.content)


def _response(rule: TextMetric, context: Context) -> Json:
    if rule.response is None:
        return observed_in(context.step)
    ids = {behavior.id for behavior in context.session.behaviors}
    if rule.response not in ("self", "user") and rule.response.partition(".")[0] not in ids:
        raise Undecided(f"`response: {rule.response}` is neither `self`, `user` nor the id of a behavior")
    return input_of("response", rule, context)


# -- f1 --


def _f1(rule: TextMetric, truth: str, words: str) -> float:
    expected, observed = _squad_words(truth), _squad_words(words)
    if not expected or not observed:
        return float(expected == observed)
    same = (Counter(expected) & Counter(observed)).total()
    precision, recall = same / len(observed), same / len(expected)
    mean = 2 * precision * recall / (precision + recall) if same else 0.0
    return {"precision": precision, "recall": recall}.get(rule.metric or "fmeasure", mean)


def _squad_words(text: str) -> list[str]:
    """Lower case, then without punctuation, then without articles, then split at white space."""
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


# -- bleu --


def _bleu(rule: TextMetric, truth: str, words: str) -> float:
    from sacrebleu.metrics.bleu import BLEU

    order = int((rule.variant or "bleu4").removeprefix("bleu"))
    return BLEU(max_ngram_order=order, effective_order=True).sentence_score(words, [truth]).score / 100


# -- rouge --


def _rouge(rule: TextMetric, truth: str, words: str) -> float:
    from rouge_score import rouge_scorer  # type: ignore[import-untyped]
    from rouge_score.tokenizers import DefaultTokenizer  # type: ignore[import-untyped]

    variant = rule.variant or "rougeL"
    tokenizer = DefaultTokenizer()
    known, said = len(tokenizer.tokenize(truth)), len(tokenizer.tokenize(words))
    needed = int(variant[-1]) if variant[-1].isdecimal() else 1
    if known < needed:
        raise Undecided(
            f"{variant} knows words of a to z and 0 to 9 only: the ground truth {shown(truth)} has {known} "
            f"of them, and it needs {needed}"
        )
    if variant.startswith("rougeL") and known * said > LARGEST_TABLE:
        raise Undecided(f"{variant} would compare {known} words with {said}: too many; try rouge1 or rouge2")
    scorer = rouge_scorer.RougeScorer([variant], tokenizer=tokenizer)
    return float(getattr(scorer.score(truth, words)[variant], rule.metric or "fmeasure"))


SCORES: Mapping[str, Score] = {"f1": _f1, "bleu": _bleu, "rouge": _rouge}
