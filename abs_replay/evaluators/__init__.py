"""The evaluators, by the `type` that an author writes (SEMANTICS 5 and 6).

To add one: a model in `spec/rules.py`, a function in its family's file, a line here.
"""

from collections.abc import Mapping

from abs_replay.evaluators.composition import all_of, any_of, none_of
from abs_replay.evaluators.consistency import variable_consistency
from abs_replay.evaluators.context import Context, Evaluator
from abs_replay.evaluators.expected import expected
from abs_replay.evaluators.judged import judged
from abs_replay.evaluators.order import count, eventually, never, sequence, within
from abs_replay.evaluators.overlap import overlap
from abs_replay.evaluators.schema import schema
from abs_replay.evaluators.text import contains, exact_match, regex
from abs_replay.evaluators.tool_call import tool_call

__all__ = ["EVALUATORS", "Context", "Evaluator"]

EVALUATORS: Mapping[str, Evaluator] = {
    "exact_match": exact_match,
    "contains": contains,
    "regex": regex,
    "schema": schema,
    "tool_call": tool_call,
    "llm_judge": judged,
    "Groundedness": judged,
    "Relevance": judged,
    "Coherence": judged,
    "Fluency": judged,
    "HateUnfairness": judged,
    "Violence": judged,
    "Sexual": judged,
    "SelfHarm": judged,
    "custom": judged,
    "f1": overlap,
    "bleu": overlap,
    "rouge": overlap,
    "sequence": sequence,
    "eventually": eventually,
    "never": never,
    "count": count,
    "within": within,
    "variable_consistency": variable_consistency,
    "expected": expected,
    "all_of": all_of,
    "any_of": any_of,
    "none_of": none_of,
}
