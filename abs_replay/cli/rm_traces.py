"""What goes with a single trace when `abs rm` removes it: the exchanges that show nothing else."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abs_replay.cli.conversations import conversation_key
from abs_replay.reports.totals import plural

if TYPE_CHECKING:
    from abs_replay.exchange import Recording
    from abs_replay.store import Found, Store
    from abs_replay.trace import Trace


@dataclass(frozen=True, slots=True)
class Leaving:
    """A trace that is to go: the `exchanges` that show no trace which stays, and how many more show it."""

    recording: "Recording"
    trace: "Trace"
    exchanges: tuple[str, ...]
    shared: int


def leaving(store: "Store", found: Sequence["Found"]) -> list[Leaving]:
    """What goes with these traces; the recordings are decoded for it where they can be."""
    by_recording: defaultdict[str, list[str]] = defaultdict(list)
    for each in found:
        by_recording[each.recording or ""].append(each.id)
    return [one for id_, ids in by_recording.items() for one in _of_recording(store, id_, ids)]


def _of_recording(store: "Store", recording_id: str, ids: Sequence[str]) -> list[Leaving]:
    recording = store.recording(recording_id)
    shown = _shown(store, recording)
    going = set(ids)
    return [
        Leaving(
            recording,
            trace,
            tuple(key for key, traces in shown.items() if trace.id in traces and traces <= going),
            sum(trace.id in traces and not traces <= going for traces in shown.values()),
        )
        for trace in store.traces(recording_id, ids)
    ]


def _shown(store: "Store", recording: "Recording") -> dict[str, set[str]]:
    """By each exchange of a recording the traces that it is in."""
    from abs_replay.derivation import account_of
    from abs_replay.store import IMPORTED

    (known,) = store.derivations(recording.id)
    shown: defaultdict[str, set[str]] = defaultdict(set)
    if known.decoders_version == IMPORTED:  # its traces came as they are
        there = {each.id for each in store.exchange_summaries(recording.id)}
        for trace in store.traces(recording.id):
            for exchange in {source.exchange for step in trace.steps for source in step.sources} & there:
                shown[exchange].add(trace.id)
    else:
        for fate in account_of(store, recording, conversation_key()).fates:
            shown[fate.exchange].update(fate.traces)
    return shown


def told(one: Leaving) -> str:
    """A trace, and what goes with it and what does not, in one line."""
    of = f"of recording {one.recording.name} ({one.recording.id[:12]})"
    parts = [plural(len(one.trace.steps), "step")]
    if one.exchanges:
        parts.append(f"{plural(len(one.exchanges), 'exchange')} that no other trace shows")
    stays = f"; {plural(one.shared, 'exchange')} that others show, too, stay{'s' * (one.shared == 1)}"
    return f"trace {one.trace.id} {of}: {', '.join(parts)}{stays if one.shared else ''}"


def left_of(store: "Store", gone: Sequence[Leaving]) -> list[str]:
    """What is left of the recordings that traces were taken out of; derives what was derived anew."""
    from abs_replay.derivation import traces_of

    lines = []
    for recording in {one.recording.id: one.recording for one in gone}.values():
        count = len(traces_of(store, recording.id, by=conversation_key()))
        none = f"no trace left: abs rm {recording.id[:12]} removes it"
        lines.append(f"recording {recording.name} has {plural(count, 'trace') + ' left' if count else none}")
    return lines
