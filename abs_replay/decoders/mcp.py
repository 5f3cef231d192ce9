"""Model Context Protocol over HTTP: JSON-RPC in POSTs, answered as JSON or as events, there or elsewhere.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports and .../server/tools; the
protocol of 2026-07-28 has neither `initialize` nor session ids, and is read alike. In the older transport
(.../specification/2024-11-05/basic/transports) a GET's stream first says where to POST, and brings all
answers; in this one it may bring those of a stream that broke.

Only `tools/call` gives steps. Reading a resource or a prompt gives none: those are for the application and
the user to choose (.../server/resources, .../server/prompts), most clients read them before anybody asked
anything, and where a model wanted one, its call of the client's own tool shows it. Nor do requests of the
server's (sampling, elicitation, roots), which are remarked.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, urljoin, urlsplit

from abs_replay.decoders import mcp_results, sse
from abs_replay.decoders.arrivals import arrivals, ended
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.events import Answer, Decoded, ToolUse
from abs_replay.decoders.failures import failure
from abs_replay.decoders.fields import obj, text
from abs_replay.decoders.json_rpc import Received, answered, asked, is_mcp
from abs_replay.decoders.shapes import is_stream
from abs_replay.exchange import Exchange, header

_METHODS: Final = frozenset({"initialize", "ping", "server/discover"})
_FAMILIES: Final = (
    "tools",
    "resources",
    "prompts",
    "notifications",
    "completion",
    "logging",
    "roots",
    "sampling",
    "elicitation",
    "subscriptions",
)
_TASKS: Final = ("tasks/get", "tasks/result", "tasks/cancel", "tasks/update")  # A2A's have another id
_SESSIONS: Final = ("session_id", "sessionId")  # of the older transport's addresses
_UNANSWERED: Final = "the answer ended before the result"


def claims(exchange: Exchange) -> bool:
    """Claim what bears an MCP header, or speaks JSON-RPC as only MCP does."""
    marked = is_mcp(exchange)
    if exchange.request.method in ("GET", "DELETE"):
        return marked or (exchange.request.method == "GET" and _endpoint(exchange) is not None)
    if exchange.request.method != "POST":
        return False
    sent = asked(request_content(exchange))
    # Who POSTs nothing but answers was asked over a stream.
    return bool(sent) and (marked or any(map(_is_ours, sent)) or all(one.is_answer for one in sent))


def _is_ours(one: Received) -> bool:
    family, slash, _ = one.method.partition("/")
    if one.method in _TASKS:
        return "taskId" in one.params
    return one.method in _METHODS or bool(slash and family in _FAMILIES)


@dataclass(frozen=True, slots=True)
class _Seen:
    """An exchange's JSON-RPC; `scope` is what its ids are counted in."""

    sent: Sequence[Received]
    brought: Sequence[Received]
    times: Sequence[float | None]
    scope: str | None
    end: float | None
    failed: str | None

    def came(self, one: Received) -> float | None:
        return self.end if one.event is None else self.times[one.event]


def decode(exchange: Exchange) -> Decoded:
    """Give every tool use of the request, with the result that bears its id, and results of others' uses."""
    request, response = request_content(exchange), response_content(exchange)
    streamed = is_stream(exchange, response)
    sent = asked(request) if exchange.request.method == "POST" else []
    brought = answered(response, streamed)
    seen = _Seen(
        sent,
        brought,
        arrivals(exchange, response) if streamed else (),
        _scope(exchange, response, streamed),
        ended(exchange),
        failure(exchange, response),
    )
    answers = {one.key: one for one in brought if one.is_answer}
    expected = [one.key for one in sent if one.method and "id" in one.message]
    again = [one for one in sent if text(one.params.get("requestState"))]
    calls = [one for one in sent if one.method == "tools/call" and one not in again]
    remarks = request.remarks + response.remarks + tuple(dict.fromkeys(_remarks(sent, brought)))
    return Decoded(
        "mcp",
        uses=tuple(_use(seen, call, answers.get(call.key), exchange.channel.name) for call in calls),
        complete=all(key in answers for key in expected) if streamed and sent else None,
        session=_session(exchange),
        remarks=remarks,
        answers=(*_elsewhere(seen), *_again(seen, again, answers, exchange.channel.name)),
    )


# -- whose ids these are ------------------------------------------------------


def _session(exchange: Exchange) -> str | None:
    """Give the session id, which the server issues in its answer to `initialize`, or in an address."""
    issued = header(exchange.response.headers, "mcp-session-id") if exchange.response else None
    named = header(exchange.request.headers, "mcp-session-id") or issued
    address = exchange.request.target if exchange.request.method == "POST" else _endpoint(exchange)
    query = _query(address or "")
    return named or next((query[name][0] for name in _SESSIONS if name in query), None)


def _query(address: str) -> Mapping[str, list[str]]:
    try:
        return parse_qs(urlsplit(address).query, max_num_fields=100)
    except ValueError:
        return {}


def _endpoint(exchange: Exchange) -> str | None:
    """Give the address, path and query, that an older server's stream says to POST to."""
    content = response_content(exchange)
    if b"endpoint" not in content.data[:4096] or not is_stream(exchange, content):
        return None
    first = next(iter(sse.events(content.data[:4096].decode("utf-8", "replace"))), None)
    if first is None or first.name != "endpoint":
        return None
    try:
        parts = urlsplit(urljoin(exchange.request.target, first.data.strip()))
    except ValueError:
        return first.data
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _scope(exchange: Exchange, response: Content, streamed: bool) -> str | None:
    """Give what the ids in an exchange are counted in: the session, else the address of the older
    transport, else, for a stream that breaks and is taken up again, the last event before that."""
    issued = header(exchange.response.headers, "mcp-session-id") if exchange.response else None
    session = header(exchange.request.headers, "mcp-session-id") or issued
    if session:
        return session
    if exchange.request.method == "GET":
        return _endpoint(exchange) or header(exchange.request.headers, "last-event-id")
    if not streamed:
        return exchange.request.target
    return next((event.id for event in reversed(sse.events(response.text)) if event.id), None)


# -- uses and answers ---------------------------------------------------------


def _use(seen: _Seen, call: Received, answer: Received | None, channel: str) -> ToolUse:
    name = text(call.params.get("name")) or channel
    use = ToolUse(name, obj(call.params.get("arguments")), asked_at=f"{call.at}.params")
    if answer is not None:
        return mcp_results.told(use, answer)
    ticket = f"{seen.scope} {call.key}" if seen.scope and not seen.failed else None
    return ToolUse(use.name, use.arguments, None, seen.failed or _UNANSWERED, use.asked_at, ticket=ticket)


def _again(
    seen: _Seen, again: Iterable[Received], answers: Mapping[str, Received], channel: str
) -> Iterator[Answer]:
    """Give what came of calls that are asked again with the input that the tool wanted."""
    for call in again:
        if call.method == "tools/call":
            use = _use(seen, call, answers.get(call.key), channel)
            ticket = mcp_results.state_ticket(str(call.params.get("requestState")))
            yield Answer(ticket, use, seen.end, asked=True)


def _elsewhere(seen: _Seen) -> Iterator[Answer]:
    """Give the answers to what other exchanges asked."""
    own = {one.key: one for one in seen.sent if one.method}
    for one in seen.brought:
        question = own.get(one.key) if one.is_answer else None
        task = mcp_results.task_of(one)
        if question and question.method == "tasks/result":
            task = task or text(question.params.get("taskId"))
        if one.is_answer and task:
            yield _answer(seen, one, mcp_results.task_ticket(task))
        if one.is_answer and question is None and seen.scope:
            yield _answer(seen, one, f"{seen.scope} {one.key}")
        yield from _states(seen, one)
    for one in seen.sent:
        if one.method == "notifications/cancelled" and seen.scope:
            why = text(one.params.get("reason"))
            error = f"the client cancelled it: {why}" if why else "the client cancelled it"
            ticket = f"{seen.scope} {_id_of(one)}"
            yield Answer(ticket, ToolUse("", {}, error=error, answered_at=f"{one.at}.params"), 0.0)


def _id_of(cancelled: Received) -> str:
    return Received({"id": cancelled.params.get("requestId")}, "").key


def _answer(seen: _Seen, one: Received, ticket: str) -> Answer:
    return Answer(ticket, mcp_results.told(ToolUse("", {}), one), seen.came(one))


def _states(seen: _Seen, one: Received) -> Iterator[Answer]:
    """Give what a task's state tells of its end."""
    if one.method == "notifications/tasks/status":
        task, at = one.params, one.within("params")
    else:
        task, at = obj(one.message.get("result")), one.within("result")
    name, came = text(task.get("taskId")), mcp_results.ended(task, at)
    if name and came:
        yield Answer(mcp_results.task_ticket(name), came, seen.came(one))


def _remarks(sent: Iterable[Received], brought: Iterable[Received]) -> Iterator[str]:
    methods = {one.key: one.method for one in sent if one.method}
    for one in brought:
        if one.method and "id" in one.message:
            yield f"a request of the server's is not traced: {one.method}"
        result = obj(one.message.get("result"))
        for request in obj(result.get("inputRequests")).values():
            yield f"a request of the server's is not traced: {text(obj(request).get('method')) or 'unnamed'}"
        other = mcp_results.remark(result) if methods.get(one.key, "tools/call") == "tools/call" else None
        if other:
            yield f"{other}, and is not traced"
