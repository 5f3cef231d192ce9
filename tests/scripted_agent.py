"""An agent that really listens and decides by a function: for tests of what talks to agents.

`decide(messages)` gives the agent's message, or the status of an error.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from abs_replay.agents.chat_contract import ChatContract
from abs_replay.exact_json import Json

type Message = dict[str, Any]
type Decide = Callable[[list[Message]], Message | int]


@contextmanager
def listening(decide: Decide) -> Iterator[tuple[str, list[list[Message]]]]:
    """Serve the chat contract; gives the URL, and every conversation that was sent."""
    asked: list[list[Message]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
            answer = decide(asked[-1])
            body = b"" if isinstance(answer, int) else json.dumps({"message": answer}).encode()
            self.send_response(answer if isinstance(answer, int) else 200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def agent(decide: Decide) -> Iterator[tuple[ChatContract, list[list[Message]]]]:
    """Serve the chat contract; gives a client of it, and every conversation that was sent."""
    with listening(decide) as (url, asked):
        client = ChatContract(url, 5)
        try:
            yield client, asked
        finally:
            client.close()


def says(text: str) -> Message:
    return {"role": "assistant", "content": text}


def calls(*wanted: tuple[str, dict[str, Json]]) -> Message:
    made = [
        {
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for index, (name, given) in enumerate(wanted)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}
