"""How a report is written down: one module a format, each with `render(report) -> str`.

A module that people read in a terminal also has `display(report, screen)`, which may be narrower
or coloured.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TextIO

from abs_replay.verdicts import Report

REPORTS = {
    "table": "abs_replay.reports.table",
    "json": "abs_replay.reports.json_report",
}


@dataclass(frozen=True, slots=True)
class Screen:
    """Where a report is shown: its width in cells, and whether it can show colours."""

    width: int
    colour: bool = False

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str] = os.environ) -> "Screen | None":
        """The terminal behind a stream; None where it is a pipe or a file. `NO_COLOR` is obeyed."""
        if not stream.isatty():
            return None
        plain = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
        return cls(shutil.get_terminal_size().columns, not plain)


PAPER = Screen(100)  # a file or a pipe


def render(name: str, report: Report, screen: Screen | None = None) -> str:
    """Write a report in the format of that name; `screen` is None unless a terminal shows it."""
    module: Any = import_module(REPORTS[name])
    if screen is not None and hasattr(module, "display"):
        return str(module.display(report, screen))
    return str(module.render(report))
