"""What people add to what was recorded: names, tags and notes of recordings, traces and exchanges.

A recording's name and tags are its own, and changed where they stand; its traces, which have them, follow.
What is said of a trace or an exchange lies beside it, so that traces can be derived again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from abs_replay.store.opening import transaction
from abs_replay.store.summaries import Found
from abs_replay.trace import NAME, Trace

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True)
class Note:
    """What was added to one thing. A tag that is None takes one away that the thing has by itself."""

    tags: Mapping[str, str | None] = field(default_factory=dict)
    text: str | None = None

    def changed(self, by: Note) -> Note:
        """The same after another change; an empty text takes the text away."""
        return Note({**self.tags, **by.tags}, self.text if by.text is None else by.text or None)


def annotate(connection: DuckDBPyConnection, found: Found, name: str | None, change: Note) -> None:
    """Add to a recording, a trace or an exchange; a trace's name is a tag of it."""
    with transaction(connection):
        if found.kind == "recording":
            _change_recording(connection, found.id, name, change.tags)
            change = replace(change, tags={})
        elif name is not None:
            change = replace(change, tags={**change.tags, NAME: name})
        key = [found.kind, found.recording, found.id]
        note = notes(connection, found.kind, found.recording).get((found.recording, found.id), Note())
        note = note.changed(change)
        _keep(connection, key, note)


_FORGET = "DELETE FROM notes WHERE kind = ? AND recording = ? AND id = ?"


def _keep(connection: DuckDBPyConnection, key: list[str | None], note: Note) -> None:
    """Keep a note in place of the one that a thing (kind, recording, id) has."""
    connection.execute(_FORGET, key)
    if note.tags or note.text:
        values = [*key, json.dumps(note.tags), note.text]
        connection.execute("INSERT INTO notes VALUES (?, ?, ?, ?, ?)", values)


def notes(
    connection: DuckDBPyConnection, kind: str, recording_id: str | None = None
) -> dict[tuple[str | None, str], Note]:
    """What was added to things of a kind, of one recording or of all, by recording and id."""
    query = (
        "SELECT recording, id, tags, note FROM notes WHERE kind = ? AND (?::VARCHAR IS NULL OR recording = ?)"
    )
    rows = connection.execute(query, [kind, recording_id, recording_id]).fetchall()
    return {(recording, id_): Note(json.loads(tags), text) for recording, id_, tags, text in rows}


def follow(connection: DuckDBPyConnection, recording_id: str, traces: Sequence[Trace]) -> None:
    """Let what was added to a trace go on with the one that it has become, before that takes its place.

    A trace is called by its exchanges, so one that has grown has another id: it is the one that shows most
    of the same exchanges.
    """
    there = {trace.id for trace in traces}
    gone = [id_ for _, id_ in notes(connection, "trace", recording_id) if id_ not in there]
    shown = {
        trace.id: {source.exchange for step in trace.steps for source in step.sources} for trace in traces
    }
    for id_, exchanges in _shown(connection, recording_id, gone).items():
        grown = max(shown, key=lambda new: len(shown[new] & exchanges), default=None)
        if grown is not None and shown[grown] & exchanges:
            _move(connection, recording_id, id_, grown)


def _shown(connection: DuckDBPyConnection, recording_id: str, ids: Sequence[str]) -> Mapping[str, set[str]]:
    """The exchanges that show each of these traces, as they are kept now."""
    query = "SELECT trace, sources FROM steps WHERE recording = ? AND list_contains(?::VARCHAR[], trace)"
    found: dict[str, set[str]] = {}
    for trace, sources in connection.execute(query, [recording_id, list(ids)]).fetchall() if ids else ():
        found.setdefault(trace, set()).update(exchange for exchange, _ in json.loads(sources))
    return found


def _move(connection: DuckDBPyConnection, recording_id: str, old: str, new: str) -> None:
    kept = notes(connection, "trace", recording_id)
    moved, there = kept[recording_id, old], kept.get((recording_id, new), Note())
    connection.execute(_FORGET, ["trace", recording_id, old])
    _keep(connection, ["trace", recording_id, new], moved.changed(there))


def annotated(trace: Trace, note: Note | None) -> Trace:
    """A trace with the tags that were added to it."""
    return replace(trace, tags=changed_tags(trace.tags, note.tags)) if note and note.tags else trace


def changed_tags(tags: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Tags after changes, of which None takes one away."""
    return {key: value for key, value in {**tags, **changes}.items() if value is not None}


def _change_recording(
    connection: DuckDBPyConnection, id_: str, name: str | None, changes: Mapping[str, str | None]
) -> None:
    (text,) = connection.execute("SELECT tags FROM recordings WHERE id = ?", [id_]).fetchall()[0]
    before: dict[str, str] = json.loads(text)
    connection.execute(
        "UPDATE recordings SET name = coalesce(?, name), tags = ? WHERE id = ?",
        [name, json.dumps(changed_tags(before, changes)), id_],
    )
    if changes:
        _change_traces(connection, id_, before, changes)


def _change_traces(
    connection: DuckDBPyConnection, id_: str, before: Mapping[str, str], changes: Mapping[str, str | None]
) -> None:
    """Change the tags of a recording's traces, but for those that differed from the recording's before."""
    rows: list[Any] = connection.execute(
        "SELECT id, tags, agent_version FROM traces WHERE recording = ?", [id_]
    ).fetchall()
    for trace, text, version in rows:
        tags: dict[str, str] = json.loads(text)
        own = {key: value for key, value in changes.items() if tags.get(key) == before.get(key)}
        if "agent_version" in own:
            version = own["agent_version"]
        connection.execute(
            "UPDATE traces SET tags = ?, agent_version = ? WHERE recording = ? AND id = ?",
            [json.dumps(changed_tags(tags, own)), version, id_, trace],
        )
