"""Recordings of mcp-recorder (devhelmhq/mcp-recorder): JSON-RPC messages of one MCP session.

    {metadata: {recorded_at, server_url, ..},
     interactions: [{type, request, response, response_is_sse, response_status, latency_ms,
                     http_method, http_path}]}

It keeps messages, no bytes and no headers: both are written anew, as the Streamable HTTP transport would have
them.
"""

from typing import Any

from abs_replay.exchange import Body, Headers, Request, Response
from abs_replay.importers.imported import Imported
from abs_replay.importers.messages import iso_time, json_bytes, obj, objects, request_of, status_of, text_of
from abs_replay.importers.source import Source
from abs_replay.importers.tape import Tape, reading

WRITTEN = "the tool kept messages alone: headers, compact JSON and framing are written anew"
_JSON, _EVENTS = "application/json", "text/event-stream"
_PATH = "/mcp"  # where servers usually are, for recordings that do not say


def recognises(source: Source) -> bool:
    """Whether there are `metadata` and `interactions` that say whether their response was a stream."""
    value = source.json
    items = value.get("interactions") if isinstance(value, dict) and "metadata" in value else None
    first = items[0] if isinstance(items, list) and items else None
    return isinstance(first, dict) and {"type", "response_is_sse"} <= first.keys()


def read(source: Source) -> Imported:
    """Read every interaction; raises `UsageError`."""
    value = source.need_json()
    with reading(source) as tape:
        metadata = obj(obj(value, "").get("metadata"), "metadata")
        url = text_of(metadata.get("server_url"), "metadata.server_url").rstrip("/")
        interactions = list(objects(value.get("interactions"), "interactions"))
        paths = [path for each, _ in interactions if isinstance(path := each.get("http_path"), str)]
        started = iso_time(metadata.get("recorded_at"))
        for interaction, where in interactions:
            path = interaction.get("http_path") or (paths or [_PATH])[0]
            _add(tape, interaction, where, url + text_of(path, f"{where}.http_path"), started)
        return tape.imported(started_at=started)


def _add(tape: Tape, interaction: dict[Any, Any], where: str, url: str, started: float | None) -> None:
    tape.remark(WRITTEN)
    latency = interaction.get("latency_ms")
    tape.add(
        _request(interaction, url, where),
        _response(interaction, where),
        near=started,
        ended_ms=float(latency) if isinstance(latency, int | float) and 0 <= latency < 1e12 else None,
    )


def _request(interaction: dict[Any, Any], url: str, where: str) -> Request:
    message = interaction.get("request")
    method = interaction.get("http_method") or "POST"
    headers: Headers = (("accept", f"{_JSON}, {_EVENTS}"),)
    if message is None:
        return request_of(method, url, where, headers=headers)
    headers += (("content-type", _JSON),)
    return request_of(method, url, where, headers=headers, body=Body(json_bytes(message)))


def _response(interaction: dict[Any, Any], where: str) -> Response:
    status = status_of(interaction.get("response_status", 200), f"{where}.response_status")
    message, streamed = interaction.get("response"), interaction.get("response_is_sse") is True
    headers = (("content-type", _EVENTS if streamed else _JSON),)
    if message is None:
        return Response(status, headers if streamed else ())
    messages = message if streamed and isinstance(message, list) else [message]
    data = b"".join(b"event: message\ndata: %s\n\n" % json_bytes(each) for each in messages)
    return Response(status, headers, Body(data if streamed else json_bytes(message)))
