"""From a store's exchanges to its traces, derived when they are first read (DESIGN §2, first idea).

They are kept with the digest of their exchanges, the decoders' version and the configured key of
conversations, and derived again, with a notice, when one of these is another. Where they can not be
kept, since another process holds the store or it can not be written, they are given all the same.

A mark in a recording ends what was said until then: exchanges before and after it are assembled apart.
What follows a mark with a name is called so.

A recording in progress is derived when it is read, and when it ends, as an imported one is at once. Not
when a conversation goes idle: what was derived then would be derived again with the next exchange, in
the process that passes the tester's traffic on.
"""

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby

from abs_replay import decoders
from abs_replay.assembly import Account, ConversationKey, Fate, each_trace, explain
from abs_replay.decoders import Decoded, Shelf
from abs_replay.errors import StoreError
from abs_replay.exchange import Exchange, Mark, Recording
from abs_replay.spilled import Spilled
from abs_replay.store import IMPORTED, Derivation, LeftOut, Store, Whole, annotated
from abs_replay.trace import NAME, Trace

SAVING_S = 0.5  # how long to wait for the lock: who reads should not wait to have kept
AT_END_BYTES = 40_000_000  # of bodies; more would keep whoever ends a recording waiting for seconds
NO_KEY = ConversationKey()


def say_on_stderr(message: str) -> None:
    from abs_replay.cassette.layout import one_line

    print(f"abs: {one_line(message)}", file=sys.stderr, flush=True)


def version(by: ConversationKey = NO_KEY) -> str:
    """What traces depend on beside their bytes."""
    return f"{decoders.version()} by {by}" if str(by) else decoders.version()


def traces_of(
    store: Store,
    recording_ref: str | None = None,
    notice: Callable[[str], None] = say_on_stderr,
    by: ConversationKey = NO_KEY,
) -> tuple[Trace, ...]:
    """The traces of one recording, or of all, the oldest first; raises `StoreError`."""
    with store.at_once():
        if recording_ref is None:
            recordings = [summary.recording for summary in store.recordings()]
        else:
            recordings = [store.recording(recording_ref)]
        only = None if recording_ref is None else recordings[0].id
        known = {derivation.recording: derivation for derivation in store.derivations(only)}
        current = {id_ for id_, derivation in known.items() if is_current(derivation, by)}
        traces = [trace for trace in store.traces(only) if trace.recording in current] if current else []
    for recording in recordings:
        if recording.id in known and recording.id not in current:
            traces += _derive(store, recording, known[recording.id], notice, by)
    return tuple(sorted(traces, key=lambda trace: trace.started_at or 0.0))


def account_of(store: Store, recording: Recording, by: ConversationKey = NO_KEY) -> Account:
    """Derive a recording's traces with the reasons for them, as its exchanges are now; keeps nothing."""
    return account_of_exchanges(store.each_exchange(recording.id), recording, by)


def account_of_exchanges(
    exchanges: Iterable[Exchange], recording: Recording, by: ConversationKey = NO_KEY
) -> Account:
    """The same of exchanges, in start order, that are in no store."""
    parts = [_explained(part, recording, by, name) for name, part in parted(exchanges, recording.marks)]
    notes = {trace: noted for part in parts for trace, noted in part.notes.items()}
    return Account(
        tuple(trace for part in parts for trace in part.traces),
        notes,
        tuple(fate for part in parts for fate in part.fates),
    )


def _explained(
    exchanges: Iterable[Exchange], recording: Recording, by: ConversationKey, name: str | None
) -> Account:
    account = explain(exchanges, recording, by)
    return replace(account, traces=tuple(called(trace, name) for trace in account.traces))


def parted(
    exchanges: Iterable[Exchange], marks: Sequence[Mark]
) -> Iterator[tuple[str | None, Iterable[Exchange]]]:
    """Part exchanges, which come in start order, at the marks; each part with its mark's name.

    An exchange that was under way when a mark was set belongs before it. Take each part to its end before
    the next.
    """
    if not marks:
        yield None, exchanges
        return
    times = [mark.at for mark in marks]
    for index, part in groupby(exchanges, key=lambda each: bisect_right(times, each.started_at)):
        yield marks[index - 1].name if index else None, part


def called(trace: Trace, name: str | None) -> Trace:
    """The trace under a name, or as it is."""
    return replace(trace, tags={**trace.tags, NAME: name}) if name else trace


def derive_at_end(store: Store, recording: Recording, by: ConversationKey = NO_KEY) -> None:
    """Derive what was just recorded, so that who reads it first need not wait; or leave it to them."""
    found = [each for each in store.recordings() if each.recording.id == recording.id]
    if found and found[0].bytes <= AT_END_BYTES:
        traces_of(store, recording.id, by=by)


def derive_imported(
    store: Store,
    imported: Iterable[Whole],
    by: ConversationKey = NO_KEY,
    notice: Callable[[str], None] = say_on_stderr,
) -> None:
    """Derive what was just imported, while it is in memory; what is large is left to who reads it first.

    The store is opened twice, however many recordings there are. Raises `StoreError`.
    """
    digests = {each.recording: each.exchange_digest for each in store.derivations()}
    found: list[tuple[str, tuple[Trace, ...], str, list[LeftOut]]] = []
    for whole in imported:
        if whole.exchanges and not whole.traces and sum(map(_size, whole.exchanges)) <= AT_END_BYTES:
            traces, left = _assembled(whole.exchanges, whole.recording, notice, by)
            found.append((whole.recording.id, traces, digests[whole.recording.id], left))
    if found:
        store.save_traces_of_each(found, version(by), SAVING_S)


def _size(exchange: Exchange) -> int:
    answered = len(exchange.response.body.data) if exchange.response else 0
    return len(exchange.request.body.data) + answered


def _derive(
    store: Store,
    recording: Recording,
    known: Derivation,
    notice: Callable[[str], None],
    by: ConversationKey,
) -> tuple[Trace, ...]:
    before = {trace.id: trace for trace in store.traces(recording.id)} if known.derived_from else {}
    found, left = _assembled(store.each_exchange(recording.id), recording, notice, by)
    traces = tuple(_with_what_was_played(trace, before.get(trace.id)) for trace in found)
    if known.derived_from is not None:
        reason = _reason(recording, known, by)
        notice(f"recording {recording.name} ({recording.id}): {reason}, traces derived again")
    with suppress(StoreError):
        store.save_traces(recording.id, traces, known.exchange_digest, version(by), SAVING_S, left)
    notes = store.notes("trace", recording.id)
    return tuple(annotated(trace, notes.get((recording.id, trace.id))) for trace in traces)


def _assembled(
    exchanges: Iterable[Exchange], recording: Recording, notice: Callable[[str], None], by: ConversationKey
) -> tuple[tuple[Trace, ...], list[LeftOut]]:
    """Assemble, with what is in no trace, and say of each decoder that failed how often it did."""
    failed: dict[str, list[Decoded]] = {}
    traces: list[Trace] = []
    left: list[LeftOut] = []
    for name, part in parted(exchanges, recording.marks):
        found = each_trace(
            part,
            recording,
            by,
            lambda one: failed.setdefault(str(one.failed), []).append(one),
            lambda fate: left.append(_left(fate)),
            Shelf(Spilled()),
        )
        traces += [called(trace, name) for trace in found]
    for ones in failed.values():
        times = "an exchange" if len(ones) == 1 else f"{len(ones)} exchanges"
        notice(
            f"recording {recording.name} ({recording.id}): of {times}, {ones[0].reason}; what it can not "
            f"decode is in no trace: `abs show {recording.id[:12]} --why` lists it"
        )
    return tuple(traces), left


def left_out(store: Store, recording: Recording, by: ConversationKey = NO_KEY) -> tuple[LeftOut, ...]:
    """Give what is in no trace of a recording; what was kept with its traces, where that is of today, and
    was kept, else it is decoded again."""
    (known,) = store.derivations(recording.id)
    kept = store.left_out(recording.id) if is_current(known, by) else None
    if kept is not None:
        return kept
    return tuple(_left(fate) for fate in account_of(store, recording, by).fates if not fate.traces)


def _left(fate: Fate) -> LeftOut:
    return LeftOut(fate.exchange, fate.protocol, fate.why)


def _with_what_was_played(trace: Trace, before: Trace | None) -> Trace:
    """Take over what no exchange shows: the session of a run, its data row and its variables (V5)."""
    if before is None:
        return trace
    return replace(trace, session=before.session, bindings=before.bindings, vars=before.vars)


def is_current(known: Derivation, by: ConversationKey = NO_KEY) -> bool:
    """Whether a recording's traces are those of its exchanges and of today's decoders."""
    if known.decoders_version == IMPORTED:  # there is nothing to derive them from
        return True
    return (known.derived_from, known.decoders_version) == (known.exchange_digest, version(by))


def _reason(recording: Recording, known: Derivation, by: ConversationKey) -> str:
    if known.decoders_version != version(by):
        return f"decoders are another version ({known.decoders_version} → {version(by)})"
    return "more exchanges came" if recording.ended_at is None else "its exchanges are others"
