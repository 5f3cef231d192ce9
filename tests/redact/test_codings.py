"""Bodies that are packed are opened and packed anew, within bounds, and else keep their bytes."""

import gzip
import sys
import zlib
from itertools import accumulate, pairwise

import pytest

from abs_replay.decoders.content import unpack
from abs_replay.exchange import Body
from abs_replay.redact import codings, redact
from tests.redact.exchanges import KEY, answer_of, exchange

ENCODINGS = {"gzip": 31, "deflate": 15, "Deflate ": -15}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_compressed_streams_are_opened_and_packed_anew_chunk_by_chunk(encoding: str) -> None:
    events = [b"data: one\n\n", b"data: %s\n\n" % KEY.encode(), b"data: three\n\n"]
    packer, wire, ends = zlib.compressobj(wbits=ENCODINGS[encoding]), b"", []
    for event in events:
        wire += packer.compress(event) + packer.flush(zlib.Z_SYNC_FLUSH)
        ends.append(len(wire))
    wire += packer.flush()
    result = redact(
        exchange(answer=wire, answer_headers=(("content-encoding", encoding),), chunks=(*ends, len(wire)))
    )
    body, opener = answer_of(result), zlib.decompressobj(ENCODINGS[encoding])
    cuts = [0, *(chunk.end for chunk in body.chunks)]
    read = [opener.decompress(body.data[a:b]) for a, b in pairwise(cuts)]
    assert read[:3] == [b"data: one\n\n", b"data: <key:1>\n\n", b"data: three\n\n"]
    assert opener.eof
    assert body.chunks[-1].end == len(body.data)


def packed(encoding: str, pieces: list[bytes]) -> list[bytes]:
    """Each piece compressed so that it can be read at once, and the end of it all."""
    if encoding == "br":
        machine = pytest.importorskip("brotli").Compressor()
        return [*(machine.process(piece) + machine.flush() for piece in pieces), machine.finish()]
    zstd = pytest.importorskip("backports.zstd").ZstdCompressor()
    return [*(zstd.compress(piece) + zstd.flush(zstd.FLUSH_BLOCK) for piece in pieces), zstd.flush()]


@pytest.mark.parametrize("encoding", ["br", "zstd"])
def test_br_and_zstd_are_opened_and_packed_anew_chunk_by_chunk(encoding: str) -> None:
    wire = packed(encoding, [b"data: one\n\n", b"data: %s\n\n" % KEY.encode(), b"data: three\n\n"])
    ends = tuple(accumulate(map(len, wire)))
    headers = (("content-encoding", encoding),)
    body = answer_of(redact(exchange(answer=b"".join(wire), answer_headers=headers, chunks=ends)))
    for count, plain in enumerate((b"data: one\n\n", b"data: <key:1>\n\n", b"data: three\n\n")):
        assert unpack(encoding, body.data[: body.chunks[count].end]).data.endswith(plain)
    assert unpack(encoding, body.data).remarks == ()
    untouched = exchange(answer=b"".join(packed(encoding, [b"nothing here"])), answer_headers=headers)
    assert redact(untouched) is untouched


def test_a_body_that_was_packed_twice_is_opened_twice() -> None:
    wire = gzip.compress(zlib.compress(KEY.encode()))
    result = redact(exchange(answer=wire, answer_headers=(("content-encoding", "deflate, gzip"),)))
    assert zlib.decompress(gzip.decompress(answer_of(result).data)) == b"<key:1>"


def test_a_gzip_body_that_was_cut_off_stays_cut_off_and_loses_its_secret() -> None:
    wire = gzip.compress(KEY.encode() * 3 + bytes(range(256)) * 40)[:-30]
    result = answer_of(redact(exchange(answer=wire, answer_headers=(("content-encoding", "gzip"),))))
    opener = zlib.decompressobj(31)
    assert KEY.encode() not in opener.decompress(result.data)
    assert not opener.eof


def test_a_compressed_body_without_a_secret_keeps_its_bytes() -> None:
    for wire in (gzip.compress(b"hello" * 100), b"\x1f\x8bno gzip", b""):
        plain = exchange(answer=wire, answer_headers=(("content-encoding", "gzip"),))
        assert redact(plain) is plain


def body_with(encoding: str, wire: bytes) -> Body:
    return answer_of(redact(exchange(answer=wire, answer_headers=(("content-encoding", encoding),))))


def test_members_of_gzip_that_follow_each_other_are_all_opened() -> None:
    wire = gzip.compress(b"hello ") + gzip.compress(KEY.encode())
    assert gzip.decompress(body_with("gzip", wire).data) == b"hello <key:1>"


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
@pytest.mark.parametrize("split", [False, True])
def test_what_unpacks_to_too_much_is_not_looked_into(
    encoding: str, split: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codings, "PLAIN_LIMIT", 3000)
    plain = KEY.encode() + bytes(range(256)) * 12
    opened = codings.Opened(plain, [1500, len(plain)] if split else [len(plain)], True)
    wire, ends = codings.packed(encoding, b"", opened)
    assert codings.unpacked(encoding, wire, ends) is None
    monkeypatch.setattr(codings, "PLAIN_LIMIT", len(plain))
    assert codings.unpacked(encoding, wire, ends) == (plain, opened.ends, True)


def test_many_small_chunks_that_come_to_too_much_are_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codings, "PLAIN_LIMIT", 3000)
    wire, ends = codings.packed("gzip", b"", codings.Opened(b"x" * 4000, [2000, 4000], True))
    assert codings.unpacked("gzip", wire, ends) is None


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "aes128gcm"])
def test_what_its_header_says_wrongly_or_nobody_knows_keeps_its_bytes(encoding: str) -> None:
    wire = KEY[:6].encode() + b"\x00" * 10
    assert body_with(encoding, wire).data == wire


@pytest.mark.parametrize("encoding", ["br", "zstd"])
def test_what_came_before_bytes_that_are_broken_is_looked_into(encoding: str) -> None:
    wire, _ = codings.packed(encoding, b"", codings.Opened(KEY.encode() * 40, [len(KEY) * 40], False))
    opened = codings.unpacked(encoding, wire + b"\xff" * 2000, [len(wire), len(wire) + 2000])
    assert opened is not None
    assert opened == (KEY.encode() * 40, [len(KEY) * 40] * 2, False)


@pytest.mark.parametrize("encoding", ["br", "zstd"])
def test_without_the_library_of_an_encoding_what_is_legible_is_replaced(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire, _ = codings.packed(encoding, b"", codings.Opened(KEY.encode(), [len(KEY)], True))
    monkeypatch.setitem(sys.modules, "brotli", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    assert body_with(encoding, wire).data == wire.replace(KEY.encode(), b"<key:1>")
