"""Files of other tools into a store: recognised, read, placed on channels, without secrets, each kept once.

A file becomes one recording. Its id is a digest of what it holds, so that the same import again changes
nothing.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from abs_replay import exact_json, importers
from abs_replay.errors import AbsReplayError
from abs_replay.exchange import Body, Exchange, Recording, Request
from abs_replay.importers import UNPLACED, Imported, Source, trace_file
from abs_replay.importers.faults import fault
from abs_replay.importers.placing import Rule, place
from abs_replay.redact import DEFAULT, Redactor, Rules
from abs_replay.store import Store, Whole
from abs_replay.trace import Trace

BATCH = 64  # files, and
BATCH_BYTES = 32 * 1024 * 1024  # of them, that are kept at once: opening a store takes longer than most files

OWN = ("cassette", "trace")  # they come back as they went, without a tag that says where from
OTHER_CONTENT = "the store has another recording of its id: it is kept under an id of its own"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user says of the files: `format` is None where each is recognised."""

    format: str | None = None
    name: str | None = None
    session: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    redaction: Rules = DEFAULT


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a file. `whole` is None where it is not imported: `error` says why, or nobody knows it.
    `fault` is what is wrong with one that nobody knows, as its ending promises.

    `named` is whether the user named the file itself, `fresh` whether the store did not have it yet.
    """

    path: Path
    named: bool
    format: str | None = None
    whole: Whole | None = None
    remarks: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    fault: str | None = None
    fresh: bool = True
    size: int = 0


def found(paths: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    """Give every file with whether it was named; folders are walked, what is hidden in them is left out."""
    for path in paths:
        if not path.is_dir():
            yield path, True
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            yield from ((Path(folder, name), False) for name in sorted(names) if not name.startswith("."))


def import_files(paths: Sequence[Path], store: Store, wanted: Wanted) -> Iterator[Done]:
    """Import every file, and say of each what became of it; raises `StoreError`."""
    importers.check(wanted.format)
    files = list(found(paths))
    several = len(files) > 1
    batch: list[Done] = []
    for path, named in files:
        batch.append(_taken(path, named, wanted, several))
        if len(batch) >= BATCH or sum(done.size for done in batch) >= BATCH_BYTES:
            yield from _kept(batch, store)
            batch = []
    yield from _kept(batch, store)


def _taken(path: Path, named: bool, wanted: Wanted, several: bool) -> Done:
    """Read one file, up to what is to be kept of it."""
    try:
        if not path.is_file() and not named:
            return Done(path, named)  # a pipe would be waited for
        source = importers.open_source(path)
        format_ = wanted.format or importers.recognise(source)
        if format_ is None:
            return Done(path, named, fault=fault(source))
        imported = importers.read(format_, source)
    except AbsReplayError as error:
        return Done(path, named, error=str(error))
    whole = _whole(imported, source, format_, wanted, several)
    return Done(path, named, format_, whole, Counter(imported.remarks), size=len(source.data))


def _whole(imported: Imported, source: Source, format_: str, wanted: Wanted, several: bool) -> Whole:
    exchanges, placed = place(imported.exchanges, wanted.rules)
    redactor = Redactor(wanted.redaction)
    exchanges = tuple(_named(index, redactor.redact(each)) for index, each in enumerate(exchanges))
    known = {upstream.channel for upstream in imported.upstreams}
    recording = Recording(
        id=imported.id,
        name=_name(imported.name or source.stem, wanted.name, several),
        started_at=_started(imported, exchanges),
        ended_at=_ended(imported, exchanges),
        session=wanted.session or imported.session,
        tags={**({} if format_ in OWN else {"imported": format_}), **imported.tags, **wanted.tags},
        upstreams=(*imported.upstreams, *(each for each in placed if each.channel not in known)),
        marks=imported.marks,
    )
    recording = redactor.recording(recording)
    traces = _distinct(_clean(trace, redactor) for trace in imported.traces)
    recording = replace(recording, id=imported.id or _content(recording, exchanges, traces))
    return Whole(recording, exchanges, tuple(_of(trace, recording) for trace in traces))


def _name(own: str, wanted: str | None, several: bool) -> str:
    return own if wanted is None else f"{wanted}/{own}" if several else wanted


def _started(imported: Imported, exchanges: Sequence[Exchange]) -> float:
    if imported.started_at is not None:
        return imported.started_at
    times = [trace.started_at for trace in imported.traces if trace.started_at is not None]
    return min((*times, *(each.started_at for each in exchanges)), default=0.0)


def _ended(imported: Imported, exchanges: Sequence[Exchange]) -> float:
    if imported.ended_at is not None:
        return imported.ended_at
    ends = (each.started_at + (each.ended_ms or 0.0) / 1000 for each in exchanges)
    return max((_started(imported, exchanges), *ends))


def _named(index: int, exchange: Exchange) -> Exchange:
    """Give an exchange an id by what it holds and where it stands, unless it has one."""
    return exchange if exchange.id else replace(exchange, id=_digest([index, *_facts(exchange)])[:32])


def _facts(exchange: Exchange) -> list[Any]:
    request, response = exchange.request, exchange.response
    asked = [request.method, request.scheme, request.host, request.target, request.headers]
    told = [] if response is None else [response.status, response.headers, _sha(response.body)]
    times = [exchange.started_at, exchange.ended_ms, exchange.outcome.value, exchange.error]
    return [str(exchange.channel), asked, _sha(request.body), told, times]


def _sha(body: Body) -> str:
    return hashlib.sha256(body.data).hexdigest()


def _digest(facts: list[Any]) -> str:
    return hashlib.sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()


def _content(recording: Recording, exchanges: Sequence[Exchange], traces: Sequence[Trace]) -> str:
    told = sorted(recording.tags.items())
    led = [(str(upstream.channel), upstream.url) for upstream in recording.upstreams]
    seen = [exact_json.dumps(trace_file.as_json(replace(trace, recording=None))) for trace in traces]
    ids = [each.id for each in exchanges]
    return _digest([recording.name, recording.session, recording.started_at, told, led, ids, seen])[:32]


def _clean(trace: Trace, redactor: Redactor) -> Trace:
    """A trace without secrets: it is searched like a body of JSON."""
    data = exact_json.dumps(trace_file.as_json(trace)).encode("utf-8", "surrogatepass")
    headers = (("content-type", "application/json"),)
    shown = Exchange("", UNPLACED, 0.0, Request("POST", "/", headers, Body(data)))
    cleaned = redactor.redact(shown).request.body.data
    if cleaned == data:
        return trace
    return trace_file.from_json(exact_json.loads(cleaned.decode("utf-8", "surrogatepass")))


def _distinct(traces: Iterable[Trace]) -> list[Trace]:
    """Traces whose ids tell them apart, as a store needs them."""
    seen: Counter[str] = Counter()
    result = []
    for trace in traces:
        seen[trace.id] += 1
        count = seen[trace.id]
        result.append(trace if count == 1 else replace(trace, id=f"{trace.id}~{count}"))
    return result


def _of(trace: Trace, recording: Recording) -> Trace:
    return replace(
        trace,
        recording=recording.id,
        session=recording.session or trace.session,
        tags={**recording.tags, **trace.tags},
    )


def _kept(batch: Sequence[Done], store: Store) -> Iterator[Done]:
    taken = [done.whole for done in batch if done.whole is not None]
    fresh = iter(store.add(taken) if taken else ())
    for done in batch:
        if done.whole is None or next(fresh):
            yield done
        else:
            yield _kept_again(done, done.whole, store)


def _kept_again(done: Done, whole: Whole, store: Store) -> Done:
    """What is there already stays; another recording that has its id does not keep it out."""
    id_ = _content(whole.recording, whole.exchanges, whole.traces)
    if whole.recording.id == id_ or _same(store.exchanges(whole.recording.id), whole.exchanges):
        return replace(done, fresh=False)
    other = replace(whole, recording=replace(whole.recording, id=id_))
    (fresh,) = store.add([other])
    return replace(done, whole=other, fresh=fresh, remarks={**done.remarks, OTHER_CONTENT: 1})


def _same(left: Iterable[Exchange], right: Iterable[Exchange]) -> bool:
    return {each.id: each for each in left} == {each.id: each for each in right}
