"""The least that could answer: an ASGI application that looks up a canonical JSON's hash in a dictionary.

python -m benchmarks.bare CASSETTE PORT
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import uvicorn

from abs_replay.cassette import loads


def digest(body: bytes) -> bytes:
    text = json.dumps(json.loads(body), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def answers(path: Path) -> dict[bytes, tuple[list[tuple[bytes, bytes]], bytes]]:
    found = {}
    for exchange in loads(path.read_text(encoding="utf-8"), str(path)).exchanges:
        if exchange.response is not None:
            headers = [(name.lower().encode(), value.encode()) for name, value in exchange.response.headers]
            found[digest(exchange.request.body.data)] = headers, exchange.response.body.data
    return found


def application(path: Path) -> Any:
    known = answers(path)

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        pieces = []
        while True:
            message = await receive()
            pieces.append(message.get("body", b""))
            if not message.get("more_body"):
                break
        headers, body = known[digest(b"".join(pieces))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

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
