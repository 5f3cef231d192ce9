"""The least that could answer: an ASGI application that looks up a canonical JSON's hash in a dictionary.

It sends what was recorded in the recorded pieces.

python -m benchmarks.bare CASSETTE PORT
"""

import hashlib
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import uvicorn

from abs_replay.cassette import loads
from abs_replay.exchange import Body


def digest(body: bytes) -> bytes:
    text = json.dumps(json.loads(body), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def answers(path: Path) -> dict[bytes, tuple[list[tuple[bytes, bytes]], list[bytes]]]:
    found = {}
    for exchange in loads(path.read_text(encoding="utf-8"), str(path)).exchanges:
        if exchange.response is not None:
            headers = [(name.lower().encode(), value.encode()) for name, value in exchange.response.headers]
            found[digest(exchange.request.body.data)] = headers, pieces(exchange.response.body)
    return found


def pieces(body: Body) -> list[bytes]:
    ends = [0, *(chunk.end for chunk in body.chunks[:-1]), len(body.data)]
    return [body.data[begin:end] for begin, end in itertools.pairwise(ends)]


def application(path: Path) -> Any:
    known = answers(path)

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        asked = []
        while True:
            message = await receive()
            asked.append(message.get("body", b""))
            if not message.get("more_body"):
                break
        headers, said = known[digest(b"".join(asked))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for piece in said[:-1]:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": said[-1]})

    return answer


def main() -> None:
    path, port = sys.argv[1:]
    uvicorn.run(
        application(Path(path)),
        port=int(port),
        http="httptools",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
    )


if __name__ == "__main__":
    main()
