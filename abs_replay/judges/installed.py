"""Judges of other packages: entry points in the group `abs_replay.judges`, named as `--adapter` names them.

    [project.entry-points."abs_replay.judges"]
    acme = "my_package:judge"

Such an entry point leads to an object (a module or a class will do) with `open_engine(settings)`, which gives
an `engine.Engine`. What an engine raises while it is asked is the error of that one question; only a
`JudgeError` stops the engine.
"""

from typing import Any

from abs_replay import plugins
from abs_replay.errors import JudgeError, UsageError
from abs_replay.judgement import Question, Usage
from abs_replay.judges.engine import Engine, Sample
from abs_replay.judges.settings import EngineSettings

PARTS = ("name", "shown", "fingerprint", "refuses", "estimate", "sample", "close")  # of an engine


def open_installed(name: str, found: Any, settings: EngineSettings) -> Engine:
    """Open what an entry point leads to; raises `UsageError` where it is no judge."""
    if not callable(getattr(found, "open_engine", None)):
        raise plugins.wrong(plugins.JUDGES, name, "has no `open_engine(settings)`")
    try:
        with plugins.foreign():
            made: Engine = found.open_engine(settings)
    except UsageError:
        raise
    except Exception as trouble:  # another package's code: whatever it raises is told in one line
        raise plugins.wrong(plugins.JUDGES, name, f"can not be opened: {plugins.told(trouble)}") from trouble
    if missing := [part for part in PARTS if not hasattr(made, part)]:
        raise plugins.wrong(plugins.JUDGES, name, f"has no {', '.join(f'`{part}`' for part in missing)}")
    return Guarded(name, made)


class Guarded:
    """An engine of another package, whatever it does."""

    def __init__(self, name: str, engine: Engine) -> None:
        self.name, self._engine = name, engine
        self.shown, self.fingerprint = str(engine.shown), f"{name} {engine.fingerprint}"

    def refuses(self, question: Question) -> str | None:
        try:
            with plugins.foreign():
                return self._engine.refuses(question)
        except Exception as trouble:
            return self._raised(trouble)

    def estimate(self, question: Question) -> Usage:
        try:
            with plugins.foreign():
                return self._engine.estimate(question)
        except Exception as trouble:
            raise plugins.wrong(
                plugins.JUDGES, self.name, f"can not estimate: {plugins.told(trouble)}"
            ) from trouble

    async def sample(self, question: Question, number: int) -> Sample:
        try:
            return _checked(await self._engine.sample(question, number))
        except JudgeError:
            raise
        except (Exception, SystemExit) as trouble:  # but not that the asking is called off
            return Sample(None, "", self._raised(trouble), settled=False)

    async def close(self) -> None:
        with plugins.foreign():
            await self._engine.close()

    def _raised(self, trouble: BaseException) -> str:
        return f"the judge {self.name} failed: {plugins.told(trouble)}"


def _checked(sample: object) -> Sample:
    if not isinstance(sample, Sample):
        raise TypeError(f"it gave {type(sample).__name__}, no Sample")
    if sample.score is None and sample.error is None:
        raise ValueError("it gave neither a score nor an error")
    if sample.score is not None and not 0 <= sample.score <= 1:
        raise ValueError(f"it gave the score {sample.score}, which is not between 0 and 1")
    return sample
