"""Trace files (FORMATS, trace file): one JSON object, or one a line, and back without loss.

Numbers in content and arguments stay exact. Unknown fields are ignored unless they are nearly a known one
that is absent. A file that can not be used is a `UsageError` that says the file, the line or the step, and
what to do.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any

from abs_replay import exact_json
from abs_replay.errors import UsageError
from abs_replay.exact_json import Json
from abs_replay.importers.checked_fields import (
    Place,
    nearest,
    number,
    optional,
    refuse_misspelt,
    required,
    text,
    texts,
    typed,
)
from abs_replay.trace import ACTIONS, ACTORS, Branch, Source, Step, Trace, Usage, Visibility

TRACE_KEYS = dict.fromkeys(["trace", *(field.name for field in fields_of(Trace) if field.name != "id")])
STEP_KEYS = dict.fromkeys(field.name for field in fields_of(Step))
_SURROGATE = re.compile("[\ud800-\udfff]")


def read(path: Path | str) -> tuple[Trace, ...]:
    """Read every trace of a `.json` file (one object) or a `.jsonl` file (one a line).

    Raises `UsageError` for a file that is missing, is no JSON, or holds what is no trace.
    """
    path = Path(path)
    return read_text(path, _read_text(path))


def read_text(path: Path | str, text: str) -> tuple[Trace, ...]:
    """Read every trace of a file whose text is known; `path` says by its ending how it is written."""
    path = Path(path)
    documents = _lines(path, text) if path.suffix.lower() == ".jsonl" else [_document(path, text)]
    traces = tuple(_trace(value, place, name) for value, place, name in documents)
    if not traces:
        raise UsageError(f"{path}: holds no trace; write one JSON object a line")
    return traces


def write(traces: Iterable[Trace]) -> str:
    """Write traces as JSON Lines; with one trace that is a `.trace.json` file as well."""
    return "".join(escaped(exact_json.dumps(as_json(trace))) + "\n" for trace in traces)


def escaped(text: str) -> str:
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
        "branch_of": _branch_as_json(trace.branch_of),
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
        "retries": step.retries or None,
        "segment": step.segment,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _usage_as_json(usage: Usage | None) -> dict[str, Json] | None:
    if usage is None:
        return None
    told = {"cached_tokens": usage.cached_tokens, "reasoning_tokens": usage.reasoning_tokens}
    counted: dict[str, Json] = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    return counted | {key: count for key, count in told.items() if count}


def _branch_as_json(branch: Branch | None) -> dict[str, Json] | None:
    return {"trace": branch.trace, "step": branch.step} if branch else None


def _source_as_json(source: Source) -> dict[str, Json]:
    return {"exchange": source.exchange, "at": source.at} if source.at else {"exchange": source.exchange}


def from_json(value: Mapping[str, Json]) -> Trace:
    """Make a trace of the object that FORMATS describes; raises `UsageError`."""
    return _trace(value, Place("trace"), "trace")


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text; write the trace file as UTF-8") from None
    except OSError as error:
        raise UsageError(f"{path}: can not be read ({error.strerror}); name a trace file") from None


def _document(path: Path, text: str) -> tuple[Any, Place, str]:
    name = path.name.removesuffix(".json").removesuffix(".trace")
    place = Place(str(path), text=text)
    try:
        return _parse(text, place), place, name
    except UsageError:
        if text.count("\n{") and all(_is_object(line) for line in text.splitlines() if line.strip()):
            raise place.wrong("holds one trace a line; name it .jsonl") from None
        raise


def _is_object(line: str) -> bool:
    return line.startswith("{") and line.rstrip().endswith("}")


def _lines(path: Path, text: str) -> Iterator[tuple[Any, Place, str]]:
    name = path.name.removesuffix(".jsonl").removesuffix(".trace")
    # Not splitlines(): JSON text may hold U+2028 and its like unescaped.
    for count, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = Place(str(path), count)
            yield _parse(line, place), place, f"{name}:{count}"


def _parse(text: str, place: Place) -> Any:
    try:
        return exact_json.loads(text, strict=True)
    except RecursionError:
        raise place.wrong("is nested too deeply; mend or export it anew") from None
    except exact_json.DuplicateKey as error:
        raise Place(place.file, place.line or error.line).wrong(f"{error}; mend or export it anew") from None
    except json.JSONDecodeError as error:
        there = Place(place.file, place.line or error.lineno)
        raise there.wrong(f"is no JSON ({error.msg}, column {error.colno}); mend or export it anew") from None
    except ValueError as error:
        raise place.wrong(f"is no JSON that can be read ({error}); mend or export it anew") from None


def _trace(value: Any, place: Place, name: str) -> Trace:
    fields = typed(value, dict, place)
    refuse_misspelt(fields, TRACE_KEYS, place)
    if "steps" not in fields:
        raise place.wrong("is no trace: it has no steps; give a file with a list `steps`")
    there = place.at("steps")
    steps = _steps(typed(fields["steps"], list, there), there)
    if not steps:
        raise there.wrong("is empty: nothing was observed, so there is nothing to judge")
    tags = texts(fields, "tags", place)
    version = text(fields, "agent_version", place)
    return Trace(
        id=text(fields, "trace", place) or name,
        steps=steps,
        session=text(fields, "session", place),
        recording=text(fields, "recording", place),
        started_at=number(fields, "started_at", place),
        bindings=optional(fields, "bindings", dict, place) or {},
        vars=optional(fields, "vars", dict, place) or {},
        tags=tags,
        agent_version=version if "agent_version" in fields else tags.get("agent_version"),
        branch_of=_branch(fields, place),
    )


def _steps(values: Sequence[Any], place: Place) -> tuple[Step, ...]:
    steps = tuple(_step(value, place.at(index)) for index, value in enumerate(values))
    for index in range(1, len(steps)):
        before, seq = steps[index - 1].seq, steps[index].seq
        if seq <= before:
            raise place.at(index).at("seq").wrong(f"{seq} comes after {before}; number the steps upward")
    return steps


def _step(value: Any, place: Place) -> Step:
    fields = typed(value, dict, place)
    refuse_misspelt(fields, STEP_KEYS, place)
    return Step(
        seq=required(fields, "seq", int, place),
        actor=_actor(fields, place),
        action=_action(fields, place),
        **{key: read(fields, key, place) for key in fields if (read := _OPTIONAL.get(key))},
    )


def _actor(fields: Mapping[str, Any], place: Place) -> str:
    actor: str = required(fields, "actor", str, place)
    if actor in ACTORS:
        return actor
    from difflib import get_close_matches

    near = get_close_matches(actor.strip().lower(), ACTORS, n=1, cutoff=0.75)
    hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(ACTORS)}"
    raise place.at("actor").wrong(f"{actor!r} is unknown; {hint}")


def _action(fields: Mapping[str, Any], place: Place) -> str:
    """Any verb is one, but nearly one of ours would match no behavior and fail silently."""
    action: str = required(fields, "action", str, place)
    if action in ACTIONS:
        return action
    if near := nearest(action, ACTIONS, 0.88):
        raise place.at("action").wrong(f"{action!r} is unknown; did you mean {near!r}?")
    return action


def _visibility(fields: Mapping[str, Any], key: str, place: Place) -> Visibility:
    value = text(fields, key, place)
    if not value:
        return Visibility.USER
    try:
        return Visibility(value)
    except ValueError:
        raise place.at(key).wrong(f"{value!r} is unknown; use user or internal") from None


def _sources(fields: Mapping[str, Any], key: str, place: Place) -> tuple[Source, ...]:
    values = optional(fields, key, list, place)
    if not values:
        return ()
    return tuple(_source(value, place.at(key).at(index)) for index, value in enumerate(values))


def _source(value: Any, place: Place) -> Source:
    fields = typed(value, dict, place)
    return Source(required(fields, "exchange", str, place), text(fields, "at", place) or "")


def _branch(fields: Mapping[str, Any], place: Place) -> Branch | None:
    value = optional(fields, "branch_of", dict, place)
    if value is None:
        return None
    there = place.at("branch_of")
    return Branch(required(value, "trace", str, there), optional(value, "step", int, there))


def _usage(fields: Mapping[str, Any], key: str, place: Place) -> Usage | None:
    value = optional(fields, key, dict, place)
    if value is None:
        return None
    there = place.at(key)
    return Usage(*(optional(value, kind, int, there) or 0 for kind in _COUNTED))


_COUNTED = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")


# What reads each field that a step may lack: most lack most.
_OPTIONAL: Mapping[str, Callable[[Mapping[str, Any], str, Place], Any]] = {
    "target": text,
    "content": lambda fields, key, _: fields[key],
    "arguments": lambda fields, key, _: fields[key],
    "call_id": text,
    "at_ms": number,
    "duration_ms": number,
    "visibility": _visibility,
    "parallel_group": text,
    "sources": _sources,
    "model": text,
    "usage": _usage,
    "error": text,
    "retries": lambda fields, key, place: optional(fields, key, int, place) or 0,
    "segment": text,
}
