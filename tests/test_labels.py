"""Labels know what they are about."""

from dataclasses import replace

from abs_replay.labels import Evaluated, Label

LABEL = Label("l", 1.0, "eve", "S", "t", "evaluations[0]", "pass", None, "q", "q.d.1")
EVALUATED = Evaluated(
    *(
        "S",
        "t",
        "evaluations[0]",
        "llm_judge",
        "is kind",
        "passed",
        0.9,
        0.5,
        "kind",
        (1,),
        "ann",
        "q",
        "q.d.1",
    ),
    unstable=False,
    grading="g",
)


def test_a_label_is_about_what_stands_while_the_question_is_the_same() -> None:
    assert LABEL.is_about(EVALUATED)
    assert LABEL.is_about(replace(EVALUATED, fingerprint="q.other.2"))
    assert not LABEL.is_about(replace(EVALUATED, question="other"))


def test_without_a_question_the_rules_own_counts_and_its_threshold_does_not() -> None:
    unasked = replace(EVALUATED, question=None)
    assert LABEL.is_about(replace(unasked, fingerprint="q.other.1"))
    assert not LABEL.is_about(replace(unasked, fingerprint="other.d.1"))
