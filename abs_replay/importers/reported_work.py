"""Conversations out of work that was reported piece by piece: what models were asked, what tools did.

Each model's call repeats the history before it, as on the wire; so assembly makes the traces, from pieces of
work as it gets them from OpenTelemetry's spans. No exchange shows them: the steps have no sources.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from abs_replay.assembly import explain_decoded
from abs_replay.decoders import Decoded, Span
from abs_replay.exchange import Channel, Exchange, Request, Role
from abs_replay.trace import Trace

_REQUEST = Request("POST", "/")


def traces(spans: Iterable[Span], reporter: str) -> tuple[Trace, ...]:
    """Give the traces of what was reported, in the order in which they began; `reporter` names who did."""
    told = explain_decoded((_exchange(span, reporter), Decoded(reporter, spans=(span,))) for span in spans)
    return tuple(
        replace(trace, steps=tuple(replace(step, sources=()) for step in trace.steps))
        for trace in told.traces
    )


def _exchange(span: Span, reporter: str) -> Exchange:
    """An exchange in place of the one that would show a piece of work, with its id and times."""
    took = max(span.ended_at - span.started_at, 0.0) * 1000
    channel = Channel(Role.AGENT, reporter)
    return Exchange(span.span_id, channel, span.started_at, _REQUEST, None, ended_ms=took)


def with_tags(found: Iterable[Trace], tags: Mapping[str, str]) -> tuple[Trace, ...]:
    """Give traces tags in addition to their own."""
    return tuple(replace(trace, tags={**trace.tags, **tags}) for trace in found)
