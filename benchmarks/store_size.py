"""How large the store of a recording of history-heavy chats is when it has ended, per byte of traffic."""

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from abs_replay.exchange import Body, Channel, Chunk, Exchange, Recording, Request, Response, Role
from abs_replay.store import Store
from benchmarks.upstream import text

TOOLS = [
    {"type": "function", "function": {"name": f"t{n}", "description": text(100 + n, 200)}} for n in range(8)
]


def chats(conversations: int, turns: int) -> Iterator[Exchange]:
    """Chats that go on side by side; each request repeats all that was said, each answer is streamed."""
    choice = random.Random(1)
    said = [[{"role": "system", "content": text(7, 2000)}] for _ in range(conversations)]
    for turn in range(turns):
        for number, messages in enumerate(said):
            seed = 1000 * number + 2 * turn
            messages.append({"role": "user", "content": text(seed, 500)})
            asked = json.dumps({"model": "m", "messages": messages, "tools": TOOLS}).encode()
            answer = text(seed + 1, 500)
            messages.append({"role": "assistant", "content": answer})
            yield _exchange(f"{choice.getrandbits(128):032x}", float(seed), asked, _streamed(answer, choice))


def _streamed(answer: str, choice: random.Random) -> Body:
    data, chunks, at_ms = b"", [], 0.0
    for start in range(0, len(answer), 20):
        delta = {"choices": [{"index": 0, "delta": {"content": answer[start : start + 20]}}]}
        data += b"data: " + json.dumps({"object": "chat.completion.chunk"} | delta).encode() + b"\n\n"
        at_ms += choice.random() * 50
        chunks.append(Chunk(len(data), at_ms))
    return Body(data, tuple(chunks))


def _exchange(id_: str, at: float, asked: bytes, answered: Body) -> Exchange:
    sent, came = (("content-type", "application/json"),), (("content-type", "text/event-stream"),)
    request = Request("POST", "/v1/chat/completions", sent, Body(asked, (Chunk(len(asked), 0.4),)))
    return Exchange(
        id_, Channel(Role.LLM, "openai"), at, request, Response(200, came, answered), ended_ms=9.0
    )


def ratio(folder: Path, conversations: int, turns: int) -> tuple[float, int]:
    """The file's size by the bodies' size, and that size."""
    store, exchanges = Store(folder / "store.duckdb"), list(chats(conversations, turns))
    store.begin(Recording("r", "chat", 1.0))
    for start in range(0, len(exchanges), 100):
        store.append("r", exchanges[start : start + 100])
    store.end("r", 2.0)
    size = sum(len(e.request.body.data) + (len(e.response.body.data) if e.response else 0) for e in exchanges)
    return store.path.stat().st_size / size, size


def run() -> None:
    print("the store of a recording that has ended, by its traffic (target at most 0.35)")
    for conversations, turns in ((10, 20), (40, 30), (150, 16)):
        with tempfile.TemporaryDirectory() as folder:
            found, size = ratio(Path(folder), conversations, turns)
        print(f"  {conversations} conversations of {turns} turns, {size / 1e6:.0f} MB: {found:.2f}")
