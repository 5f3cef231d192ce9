"""How asking a judge goes on, on a terminal: a bar on standard error, gone when it is done."""

import sys

from abs_replay.judgement import NO_USAGE, Usage


class Bar:
    """The `Progress` of a panel: calls that ended, and what they cost."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("asking the judge"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[spent]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=4,
        )
        self._task = self._bar.add_task("", total=0, spent="")
        self._usage = NO_USAGE

    def begin(self, calls: int) -> None:
        """Show the bar for a round of so many calls."""
        self._bar.reset(self._task, total=calls, spent="")
        self._bar.start()

    def one(self, usage: Usage) -> None:
        """Count a call that ended."""
        self._usage += usage
        cost = self._usage.cost
        self._bar.update(self._task, advance=1, spent="" if not cost else f"${cost:.2f}")

    def end(self) -> None:
        """Take the bar away."""
        self._bar.stop()


def progress_of(ci: bool) -> Bar | None:
    """A bar where somebody looks at a terminal."""
    return None if ci or not sys.stderr.isatty() else Bar()
