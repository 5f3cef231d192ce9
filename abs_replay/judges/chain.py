"""Who answers in a command: files of answers first, then the panel, which is opened when it is needed."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from abs_replay.errors import Problem
from abs_replay.judgement import Answer, Judging, Question
from abs_replay.judges.builtin import HOW

if TYPE_CHECKING:
    from abs_replay.judges.panel import Panel
    from abs_replay.judges.recorded import RecordedJudge


class Chain:
    """A `Judge`; use it as a context: what the panel opened is closed at the end.

    `panel` is None until a question needed it: without one nothing was asked, and nothing of it is loaded.
    """

    def __init__(self, files: "RecordedJudge | None", open_panel: "Callable[[], Panel]") -> None:
        self._files, self._open = files, open_panel
        self.panel: Panel | None = None

    def __enter__(self) -> "Chain":
        return self

    def __exit__(self, *_: object) -> None:
        if self.panel is not None:
            self.panel.close()

    def ask(self, questions: Sequence[Question]) -> Mapping[str, Answer]:
        """Answer every question, or say why not."""
        return self._answered(questions, lambda panel, rest: panel.ask(rest))

    def known(self, questions: Sequence[Question]) -> Mapping[str, Answer]:
        """The answers that need no asking."""
        return self._answered(questions, lambda panel, rest: panel.known(rest))

    def opened(self) -> "Panel":
        """The panel, opened now where nothing needed it before."""
        self.panel = self.panel or self._open()
        return self.panel

    @property
    def judging(self) -> Judging | None:
        """What the panel was asked, and what that took; None where nothing needed one."""
        return self.panel.judging if self.panel else None

    def troubles(self) -> tuple[Problem, ...]:
        """What a report should warn of: answers to no question, and what stopped asking."""
        return (*self.unused(), *map(Problem, self.panel.problems if self.panel else ()))

    def unused(self) -> tuple[Problem, ...]:
        """The answers of files that were to no question so far."""
        return self._files.unused() if self._files else ()

    def _answered(
        self,
        questions: Sequence[Question],
        ask: "Callable[[Panel, Sequence[Question]], Mapping[str, Answer]]",
    ) -> Mapping[str, Answer]:
        found = dict(self._files.ask(questions)) if self._files else {}
        rest = [question for question in questions if question.digest not in found]
        asked = ask(self.opened(), rest) if rest else {}
        # Who answers by hand has no judge on purpose: what the files leave out is just not answered.
        by_hand = self._files is not None
        return found | {key: one for key, one in asked.items() if not (by_hand and one.error == HOW)}
