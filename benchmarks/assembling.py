"""Decoding and assembling 10,000 chat exchanges: at least 20 MB/s, linear, in little memory.

Each request repeats its history, which grows to 100 turns. Three loads: one conversation after the other;
200 side by side that begin alike and bear no id; agents with their models and tools, side by side. Each
runs in a process of its own, which makes the exchanges while they are read: what that takes is not
counted. `json.loads` of the same requests is the peer. Memory is the process's peak above what its imports
take, and should be at most 4 times the largest conversation. It can not be less than the traces themselves,
of all conversations: what these take is told beside it.
"""

import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from abs_replay.assembly import assemble
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Request, Response, Role

EXCHANGES, TURNS = 10_000, 100
LLM, AGENT, TOOL = (Channel(role, role.value) for role in (Role.LLM, Role.AGENT, Role.TOOL))
WORDS = "the order that was placed last week has left the house and will be with you on Friday morning "
JSON = (("content-type", "application/json"),)


@dataclass(slots=True)
class Chat:
    """A conversation as a client keeps it: its messages, each as JSON text."""

    name: str
    messages: list[str] = field(default_factory=list)
    turns: int = 0
    bytes: int = 0

    def say(self, role: str, text: str) -> None:
        self.messages.append(json.dumps({"role": role, "content": text}))

    def ask(self, id_: str, channel: Channel, target: str, at: float, answer: str, took: float) -> Exchange:
        """Send all that was said, and get an answer in the shape of the channel's protocol."""
        body = b'{"model": "m", "messages": [%s]}' % ", ".join(self.messages).encode()
        message = {"role": "assistant", "content": answer}
        reply: object = {"message": message}
        if channel is LLM:
            usage = {"prompt_tokens": 9, "completion_tokens": 3}
            reply = {"model": "m-1", "choices": [{"index": 0, "message": message}], "usage": usage}
        got = json.dumps(reply).encode()
        self.bytes += len(body) + len(got)
        return made(id_, channel, target, at, body, got, took)


def made(
    id_: str, channel: Channel, target: str, at: float, sent: bytes, got: bytes, took: float
) -> Exchange:
    response = Response(200, JSON, Body(got, (Chunk(len(got), took),)))
    return Exchange(id_, channel, at, Request("POST", target, JSON, Body(sent)), response, ended_ms=took)


def words(chat: Chat, turn: int, size: int) -> str:
    return f"{chat.name}/{turn}: {WORDS * (size // len(WORDS) + 1)}"[:size]


def turn(chat: Chat, id_: str, at: float) -> Exchange:
    """One turn with a model, which the client then has in its history."""
    number = chat.turns
    chat.turns += 1
    chat.say("user", words(chat, number, 150) if number else "Hello, can you help me?")
    answer = words(chat, number, 450)
    exchange = chat.ask(id_, LLM, "/v1/chat/completions", at, answer, 5.0)
    chat.say("assistant", answer)
    return exchange


def one_by_one(count: int) -> Iterator[Exchange]:
    for number in range(count):
        if number % TURNS == 0:
            chat = Chat(f"c{number}")
        yield turn(chat, f"x{number}", 1e9 + number)
        LARGEST[0] = max(LARGEST[0], chat.bytes)


def side_by_side(count: int, width: int = 200) -> Iterator[Exchange]:
    chats = [Chat(f"c{number}") for number in range(width)]
    for number in range(count):
        chat = chats[number % width]
        yield turn(chat, f"x{number}", 1e9 + number * 0.001)
        LARGEST[0] = max(LARGEST[0], chat.bytes)


def agents(count: int, width: int = 25) -> Iterator[Exchange]:
    """Agents, each with its model and an MCP server, four exchanges a turn, all at once."""
    chats = [Chat(f"c{number}") for number in range(width)]
    for step in range(count // 4 // width):
        for number, chat in enumerate(chats):
            chat.say("user", words(chat, step, 150) if step else "Hello, can you help me?")
            at = 1e9 + step * 100 + number * 0.001
            yield chat.ask(f"a{step}.{number}", AGENT, "/chat", at, words(chat, step, 450), 9000.0)
        for number, chat in enumerate(chats):
            at, call = 1e9 + step * 100 + 1 + number * 0.001, f"k{step}.{number}"
            yield from _behind(chat, step, f"{step}.{number}", at, call)
            chat.say("assistant", words(chat, step, 450))
            LARGEST[0] = max(LARGEST[0], chat.bytes)


def _behind(chat: Chat, step: int, id_: str, at: float, call: str) -> Iterator[Exchange]:
    arguments = {"order": f"{chat.name}-{step}"}
    function = {"name": "look_up", "arguments": json.dumps(arguments)}
    asked = {"role": "assistant", "content": None, "tool_calls": [{"id": call, "function": function}]}
    sent = b'{"model": "m", "messages": [%s]}' % ", ".join(chat.messages).encode()
    got = json.dumps({"model": "m-1", "choices": [{"index": 0, "message": asked}]}).encode()
    yield made(f"m{id_}", LLM, "/v1/chat/completions", at, sent, got, 5.0)
    params = {"name": "look_up", "arguments": arguments}
    use = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    text = {"content": [{"type": "text", "text": words(chat, step, 300)}]}
    result = json.dumps({"jsonrpc": "2.0", "id": 1, "result": text}).encode()
    yield made(f"t{id_}", TOOL, "/mcp", at + 1, use, result, 5.0)
    told = {"role": "tool", "tool_call_id": call, "content": words(chat, step, 300)}
    tail = b", %s, %s]}" % (json.dumps(asked).encode(), json.dumps(told).encode())
    message = {"role": "assistant", "content": words(chat, step, 450)}
    got = json.dumps({"model": "m-1", "choices": [{"index": 0, "message": message}]}).encode()
    chat.bytes += len(sent) * 2
    yield made(f"n{id_}", LLM, "/v1/chat/completions", at + 2, sent[:-2] + tail, got, 5.0)


LOADS: dict[str, Callable[[int], Iterator[Exchange]]] = {
    "one by one": one_by_one,
    "side by side": side_by_side,
    "agents": agents,
}
LARGEST = [0]  # bytes of the largest conversation


@dataclass(slots=True)
class Counted:
    """Counts the bytes of exchanges as they are taken, and the time that it takes to make them."""

    bytes: int = 0
    seconds: float = 0.0
    peer: float = 0.0

    def each(self, exchanges: Iterator[Exchange]) -> Iterator[Exchange]:
        while True:
            started = time.process_time()
            exchange = next(exchanges, None)
            self.seconds += time.process_time() - started
            if exchange is None:
                return
            self.bytes += len(exchange.request.body.data)
            self.bytes += len(exchange.response.body.data) if exchange.response else 0
            started = time.process_time()
            json.loads(exchange.request.body.data)
            self.peer += time.process_time() - started
            yield exchange


def measure(load: str, count: int) -> None:
    """Assemble a load, and print the bytes, seconds, the peer's, traces, peak, largest and result."""
    assemble(LOADS["one by one"](1))
    LARGEST[0] = 0
    before = peak_memory()
    counted = Counted()
    started = time.process_time()
    traces = assemble(counted.each(LOADS[load](count)))
    seconds = time.process_time() - started - counted.seconds - counted.peer
    peak = peak_memory() - before
    figures = counted.bytes, seconds, counted.peer, len(traces), peak, LARGEST[0], weight(traces)
    print(json.dumps(figures))


def peak_memory() -> int:
    """Give the most bytes that this process had in memory so far.

    Linux: `ru_maxrss` begins with that of the process that started this one, `VmHWM` does not (proc(5)).
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes, on macOS
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) * 1024


def weight(value: object) -> int:
    """Give the bytes of everything that a value holds, each thing once."""
    found: dict[int, object] = {}
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if id(one) not in found and not isinstance(one, type | Enum):
            found[id(one)] = one
            waiting += gc.get_referents(one)
    return sum(map(sys.getsizeof, found.values()))


def child(load: str, count: int) -> tuple[int, float, float, int, int, int, int]:
    command = [sys.executable, "-m", "benchmarks.assembling", load, str(count)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    size, seconds, peer, traces, peak, largest, result = json.loads(output)
    return size, seconds, peer, traces, peak, largest, result


def run() -> None:
    for load in LOADS:
        rates = []
        for share in (4, 2, 1):
            size, seconds, peer, traces, peak, largest, result = child(load, EXCHANGES // share)
            rates.append(size / 1e6 / seconds)
        print(
            f"{load}: {size / 1e6:.0f} MB in {seconds:.1f} s of one core, {traces} traces, "
            f"{rates[-1]:.0f} MB/s (target at least 20), {seconds / peer:.1f} times json.loads alone; "
            f"at a quarter and at half of it {rates[0]:.0f} and {rates[1]:.0f} MB/s; "
            f"peak {peak / 1e6:.0f} MB, {peak / largest:.1f} times the largest conversation (target at most "
            f"4), {peak / result:.1f} times the traces themselves, which take {result / 1e6:.0f} MB"
        )


if __name__ == "__main__":
    measure(sys.argv[1], int(sys.argv[2]))
