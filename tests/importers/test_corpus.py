"""Every recording of the shared corpus that is in a container of some tool is imported without loss."""

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from abs_replay import cassette, importers
from abs_replay.cassette import Cassette
from abs_replay.errors import UsageError
from abs_replay.exchange import Recording
from abs_replay.importers import Imported, open_source, recognise
from abs_replay.importers.placing import place

# Bodies without a request, or trajectories and logs without bytes: nothing that could be replayed.
BODIES = ("anthropic-sdk-python/", "vercel-ai/", "gemini-cli/")
WORDS = ("inspect_ai/", "swe-agent/", "tau-bench/", "openai-agents-python/", "MANIFEST.md")
WORDS_TOO = ("logfire/tests/otel_integrations/cassettes/test_claude_agent_sdk/tool_use_conversation.json",)
BROKEN = "mitmproxy/test/mitmproxy/data/corrupted_har/brokenfile.har"
EXCHANGES = (
    "cassette",
    "vcr",
    "ruby-vcr",
    "go-vcr",
    "har",
    "mitmproxy",
    "nock",
    "mcp-recorder",
    "tcp",
    "realtime",
    "pair",
)


@pytest.fixture(scope="module")
def corpus(shared: Path) -> Path:
    if not (shared / "corpus").is_dir():
        pytest.skip(f"no corpus in {shared}")
    return shared / "corpus"


@cache
def read_all(corpus: Path) -> dict[str, tuple[str, Imported]]:
    return dict(_read_all(corpus))


def _read_all(corpus: Path) -> Iterator[tuple[str, tuple[str, Imported]]]:
    for path in sorted(path for path in corpus.rglob("*") if path.is_file()):
        name = str(path.relative_to(corpus))
        if name == BROKEN or name.startswith((*BODIES, *WORDS, *WORDS_TOO)):
            continue
        source = open_source(path)
        format_ = recognise(source)
        assert format_ in EXCHANGES, name
        yield name, (format_, importers.read(format_, source))


def test_every_recording_of_exchanges_is_imported_whatever_tool_made_it(corpus: Path) -> None:
    counted = Counter(format_ for format_, _ in read_all(corpus).values())
    exchanges = Counter({name: len(imported.exchanges) for name, (_, imported) in read_all(corpus).items()})
    assert counted["vcr"] >= 136
    assert counted["ruby-vcr"] >= 28
    assert counted["realtime"] == 1
    assert counted.total() >= 197
    assert exchanges.total() >= 520
    assert min(exchanges.values()) > 0


def test_what_holds_no_exchanges_is_taken_for_none(corpus: Path) -> None:
    for path in sorted(path for path in corpus.rglob("*") if path.is_file()):
        name = str(path.relative_to(corpus))
        if name.startswith((*BODIES, *WORDS, *WORDS_TOO)):
            assert recognise(open_source(path)) not in EXCHANGES, name


def test_a_broken_archive_is_told_in_one_line(corpus: Path) -> None:
    with pytest.raises(UsageError, match=r"brokenfile.har:5: is no JSON") as raised:
        importers.read("har", open_source(corpus / BROKEN))
    assert "\n" not in str(raised.value)


def test_what_is_imported_goes_through_a_cassette_without_loss(corpus: Path) -> None:
    for name, (_, imported) in read_all(corpus).items():
        exchanges, upstreams = place(imported.exchanges, ())
        kept = Cassette(Recording("", name, 0.0, upstreams=upstreams), exchanges)
        assert cassette.loads(cassette.dumps(kept)) == kept, name


def test_what_is_imported_stands_in_the_order_of_its_times(corpus: Path) -> None:
    for name, (format_, imported) in read_all(corpus).items():
        if format_ not in ("mitmproxy", "har"):  # those have times of their own
            times = [exchange.started_at for exchange in imported.exchanges]
            assert times == sorted(set(times)) or format_ == "tcp", name


class _Plain(yaml.CSafeLoader):
    """Reads the same files in another way: PyYAML's own constructors, tags by hand."""


def _binary(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> bytes:
    return base64.b64decode(node.value)


def _any(loader: yaml.CSafeLoader, suffix: str, node: yaml.SequenceNode) -> Any:
    (name,) = loader.construct_sequence(node)
    return name


_Plain.add_constructor("!binary", _binary)
_Plain.add_multi_constructor("tag:yaml.org,2002:python/", _any)


@cache
def _documents(corpus: Path, format_: str) -> tuple[tuple[str, Any, Imported], ...]:
    return tuple(_parsed(corpus, format_))


def _parsed(corpus: Path, format_: str) -> Iterator[tuple[str, Any, Imported]]:
    for name, (found, imported) in read_all(corpus).items():
        if found == format_ and ".json" not in name:
            data = (corpus / name).read_bytes()
            data = gzip.decompress(data) if name.endswith(".gz") else data
            yield name, yaml.load(data, Loader=_Plain), imported


def test_the_bytes_of_go_vcr_are_those_of_the_file(corpus: Path) -> None:
    for name, document, imported in _documents(corpus, "go-vcr"):
        for interaction, exchange in zip(document["interactions"], imported.exchanges, strict=True):
            assert exchange.response is not None
            assert exchange.response.body.data == interaction["response"]["body"].encode(), name
            assert exchange.request.body.data == interaction["request"]["body"].encode(), name


def test_the_bytes_of_ruby_are_those_of_the_file(corpus: Path) -> None:
    for name, document, imported in _documents(corpus, "ruby-vcr"):
        for interaction, exchange in zip(document["http_interactions"], imported.exchanges, strict=True):
            body = interaction["response"]["body"]["string"]
            assert exchange.response is not None
            assert exchange.response.body.data == (body if isinstance(body, bytes) else body.encode()), name


def test_the_bytes_of_vcr_py_are_those_of_the_file(corpus: Path) -> None:
    checked = 0
    for name, document, imported in _documents(corpus, "vcr"):
        pairs = document.get("interactions") or [
            {"request": request, "response": response}
            for request, response in zip(document["requests"], document["responses"], strict=True)
        ]
        for pair, exchange in zip(pairs, imported.exchanges, strict=True):
            assert exchange.response is not None
            for message, got in ((pair["request"], exchange.request), (pair["response"], exchange.response)):
                if "parsed_body" in message:
                    continue
                body = message.get("body", message.get("content"))
                body = body["string"] if isinstance(body, dict) else body
                wanted = body if isinstance(body, bytes) else (body or "").encode()
                assert got.body.data == wanted, name
                checked += 1
    assert checked > 450


def test_parsed_bodies_are_the_same_values_as_in_the_file(corpus: Path) -> None:
    checked = 0
    for name, document, imported in _documents(corpus, "vcr"):
        for pair, exchange in zip(document.get("interactions", ()), imported.exchanges, strict=False):
            if "parsed_body" in pair["request"]:
                wanted = pair["request"]["parsed_body"]
                assert json.loads(exchange.request.body.data) == wanted, name
                checked += 1
    assert checked > 100
