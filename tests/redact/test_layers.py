"""What lies around a body's text hides nothing, whether a header says it or not."""

import gzip
import json
import zlib
from collections.abc import Callable
from importlib import import_module

import pytest
from backports import zstd

from abs_replay.decoders.content import unpack
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Headers, Request, Response, Role
from abs_replay.redact import redact

brotli = import_module("brotli")  # which has no types
KEY = "sk-proj-Abcdefghijklmnop1234567890"
SENT = json.dumps({"say": f"it is {KEY}", "n": "ü😀"}, ensure_ascii=False)
KEPT = SENT.replace(KEY, "<key:1>")


def answered(data: bytes, headers: Headers = (), ends: tuple[int, ...] = ()) -> Body:
    response = Response(200, headers, Body(data, tuple(Chunk(end, 1.0) for end in ends)))
    exchange = Exchange("1", Channel(Role.LLM, "llm"), 0.0, Request("GET", "/", (), Body()), response)
    result = redact(exchange)
    assert result.response is not None
    assert redact(result) == result
    return result.response.body


@pytest.mark.parametrize("kind", ["application/gzip", "application/json", "application/octet-stream"])
@pytest.mark.parametrize(
    ("pack", "unpack"),
    [(gzip.compress, gzip.decompress), (zlib.compress, zlib.decompress), (zstd.compress, zstd.decompress)],
)
def test_what_is_packed_is_opened_though_no_header_says_it(
    kind: str, pack: Callable[[bytes], bytes], unpack: Callable[[bytes], bytes]
) -> None:
    kept = answered(pack(SENT.encode()), (("content-type", kind),))
    assert unpack(kept.data).decode() == KEPT


@pytest.mark.parametrize("whole", [True, False])
def test_brotli_that_no_header_says_is_opened_where_text_is_said(whole: bool) -> None:
    sent = json.dumps({"say": [f"it is {KEY}", *("words" * 2000)]}).encode()
    wire = brotli.compress(sent)[: None if whole else -3]
    kept = answered(wire, (("content-type", "application/json"),))
    assert KEY.encode() not in brotli.Decompressor().process(kept.data)
    assert brotli.Decompressor().process(kept.data).startswith(b'{"say": ["it is <key:1>"')
    assert answered(wire, (("content-type", "application/octet-stream"),)).data == wire


def test_latin_text_is_not_taken_for_brotli() -> None:
    sent = f"é {KEY}".encode("latin-1")
    assert answered(sent, (("content-type", "text/plain"),)).data == "é <key:1>".encode("latin-1")


def test_what_is_packed_inside_of_what_is_said_is_opened_too() -> None:
    wire = gzip.compress(gzip.compress(SENT.encode()))
    kept = answered(wire, (("content-encoding", "gzip"),))
    assert unpack("gzip", kept.data).text == KEPT


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "unheard-of", "gzip, br"])
def test_a_header_that_is_wrong_hides_no_text(encoding: str) -> None:
    assert answered(SENT.encode(), (("content-encoding", encoding),)).data.decode() == KEPT


@pytest.mark.parametrize("charset", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("said", ["; charset={0}", '; Charset="{1}"', "; charset={2}; a=b", ""])
@pytest.mark.parametrize("marked", [True, False])
def test_wide_charsets_hide_nothing_and_stay_what_they_are(charset: str, said: str, marked: bool) -> None:
    if not said and not marked and charset.startswith("utf-32"):
        said = "; charset={0}"  # nothing else tells it
    family, short = charset[:6], charset[:6] + charset[7:]
    sent = ("\ufeff" if marked else "") + SENT
    wire = sent.encode(charset)
    headers = (("content-type", "application/json" + said.format(charset, family.upper(), short)),)
    kept = answered(wire, headers, (33, 34, len(wire)))
    assert kept.data.decode(charset) == sent.replace(KEY, "<key:1>")
    assert kept.chunks[-1].end == len(kept.data)


def test_a_wide_charset_is_said_inside_of_a_coding() -> None:
    headers = (("content-type", "text/plain; charset=utf-16"), ("content-encoding", "gzip"))
    kept = answered(gzip.compress(SENT.encode("utf-16")), headers)
    assert gzip.decompress(kept.data).decode("utf-16") == KEPT


@pytest.mark.parametrize(
    "data",
    [
        b"x^2 + y^2",
        b"x\x9c no zlib",
        b"\x1f\x8b no gzip",
        b"\xff\xfe\x00",
        b'{\0"\0\xff\xdf\xff',
        b"\0\0\0{\0\0",
    ],
)
def test_what_only_begins_like_a_layer_keeps_its_bytes(data: bytes) -> None:
    assert answered(data).data == data
    assert answered(data + b" " + KEY.encode()).data == data + b" <key:1>"


def test_an_ascii_body_that_is_called_utf_16_loses_its_secret() -> None:
    assert answered(SENT.encode(), (("content-type", "a/b; charset=utf-16"),)).data.decode() == KEPT
