"""Judges: what answers the questions that need a model.

`ENGINES` ask a model or a service one question at a time (`engine.Engine`), one module each with
`open_engine(settings)`; installed packages add theirs by entry point. `JUDGES` answer in bulk from what
is there already, one module each with `open_judge(settings)`; their settings are lists of texts by name, and
what a judge can not do with them is a `UsageError`.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module

from abs_replay import plugins
from abs_replay.errors import UsageError
from abs_replay.judgement import Judge
from abs_replay.judges.engine import Engine
from abs_replay.judges.settings import EngineSettings

ENGINES = {
    "builtin": "abs_replay.judges.builtin",  # chooses among the next three by what keys there are
    "openai": "abs_replay.judges.openai_compatible",
    "anthropic": "abs_replay.judges.anthropic",
    "gemini": "abs_replay.judges.gemini",
    "azure": "abs_replay.judges.azure",
    "aws": "abs_replay.judges.aws",
    "google": "abs_replay.judges.google",
    "aievaluator": "abs_replay.judges.aievaluator",
}
JUDGES = {
    "recorded": "abs_replay.judges.recorded",
}


def open_judge(name: str, settings: Mapping[str, Sequence[str]]) -> Judge:
    """Make the judge of that name."""
    judge: Judge = import_module(JUDGES[name]).open_judge(settings)
    return judge


def is_engine(name: str) -> bool:
    """Whether an engine is called so, here or in an installed package."""
    return name in ENGINES or name in plugins.names(plugins.JUDGES, ENGINES)


def open_engine(name: str, settings: EngineSettings) -> Engine:
    """Make the engine of that name; nothing is asked yet.

    Raises `Unconfigured` where it lacks a key or a package, `UsageError` where there is none of that name, or
    an installed one can not be loaded.
    """
    if name in ENGINES:
        engine: Engine = import_module(ENGINES[name]).open_engine(settings)
        return engine
    found = plugins.load(plugins.JUDGES, name, ENGINES)
    if found is None:
        known = ", ".join([*ENGINES, *plugins.names(plugins.JUDGES, ENGINES)])
        raise UsageError(f"no judge is called `{name}`; known: {known}")
    from abs_replay.judges.installed import open_installed

    return open_installed(name, found, settings)
