"""The rules of redaction that the nearest configuration states, for commands that keep exchanges."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abs_replay.redact import Rules

OFF = (
    "WARNING: `redact: {builtin: false}` keeps passwords, keys and cookies as they are: "
    "whoever gets the store has them"
)


def configured_rules(warn: Callable[[str], None], file: Path | None = None) -> "Rules":
    """The rules of a file, or of the nearest configuration; loud where it keeps secrets.

    Raises `SpecError` for a configuration that can not be used, `UsageError` for a hook that can not
    be loaded.
    """
    from abs_replay.redact import rules_of
    from abs_replay.spec.configuration import find, load

    configuration = find(Path.cwd()) if file is None else load(file)
    rules = rules_of(configuration.redact, configuration.file and configuration.file.resolve().parent)
    if not rules.builtin:
        warn(OFF)
    return rules
