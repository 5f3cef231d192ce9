"""Traces of a store as commands read them: derived now where they were not yet, by the configured key."""

from abs_replay.assembly import Account
from abs_replay.cli.conversations import conversation_key
from abs_replay.derivation import account_of, traces_of
from abs_replay.store import Found, Store
from abs_replay.trace import Trace


def derived(store: Store, ref: str | None = None) -> tuple[Trace, ...]:
    """The traces of one recording or of all."""
    return traces_of(store, ref, by=conversation_key())


def trace_of(store: Store, found: Found) -> Trace:
    """The trace as today's decoders see it; as it is stored where they see none of that id."""
    now = {trace.id: trace for trace in derived(store, found.recording)}
    return now[found.id] if found.id in now else store.trace(found.id)


def account(store: Store, recording_id: str) -> Account:
    """A recording's traces with the reasons for them, derived anew."""
    return account_of(store, store.recording(recording_id), conversation_key())
