"""Trace files (FORMATS, trace file): one JSON object, or one a line, and back without loss.

Numbers in content and arguments stay exact, unknown fields are ignored, and a file that can not
be used is a `UsageError` that says the file, the line or the step, and what to do.
"""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from abs_replay import exact_json
from abs_replay.errors import UsageError
from abs_replay.exact_json import Json
from abs_replay.trace import ACTORS, Source, Step, Trace, Usage, Visibility

_SURROGATE = re.compile("[\ud800-\udfff]")
_KINDS: Final[Mapping[type, str]] = {str: "text", dict: "an object", list: "a list", int: "a whole number"}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a file a value stands, for messages: `FILE:LINE: steps[3].seq`."""

    file: str
    line: int | None = None
    path: str = ""

    def at(self, key: str | int) -> "_Place":
        step = f"[{key}]" if isinstance(key, int) else f".{key}" if self.path else key
        return _Place(self.file, self.line, self.path + step)

    def wrong(self, message: str) -> UsageError:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return UsageError(": ".join(part for part in (where, self.path, message) if part))


def read(path: Path) -> tuple[Trace, ...]:
    """Read every trace of a `.json` file (one object) or a `.jsonl` file (one a line).

    Raises `UsageError` for a file that is missing, is no JSON, or holds what is no trace.
    """
    return read_text(path, _read_text(path))


def read_text(path: Path, text: str) -> tuple[Trace, ...]:
    """Read every trace of a file whose text is known; `path` says by its ending how it is written."""
    documents = _lines(path, text) if path.suffix.lower() == ".jsonl" else [_document(path, text)]
    traces = tuple(_trace(value, place, name) for value, place, name in documents)
    if not traces:
        raise UsageError(f"{path}: holds no trace; write one JSON object a line")
    return traces


def write(traces: Iterable[Trace]) -> str:
    """Write traces as JSON Lines; with one trace that is a `.trace.json` file as well."""
    return "".join(_escape(exact_json.dumps(as_json(trace))) + "\n" for trace in traces)


def _escape(text: str) -> str:
    """Escape lone surrogates, which JSON can say and UTF-8 can not."""
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def as_json(trace: Trace) -> dict[str, Json]:
    """Give a trace as the object that FORMATS describes; what is absent is left out."""
    head: dict[str, Json] = {
        "trace": trace.id,
        "session": trace.session,
        "recording": trace.recording,
        "started_at": trace.started_at,
        "bindings": trace.bindings or None,
        "vars": trace.vars or None,
        "tags": trace.tags or None,
    }
    written: dict[str, Json] = {key: value for key, value in head.items() if value is not None}
    # A null here keeps a reader from taking the version from the tags.
    if trace.agent_version is not None or "agent_version" in trace.tags:
        written["agent_version"] = trace.agent_version
    return written | {"steps": [_step_as_json(step) for step in trace.steps]}


def _step_as_json(step: Step) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "seq": step.seq,
        "actor": step.actor,
        "action": step.action,
        "target": step.target,
        "content": step.content,
        "arguments": step.arguments,
        "call_id": step.call_id,
        "at_ms": step.at_ms,
        "duration_ms": step.duration_ms,
        "visibility": None if step.visibility is Visibility.USER else step.visibility.value,
        "parallel_group": step.parallel_group,
        "sources": [_source_as_json(source) for source in step.sources] or None,
        "model": step.model,
        "usage": _usage_as_json(step.usage),
        "error": step.error,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _usage_as_json(usage: Usage | None) -> dict[str, Json] | None:
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens} if usage else None


def _source_as_json(source: Source) -> dict[str, Json]:
    return {"exchange": source.exchange, "at": source.at} if source.at else {"exchange": source.exchange}


def from_json(value: Mapping[str, Json]) -> Trace:
    """Make a trace of the object that FORMATS describes; raises `UsageError`."""
    return _trace(value, _Place("trace"), "trace")


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text; write the trace file as UTF-8") from None
    except OSError as error:
        raise UsageError(f"{path}: can not be read ({error.strerror}); name a trace file") from None


def _document(path: Path, text: str) -> tuple[Any, _Place, str]:
    name = path.name.removesuffix(".json").removesuffix(".trace")
    place = _Place(str(path))
    try:
        return _parse(text, place), place, name
    except UsageError:
        if text.count("\n{") and all(_is_object(line) for line in text.splitlines() if line.strip()):
            raise place.wrong("holds one trace a line; name it .jsonl") from None
        raise


def _is_object(line: str) -> bool:
    return line.startswith("{") and line.rstrip().endswith("}")


def _lines(path: Path, text: str) -> Iterator[tuple[Any, _Place, str]]:
    name = path.name.removesuffix(".jsonl").removesuffix(".trace")
    # Not splitlines(): JSON text may hold U+2028 and its like unescaped.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = _Place(str(path), number)
            yield _parse(line, place), place, f"{name}:{number}"


def _parse(text: str, place: _Place) -> Any:
    try:
        return exact_json.loads(text)
    except json.JSONDecodeError as error:
        there = _Place(place.file, place.line or error.lineno)
        raise there.wrong(f"is no JSON ({error.msg}, column {error.colno}); mend or export it anew") from None
    except (ValueError, RecursionError) as error:
        raise place.wrong(f"is no JSON that can be read ({error}); mend or export it anew") from None


def _trace(value: Any, place: _Place, name: str) -> Trace:
    fields = _typed(value, dict, place)
    if "steps" not in fields:
        raise place.wrong("is no trace: it has no steps; give a file with a list `steps`")
    steps = _steps(_typed(fields["steps"], list, place.at("steps")), place.at("steps"))
    if not steps:
        raise place.at("steps").wrong("is empty: nothing was observed, so there is nothing to judge")
    tags = _texts(fields, "tags", place)
    version = _text(fields, "agent_version", place)
    return Trace(
        id=_text(fields, "trace", place) or name,
        steps=steps,
        session=_text(fields, "session", place),
        recording=_text(fields, "recording", place),
        started_at=_number(fields, "started_at", place),
        bindings=_optional(fields, "bindings", dict, place) or {},
        vars=_optional(fields, "vars", dict, place) or {},
        tags=tags,
        agent_version=version if "agent_version" in fields else tags.get("agent_version"),
    )


def _steps(values: Sequence[Any], place: _Place) -> tuple[Step, ...]:
    steps = tuple(_step(value, place.at(index)) for index, value in enumerate(values))
    for index in range(1, len(steps)):
        before, seq = steps[index - 1].seq, steps[index].seq
        if seq <= before:
            raise place.at(index).at("seq").wrong(f"{seq} comes after {before}; number the steps upward")
    return steps


def _step(value: Any, place: _Place) -> Step:
    fields = _typed(value, dict, place)
    return Step(
        seq=_required(fields, "seq", int, place),
        actor=_actor(fields, place),
        action=_required(fields, "action", str, place),
        target=_text(fields, "target", place),
        content=fields.get("content"),
        arguments=fields.get("arguments"),
        call_id=_text(fields, "call_id", place),
        at_ms=_number(fields, "at_ms", place),
        duration_ms=_number(fields, "duration_ms", place),
        visibility=_visibility(fields, place),
        parallel_group=_text(fields, "parallel_group", place),
        sources=_sources(fields, place),
        model=_text(fields, "model", place),
        usage=_usage(fields, place),
        error=_text(fields, "error", place),
    )


def _actor(fields: Mapping[str, Any], place: _Place) -> str:
    actor: str = _required(fields, "actor", str, place)
    if actor in ACTORS:
        return actor
    near = difflib.get_close_matches(actor.strip().lower(), ACTORS, n=1, cutoff=0.75)
    hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(ACTORS)}"
    raise place.at("actor").wrong(f"{actor!r} is unknown; {hint}")


def _visibility(fields: Mapping[str, Any], place: _Place) -> Visibility:
    value = _text(fields, "visibility", place) or Visibility.USER
    try:
        return Visibility(value)
    except ValueError:
        raise place.at("visibility").wrong(f"{value!r} is unknown; use user or internal") from None


def _sources(fields: Mapping[str, Any], place: _Place) -> tuple[Source, ...]:
    values = _optional(fields, "sources", list, place) or []
    return tuple(_source(value, place.at("sources").at(index)) for index, value in enumerate(values))


def _source(value: Any, place: _Place) -> Source:
    fields = _typed(value, dict, place)
    return Source(_required(fields, "exchange", str, place), _text(fields, "at", place) or "")


def _usage(fields: Mapping[str, Any], place: _Place) -> Usage | None:
    value = _optional(fields, "usage", dict, place)
    if value is None:
        return None
    there = place.at("usage")
    counted = (_optional(value, key, int, there) or 0 for key in ("input_tokens", "output_tokens"))
    return Usage(*counted)


def _required(fields: Mapping[str, Any], key: str, kind: type, place: _Place) -> Any:
    if key not in fields:
        raise place.wrong(f"has no {key}; add it")
    return _typed(fields[key], kind, place.at(key))


def _optional(fields: Mapping[str, Any], key: str, kind: type, place: _Place) -> Any:
    value = fields.get(key)
    return None if value is None else _typed(value, kind, place.at(key))


def _text(fields: Mapping[str, Any], key: str, place: _Place) -> str | None:
    value: str | None = _optional(fields, key, str, place)
    return value


def _texts(fields: Mapping[str, Any], key: str, place: _Place) -> dict[str, str]:
    values = _optional(fields, key, dict, place) or {}
    return {name: _typed(value, str, place.at(key).at(name)) for name, value in values.items()}


def _number(fields: Mapping[str, Any], key: str, place: _Place) -> float | None:
    value = fields.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | exact_json.Number):
        raise place.at(key).wrong(f"is {_shown(value)}, not a number")
    return float(value)


def _typed(value: Any, kind: type, place: _Place) -> Any:
    if isinstance(value, kind) and not isinstance(value, bool):
        return value
    raise place.wrong(f"is {_shown(value)}, not {_KINDS[kind]}")


def _shown(value: Any) -> str:
    text = exact_json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
