"""`abs replay` of 10,000 exchanges against `abs replay` of 1,000: at least 0.9 of the requests a second.

Nobody asks twice for what was recorded once, so no answer is measured that was given before: the large one is
asked for its next tenth in each round, the small one begins anew.
"""

import tempfile
from pathlib import Path
from statistics import median

from abs_replay.cassette import Cassette, dumps
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Recording, Request, Response, Role
from benchmarks.load import Load, drive, request
from benchmarks.replaying import RESET, abs_replay
from benchmarks.upstream import ANSWERS, question

SMALL, LARGE = 1_000, 10_000
PATH = "/v1/chat/completions"
JSON = (("content-type", "application/json"),)
CHANNEL = Channel(Role.LLM, "llm")


def cassette(path: Path, asked: list[bytes]) -> None:
    """As `abs export` writes it: each of these is a conversation of its own."""
    exchanges = []
    for number, body in enumerate(asked):
        data = ANSWERS[number % len(ANSWERS)]
        headers = (*JSON, ("content-length", str(len(data))))
        answer = Response(200, headers, Body(data, (Chunk(len(data), 9.0),)), "OK")
        asking = Request("POST", PATH, JSON, Body(body))
        exchanges.append(Exchange(f"x{number}", CHANNEL, float(number), asking, answer))
    whole = Cassette(Recording("r", "bench", 0.0), tuple(exchanges), frozenset(e.id for e in exchanges))
    path.write_text(dumps(whole), encoding="utf-8")


def asked(port: int, requests: list[bytes]) -> Load:
    load = drive(port, requests)
    if load.errors or load.requests != len(requests):
        raise SystemExit(f"{load.requests} of {len(requests)} answered, {load.errors} with an error")
    return load


def first_answers(path: Path, requests: list[bytes]) -> Load:
    """Of a server that has answered nothing yet but for what makes its own code warm."""
    with abs_replay(path) as port:
        drive(port, RESET * 300)
        return asked(port, requests)


def run() -> None:
    bodies = [question(seed, 2000) for seed in range(LARGE)]
    requests = [request(PATH, body) for body in bodies]
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name) / f"{size}.cassette.json" for size in (SMALL, LARGE)]
        for path, size in zip(files, (SMALL, LARGE), strict=True):
            cassette(path, bodies[:size])
        with abs_replay(files[1]) as port:
            drive(port, RESET * 300)
            tenths = [requests[start : start + SMALL] for start in range(0, LARGE, SMALL)]
            pairs = [(first_answers(files[0], requests[:SMALL]), asked(port, tenth)) for tenth in tenths]
    ratios = [mine.per_second / other.per_second for other, mine in pairs]
    small, large = (median(load.per_second for load in column) for column in zip(*pairs, strict=True))
    print(f"abs replay, {LARGE} exchanges / {SMALL}: {median(ratios):.2f} (target at least 0.9)")
    print(f"  {large:.0f} and {small:.0f} requests/s, rounds {' '.join(f'{ratio:.2f}' for ratio in ratios)}")


if __name__ == "__main__":
    run()
