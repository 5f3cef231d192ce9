"""What a recorder holds does not grow with what it has recorded."""

import gc
import time
import tracemalloc
from pathlib import Path

from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role
from abs_replay.recorder import Recorder
from abs_replay.redact.placeholders import SOUGHT_AT_ONCE, Placeholders

ROUND = 150
NOW = 1_750_000_000.0


def exchange(number: int) -> Exchange:
    """One of its own target, id and words, with the same key as all others."""
    asked = b'{"messages": [{"content": "question %d"}]}' % number + b" " * 2000
    headers = (("authorization", "Bearer sk-proj-Abcdefghijklmnop1234567890"), ("x-request-id", str(number)))
    request = Request("POST", f"/v1/x?n={number}", headers, Body(asked))
    answer = Response(200, (("content-type", "text/event-stream"),), Body(b"data: %d\n\n" % number * 50))
    return Exchange(f"exchange-{number}", Channel(Role.LLM, "llm"), NOW, request, answer, ended_ms=1.0)


def held_after(recorder: Recorder, rounds: int) -> int:
    """Bytes that Python holds when so many rounds are in the store."""
    for number in range((rounds - 1) * ROUND, rounds * ROUND):
        recorder.put(exchange(number))
    deadline = time.monotonic() + 30
    while recorder.summary.exchanges < rounds * ROUND or not recorder._store.spool.is_empty:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_what_a_recorder_holds_stays_the_same_however_many_exchanges_it_has_kept(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "store.duckdb", Recording("r1", "chat", NOW))
    tracemalloc.start()
    try:
        held = [held_after(recorder, rounds) for rounds in (1, 2, 3, 4)]
    finally:
        tracemalloc.stop()
        recorder.close()
    texts = 2 * ROUND * 400  # a target and an id each, of which the last few thousand are known as clean
    assert min(held[2:]) - held[1] < texts, held  # of 2 * ROUND exchanges, which were 1.2 MB


def test_of_secrets_that_are_sought_no_more_only_their_placeholders_are_held() -> None:
    placeholders = Placeholders()
    for number in range(3 * SOUGHT_AT_ONCE):
        placeholders.of("auth", b'key"%08d' % number)
    assert len(placeholders.sought) <= SOUGHT_AT_ONCE
    assert len(placeholders._forms) <= SOUGHT_AT_ONCE
    assert len(placeholders._odd) <= SOUGHT_AT_ONCE
    assert placeholders.of("auth", b'key"%08d' % 0) == b"<auth:1>"
