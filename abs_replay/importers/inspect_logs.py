"""Logs of Inspect: `.json`, one object, or `.eval`, a zip archive with `header.json` and `samples/*.json`.

https://inspect.aisi.org.uk/eval-logs.html, log versions 2 and 3. A sample becomes a trace: its `messages` are
the words, its `events` say when each was there, by which model and for how many tokens. Scores, the target
and what ended the sample become tags. A file of events alone is told from what its models were asked.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from abs_replay.decoders import fields
from abs_replay.decoders.fields import items, obj
from abs_replay.importers import inspect_events, inspect_samples
from abs_replay.importers.archives import is_archive, opened
from abs_replay.importers.imported import Imported
from abs_replay.importers.source import Source
from abs_replay.importers.telling import TIMELESS, moment
from abs_replay.trace import Trace

_EVENTS: Final = ("model", "tool", "sample_init", "span_begin", "state", "step")
type _Fields = Mapping[str, Any]


def recognises(source: Source) -> bool:
    """Whether this is an archive of samples, an object with an eval, or one with Inspect's events."""
    if is_archive(source):
        return source.name.endswith(".eval") or b"samples/" in source.data[-65_536:]
    head = (source.text or "")[:65_536]
    if '"eval"' not in head and '"event"' not in head:
        return False
    found = obj(source.json)
    return {"eval", "status"} <= found.keys() or _has_events(found)


def _has_events(found: _Fields) -> bool:
    first = obj((items(found.get("events")) or [None])[0])
    return first.get("event") in _EVENTS and "timestamp" in first


def read(source: Source) -> Imported:
    """Read every sample; raises `UsageError`."""
    if is_archive(source):
        return _archive(source)
    document = source.need_json()
    if not isinstance(document, dict):
        raise source.wrong("expected an object with `eval` and `samples`")
    if "eval" not in document and _has_events(document):
        return Imported(traces=inspect_events.traces(items(document["events"])))
    samples = [obj(sample) for sample in items(document.get("samples"))]
    return _imported(source, document, iter(samples))


def _archive(source: Source) -> Imported:
    with opened(source) as archive:
        names = archive.names
        wanted = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
        header = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
        if header is None or not wanted:
            raise source.wrong("holds no `header.json`, or no `samples`; is it a log of Inspect?")
        about = _parsed(source, header, archive.read(header))
        found = (_parsed(source, name, archive.read(name)) for name in sorted(wanted, key=_order))
        return _imported(source, about, found)


def _order(name: str) -> tuple[int, str]:
    """Samples are called ID_epoch_N: 10 comes behind 9."""
    number = name.removeprefix("samples/").partition("_")[0]
    return (int(number) if number.isascii() and number.isdigit() and len(number) < 19 else -1), name


def _parsed(source: Source, name: str, data: bytes) -> _Fields:
    try:
        return obj(fields.parse(data))
    except ValueError as error:
        raise source.wrong(f"{name} is no JSON that can be read ({error})") from None


def _imported(source: Source, header: _Fields, samples: Iterator[_Fields]) -> Imported:
    traces = tuple(trace for sample in samples if (trace := inspect_samples.told(sample, header)).steps)
    if not traces:
        raise source.wrong("holds no samples with messages: the log was made without them")
    stats, evaluated = obj(header.get("stats")), obj(header.get("eval"))
    started = moment(stats.get("started_at")) or moment(evaluated.get("created"))
    return Imported(
        traces=traces,
        started_at=started,
        ended_at=moment(stats.get("completed_at")),
        remarks=(TIMELESS,) * sum(_is_timeless(trace) for trace in traces),
    )


def _is_timeless(trace: Trace) -> bool:
    return all(step.at_ms is None for step in trace.steps)
