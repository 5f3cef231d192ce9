"""Content codings: whole, cut short, lied about, and never an exception."""

import gzip
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from importlib import import_module
from random import Random
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.decoders import content as content_module
from abs_replay.decoders.content import LARGEST, Content, request_content, response_content, unpack
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
def test_a_bomb_is_kept_as_it_came_and_takes_no_more_memory_than_the_limit(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    coding, pack = PACKERS[name]
    limit = 16 * 1024 * 1024
    monkeypatch.setattr(content_module, "LARGEST", limit)  # unpacking as much as that takes seconds
    bomb = pack(bytes(limit * 2))
    tracemalloc.start()
    content = unpack(coding, bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert content.data == bomb
    assert content.remarks[0].endswith("unpacks to too much; the body is kept as it came")
    assert peak < limit * 1.5
    assert limit < LARGEST


def test_many_small_gzip_members_take_time_in_proportion() -> None:
    packed = gzip.compress(b"x") * 30_000  # quadratic: many seconds
    assert unpack("gzip", packed) == Content(b"x" * 30_000)


@given(st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, br", "what"]), st.binary(max_size=200))
def test_no_bytes_raise(coding: str, data: bytes) -> None:
    unpack(coding, data)
    unpack(coding, b"\x1f\x8b\x08\x00" + data)
    unpack(coding, gzip.compress(TEXT)[:-20] + data)


@pytest.mark.parametrize(("coding", "library"), [("br", "brotli"), ("zstd", "backports.zstd")])
def test_a_body_whose_library_is_missing_stays_packed_and_says_so(
    coding: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    data = b"\x28\xb5\x2f\xfd" + coding.encode()
    assert unpack(coding, data) == Content(
        data, (f"no library for content-encoding {coding}; the body stays packed",)
    )


def test_a_brotli_that_can_not_be_held_back_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ModuleType("brotli")
    before.__dict__["Decompressor"] = object
    monkeypatch.setitem(sys.modules, "brotli", before)
    assert unpack("br", b"any").remarks == ("no library for content-encoding br; the body stays packed",)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_bytes_that_are_not_what_their_header_says_are_kept(coding: str) -> None:
    data = {"gzip": b"\x1f\x8b\x08\xff" + b"x" * 20, "zstd": b"\x28\xb5\x2f\xfd" + b"\xff" * 40}
    content = unpack(coding, data.get(coding, b"\xff words"))
    assert content.data == data.get(coding, b"\xff words")
    assert content.remarks[0].endswith("; the body is kept as it came")


@pytest.mark.parametrize("name", ["gzip", "deflate", "zstd"])
def test_what_stands_before_a_broken_place_is_kept(name: str) -> None:
    coding, pack = PACKERS[name]
    random = Random(1)
    text = b" ".join(b"%d" % random.randrange(10**6) for _ in range(50_000))
    packed = bytearray(pack(text))
    packed[len(packed) // 2 :] = b"\xff" * (len(packed) - len(packed) // 2)
    content = unpack(coding, bytes(packed))
    assert content.data[:100_000] == text[:100_000]
    assert content.remarks == (f"{name} ends early; {len(content.data)} bytes could be unpacked",)


def test_no_coding_and_a_coding_of_nothing_change_nothing() -> None:
    assert unpack("identity", b"a") == unpack("gzip", b"a") == Content(b"a")
    assert unpack("gzip", b"") == Content(b"")


def test_a_lost_answer_has_no_content() -> None:
    exchange = Exchange("x", Channel(Role.LLM, "llm"), 0, Request("POST", "/"))
    assert response_content(exchange) == Content(b"")


def test_a_broken_place_behind_what_was_unpacked_keeps_what_stands_before() -> None:
    plain = Random(1).randbytes(20_000)
    packed = bytearray(zlib.compress(plain))
    packed[-1] ^= 0xFF  # the checksum
    found = unpack("deflate", bytes(packed))
    assert plain.startswith(found.data)
    assert len(found.data) > 18_000
    assert found.remarks
