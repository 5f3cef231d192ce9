"""Decoding and assembling 10,000 chat exchanges: at least 20 MB/s, linear, in little memory.

Each request repeats its history, which grows to 100 turns. The loads: one conversation after the other; 100
side by side that begin alike and bear no id; agents with their models and tools, side by side; and, harder
than what the target speaks of, 200 side by side of 50 turns. One process writes a load's exchanges to a
file, another reads them from there, one at a time, and assembles them as the derivation of a recording
does: what was said waits in a temporary file, and traces come one at a time, of which none is kept. What
reading the load takes is not counted. `json.loads` of the same requests is the peer. Memory is the
process's peak above what its imports take, and should be at most 4 times the largest conversation.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from abs_replay.assembly import assemble, each_trace
from abs_replay.decoders import Shelf
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Request, Response, Role
from abs_replay.spilled import Spilled

EXCHANGES, TURNS = 10_000, 100
LLM, AGENT, TOOL = (Channel(role, role.value) for role in (Role.LLM, Role.AGENT, Role.TOOL))
CHANNELS = {channel.role.value: channel for channel in (LLM, AGENT, TOOL)}
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


def side_by_side(count: int, width: int = 100) -> Iterator[Exchange]:
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


def many_side_by_side(count: int) -> Iterator[Exchange]:
    return side_by_side(count, width=200)


LOADS: dict[str, Callable[[int], Iterator[Exchange]]] = {
    "one by one": one_by_one,
    "side by side": side_by_side,
    "agents": agents,
    "200 side by side": many_side_by_side,
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


def write(load: str, count: int, path: Path) -> None:
    """Write a load's exchanges, and print the bytes of its largest conversation."""
    with path.open("wb") as file:
        for one in LOADS[load](count):
            sent, got = one.request.body.data, one.response.body.data if one.response else b""
            head = one.id, one.channel.role, one.request.target, one.started_at, one.ended_ms
            file.write(json.dumps((*head, len(sent), len(got))).encode() + b"\n" + sent + got)
    print(json.dumps(LARGEST[0]))


def written(path: Path) -> Iterator[Exchange]:
    with path.open("rb") as file:
        while line := file.readline():
            id_, role, target, at, took, sent, got = json.loads(line)
            yield made(id_, CHANNELS[role], target, at, file.read(sent), file.read(got), took)


def measure(path: Path) -> None:
    """Assemble a load, and print its bytes, the seconds, those of the peer, the traces, and the peak."""
    assemble(LOADS["one by one"](1))
    before = peak_memory()
    counted = Counted()
    started = time.process_time()
    traces = sum(1 for _ in each_trace(counted.each(written(path)), shelf=Shelf(Spilled())))
    seconds = time.process_time() - started - counted.seconds - counted.peer
    print(json.dumps((counted.bytes, seconds, counted.peer, traces, peak_memory() - before)))


def peak_memory() -> int:
    """Give the most bytes that this process had in memory so far.

    Linux: `ru_maxrss` begins with that of the process that started this one, `VmHWM` does not (proc(5)).
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes, on macOS
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) * 1024


def child(*arguments: object) -> str:
    command = [sys.executable, "-m", "benchmarks.assembling", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def run() -> None:
    for load in LOADS:
        rates = []
        for share in (4, 2, 1):
            with TemporaryDirectory() as directory:
                path = Path(directory) / "load"
                largest = json.loads(child(path, load, EXCHANGES // share))
                size, seconds, peer, traces, peak = json.loads(child(path))
            rates.append(size / 1e6 / seconds)
        print(
            f"{load}: {size / 1e6:.0f} MB in {seconds:.1f} s of one core, {traces} traces, "
            f"{rates[-1]:.0f} MB/s (target at least 20), {seconds / peer:.1f} times json.loads alone; "
            f"at a quarter and at half of it {rates[0]:.0f} and {rates[1]:.0f} MB/s; "
            f"peak {peak / 1e6:.1f} MB, {peak / largest:.1f} times the largest conversation (target: 4)"
        )


if __name__ == "__main__":
    if len(sys.argv) == 2:
        measure(Path(sys.argv[1]))
    else:
        write(sys.argv[2], int(sys.argv[3]), Path(sys.argv[1]))
