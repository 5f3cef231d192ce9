"""Content codings: whole, cut short, lied about, and never an exception."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from importlib import import_module
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.decoders.content import LARGEST, Content, request_content, unpack
from abs_replay.exchange import Body, Channel, Exchange, Request, Role

TEXT = b'{"content": "' + bytes(range(32, 127)) * 40 + b'"}'


def raw_deflate(data: bytes) -> bytes:
    machine = zlib.compressobj(wbits=-15)
    return machine.compress(data) + machine.flush()


def brotli(data: bytes) -> bytes:
    packed: bytes = pytest.importorskip("brotli").compress(data, quality=2)
    return packed


def zstd(data: bytes) -> bytes:
    pytest.importorskip("backports.zstd")
    packed: bytes = import_module("backports.zstd").compress(data)
    return packed


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "brotli": ("br", brotli),
    "zstd": ("Zstd", zstd),
}
packers = pytest.mark.parametrize("name", PACKERS)


@packers
def test_each_coding_is_undone(name: str) -> None:
    coding, pack = PACKERS[name]
    assert unpack(coding, pack(TEXT)) == Content(TEXT)


@packers
def test_a_body_cut_short_gives_what_there_is_and_says_so(name: str) -> None:
    coding, pack = PACKERS[name]
    packed = pack(TEXT + Random(1).randbytes(300_000))
    content = unpack(coding, packed[: len(packed) - 500])
    assert content.data
    assert TEXT[:1000].startswith(content.data[:1000])
    assert "early" in content.remarks[0]


@packers
def test_a_body_that_a_proxy_unpacked_already_stays_as_it_is(name: str) -> None:
    coding, _ = PACKERS[name]
    assert unpack(coding, TEXT).data == TEXT


def test_gzip_is_known_without_its_header_and_in_several_members() -> None:
    assert unpack("", gzip.compress(TEXT[:50]) + gzip.compress(TEXT[50:])) == Content(TEXT)


def test_codings_are_undone_from_the_last_to_the_first() -> None:
    assert unpack("deflate, gzip", gzip.compress(zlib.compress(TEXT))) == Content(TEXT)


def test_an_unknown_coding_leaves_the_body_packed_and_says_so() -> None:
    content = unpack("compress", b"\x1f\x9d\x90")
    assert content.data == b"\x1f\x9d\x90"
    assert "compress is not known" in content.remarks[0]


def test_a_body_kept_cut_says_so() -> None:
    request = Request("POST", "/", body=Body(b"{", size=70))
    exchange = Exchange("x", Channel(Role.LLM, "llm"), 0, request)
    assert request_content(exchange).remarks == ("kept cut at 1 of 70 bytes",)


@pytest.mark.parametrize("name", ["gzip", "deflate", "brotli", "zstd"])
def test_a_bomb_is_kept_as_it_came_and_takes_no_more_memory_than_the_limit(name: str) -> None:
    coding, pack = PACKERS[name]
    bomb = pack(bytes(LARGEST * 2))
    tracemalloc.start()
    content = unpack(coding, bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert content.data == bomb
    assert content.remarks[0].endswith("unpacks to too much; the body is kept as it came")
    assert peak < LARGEST * 1.5


def test_many_small_gzip_members_take_time_in_proportion() -> None:
    packed = gzip.compress(b"x") * 100_000  # quadratic: over a minute
    assert unpack("gzip", packed) == Content(b"x" * 100_000)


@given(st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, br", "what"]), st.binary(max_size=200))
def test_no_bytes_raise(coding: str, data: bytes) -> None:
    unpack(coding, data)
    unpack(coding, b"\x1f\x8b\x08\x00" + data)
    unpack(coding, gzip.compress(TEXT)[:-20] + data)
