"""The judge that gradings use: asks engines what nobody has answered yet, many at once, and keeps all of it.

A question goes to the engine that `engine_of` names for it. An answer is looked for by (question, engine's
fingerprint, vote) among those that were kept, so that what was answered once is never asked again: not after
a changed threshold, not after a kill. What stops some questions does not lose the answers to others.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from abs_replay.errors import JudgeError
from abs_replay.judgement import NO_USAGE, Answer, Judging, Question, Usage
from abs_replay.judges.budget import Budget
from abs_replay.judges.engine import Engine, Sample, Stopped
from abs_replay.judges.keeping import Keeping
from abs_replay.judges.votes import Vote, decided, silent
from abs_replay.store import KeptAnswer, Store

OVER_BUDGET = "--max-cost reached: it was not asked"

type EngineOf = Callable[[Question], Engine]
type Job = tuple[Question, Engine, int]


class Progress(Protocol):
    """Who is told how it goes on: `begin` with the number of calls of a round, `one` for each that ended."""

    def begin(self, calls: int) -> None: ...

    def one(self, usage: Usage) -> None: ...

    def end(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Terms:
    """How to ask: votes on each question, calls at once, US dollars at most, whether kept answers count."""

    votes: int = 1
    concurrency: int = 8
    max_cost: float | None = None
    use_kept: bool = True


@dataclass(frozen=True, slots=True)
class Estimate:
    """By each judge's name how many questions it would be asked, and what one call for each vote would
    take; how many would not be asked, by the reason."""

    judges: Mapping[str, tuple[int, Usage]]
    refused: Mapping[str, int]


@dataclass(slots=True)
class _Round:
    """The questions of one round with their engines, and the votes that came in so far."""

    engines: dict[str, Engine] = field(default_factory=dict)
    votes: dict[str, dict[int, Vote]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)  # why a question was not asked
    asked: set[str] = field(default_factory=set)


class Panel:
    """A `Judge`. Close it, or use it as a context: engines hold connections.

    `judging` sums up all rounds so far; `problems` are what stopped asking, once each.
    """

    def __init__(
        self,
        engine_of: EngineOf,
        terms: Terms = Terms(),
        store: Store | None = None,
        clean: Callable[[str], str] = str,
        grading: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._engine_of, self.terms, self._progress = engine_of, terms, progress
        self._keeping, self._clean = Keeping(store, clean, grading), clean
        self._budget = Budget(terms.max_cost)
        self._runner: asyncio.Runner | None = None
        self._stopped: dict[str, str] = {}  # by the engine's fingerprint: what no question of it survives
        self._counts = Judging()
        self.engines: dict[str, Engine] = {}  # all that questions went to, by fingerprint
        self.judges: dict[str, str] = {}  # of those that answered, now or before: the name and fingerprint

    def __enter__(self) -> "Panel":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the engines; what was asked of them is kept already."""
        if self._runner is not None:
            for engine in self.engines.values():
                self._runner.run(engine.close())
            self._runner.close()
            self._runner = None

    @property
    def judging(self) -> Judging:
        counts = self._counts
        return Judging(counts.asked, counts.kept, counts.unanswered, dict(self._budget.spent))

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._stopped.values()))

    @property
    def kept(self) -> int:
        """How many answers went into the store."""
        return self._keeping.count

    def ask(self, questions: Sequence[Question]) -> Mapping[str, Answer]:
        """Answer every question, or say why not; raises `UsageError` where `max_cost` can not be kept to."""
        round_ = self._prepared(questions)
        if jobs := list(self._jobs(questions, round_)):
            self._runner = self._runner or asyncio.Runner()
            self._runner.run(self._work(jobs, round_))
        self._count(questions, round_)
        return {question.digest: self._answer(question, round_) for question in questions}

    def known(self, questions: Sequence[Question]) -> Mapping[str, Answer]:
        """The answers that need no asking."""
        round_ = self._prepared(questions)
        full = [one for one in questions if len(round_.votes[one.digest]) == self.terms.votes]
        return {question.digest: self._answer(question, round_) for question in full}

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """What asking these would take; nothing is sent."""
        found: dict[str, tuple[int, Usage]] = {}
        round_ = self._prepared(questions)
        for question, engine, _ in self._jobs(questions, round_):
            count, usage = found.get(engine.shown, (0, NO_USAGE))
            new = question.digest not in round_.asked
            round_.asked.add(question.digest)
            found[engine.shown] = count + new, usage + engine.estimate(question)
        return Estimate(found, Counter(round_.refused.values()))

    # -- a round

    def _prepared(self, questions: Sequence[Question]) -> _Round:
        round_ = _Round({one.digest: self._engine(one) for one in questions})
        kept = self._kept_votes(round_.engines) if self.terms.use_kept else {}
        for question in questions:
            engine = round_.engines[question.digest]
            places = ((question.digest, engine.fingerprint, number) for number in range(self.terms.votes))
            round_.votes[question.digest] = {key[2]: _vote(kept[key]) for key in places if key in kept}
            if why := engine.refuses(question):
                round_.refused[question.digest] = why
        return round_

    def _engine(self, question: Question) -> Engine:
        engine = self._engine_of(question)
        return self.engines.setdefault(engine.fingerprint, engine)

    def _kept_votes(self, engines: Mapping[str, Engine]) -> dict[tuple[str, str, int], KeptAnswer]:
        return self._keeping.known(list(engines), list({one.fingerprint for one in engines.values()}))

    def _jobs(self, questions: Sequence[Question], round_: _Round) -> Iterator[Job]:
        for question in questions:
            if question.digest not in round_.refused:
                there = round_.votes[question.digest]
                for number in range(self.terms.votes):
                    if number not in there:
                        yield question, round_.engines[question.digest], number

    async def _work(self, jobs: Sequence[Job], round_: _Round) -> None:
        """Do all jobs, some at once; whatever happens, what came is kept."""
        if self._progress:
            self._progress.begin(len(jobs))
        try:
            async with asyncio.TaskGroup() as tasks:
                writer = tasks.create_task(self._keeping.regularly())
                await self._workers(iter(jobs), min(self.terms.concurrency, len(jobs)), round_)
                writer.cancel()
        except* Exception as several:
            raise _first(several) from None
        finally:
            if self._progress:
                self._progress.end()
            self._keeping.finish()

    async def _workers(self, waiting: Iterator[Job], count: int, round_: _Round) -> None:
        async with asyncio.TaskGroup() as workers:
            for _ in range(count):
                workers.create_task(self._worker(waiting, round_))

    async def _worker(self, waiting: Iterator[Job], round_: _Round) -> None:
        for question, engine, number in waiting:
            usage = NO_USAGE
            if engine.fingerprint in self._stopped:
                round_.refused[question.digest] = self._stopped[engine.fingerprint]
            elif (set_aside := self._budget.allows(engine, question)) is None:
                round_.refused[question.digest] = OVER_BUDGET
            else:
                usage = await self._sample(question, engine, number, set_aside, round_)
            if self._progress:
                self._progress.one(usage)

    async def _sample(
        self, question: Question, engine: Engine, number: int, set_aside: float, round_: _Round
    ) -> Usage:
        usage = NO_USAGE
        try:
            sample = await engine.sample(question, number)
            usage = sample.usage
            round_.asked.add(question.digest)
            round_.votes[question.digest][number] = Vote(sample)
            self._keeping.add(question, engine, number, sample)
        except JudgeError as error:
            self._stopped.setdefault(engine.fingerprint, str(error))
            round_.refused[question.digest] = str(error)
            if isinstance(error, Stopped):
                tried = Sample(None, "", str(error), False, error.attempts)
                usage = tried.usage
                self._keeping.add(question, engine, number, tried)
        finally:
            self._budget.settle(engine, set_aside, usage)
        return usage

    # -- what it came to

    def _answer(self, question: Question, round_: _Round) -> Answer:
        engine, votes = round_.engines[question.digest], round_.votes[question.digest]
        if len(votes) < self.terms.votes and question.digest in round_.refused:
            return silent(engine, round_.refused[question.digest])
        self.judges[engine.shown] = engine.fingerprint
        answer = decided(engine, [votes[number] for number in sorted(votes)], self.terms.votes)
        if answer.cached:  # which was cleaned when it was kept
            return answer
        # Verdicts and reports repeat what a judge says, and it may quote a secret.
        error = answer.error and self._clean(answer.error)
        return replace(answer, reason=self._clean(answer.reason), error=error)

    def _count(self, questions: Sequence[Question], round_: _Round) -> None:
        asked = len(round_.asked)
        unanswered = sum(one.digest in round_.refused and one.digest not in round_.asked for one in questions)
        kept = len(questions) - asked - unanswered
        before = self._counts
        self._counts = Judging(before.asked + asked, before.kept + kept, before.unanswered + unanswered)


def _vote(kept: KeptAnswer) -> Vote:
    return Vote(Sample(kept.score, kept.reason, kept.error, details=kept.details), cached=True)


def _first(several: BaseExceptionGroup[Exception]) -> Exception:
    error = several.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
