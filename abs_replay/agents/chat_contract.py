"""The simple chat contract: POST {"messages": [..]}, answered by {"message": {"role", "content", ..}}.

A message with `tool_calls`, shaped as OpenAI's, leaves those calls to the client:
https://platform.openai.com/docs/api-reference/chat/object
"""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import httpx

from abs_replay.agents.agent import Message, Reply
from abs_replay.agents.http_exchange import fetch
from abs_replay.cassette.layout import one_line
from abs_replay.decoders import chat_contract as contract
from abs_replay.decoders.content import response_content
from abs_replay.decoders.events import Turn
from abs_replay.decoders.fields import obj, parse_or_none
from abs_replay.errors import UsageError
from abs_replay.exact_json import dumps
from abs_replay.exchange import Channel, Exchange, Outcome, Response, Role, header

CHANNEL = Channel(Role.AGENT, Role.AGENT)
PATH = "/chat"  # where a URL names none


class ChatContract:
    """An agent behind the chat contract; raises `UsageError` for a URL that is none."""

    def __init__(self, url: str, limit_s: float) -> None:
        self.url = _endpoint(url)
        self._limit_s = limit_s
        # A proxy of the environment can not reach this machine's own loopback.
        proxied = urlsplit(self.url).hostname not in ("localhost", "127.0.0.1", "::1")
        self._client = httpx.Client(timeout=limit_s, trust_env=proxied)

    def send(self, messages: Sequence[Message], headers: Mapping[str, str]) -> Reply:
        """Send the whole conversation so far."""
        request = self._client.build_request(
            "POST",
            self.url,
            content=dumps({"messages": [*messages]}),
            headers={"content-type": "application/json", "accept": "application/json", **headers},
        )
        return read_reply(fetch(self._client, request, CHANNEL, self._limit_s), self.url)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()


def read_reply(exchange: Exchange, url: str) -> Reply:
    """Find the agent's message in an exchange, or say why there is none."""
    response = exchange.response
    if response is None or exchange.outcome is not Outcome.COMPLETE:
        return Reply(exchange, problem=f"{url}: {_WORDS[exchange.outcome]} ({exchange.error})")
    turn = contract.decode(exchange).turn
    if turn and turn.reply:
        message = obj(parse_or_none(response_content(exchange).data))["message"]
        return Reply(exchange, {**message, "role": "assistant"}, turn.reply.calls)
    return Reply(exchange, problem=one_line(f"{url}: {_refusal(exchange, response, turn)}"))


def _refusal(exchange: Exchange, response: Response, turn: Turn | None) -> str:
    if response.status >= 400:
        return turn.error if turn and turn.error else f"HTTP {response.status}"
    if 300 <= response.status < 400:
        return f"HTTP {response.status} to {header(response.headers, 'location')}: use that URL"
    return f'expected {{"message": {{..}}}}, got {_start(response_content(exchange).text)}'


def _start(content: str) -> str:
    words = " ".join(content.split())
    return repr(words if len(words) <= 200 else words[:200] + "…") if words else "an empty body"


def _endpoint(url: str) -> str:
    parts = urlsplit(url)
    try:
        usable = parts.scheme in ("http", "https") and bool(httpx.URL(url).host) and parts.port != 0
    except (ValueError, httpx.InvalidURL):
        usable = False
    if not usable:
        raise UsageError(
            f"--agent {url!r}: expected an http:// or https:// URL, like http://localhost:8080/chat"
        )
    # `/~TOKEN` is the token of a replay server's run, in front of the path.
    token = found[0] if (found := re.match(r"/~[^/]+", parts.path)) else ""
    path = parts.path.removeprefix(token)
    return parts._replace(path=token + (path if path.strip("/") else PATH)).geturl()


_WORDS = {
    Outcome.REFUSED: "can not be reached",
    Outcome.TLS_FAILED: "TLS failed",
    Outcome.TIMED_OUT: "timed out",
    Outcome.UPSTREAM_CLOSED: "closed the connection before its answer was whole",
    Outcome.CLIENT_CLOSED: "answered too much",
}
