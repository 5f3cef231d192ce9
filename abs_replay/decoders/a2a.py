"""Agent2Agent: a user's message to an agent, and the message or task that it answers with.

https://a2a-protocol.org/latest/specification, versions 0.1 (`tasks/send`) to 1.0 (`SendMessage`), over
JSON-RPC, or over HTTP with verbs in the path (`message:send`). The agent keeps the conversation, which
`contextId` names: requests bring new messages alone. On a tool channel, where one agent asks another, it
is a use of the tool that the channel is named after. Agent cards, lists of tasks and configurations of
push notifications say nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from abs_replay.decoders import a2a_parts, json_rpc, sse
from abs_replay.decoders.a2a_tasks import Outcome, Update
from abs_replay.decoders.arrivals import ended
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.events import Answer, Decoded, Message, ToolUse, Turn
from abs_replay.decoders.failures import UNFINISHED, failure
from abs_replay.decoders.fields import error_text, obj, parse_or_none, text
from abs_replay.decoders.places import EVENTS, place
from abs_replay.decoders.shapes import is_stream
from abs_replay.exchange import Exchange, Role, header

_SEND: Final = ("message/send", "message/stream", "tasks/send", "tasks/sendSubscribe")
_SEND_1: Final = ("SendMessage", "SendStreamingMessage")
_POLL: Final = ("tasks/get", "tasks/resubscribe", "tasks/cancel")
_POLL_1: Final = ("GetTask", "SubscribeToTask", "CancelTask")
_ASIDE: Final = (
    "tasks/list",
    "ListTasks",
    "agent/getAuthenticatedExtendedCard",
    "GetExtendedAgentCard",
)
_PUSH: Final = re.compile(r"tasks/pushNotification(?:Config)?/\w+|\w+PushNotificationConfigs?")
_CARDS: Final = ("/.well-known/agent-card.json", "/.well-known/agent.json", "/extendedAgentCard")
_MESSAGE: Final = re.compile(r"/message:(?:send|stream)$")
_TASK: Final = re.compile(r"/tasks/([^/:]+)(?::(?:cancel|subscribe))?$")
_HEADERS: Final = ("a2a-version", "a2a-extensions")


def claims(exchange: Exchange) -> bool:
    """Claim A2A's methods, which bear a message or a task's id, its paths, and agent cards."""
    path, method = exchange.request.path.rstrip("/"), exchange.request.method
    if method == "GET" and path.endswith(_CARDS):
        return True
    if _TASK.search(path) and (method == "GET" or ":" in path):
        return _is_task(exchange)
    if method != "POST":
        return False
    content = request_content(exchange)
    if _MESSAGE.search(path):
        return isinstance(obj(parse_or_none(content.data)).get("message"), dict)
    sent = json_rpc.asked(content)
    return len(sent) == 1 and _is_ours(sent[0]) and not json_rpc.is_mcp(exchange)


def _is_ours(one: json_rpc.Received) -> bool:
    name, params = one.method, one.params
    if name in _SEND:
        return True
    if name in _SEND_1:
        return isinstance(params.get("message"), dict)
    if name in (*_POLL, *_POLL_1):
        return "id" in params and "taskId" not in params
    return name in _ASIDE or bool(_PUSH.fullmatch(name))


def _is_task(exchange: Exchange) -> bool:
    """Say whether what is under `/tasks/` is one of A2A's: many services have tasks."""
    if any(header(exchange.request.headers, name) is not None for name in _HEADERS):
        return True
    task = obj(parse_or_none(response_content(exchange).data))
    return "contextId" in task and "state" in obj(task.get("status"))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a request asks: `message` sends one, else `task` is asked about; neither says nothing."""

    message: Mapping[str, Any]
    task: str | None = None
    context: str | None = None
    at: str = ""


def decode(exchange: Exchange) -> Decoded:
    """Give the turn, or on a tool channel the use."""
    request, response = request_content(exchange), response_content(exchange)
    asked = _asked(exchange, request)
    if not asked.message and not asked.task:
        return Decoded("a2a", remarks=request.remarks + response.remarks)
    streamed = is_stream(exchange, response)
    outcome, failed = Outcome(), failure(exchange, response)
    error = failed or _read(exchange, response, streamed, outcome)
    remarks = request.remarks + response.remarks
    if error and not asked.message and not (outcome.state or outcome.reply()):
        return Decoded("a2a", remarks=(*remarks, f"the task was not told: {error}"))
    if outcome.state in ("input-required", "auth-required"):
        remarks += (f"state {outcome.state}",)
    complete = outcome.ended if streamed and not failed else None
    turn = _turn(asked, outcome, error or outcome.error or _unended(asked, outcome, complete))
    session = outcome.context or asked.context
    if exchange.channel.role is Role.TOOL:
        uses, answers = _used(exchange, asked, turn, outcome)
        return Decoded("a2a", None, uses, complete, session, remarks, answers=answers)
    return Decoded("a2a", turn, complete=complete, session=session, remarks=remarks)


def _asked(exchange: Exchange, content: Content) -> _Asked:
    path, body = exchange.request.path.rstrip("/"), parse_or_none(content.data)
    named = _TASK.search(path)
    if named:
        return _Asked({}, unquote(named[1]))
    if _MESSAGE.search(path):
        return _sent(obj(body).get("message"), "request.message")
    one = next(iter(json_rpc.asked(content)), None)
    if one and one.method in (*_SEND, *_SEND_1):
        sent = _sent(one.params.get("message"), "request.params.message")
        if one.method not in _SEND[2:]:
            return sent
        # Before 0.2 the client named task and session, beside the message.
        return _Asked(sent.message, None, text(one.params.get("sessionId")), sent.at)
    if one and one.method in (*_POLL, *_POLL_1):
        return _Asked({}, (text(one.params.get("id")) or "").removeprefix("tasks/") or None)
    return _Asked({})


def _sent(message: Any, at: str) -> _Asked:
    value = obj(message)
    return _Asked(value or {"parts": []}, text(value.get("taskId")), text(value.get("contextId")), at)


def _read(exchange: Exchange, response: Content, streamed: bool, outcome: Outcome) -> str | None:
    """Take in all results of a response, and say what was wrong with it."""
    error = None
    if not streamed:
        return _read_one(parse_or_none(response.data), "response", None, outcome)
    for number, event in enumerate(sse.events(response.text)):
        at = place(EVENTS, number)
        error = _read_one(parse_or_none(event.data), at, number, outcome) or error
    return error


def _read_one(body: Any, at: str, event: int | None, outcome: Outcome) -> str | None:
    if not isinstance(body, dict):
        return "the answer is no JSON object" if event is None else "an event is no JSON"
    answer = json_rpc.Received(body, at, event)
    if body.get("error") is not None:
        return answer.error or error_text(body)
    wrapped = "jsonrpc" in body
    value = obj(body.get("result")) if wrapped else body
    if not value:
        return "the answer has no result"
    outcome.take(Update(value, answer.within("result") if wrapped else at, event))
    return None


def _unended(asked: _Asked, outcome: Outcome, complete: bool | None) -> str | None:
    """Say that an answer was not all there is; of a poll, a further one may show more."""
    if complete is False:
        return UNFINISHED if asked.message else None
    if outcome.ended or not asked.message:
        return None
    return f"the end of the task was not seen (state {outcome.state})"


def _turn(asked: _Asked, outcome: Outcome, error: str | None) -> Turn:
    reply = outcome.reply()
    if not asked.message:
        shown = reply if outcome.ended else None
        said = reply.content if reply else None
        history = tuple(m for m in outcome.history if m.role == "user" or m.content != said)
        return Turn(history, shown, error=error, poll_of=asked.task)
    # What the agent keeps under a context or a task, it is not sent again.
    parent = (outcome.context or asked.context or asked.task) if asked.context or asked.task else None
    message = a2a_parts.message(asked.message, asked.at)
    return Turn(
        (Message("user", message.content, at=asked.at),),
        reply,
        error=error,
        response_id=outcome.task,
        parent_id=parent,
    )


def _used(
    exchange: Exchange, asked: _Asked, turn: Turn, outcome: Outcome
) -> tuple[tuple[ToolUse, ...], tuple[Answer, ...]]:
    """Give what one agent asked another as a use; a poll answers the use that began the task."""
    content, at = (turn.reply.content, turn.reply.at) if turn.reply else (None, "response")
    open_ = not outcome.ended and outcome.task is not None
    ticket = f"task {outcome.task}" if open_ else None
    if not asked.message:
        if open_ or not asked.task:
            return (), ()
        use = ToolUse("", {}, content, turn.error, answered_at=at)
        return (), (Answer(f"task {asked.task}", use, ended(exchange)),)
    arguments = {"message": turn.history[0].content}
    return (ToolUse(exchange.channel.name, arguments, content, turn.error, asked.at, at, ticket),), ()
