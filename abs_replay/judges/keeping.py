"""Keeps what judges say as it comes, so that what was paid for once is never asked again.

A batch is written twice a second at most while answers come, and what is left at the end, also of an
interrupted grading: whoever kills it loses what came since the last batch began. Where somebody else has the
store at the end, they are set aside beside it.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from abs_replay import exact_json
from abs_replay.errors import StoreLocked
from abs_replay.exact_json import Json
from abs_replay.judgement import Question
from abs_replay.judges.engine import Attempt, Engine, Sample
from abs_replay.store import KeptAnswer, Store

type _Asked = tuple[Question, KeptAnswer]

EVERY_S = 0.5
AT_END_S = 5.0  # to wait for whoever holds the store


class Keeping:
    """Answers on their way into a store; without one they are forgotten. `count` is how many are in it.

    `clean` takes secrets out of a text, as out of everything that is kept.
    """

    def __init__(self, store: Store | None, clean: Callable[[str], str], grading: str | None = None) -> None:
        self._store, self._clean, self._grading = store, clean, grading
        self._waiting: list[_Asked] = []
        self._writing = threading.Lock()
        self.count = 0

    def known(
        self, questions: Sequence[str], judges: Sequence[str]
    ) -> dict[tuple[str, str, int], KeptAnswer]:
        """What these judges said before to these questions, by question, judge and vote."""
        if self._store is None or not questions or not self._store.path.exists():
            return {}
        return self._store.answers(questions, judges)

    def add(self, question: Question, engine: Engine, number: int, sample: Sample) -> None:
        """Take over an answer, to be written with the next batch."""
        if self._store is not None:
            self._waiting.append((question, self._kept(question, engine, number, sample)))

    async def regularly(self) -> None:
        """Write batches until cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            if self._waiting:
                await asyncio.to_thread(self._try)

    def _try(self) -> None:
        """Write a batch, or leave it for the next time where someone else has the store."""
        with suppress(StoreLocked):  # the end waits for longer, and says so
            self.write(EVERY_S)

    def finish(self) -> None:
        """Write what waits, or set it aside and say so; raises `StoreError` where neither can be done."""
        try:
            self.write(AT_END_S)
        except (StoreLocked, KeyboardInterrupt) as error:
            with self._writing:
                batch, self._waiting = self._waiting, []
                if self._store is not None and batch:
                    self._store.set_aside(*self._without_secrets_of(batch))
                    self._count(batch)
            if not isinstance(error, StoreLocked):
                raise

    def write(self, patience: float) -> None:
        """Write what waits; raises `StoreError`, and what could not be written waits on."""
        with self._writing:
            batch, self._waiting = self._waiting, []
            if not batch or self._store is None:
                return
            try:
                self._store.keep_answers(*self._without_secrets_of(batch), patience)
            except BaseException:
                self._waiting = batch + self._waiting
                raise
            self._count(batch)

    def _count(self, batch: Sequence[_Asked]) -> None:
        self.count += sum(answer.settled for _, answer in batch)

    def _without_secrets_of(self, batch: Sequence[_Asked]) -> tuple[list[Question], list[KeptAnswer]]:
        return (
            [self._cleaned(question) for question, _ in batch],
            [self._without_secrets(answer) for _, answer in batch],
        )

    def _kept(self, question: Question, engine: Engine, number: int, sample: Sample) -> KeptAnswer:
        return KeptAnswer(
            question=question.digest,
            judge=engine.fingerprint,
            sample=number,
            score=sample.score,
            reason=sample.reason,
            error=sample.error,
            settled=sample.settled,
            details=sample.details,
            shown=engine.shown,
            made_at=time.time(),
            grading=self._grading,
            attempts=tuple(map(_columns, sample.attempts)),
        )

    def _cleaned(self, question: Question) -> Question:
        return replace(
            question,
            criteria=question.criteria and self._clean(question.criteria),
            prompt=question.prompt and self._clean(question.prompt),
            evidence=self._clean_json(question.evidence),
        )

    def _clean_json(self, value: Json) -> Json:
        """The value without secrets; where cleaning took it away whole, the reason."""
        text = self._clean(exact_json.dumps(value))
        try:
            cleaned: Json = exact_json.loads(text)
        except ValueError:
            return {"withheld": text}
        return cleaned

    def _without_secrets(self, answer: KeptAnswer) -> KeptAnswer:
        details: Any = answer.details and self._clean_json(answer.details)
        attempts = tuple(
            {name: self._clean(value) if name in _SAID and value else value for name, value in each.items()}
            for each in answer.attempts
        )
        return replace(
            answer,
            reason=self._clean(answer.reason),
            error=answer.error and self._clean(answer.error),
            details=details,
            attempts=attempts,
        )


_SAID = ("sent", "reply", "problem")


def _columns(attempt: Attempt) -> dict[str, Any]:
    fields = asdict(attempt)
    used: dict[str, Any] = fields.pop("usage")
    return fields | used
