"""The form of a request in which two that mean the same are equal: its identity in replay.

Method, path, sorted query, and the body: JSON with sorted keys and numbers by value (`1` is `1.0`,
SEMANTICS A5), multipart by its parts, anything else byte by byte. Nothing is taken out but what `Ignore`
names. Headers take no part. A JSON-RPC request's id, and the progress token that echoes it, name the call
and not what is asked.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from functools import cached_property
from typing import Any

from abs_replay.exact_json import Number
from abs_replay.exchange import Channel, Request
from abs_replay.json_styles import DEEPEST, stand_in
from abs_replay.matching.ignored import reduced, without
from abs_replay.matching.multipart import parts
from abs_replay.spec.ignoring import Ignore


@dataclass(frozen=True)
class Canonical:
    """A request's identity (`key`), and its body as JSON where it is JSON, or has parts."""

    method: str
    target: str
    body: str
    document: Any = None

    @cached_property
    def key(self) -> tuple[str, str, str]:
        return self.method, self.target, self.body

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


def canonical(request: Request, channel: Channel, ignore: Sequence[Ignore] = ()) -> Canonical:
    """Give a request's identity on its channel."""
    rules = [rule for rule in ignore if rule.header is None and rule.concerns(channel)]
    target = _target(request.target, rules)
    document = json_body(request.body.data)
    if document is None and request.body.data:
        document = parts(request, json_body)
    everywhere = [rule.pattern for rule in rules if rule.pattern and not (rule.json or rule.query)]
    if document is None:
        return Canonical(request.method, target, without(request.body.data.decode("latin-1"), everywhere))
    for rule in rules:
        if rule.json is not None:
            document = reduced(document, rule.json, rule.pattern)
    for pattern in everywhere:
        document = reduced(document, (), pattern)
    document = _without_call_ids(document)
    return Canonical(request.method, target, text_of(document), document)


def _target(target: str, rules: Sequence[Ignore]) -> str:
    path, _, query = target.partition("?")
    everywhere = [rule.pattern for rule in rules if rule.pattern and not (rule.json or rule.query)]
    path = without(path, everywhere)
    pairs = [pair.partition("=") for pair in query.split("&")] if query else []
    of_query = [rule for rule in rules if rule.query is not None]
    dropped = {rule.query for rule in of_query if rule.pattern is None}
    kept = []
    for name, equals, value in pairs:
        if name not in dropped:
            inside = [rule.pattern for rule in of_query if rule.pattern and rule.query == name]
            kept.append(f"{name}{equals}{without(value, [*inside, *everywhere])}")
    return f"{path}?{'&'.join(sorted(kept))}" if kept else path


def json_body(data: bytes) -> Any:
    """Give a body's JSON object or list, or None where it is none, or too deep or large to be compared."""
    if data.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        document = _DECODER.decode(data.decode())
    except (ValueError, RecursionError, ArithmeticError):
        return None
    return document if _within(document, DEEPEST) else None


def _within(document: Any, depth: int) -> bool:
    level = [document]
    for _ in range(depth):
        level = [
            item
            for value in level
            for item in (value.values() if type(value) is dict else value if type(value) is list else ())
        ]
        if not level:
            return True
    return False


_UNROUNDED = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def _number(text: str) -> int | float | Number:
    """Equal numbers become equal values, and none is rounded: 1.50 is 1.5, but not 1.5000000000000000001."""
    value = float(text)
    exact = Decimal(text)
    if exact != Decimal(repr(value)):
        return Number(str(exact.normalize(_UNROUNDED)))
    return int(value) if value.is_integer() else value


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(parse_float=_number, parse_constant=_refuse)
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False, default=stand_in
)


def text_of(document: Any) -> str:
    """Write JSON so that equal values give equal text."""
    return _ENCODER.encode(document)


def _without_call_ids(document: Any) -> Any:
    """JSON-RPC: a request and a notification stay different, two calls with different ids are the same."""
    if isinstance(document, list):
        return [_without_call_ids(item) if isinstance(item, dict) else item for item in document]
    if "jsonrpc" not in document or "method" not in document:
        return document
    changed = {**document, "id": True} if "id" in document else dict(document)
    params = document.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if isinstance(meta, dict) and "progressToken" in meta:
        changed["params"] = {**params, "_meta": {**meta, "progressToken": True}}
    return changed
