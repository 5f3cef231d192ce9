"""How a report is written down: one module a format, each with `render(report) -> str`.

A module that can show less of a report, or narrower, or in colours, also has `display(report, screen)`.
"""

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TextIO

from abs_replay import plugins
from abs_replay.values import dataclass
from abs_replay.verdicts import Report

REPORTS = {
    "table": "abs_replay.reports.table",
    "json": "abs_replay.reports.json_report",
    "junit": "abs_replay.reports.junit",
    "markdown": "abs_replay.reports.markdown",
    "github": "abs_replay.reports.github",
}


@dataclass(frozen=True, slots=True)
class Screen:
    """Where a report is shown: its width in cells, and whether it can show colours; and how much of it.

    `failed`: only what is not passed or skipped. `detail`: of each run 0 a line, 1 what is not fine,
    2 all; None is the format's own choice.
    """

    width: int
    colour: bool = False
    failed: bool = False
    detail: int | None = None

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str] = os.environ) -> "Screen | None":
        """The terminal behind a stream; None where it is a pipe or a file. `NO_COLOR` is obeyed."""
        if not stream.isatty():
            return None
        import shutil  # which loads what packs files

        plain = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
        return cls(shutil.get_terminal_size().columns, not plain)


PAPER = Screen(100)  # a file or a pipe


def render(name: str, report: Report, screen: Screen | None = None) -> str:
    """Write a report in the format of that name; `screen` is None unless a terminal shows it."""
    if name not in REPORTS:
        return _rendered_elsewhere(name, report)
    module: Any = import_module(REPORTS[name])
    if screen is not None and hasattr(module, "display"):
        return str(module.display(report, screen))
    return str(module.render(report))


def installed_formats() -> tuple[str, ...]:
    """The formats of other packages: entry points in the group `abs_replay.reports`, named like the
    format, that lead to anything with `render(report: Report) -> str`."""
    return plugins.names(plugins.REPORTS, REPORTS)


def _rendered_elsewhere(name: str, report: Report) -> str:
    format_: Any = plugins.load(plugins.REPORTS, name, REPORTS)
    try:
        with plugins.foreign():
            text = format_.render(report)
    except Exception as trouble:  # another package's code: whatever it raises is told in one line
        raise plugins.wrong(plugins.REPORTS, name, f"failed: {plugins.told(trouble)}") from trouble
    if not isinstance(text, str):
        raise plugins.wrong(plugins.REPORTS, name, f"gave {type(text).__name__}, no text")
    return text
