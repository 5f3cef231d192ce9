"""Every kind of foreign file becomes the exchanges that stand in a cassette beside it."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from abs_replay import cassette, importers
from abs_replay.cassette import Cassette
from abs_replay.exchange import Recording
from abs_replay.importers import open_source, recognise
from abs_replay.importers.placing import place

FIXTURES = Path(__file__).parents[2] / "fixtures" / "importers"
FILES = sorted(path for path in FIXTURES.glob("*/*") if not path.name.endswith((".cassette.json", ".txt")))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
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


def test_every_reader_of_exchanges_but_mitmproxys_has_such_files() -> None:
    made_by_tests = {"cassette", "trace", "mitmproxy"}
    assert {path.parent.name for path in FILES} >= set(_readers_of_exchanges()) - made_by_tests


def _readers_of_exchanges() -> tuple[str, ...]:
    return (
        *("cassette", "vcr", "ruby-vcr", "go-vcr", "har", "mitmproxy"),
        *("nock", "mcp-recorder", "tcp", "pair"),
    )
