"""The store as everyone else sees it. Every call opens the file, does one thing and closes it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from abs_replay.errors import StoreError
from abs_replay.exchange import Exchange, Recording
from abs_replay.store import (
    gradings,
    opening,
    reading,
    traces,
    writing,
)
from abs_replay.store.answering import Answering
from abs_replay.store.labels import Labelling
from abs_replay.store.last_runs import LastRun, RunKey, last_runs
from abs_replay.store.marks import Kept
from abs_replay.store.querying import Querying
from abs_replay.store.references import KINDS, is_place, resolve
from abs_replay.store.rows import digest_of, exchange_row
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
from abs_replay.store.upkeep import Upkeep
from abs_replay.store.writing import Writer
from abs_replay.trace import Trace
from abs_replay.verdicts import Grading

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Store(Upkeep, Labelling, Querying, Answering):
    """One DuckDB file. `patience` is how many seconds a call waits while another process holds it.

    Every method raises `StoreError` in one line, `StoreLocked` when its patience ran out; a
    method that reads does so too where there is no store. `begun_again` has the recordings that were no
    longer in the file while they went on, since someone deleted it, with the exchanges they have left.
    """

    def begin(self, recording: Recording, patience: float | None = None) -> None:
        """Add a recording, making folder and file where there are none."""
        with self._writing(patience) as connection:
            if not writing.insert_recording(connection, recording):
                raise StoreError(f"recording {recording.id} is already in {self.path}: give it another id")
        self._begun[recording.id] = recording

    def begin_later(self, recording: Recording) -> None:
        """Add a recording to a store that someone holds, as soon as it is free; until then it is spooled.

        Raises `StoreError` where that can not be, either.
        """
        self.spool.begin(recording)
        self._begun[recording.id] = recording
        self._to_begin.add(recording.id)

    def append(self, recording_id: str, kept: Sequence[Kept], patience: float | None = None) -> None:
        """Keep exchanges and marks in one transaction; those that the recording already has are ignored."""
        with self.writing(patience) as writer:
            writer.append(recording_id, kept)

    @contextmanager
    def writing(self, patience: float | None = None) -> Iterator[Writer]:
        """Keep the file open for several batches. Nobody else gets in meanwhile: a second at most."""
        with self._writing(patience, tidy=False) as connection:
            yield Writer(connection, self.path)

    def end(self, recording_id: str, ended_at: float) -> None:
        """Note when a recording ended, and compress what it holds."""
        with self._writing() as connection:
            if not writing.end_recording(connection, recording_id, ended_at):
                raise StoreError(f"no recording {recording_id} in {self.path}: begin it first")
        self._begun.pop(recording_id, None)
        opening.shrink(self.path)

    def add(self, whole: Sequence[Whole]) -> tuple[bool, ...]:
        """Keep recordings that are over, each at once with all it holds; says for each whether it is new.

        The recording itself comes last, so that one that is there is complete; what a kill left is taken up.
        """
        with self._writing() as connection:
            fresh = tuple(self._add(connection, each) for each in whole)
            if any(fresh):
                writing.compress(connection)
            return fresh

    @staticmethod
    def _add(connection: DuckDBPyConnection, whole: Whole) -> bool:
        id_ = whole.recording.id
        if writing.has_recording(connection, id_):
            return False
        writing.insert_kept(connection, [exchange_row(id_, each) for each in whole.exchanges])
        if whole.traces:
            traces.save(connection, id_, whole.traces, digest_of(()), IMPORTED)
        return writing.insert_recording(connection, whole.recording)

    def recordings(self) -> tuple[RecordingSummary, ...]:
        """Every recording with what it holds, in the order in which they began; nothing is decoded."""
        with self._reading() as connection:
            return reading.recording_summaries(connection)

    def recording(self, ref: str) -> Recording:
        """The recording of an id, a name (the newest of it), `last`, `last~1` or an id's beginning."""
        with self._reading() as connection:
            recordings = reading.recordings(connection)
        names = [(each.id, each.name) for each in recordings]
        return recordings[resolve(ref, names, "recording", self.path)]

    def exchanges(
        self, recording_id: str | None = None, ids: Sequence[str] | None = None
    ) -> tuple[Exchange, ...]:
        """Exchanges in the order in which they started; of one recording, or with these ids, or all."""
        with self._reading() as connection:
            return reading.exchanges(connection, recording_id, ids)

    def each_exchange(self, recording_id: str) -> Iterator[Exchange]:
        """Those exchanges that a recording has now, in start order, a few megabytes of them at a time.

        The store is open while some are read and closed while they are used: a recording need fit
        into nobody's memory, and nobody waits for the one who reads it.
        """
        for ids in reading.batches(self.exchange_summaries(recording_id)):
            yield from self.exchanges(recording_id, ids)

    def exchange(self, ref: str) -> Exchange:
        """The exchange of an id, `last`, `last~1` or an id's beginning."""
        found = self.find(ref, "exchange")
        return self.exchanges(found.recording, [found.id])[0]

    def exchange_summaries(self, recording_id: str | None = None) -> tuple[ExchangeSummary, ...]:
        """What a list of exchanges shows, in start order; no body is read."""
        with self._reading() as connection:
            return reading.exchange_summaries(connection, recording_id)

    def save_traces(
        self,
        recording_id: str,
        found: Sequence[Trace],
        exchange_digest: str,
        decoders_version: str,
        patience: float | None = None,
        left_out: Sequence[LeftOut] | None = None,
    ) -> None:
        """Keep a recording's traces, with what they were derived from, in place of those it had."""
        each = recording_id, found, exchange_digest, left_out
        self.save_traces_of_each([each], decoders_version, patience)

    def save_traces_of_each(
        self,
        found: Sequence[tuple[str, Sequence[Trace], str, Sequence[LeftOut] | None]],
        decoders_version: str,
        patience: float | None = None,
    ) -> None:
        """Keep traces of recordings: each by its id, its traces, the digest of its exchanges, and what is
        in no trace."""
        with self._writing(patience) as connection:
            for recording_id, each, exchange_digest, left_out in found:
                traces.save(connection, recording_id, each, exchange_digest, decoders_version, left_out)

    def left_out(self, recording_id: str) -> tuple[LeftOut, ...] | None:
        """What is in none of a recording's traces as they were derived; None where that was not kept."""
        with self._reading() as connection:
            return traces.left_out(connection, recording_id)

    def derivations(self, recording_id: str | None = None) -> tuple[Derivation, ...]:
        """What the traces of each recording, or of one, were derived from."""
        with self._reading() as connection:
            return traces.derivations(connection, recording_id)

    def traces(
        self,
        recording_id: str | None = None,
        ids: Sequence[str] | None = None,
        session: str | None = None,
        since: float | None = None,
    ) -> tuple[Trace, ...]:
        """The traces that were derived, the oldest first; `since` is Unix seconds."""
        with self._reading() as connection:
            return traces.traces(connection, recording_id, ids, session, since)

    def trace(self, ref: str) -> Trace:
        """The trace, of those derived, of an id, `last`, `last~1` or an id's beginning."""
        with self._reading() as connection:
            known = traces.trace_ids(connection)
            recording, id_ = known[resolve(ref, [(id_, None) for _, id_ in known], "trace", self.path)]
            return traces.traces(connection, recording, [id_])[0]

    def save_grading(self, grading: Grading) -> None:
        """Keep a grading; its id must be new, since nothing is overwritten."""
        with self._writing() as connection:
            self._fold_answers(connection)
            gradings.save(connection, grading, self.path)

    def gradings(self) -> tuple[GradingSummary, ...]:
        """Every grading with its counts, the oldest first."""
        with self._reading() as connection:
            return gradings.summaries(connection)

    def grading(self, ref: str) -> Grading:
        """The grading of an id, `last`, `last~1` or an id's beginning."""
        with self._reading() as connection:
            known = gradings.ids(connection)
            return gradings.grading(
                connection, known[resolve(ref, [(id_, None) for id_ in known], "grading", self.path)]
            )

    def last_comparable(
        self,
        sessions: Collection[str],
        traces: Collection[str],
        before: str | None = None,
        accepted: bool = False,
    ) -> str | None:
        """The id of the newest grading (made before that one; that no gate refused, if `accepted`) to compare
        these sessions and traces with."""
        with self._reading() as connection:
            return gradings.last_comparable(connection, sessions, traces, before, accepted)

    def last_runs(self, wanted: Iterable[RunKey]) -> dict[RunKey, LastRun]:
        """The newest run of each of these sessions and traces that was graded."""
        with self._reading() as connection:
            return last_runs(connection, wanted)

    def find(self, ref: str, kind: str | None = None) -> Found:
        """What an id or its beginning names, of one kind or of any; then `last` is a recording."""
        with self._reading() as connection:
            names = [(each.id, each.name) for each in reading.recordings(connection)]
            found = [
                *(Found("grading", id_) for id_ in gradings.ids(connection)),
                *(Found("exchange", id_, of) for of, id_ in reading.exchange_ids(connection)),
                *(Found("trace", id_, of) for of, id_ in traces.trace_ids(connection)),
                *(Found("recording", id_, id_) for id_, _ in names),
            ]
        only = kind or ("recording" if is_place(ref) else None)
        found = [each for each in found if only in (None, each.kind)]
        named = dict(names)
        things = [(each.id, named[each.id] if each.kind == "recording" else None) for each in found]
        return found[resolve(ref, things, kind or " or ".join(KINDS), self.path)]
