"""The simple chat contract between a tester and an agent (the Runner's agent contract).

`POST {"messages": [..]}` is answered by `{"message": {"role", "content", "tool_calls"?}}`; messages
have the shape of OpenAI's chat API.
"""

from typing import Final

from abs_replay.decoders import chat_messages
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.events import Decoded, Message, Turn
from abs_replay.decoders.failures import failure, no_json
from abs_replay.decoders.fields import error_text, obj, parse_or_none, text
from abs_replay.exchange import Exchange, Role

# Agents that keep the history themselves are told the conversation by one of these.
_SESSION_KEYS: Final = (
    "session_id",
    "sessionId",
    "conversation_id",
    "conversationId",
    "thread_id",
    "threadId",
)


def claims(exchange: Exchange) -> bool:
    """Claim POSTs of `messages` to an agent."""
    if exchange.channel.role is not Role.AGENT or exchange.request.method != "POST":
        return False
    return isinstance(obj(parse_or_none(request_content(exchange).data)).get("messages"), list)


def decode(exchange: Exchange) -> Decoded:
    """Give the turn: what the tester sent, and the agent's message."""
    request, response = request_content(exchange), response_content(exchange)
    body = obj(parse_or_none(request.data))
    history = chat_messages.messages(body.get("messages"), "request.messages")
    session = next((value for key in _SESSION_KEYS if (value := text(body.get(key)))), None)
    remarks = request.remarks + response.remarks
    failed = failure(exchange, response)
    turn = Turn(history, error=failed) if failed else _answered(history, response)
    return Decoded("chat_contract", turn, session=session, remarks=remarks)


def _answered(history: tuple[Message, ...], content: Content) -> Turn:
    answer = parse_or_none(content.data)
    message = obj(answer).get("message")
    if not isinstance(message, dict):
        return Turn(history, error=error_text(answer) or no_json(content) or "the answer has no message")
    reply = chat_messages.message({**message, "role": "assistant"}, "response.message")
    return Turn(history, reply, model=text(obj(answer).get("model")))
