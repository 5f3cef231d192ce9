"""The store: recordings, traces and gradings in one DuckDB file. The only SQL, the only `duckdb`."""

from collections.abc import Mapping
from pathlib import Path

from abs_replay.store.answers import KeptAnswer
from abs_replay.store.holders import LongHold
from abs_replay.store.last_runs import LastRun, named
from abs_replay.store.marks import Kept, exchanges_in
from abs_replay.store.merging import Merged
from abs_replay.store.notes import Note, annotated
from abs_replay.store.parquet import steps_as_parquet
from abs_replay.store.querying import Table
from abs_replay.store.spool import Spool
from abs_replay.store.store import Store
from abs_replay.store.summaries import (
    IMPORTED,
    Derivation,
    ExchangeSummary,
    Found,
    GradingSummary,
    LeftOut,
    RecordingSummary,
    Whole,
)
from abs_replay.store.unfinished import Unfinished
from abs_replay.store.writing import Writer

__all__ = [
    "IMPORTED",
    "Derivation",
    "ExchangeSummary",
    "Found",
    "GradingSummary",
    "Kept",
    "KeptAnswer",
    "LastRun",
    "LeftOut",
    "LongHold",
    "Merged",
    "Note",
    "RecordingSummary",
    "Spool",
    "Store",
    "Table",
    "Unfinished",
    "Whole",
    "Writer",
    "annotated",
    "default_path",
    "exchanges_in",
    "named",
    "steps_as_parquet",
]


def default_path(flag: Path | None, environ: Mapping[str, str]) -> Path:
    """Where the store lies: the flag, `ABS_STORE`, or `.abs/store.duckdb`."""
    return flag or Path(environ.get("ABS_STORE") or ".abs/store.duckdb")
