"""A trace as people read it: when, who, what, to whom, in which words."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from abs_replay import exact_json
from abs_replay.cli.columns import length, moment, size
from abs_replay.reports import Screen
from abs_replay.reports.cells import cut, escaped, painted, right, wrapped
from abs_replay.reports.totals import plural
from abs_replay.trace import Step, Trace, Usage, Visibility

LEAST_WORDS = 24  # cells; where fewer are left beside the columns, words begin on a line of their own
MOST_OF_A_STRUCTURE = 2000  # characters of arguments, or of content that is no text
MOST_OF_BYTES = 120  # of what is a string only because the wire had it as such
MOST_OF_WORDS = 200_000  # nobody reads on


def timeline(trace: Trace, screen: Screen | None, note: str | None = None) -> str:
    """A heading and the steps; wrapped to the screen, a line a step where there is none."""
    noted = [escaped(f"  note: {note}")] if note else []
    lines = [*heading(trace), *noted, "", *_steps(trace.steps, screen)]
    return "".join(f"{line}\n" for line in lines)


def heading(trace: Trace) -> Iterator[str]:
    """What is to say of the trace as a whole."""
    yield escaped(f"trace {trace.id}: {plural(len(trace.steps), 'step')}")
    tags = " ".join(f"{key}={value}" for key, value in trace.tags.items())
    branch = trace.branch_of
    facts = {
        "session": trace.session,
        "recording": trace.recording,
        "started": None if trace.started_at is None else moment(trace.started_at),
        "agent version": trace.agent_version,
        "branch of": branch and f"{branch.trace}, after its step {branch.step or 0}",
        "models": ", ".join(trace.models),
        "tokens": trace.usage and _tokens(trace.usage),
        "tags": tags,
        **{f"bound {name}": exact_json.dumps(value) for name, value in trace.bindings.items()},
    }
    yield from (escaped(f"  {name}: {value}") for name, value in facts.items() if value)


def _tokens(usage: Usage) -> str:
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    thought = f" ({usage.reasoning_tokens} thought)" if usage.reasoning_tokens else ""
    return f"{usage.input_tokens} in{cached}, {usage.output_tokens} out{thought}"


def marks(step: Step) -> list[str]:
    """What is to say of how a step came to be: attempts before it, and a history that was changed."""
    retries = f"[{step.retries} {'retry' if step.retries == 1 else 'retries'}]" if step.retries else None
    segment = f"[segment: history {step.segment}]" if step.segment else None
    return [mark for mark in (segment, retries) if mark]


def _steps(steps: Sequence[Step], screen: Screen | None) -> Iterator[str]:
    columns = [_columns(step) for step in steps]
    widths = [max((cell_len(row[nth]) for row in columns), default=0) for nth in range(3)]
    for step, row in zip(steps, columns, strict=True):
        number, time, who = row
        start = f"{right(number, widths[0])}  {right(time, widths[1])}  "
        quiet = step.visibility is Visibility.INTERNAL
        for line in _laid_out(start, who, widths[2], _words(step), screen):
            yield painted(line, "quiet" if quiet else "", screen is not None and screen.colour)


def _columns(step: Step) -> tuple[str, str, str]:
    time = "" if step.at_ms is None else f"+{step.at_ms / 1000:.3f}"
    mark = " (internal)" if step.visibility is Visibility.INTERNAL else ""
    return str(step.seq), time, escaped(f"{step.actor} {step.action}{mark}")


def _words(step: Step) -> str:
    """All there is to say of a step but its columns; breaks in the text are kept for wrapping."""
    took = None if step.duration_ms is None else f"[{length(step.duration_ms)}]"
    parts = [
        step.target,
        _arguments(step.arguments) if step.arguments is not None else None,
        _content(step.content) if step.content is not None else None,
        took,
        *marks(step),
        None if step.error is None else f"error: {_content(step.error)}",
    ]
    return "  ".join(part for part in parts if part)


def _arguments(value: exact_json.Json) -> str:
    binary = isinstance(value, str) and _is_binary(value)
    return _shortened(_text(value), MOST_OF_BYTES if binary else MOST_OF_A_STRUCTURE)


def _content(value: exact_json.Json) -> str:
    """Words are whole: they are what a conversation is read for."""
    if not isinstance(value, str):
        return _shortened(_text(value))
    return _shortened(value, MOST_OF_BYTES if _is_binary(value) else MOST_OF_WORDS)


def _is_binary(text: str) -> bool:
    """Whether a string's beginning is for no eyes: one in ten has no shape, as in a picture or archive."""
    some = text[:MOST_OF_A_STRUCTURE]
    odd = sum(not (each.isprintable() or each.isspace()) or each == "\ufffd" for each in some)
    return odd * 10 > len(some)


def _shortened(written: str, most: int = MOST_OF_A_STRUCTURE) -> str:
    if len(written) <= most:
        return written
    whole = size(len(written.encode("utf-8", "surrogatepass")))
    return f"{written[:most]}… ({whole}; --format json has it whole)"


def _text(value: exact_json.Json) -> str:
    return value if isinstance(value, str) else exact_json.dumps(value)


def _laid_out(start: str, who: str, width: int, words: str, screen: Screen | None) -> Iterator[str]:
    if screen is None:
        yield f"{start}{who}{' ' * (width - cell_len(who))}  {escaped(words)}".rstrip()
        return
    margin = len(start) + width + 2
    if screen.width - margin < LEAST_WORDS:
        yield cut(f"{start}{who}", screen.width)
        yield from (f"    {line}".rstrip() for line in _wrapped(words, screen.width - 4))
        return
    lines = _wrapped(words, screen.width - margin) or [""]
    yield f"{start}{who}{' ' * (width - cell_len(who))}  {lines[0]}".rstrip()
    yield from (f"{' ' * margin}{line}".rstrip() for line in lines[1:])


def _wrapped(words: str, width: int) -> list[str]:
    return [line for text in words.splitlines() for line in wrapped(escaped(text), max(width, 8))]
