"""What is wrong with a file that no importer recognises, as its ending promises: often it is only damaged."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from abs_replay.errors import UsageError
from abs_replay.importers.source import Source


def fault(source: Source) -> str | None:
    """Say what is wrong first, with the line; None where it is what its ending promises."""
    if not source.data.strip():
        return str(source.wrong("is empty"))
    ask = _PROMISED.get(source.name.rpartition(".")[2].lower())
    found = None if ask is None else ask(source)
    return None if found is None else str(found)


def _raised(need: Callable[[], Any]) -> UsageError | None:
    try:
        need()
    except UsageError as error:
        return error
    return None


def _json(source: Source) -> UsageError | None:
    """Ask as one value and as one a line: both are written under either ending."""
    whole, lines = _raised(source.need_json), _raised(source.need_json_lines)
    if whole is None or lines is None:
        return None
    in_lines = source.name.lower().endswith("l") or _begins_with_a_line(source)
    return lines if in_lines else whole


def _begins_with_a_line(source: Source) -> bool:
    first, more, _ = (source.text or "").lstrip("\ufeff \t\r\n").partition("\n")
    return (
        bool(more) and _raised(Source(source.path, first.encode("utf-8", "surrogatepass")).need_json) is None
    )


def _yaml(source: Source) -> UsageError | None:
    found = _raised(source.need_yaml)
    return found or (source.wrong("holds nothing but comments") if source.yaml is None else None)


_PROMISED: Final[Mapping[str, Callable[[Source], UsageError | None]]] = {
    "json": _json,
    "jsonl": _json,
    "ndjson": lambda source: _raised(source.need_json_lines),
    "yaml": _yaml,
    "yml": _yaml,
    "csv": lambda source: _raised(source.need_text),
}
