"""What may be spent on a grading (`--max-cost`), and what was."""

from abs_replay.errors import UsageError
from abs_replay.judgement import NO_USAGE, Question, Usage
from abs_replay.judges.engine import Engine


class Budget:
    """Counts what was spent, by the name of each judge; `most` is in US dollars, None without a limit.

    What is under way counts as estimated until it is known, so that many at once do not overspend.
    """

    def __init__(self, most: float | None = None) -> None:
        self._most, self._under_way = most, 0.0
        self.spent: dict[str, Usage] = {}

    def allows(self, engine: Engine, question: Question) -> float | None:
        """Set aside what a call is estimated to cost, and give it; None where that would be too much.

        Raises `UsageError` where there is a limit and nobody knows what the judge costs.
        """
        if self._most is None:
            return 0.0
        cost = engine.estimate(question).cost
        if cost is None:
            raise UsageError(
                f"--max-cost: the price of {engine.shown} is not known; say it in the configuration "
                "as judge.price: {input: .., output: ..}, in US dollars a million tokens, or leave it out"
            )
        if self._cost() + self._under_way + cost > self._most:
            return None
        self._under_way += cost
        return cost

    def settle(self, engine: Engine, set_aside: float, usage: Usage) -> None:
        """Count what a call took in place of what was set aside for it."""
        self._under_way -= set_aside
        if usage.cost is None and self._most is not None:
            usage = Usage(usage.calls, usage.input_tokens, usage.output_tokens, set_aside)
        if usage != NO_USAGE:
            self.spent[engine.shown] = self.spent.get(engine.shown, NO_USAGE) + usage

    def _cost(self) -> float:
        return sum(usage.cost or 0.0 for usage in self.spent.values())
