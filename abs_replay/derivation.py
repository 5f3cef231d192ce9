"""From a store's exchanges to its traces, derived when they are first read (DESIGN §2, first idea).

They are kept with the digest of their exchanges and the decoders' version, and derived again,
with a notice, when either is another. Where they can not be kept, since another process holds
the store or it can not be written, they are given all the same.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from abs_replay import decoders
from abs_replay.assembly import assemble
from abs_replay.errors import StoreError
from abs_replay.exchange import Recording
from abs_replay.store import IMPORTED, Derivation, Store
from abs_replay.trace import Trace

SAVING_S = 0.5  # how long to wait for the lock: who reads should not wait to have kept


def say_on_stderr(message: str) -> None:
    print(f"abs: {message}", file=sys.stderr, flush=True)


def traces_of(
    store: Store, recording_ref: str | None = None, notice: Callable[[str], None] = say_on_stderr
) -> tuple[Trace, ...]:
    """The traces of one recording, or of all, the oldest first; raises `StoreError`."""
    if recording_ref is None:
        recordings = [summary.recording for summary in store.recordings()]
    else:
        recordings = [store.recording(recording_ref)]
    only = None if recording_ref is None else recordings[0].id
    known = {derivation.recording: derivation for derivation in store.derivations(only)}
    current = {id_ for id_, derivation in known.items() if _is_current(derivation)}
    traces = [trace for trace in store.traces(only) if trace.recording in current] if current else []
    for recording in recordings:
        if recording.id in known and recording.id not in current:
            traces += _derive(store, recording, known[recording.id], notice)
    return tuple(sorted(traces, key=lambda trace: trace.started_at or 0.0))


def _derive(
    store: Store, recording: Recording, known: Derivation, notice: Callable[[str], None]
) -> tuple[Trace, ...]:
    if known.derived_from is not None:
        notice(
            f"recording {recording.name} ({recording.id}): {_reason(recording, known)}, traces derived again"
        )
    before = {trace.id: trace for trace in store.traces(recording.id)} if known.derived_from else {}
    found = assemble(store.exchanges(recording.id), recording)
    traces = tuple(_with_what_was_played(trace, before.get(trace.id)) for trace in found)
    with suppress(StoreError):
        store.save_traces(recording.id, traces, known.exchange_digest, decoders.version(), SAVING_S)
    return traces


def _with_what_was_played(trace: Trace, before: Trace | None) -> Trace:
    """Take over what no exchange shows: the session of a run, its data row and its variables (V5)."""
    if before is None:
        return trace
    return replace(trace, session=before.session, bindings=before.bindings, vars=before.vars)


def _is_current(known: Derivation) -> bool:
    if known.decoders_version == IMPORTED:  # there is nothing to derive them from
        return True
    return (known.derived_from, known.decoders_version) == (known.exchange_digest, decoders.version())


def _reason(recording: Recording, known: Derivation) -> str:
    if known.decoders_version != decoders.version():
        return f"decoders are another version ({known.decoders_version} → {decoders.version()})"
    return "more exchanges came" if recording.ended_at is None else "its exchanges are others"
