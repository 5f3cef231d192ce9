"""One vote on one question: ask, have an unreadable reply mended once, then ask afresh up to a bound.

A reply is read or it is not: none is ever taken for what it might mean. Every call is kept as an attempt.
"""

from dataclasses import dataclass, replace

from abs_replay.judgement import Question
from abs_replay.judges.calling import Caller, Said, Trouble, Turn
from abs_replay.judges.engine import Attempt, Sample
from abs_replay.judges.fence import new_name, sendable
from abs_replay.judges.prompt import REPAIR, render
from abs_replay.judges.reply import Reading, Unreadable, read

MAX_ATTEMPTS = 4


@dataclass(slots=True)
class _Asking:
    """One vote under way; `left` counts the replies that may still come."""

    caller: Caller
    question: Question
    left: int
    attempts: list[Attempt]
    mended: bool = False

    async def sample(self) -> Sample:
        problem = ""
        while self.left > 0:
            try:
                found = await self._conversation()
            except Trouble as trouble:
                return self._without_answer(f"the judge gave no answer: {trouble}")
            if isinstance(found, Reading):
                return self._answer(found)
            problem = found
        count = sum(1 for attempt in self.attempts if attempt.outcome != "failed")
        return self._without_answer(f"no answer could be read in {count} replies; the last: {problem}")

    async def _conversation(self) -> Reading | str:
        """Ask from the beginning, in a fence of a new name; gives the reading, or what was wrong."""
        prompt = render(self.question, new_name())
        turns = [Turn("user", prompt.user)]
        while True:
            self.left -= 1
            said = await self.caller.call(prompt.system, turns, self.attempts)
            found = self._read(said, prompt.count)
            if isinstance(found, Reading):
                return found
            # To mend is of use only where there are words to mend; what was cut off, or refused, has none.
            if self.mended or self.left == 0 or said.outcome != "read" or not said.text.strip():
                return found
            self.mended = True
            turns += [
                Turn("assistant", sendable(said.text)),
                Turn("user", REPAIR.format(problem=sendable(found))),
            ]

    def _read(self, said: Said, count: int) -> Reading | str:
        if said.outcome != "read":
            return said.problem or said.outcome
        try:
            return read(said.text, count)
        except Unreadable as unreadable:
            self.attempts[-1] = replace(self.attempts[-1], outcome="unreadable", problem=str(unreadable))
            return str(unreadable)

    def _answer(self, found: Reading) -> Sample:
        if found.cannot_judge is not None:
            error = f"the judge can not tell: {found.cannot_judge}"
            return Sample(None, found.reason, error, True, tuple(self.attempts), found.details)
        return Sample(found.score, found.reason, None, True, tuple(self.attempts), found.details)

    def _without_answer(self, error: str) -> Sample:
        return Sample(None, "", error, False, tuple(self.attempts))


async def ask_once(caller: Caller, question: Question, max_attempts: int = MAX_ATTEMPTS) -> Sample:
    """Give one vote; raises `JudgeError` for what no other question would fare better with."""
    return await _Asking(caller, question, max_attempts, []).sample()
