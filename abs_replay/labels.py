"""Labels: what people say of evaluations, beside what judges say of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from abs_replay.verdicts import Status

PASS: Final = "pass"
FAIL: Final = "fail"
UNSURE: Final = "unsure"
WORDS: Final = (PASS, FAIL, UNSURE)
DECIDED: Final[Mapping[str, str]] = {Status.PASSED.value: PASS, Status.FAILED.value: FAIL}


@dataclass(frozen=True, slots=True)
class Place:
    """The evaluation `at` of a session, judging a trace."""

    session: str
    trace: str
    at: str


@dataclass(frozen=True, slots=True)
class Label:
    """What `who` said of an evaluation: `pass`, `fail` or `unsure`.

    It is about a rule as it was: `question` is the digest of what a judge was asked, None where none was,
    `fingerprint` the rule's. `grading` is that whose verdict was looked at, None where that is not known.
    """

    id: str
    made_at: float
    who: str
    session: str
    trace: str
    at: str
    verdict: str
    note: str | None = None
    question: str | None = None
    fingerprint: str = ""
    grading: str | None = None

    @property
    def place(self) -> Place:
        return Place(self.session, self.trace, self.at)

    def is_about(self, evaluated: "Evaluated") -> bool:
        """Whether nothing that the label depends on was changed since: the rule, what it looks at."""
        if self.question and evaluated.question:
            return self.question == evaluated.question
        return self.fingerprint.partition(".")[0] == evaluated.fingerprint.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A verdict as it stands, as far as people need it to say theirs; `status` is that of verdicts."""

    session: str
    trace: str
    at: str
    type: str
    label: str
    status: str
    score: float | None
    threshold: float | None
    reason: str
    evidence: Sequence[int]
    judge: str | None
    question: str | None
    fingerprint: str
    unstable: bool
    grading: str

    @property
    def place(self) -> Place:
        return Place(self.session, self.trace, self.at)


@dataclass(frozen=True, slots=True)
class Opinion:
    """One person's last label beside one judge's last verdict on the same evaluation of the same trace.

    `stale` is whether the rule, or what it looks at, was changed since the label was given; `current`
    whether the verdict is the one that stands now.
    """

    session: str
    trace: str
    at: str
    type: str
    label: str
    judge: str | None
    judge_fingerprint: str | None
    who: str
    human: str
    status: str
    score: float | None
    stale: bool
    note: str | None
    reason: str
    current: bool

    @property
    def judged(self) -> str | None:
        """What the judge said in the words of labels; None where it did not decide."""
        return DECIDED.get(self.status)


@dataclass(frozen=True, slots=True)
class Population:
    """How often one judge's answers, as they stand, passed an evaluation, of how many decided ones."""

    session: str
    at: str
    type: str
    label: str
    judge: str | None
    judge_fingerprint: str | None
    passed: int
    decided: int
    labelled: int  # traces with a label, whether of this judge's question or not


@dataclass(frozen=True, slots=True)
class Labelled:
    """All there is of labels: what stands and can have some, parts of compositions too; the labels, the
    oldest first; those beside judges; and how often judges' answers pass what has a label."""

    evaluated: tuple[Evaluated, ...]
    labels: tuple[Label, ...]
    opinions: tuple[Opinion, ...]
    populations: tuple[Population, ...]
