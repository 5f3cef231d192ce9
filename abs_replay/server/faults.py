"""Which faults a request meets, and an answer with such a fault. No clock, and no chance but the seed's.

Of the rules that hold for a request, latencies add up, and the first of the other kinds is had. `every` and
`first` count the requests that a rule concerns, in the order in which they come.
"""

import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from abs_replay.exchange import Body, Channel, Response
from abs_replay.server.replies import Ending, Message, Reply
from abs_replay.spec.faults import FaultRule, Faults

RATE_LIMITED = 429


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one request: how long it waits at first, and the rule of what then goes wrong."""

    latency_ms: float = 0.0
    wrong: FaultRule | None = None


class Injector:
    """Decides on faults, request after request, and counts those that were had."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._concerned = [0] * len(faults.rules)
        self._had: Counter[str] = Counter()

    def reset(self) -> None:
        """Begin again: the same requests meet the same faults. What was had stays counted."""
        self._concerned = [0] * len(self._faults.rules)

    @property
    def had(self) -> Mapping[str, int]:
        """How many faults there were, by kind."""
        return dict(self._had)

    def decide(self, channel: Channel, path: str) -> Fault:
        """The fault that the next request of a channel meets."""
        latency, wrong = 0.0, None
        for number, rule in enumerate(self._faults.rules):
            if not rule.concerns(channel, path):
                continue
            self._concerned[number] += 1
            if not self._holds(number, rule):
                continue
            if rule.kind == "latency":
                latency += rule.amount
            elif wrong is None:
                wrong = rule
            else:
                continue
            self._had[rule.kind] += 1
        return Fault(latency, wrong)

    def _holds(self, number: int, rule: FaultRule) -> bool:
        count = self._concerned[number]
        if count % rule.every or (rule.first is not None and count // rule.every > rule.first):
            return False
        return (
            rule.probability >= 1
            or random.Random(f"{self._faults.seed} {number} {count}").random() < rule.probability
        )


def refusal(rule: FaultRule) -> Response | None:
    """The answer that comes in place of a recorded one; None for faults that a recorded one has.

    OpenAI, Anthropic and Gemini say an error at the same places, so one body does for all.
    """
    if rule.kind not in ("status", "rate_limit"):
        return None
    limited = rule.kind == "rate_limit"
    status = RATE_LIMITED if limited else int(rule.amount)
    message = f"abs replay: a fault of the kind {rule.kind}, as the file of faults has it"
    kind = "rate_limit_error" if status == RATE_LIMITED else "injected_fault"
    error = {"type": kind, "message": message, "code": status, "status": kind.upper()}
    headers = [("content-type", "application/json")]
    if limited:
        headers.append(("retry-after", f"{rule.amount:g}"))
    return Response(status, tuple(headers), Body(json.dumps({"type": "error", "error": error}).encode()))


def spoiled(ready: Reply, rule: FaultRule) -> Reply:
    """A recorded answer with a fault. What broke off when it was recorded does so still."""
    if not ready.messages:
        return ready
    if rule.kind == "cut":
        return _cut(ready, int(rule.amount))
    number = min(int(rule.amount), len(ready.messages)) - 1
    broken = {**ready.messages[number], "body": garbled(ready.messages[number]["body"])}
    return replace(ready, messages=(*ready.messages[:number], broken, *ready.messages[number + 1 :]))


def _cut(ready: Reply, chunks: int) -> Reply:
    """An answer that has no more chunks than it shall have loses the half of its last one."""
    kept = [_going_on(message["body"]) for message in ready.messages[:chunks]]
    if len(kept) == len(ready.messages):
        last = kept.pop()["body"]
        kept += [_going_on(last[: len(last) // 2])] if len(last) > 1 else []
    ended = ready.at_ms[min(len(kept), len(ready.at_ms) - 1)]
    return replace(ready, messages=tuple(kept), ending=Ending.TORN, ended_ms=ended)


def _going_on(body: bytes) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": True}


def garbled(body: bytes) -> bytes:
    """As long as it was, with the ends of its lines, and no JSON any more."""
    text = body.rstrip(b"\r\n")
    half = len(text) // 2
    return text[:half] + b"#" * (len(text) - half) + body[len(text) :]
