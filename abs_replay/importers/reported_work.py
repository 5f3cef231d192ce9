"""Conversations out of work that was reported piece by piece: what models were asked, what tools did.

Each model's call repeats the history before it, as on the wire; so assembly makes the traces, from pieces of
work as it gets them from OpenTelemetry's spans. No exchange shows them: the steps have no sources.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from abs_replay.assembly import explain_decoded
from abs_replay.decoders import Decoded, Span, Turn
from abs_replay.decoders.fields import items, obj
from abs_replay.exchange import Channel, Exchange, Request, Role
from abs_replay.importers.imported import Imported
from abs_replay.importers.source import Source
from abs_replay.importers.telling import tagged
from abs_replay.trace import Step, Trace

UNTOLD: Final = "work that is neither a model's call nor a tool's is not told"
UNDATED: Final = "work without a time is left out"
ROOTS: Final = "a trace without calls of a model is told as what went into it and came out"
_REQUEST: Final = Request("POST", "/")
type Row = Mapping[str, Any]


def traces(spans: Iterable[Span], reporter: str) -> tuple[Trace, ...]:
    """Give the traces of what was reported, in the order in which they began; `reporter` names who did."""
    return tuple(trace for trace, _ in told(spans, reporter))


def told(
    spans: Iterable[Span], reporter: str, untimed: Collection[str] = ()
) -> Iterator[tuple[Trace, list[str]]]:
    """Give each trace with the ids of what shows it; of what is `untimed`, the times were made up."""
    account = explain_decoded((_exchange(span, reporter), Decoded(reporter, spans=(span,))) for span in spans)
    for trace in account.traces:
        shown = [source.exchange for step in trace.steps for source in step.sources]
        yield replace(trace, steps=tuple(_unsourced(step, untimed) for step in trace.steps)), shown


def _unsourced(step: Step, untimed: Collection[str]) -> Step:
    if step.sources and all(source.exchange in untimed for source in step.sources):
        return replace(step, sources=(), at_ms=None, duration_ms=None)
    return replace(step, sources=())


def _exchange(span: Span, reporter: str) -> Exchange:
    """An exchange in place of the one that would show a piece of work, with its id and times."""
    took = max(span.ended_at - span.started_at, 0.0) * 1000
    channel = Channel(Role.AGENT, reporter)
    return Exchange(span.span_id, channel, span.started_at, _REQUEST, None, ended_ms=took)


@dataclass(slots=True)
class Work:
    """Collects what one file reports. `about` gives the tags of a trace's root."""

    reporter: str
    about: Callable[[Row], Iterable[tuple[str, Any]]]
    _spans: dict[str, Span] = field(default_factory=dict)
    _turned: set[str] = field(default_factory=set)  # traces in which a model was called
    _roots: dict[str, list[Span]] = field(default_factory=dict)
    _tags: dict[str, dict[str, str]] = field(default_factory=dict)
    _remarks: list[str] = field(default_factory=list)

    def add(self, trace: str, span: Span | None) -> None:
        """Add a piece of work; None is one without a time."""
        if span is None:
            self._remarks.append(UNDATED)
        elif span.turn or span.use:
            self._spans.setdefault(span.span_id, span)
            if span.turn:
                self._turned.add(trace)
        else:
            self._remarks.append(UNTOLD)

    def root(self, trace: str, row: Row, span: Span | None, turn: Turn) -> None:
        """Add what a trace as a whole was given and gave, which is told where no model was called in it."""
        self._tags.setdefault(trace, {}).update(tagged((("trace_id", trace), *self.about(row))))
        if span is not None and (turn.history or turn.reply):
            self._roots.setdefault(trace, []).append(replace(span, turn=turn, use=None))

    def imported(self, source: Source) -> Imported:
        """Give all that was added; raises `UsageError` where that is nothing."""
        for trace in self._roots.keys() - self._turned:
            self._remarks.append(ROOTS)
            for span in self._roots[trace]:
                self._spans.setdefault(f"{span.span_id} root", replace(span, span_id=f"{span.span_id} root"))
        ordered = sorted(self._spans.values(), key=lambda span: (span.started_at, span.span_id))
        found = tuple(self._tagged(*each) for each in told(ordered, self.reporter))
        if not found:
            raise source.wrong("holds no call of a model and none of a tool")
        return Imported(traces=found, remarks=tuple(self._remarks))

    def _tagged(self, trace: Trace, shown: Sequence[str]) -> Trace:
        origins = dict.fromkeys(self._spans[id_].trace_id for id_ in shown if id_ in self._spans)
        tags: dict[str, str] = {}
        for origin in origins:
            tags = {**self._tags.get(origin or "", {}), **tags}
        return replace(trace, tags=tags, agent_version=tags.get("agent_version"))


def rows(source: Source, lists: Sequence[str], known: Callable[[Row], bool], expected: str) -> Iterator[Row]:
    """Give the objects of a document (alone, listed, or listed under a key) or of lines: known ones."""
    if source.json or source.path.suffix == ".json":
        value = source.need_json()
        for where, row in _listed(value, lists):
            if not isinstance(row, dict) or not known(row):
                raise source.wrong(expected, path=where)
            yield row
        return
    for line in source.need_json_lines():
        if not isinstance(line.value, dict) or not known(line.value):
            raise source.wrong(expected, line.number)
        yield line.value


def _listed(value: Any, lists: Sequence[str]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        yield from ((f"[{index}]", row) for index, row in enumerate(value))
        return
    key = next((key for key in lists if isinstance(obj(value).get(key), list) and "id" not in value), None)
    if key is None:
        yield "", value
        return
    yield from ((f"{key}[{index}]", row) for index, row in enumerate(value[key]))


def first_row(source: Source, lists: Sequence[str]) -> Row:
    """Give the first object of such a file, an empty one where there is none."""
    if source.json:
        return next((obj(row) for _, row in _listed(source.json, lists)), {})
    lines = source.json_lines
    return obj(lines[0].value) if isinstance(lines, tuple) else {}


def scores(values: Any, name: str = "name", value: str = "value") -> Iterator[tuple[str, Any]]:
    """Tags of scores that are listed with their names."""
    for score in map(obj, items(values)):
        if isinstance(score.get(name), str):
            yield f"score.{score[name]}", score.get(value)
