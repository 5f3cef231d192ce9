"""Exchanges with what a decoder says of them, for tests of what is told."""

from collections.abc import Sequence
from typing import Any

from abs_replay.assembly import Account, ConversationKey, explain_decoded
from abs_replay.decoders import Call, Decoded, Message, Part, Served, Turn, composed
from abs_replay.exact_json import Json
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role
from abs_replay.trace import Step


def user(text: str) -> Message:
    return Message("user", text)


def said(text: str | None, *calls: Call) -> Message:
    return Message("assistant", text, calls)


def parts(*some: Part) -> Message:
    return composed("assistant", some)


def told(call_id: str, content: Json, error: str | None = None) -> Message:
    return Message("tool", content, call_id=call_id, error=error)


class Wire:
    """Exchanges with what a decoder says of them; times are ms after the first."""

    def __init__(self) -> None:
        self.said: list[tuple[Exchange, Decoded]] = []

    def add(
        self,
        decoded: Decoded,
        at: float,
        role: Role = Role.LLM,
        status: int = 200,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
    ) -> Exchange:
        request = Request("POST", "/v1", tuple((headers or {}).items()), Body(body))
        channel, number = Channel(role, str(role)), len(self.said) + 1
        response = Response(status) if status else None
        exchange = Exchange(f"x{number}", channel, 1000 + at / 1000, request, response, ended_ms=10.0)
        self.said.append((exchange, decoded))
        return exchange

    def turn(
        self, history: Sequence[Message], reply: Message | None, at: float, role: Role = Role.LLM, **more: Any
    ) -> Exchange:
        here = {key: more.pop(key) for key in ("status", "headers", "body") if key in more}
        session = more.pop("session", None)
        turn = Turn(tuple(history), reply, **more)
        return self.add(Decoded("made", turn, session=session), at, role, **here)

    def account(self, by: ConversationKey | None = None) -> Account:
        return explain_decoded(self.said, by=by)

    def steps(self) -> tuple[Step, ...]:
        (trace,) = self.account().traces
        return trace.steps


def brief(steps: Sequence[Step]) -> list[tuple[str, str, Any]]:
    return [(step.actor, step.action, step.target or step.content) for step in steps]


U1, U2, A1, A2 = user("one"), user("two"), said("first"), said("second")
SEARCH = Served(Call("search", {"q": 1}, "s1"), ["hit"])
LOOK = Call("look", {"n": 1}, "c1")
