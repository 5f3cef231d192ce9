"""What a documented view is: its columns, each with its meaning, over the tables of the store.

In the SQL of a view `store.NAME` is a table of the store, hidden by the view of that name otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_TABLE = re.compile(r"\bstore\.(\w+)")


@dataclass(frozen=True, slots=True)
class View:
    """A view: what a row is, its columns as (name, expression, meaning), and where they come from."""

    name: str
    about: str
    columns: tuple[tuple[str, str, str], ...]
    source: str

    def sql(self, database: str, instead: Mapping[str, str]) -> str:
        """The statement that makes it; `instead` has what stands in for a table of the store."""
        named = ", ".join(f'{expression} AS "{name}"' for name, expression, _ in self.columns)
        quoted = database.replace('"', '""')
        body = _TABLE.sub(
            lambda found: instead.get(found[1], f'"{quoted}".main.{found[1]}'),
            f"SELECT {named} FROM {self.source}",
        )
        return f'CREATE OR REPLACE TEMP VIEW "{self.name}" AS {body}'


def moment(seconds: str) -> str:
    """Unix seconds as a timestamp of UTC; null for what is none."""
    return f"make_timestamp(TRY_CAST({seconds} * 1000000 AS BIGINT))"
