"""`abs show --why`: finds in a store what is to be explained, the reasons and their exchanges."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

from abs_replay import derivation
from abs_replay.assembly import Account
from abs_replay.cli import why
from abs_replay.cli.conversations import conversation_key
from abs_replay.cli.derived import account, trace_of
from abs_replay.cli.ls import recording_json
from abs_replay.errors import StoreError, UsageError
from abs_replay.exact_json import Json
from abs_replay.exchange import Exchange
from abs_replay.importers.trace_file import as_json
from abs_replay.reports import Screen
from abs_replay.reports.json_report import write
from abs_replay.store import Found, LeftOut, Store


def find(store: Store, id_: str, kind: str | None) -> Found:
    """What `--why` is asked of: a trace, or a recording, also the last one where that has no trace."""
    if kind is None and id_ == "last":
        recording = store.find(id_, "recording")
        if not store.traces(recording.id):
            return recording
    for each in ("trace", "recording") if kind is None else ():
        with suppress(StoreError):
            return store.find(id_, each)
    return store.find(id_, kind)


def left_out(store: Store, recording_id: str) -> tuple[LeftOut, ...]:
    """What is in no trace, as it was kept with the traces: nothing is decoded for this."""
    return derivation.left_out(store, store.recording(recording_id), conversation_key())


def _whole(store: Store, found: Found) -> why.Why:
    told = account(store, str(found.recording))
    trace = next((trace for trace in told.traces if trace.id == found.id), None)
    if trace is None:
        raise UsageError(f"trace {found.id}: its exchanges are not in the store, so nothing explains it")
    whole = why.Why(trace_of(store, found), told, {})
    asked = {note.exchange for notes in told.notes[trace.id] for note in notes}
    asked |= {fate.exchange for fate in (*whole.fates, *whole.left_out)}
    return replace(whole, exchanges=_exchanges(store, found, asked))


def _exchanges(store: Store, found: Found, ids: Iterable[str]) -> dict[str, Exchange]:
    return {each.id: each for each in store.exchanges(found.recording, sorted(ids))}


def _of_recording(store: Store, found: Found) -> tuple[Account, dict[str, Exchange]]:
    told = account(store, found.id)
    listed = (*why.in_no_trace(told), *why.more_to_say(told))
    return told, _exchanges(store, found, {fate.exchange for fate in listed})


def _recording(store: Store, found: Found, screen: Screen | None) -> str:
    return why.text_of_all(store.recording(found.id), *_of_recording(store, found), screen)


def _recording_json(store: Store, found: Found, _: Screen | None) -> str:
    told, exchanges = _of_recording(store, found)
    words: dict[str, Json] = {
        "exchanges": [
            why.fate_json(fate, exchanges) | {"traces": list(fate.traces)} for fate in why.more_to_say(told)
        ],
        "in_no_trace": [why.fate_json(fate, exchanges) for fate in why.in_no_trace(told)],
    }
    return write({**recording_json(store.recording(found.id)), "why": words})


def _trace(store: Store, found: Found, screen: Screen | None) -> str:
    return why.text(_whole(store, found), screen)


def _trace_json(store: Store, found: Found, _: Screen | None) -> str:
    whole = _whole(store, found)
    return write(as_json(whole.trace) | why.as_json(whole))


type _Explained = Callable[[Store, Found, Screen | None], str]

AS_TEXT: dict[str, _Explained] = {"recording": _recording, "trace": _trace}
AS_JSON: dict[str, _Explained] = {"recording": _recording_json, "trace": _trace_json}
