"""Every kind of foreign file becomes the exchanges that stand in a cassette beside it, or the traces."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from abs_replay import cassette, importers
from abs_replay.cassette import Cassette
from abs_replay.exchange import Recording
from abs_replay.importers import open_source, recognise, trace_file
from abs_replay.importers.placing import place

FIXTURES = Path(__file__).parents[2] / "fixtures" / "importers"
MADE = (".cassette.json", ".txt", ".trace.jsonl")
FILES = sorted(path for path in FIXTURES.glob("*/*") if not path.name.endswith(MADE))
EXCHANGES = (
    *("cassette", "vcr", "ruby-vcr", "go-vcr", "har", "mitmproxy"),
    *("nock", "mcp-recorder", "tcp", "pair", "realtime"),
)


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.parent.name in EXCHANGES],
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_a_file_is_recognised_and_becomes_the_exchanges_beside_it(
    path: Path, golden: Callable[[str, str], None]
) -> None:
    source = open_source(path)
    assert recognise(source) == path.parent.name
    imported = importers.read(path.parent.name, source)
    exchanges, upstreams = place(imported.exchanges, ())
    recording = Recording("", source.stem, imported.started_at or 0.0, upstreams=upstreams)
    kept = Cassette(recording, exchanges)
    text = cassette.dumps(kept)
    assert cassette.loads(text) == kept
    name = f"importers/{path.parent.name}/{path.name}"
    golden(f"{name}.cassette.json", text)
    golden(f"{name}.txt", "".join(f"{count} {text}\n" for text, count in Counter(imported.remarks).items()))


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.parent.name not in EXCHANGES],
    ids=lambda path: f"{path.parent.name}-{path.name}",
)
def test_a_file_of_words_is_recognised_and_becomes_the_traces_beside_it(
    path: Path, golden: Callable[[str, str], None]
) -> None:
    source = open_source(path)
    assert recognise(source) == path.parent.name
    imported = importers.read(path.parent.name, source)
    assert not imported.exchanges
    name = f"importers/{path.parent.name}/{path.name}"
    golden(f"{name}.trace.jsonl", trace_file.write(imported.traces))
    golden(f"{name}.txt", "".join(f"{count} {text}\n" for text, count in Counter(imported.remarks).items()))
    assert trace_file.read(FIXTURES.parent / f"{name}.trace.jsonl") == imported.traces


def test_every_reader_of_words_has_such_files() -> None:
    assert {path.parent.name for path in FILES} >= set(importers.IMPORTERS) - set(EXCHANGES) - {"trace"}


def test_every_reader_of_exchanges_but_mitmproxys_has_such_files() -> None:
    made_by_tests = {"cassette", "trace", "mitmproxy"}
    assert {path.parent.name for path in FILES} >= set(EXCHANGES) - made_by_tests
