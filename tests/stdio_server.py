"""A server of standard input and output for tests.

It answers a request by its own params, after it wrote what `params.do` lists: JSON, or text as it is. Told
so, it waits for a number of requests, and answers the last first. A request `die` ends it.
"""

import json
import signal
import sys


def main() -> None:
    wait = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    signal.signal(signal.SIGUSR1, lambda *_: sys.exit(5))
    waiting = []
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
        except ValueError:
            print("not JSON", file=sys.stderr)
            continue
        if "id" not in message or "method" not in message:
            continue
        if message["method"] == "die":
            sys.exit(3)
        waiting.append(message)
        if len(waiting) >= wait:
            for each in reversed(waiting):
                answer(each)
            waiting.clear()


def answer(message: dict[str, object]) -> None:
    params = message.get("params") or {}
    assert isinstance(params, dict)
    for each in params.get("do", []):
        write(each)
    write({"jsonrpc": "2.0", "id": message["id"], "result": params})


def write(what: object) -> None:
    sys.stdout.write(what if isinstance(what, str) else json.dumps(what) + "\n")
    sys.stdout.flush()


main()
