"""No secret is kept, nothing else is changed, and doing it twice is doing it once."""

import base64
import gzip
import json
import sys
import time
import zlib
from dataclasses import replace
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.decoders.content import unpack
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Headers, Request, Response, Role, header
from abs_replay.redact import Redactor, codings, redact
from abs_replay.redact import searching as searching_module
from abs_replay.redact.placeholders import SOUGHT_AT_ONCE

KEY = "sk-proj-Abcdefghijklmnop1234567890"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJlLW9mLWl0"


def exchange(
    *,
    target: str = "/v1/chat/completions",
    headers: Headers = (),
    body: bytes = b"",
    answer: bytes = b"",
    answer_headers: Headers = (),
    chunks: tuple[int, ...] = (),
    error: str | None = None,
) -> Exchange:
    return Exchange(
        id="1",
        channel=Channel(Role.LLM, "llm"),
        started_at=0.0,
        request=Request("POST", target, headers, Body(body)),
        response=Response(200, answer_headers, Body(answer, tuple(Chunk(end, 1.0) for end in chunks))),
        error=error,
    )


def request_headers(*headers: tuple[str, str]) -> Headers:
    return redact(exchange(headers=headers)).request.headers


def answer_of(result: Exchange) -> Body:
    assert result.response is not None
    return result.response.body


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("Authorization", f"Bearer {KEY}", "Bearer <auth:1>"),
        ("authorization", "Basic dXNlcjpwYXNz", "Basic <auth:1>"),
        ("Authorization", "just-a-token", "<auth:1>"),
        ("Proxy-Authorization", "Digest username=u, response=0a", "Digest <auth:1>"),
        ("x-api-key", "abc", "<key:1>"),
        ("api-key", "abc", "<key:1>"),
        ("x-goog-api-key", "abc", "<key:1>"),
        ("x-user-key", "abc", "<key:1>"),  # Botpress
        ("X-Session-Key", "abc", "<key:1>"),
        ("X-Amz-Security-Token", "abc", "<key:1>"),
        ("X-My-Secret", "abc", "<key:1>"),
        ("X-Forwarded-Authorization", "Bearer abc", "Bearer <auth:1>"),
        ("Authentication", "abc", "<key:1>"),
        ("X-Auth", "abc", "<key:1>"),
        ("Cookie", "a=1; b=2; c=1; d=", "a=<cookie:1>; b=<cookie:2>; c=<cookie:1>; d="),
        ("Cookie", "alone", "<cookie:1>"),
        ("Set-Cookie", "sid=abc=d; Path=/; HttpOnly", "sid=<cookie:1>; Path=/; HttpOnly"),
        ("Referer", f"https://host/?a=b&api_key={KEY}", "https://host/?a=b&api_key=<key:1>"),
        ("Location", "https://me:pass1@host/x", "https://me:<auth:1>@host/x"),
        ("X-Note", f"it is {KEY}, said {JWT}", "it is <key:1>, said <auth:1>"),
    ],
)
def test_headers_keep_their_form_and_lose_their_secret(name: str, value: str, kept: str) -> None:
    assert request_headers((name, value)) == ((name, kept),)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("idempotency-key", "9f0c"),
        ("sec-websocket-key", "dGhlIHNhbXBsZQ=="),
        ("mcp-session-id", "5b1f"),
        ("x-ratelimit-remaining-tokens", "149984"),
        ("anthropic-ratelimit-tokens-limit", "1"),
        ("host", "127.0.0.1:7070"),
        ("authorization", ""),
    ],
)
def test_headers_without_a_secret_are_left_alone(name: str, value: str) -> None:
    assert request_headers((name, value)) == ((name, value),)


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        ("/v1beta/models?key=AIzaabc&alt=sse", "/v1beta/models?key=<key:1>&alt=sse"),
        ("/x?access_token=a&sig=b&signature=a", "/x?access_token=<key:1>&sig=<key:2>&signature=<key:1>"),
        ("/x?X-Amz-Signature=a%2Fb#f", "/x?X-Amz-Signature=<key:1>#f"),
        ("/x?openai_api_key=a&api%5Fkey=b", "/x?openai_api_key=<key:1>&api%5Fkey=<key:2>"),
        ("/x?pwd=a&private_key=b&jwt=c", "/x?pwd=<key:1>&private_key=<key:2>&jwt=<key:3>"),
        ("/f?code=" + "aB3" * 18, "/f?code=<key:1>"),
        ("/f?code=DE&page_token=abc&partition_key=x", "/f?code=DE&page_token=abc&partition_key=x"),
        ("/x?monkey=1&page=2&sort=key", "/x?monkey=1&page=2&sort=key"),
        ("/x", "/x"),
    ],
)
def test_key_like_parameters_are_replaced(target: str, kept: str) -> None:
    assert redact(exchange(target=target)).request.target == kept


@pytest.mark.parametrize(
    "secret",
    [
        KEY,
        "sk-ant-api03-" + "a1" * 30,
        "xoxb-123456789012-abcdefABCDEF",
        "glpat-abcdefghij1234567890",
        "ghp_" + "a1B2" * 9,
        "github_pat_11ABCDE_" + "x9" * 20,
        "sk_live_" + "a1b2c3d4e5f6g7h8",
        "hf_" + "aB3" * 11,
        "gsk_" + "aB3" * 12,
        "xai-" + "aB3" * 12,
        "pplx-" + "aB3" * 12,
        "SG." + "aB3" * 7 + "." + "aB3" * 12,
        "AKIAIOSFODNN7EXAMPLE",
        "AIza" + "Sy0" * 12,
        JWT,
    ],
)
@pytest.mark.parametrize(
    "around", ["{}", '{{"a": "{}"}}', "say\\n{}\\n", "\\u0020{}", "a%20{}%20b", "it is `{}`, ok", "={}"]
)
def test_vendor_tokens_are_found_in_bodies_wherever_they_stand(secret: str, around: str) -> None:
    result = redact(exchange(answer=around.format(secret).encode()))
    assert secret.encode() not in answer_of(result).data
    assert result.redacted


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Authorization: Bearer abcdefghij0123456789", "Authorization: Bearer <auth:1>"),
        ("authorization: abcdefghij0123456789, x", "authorization: <auth:1>, x"),
        ("-H 'Authorization: token abcdefghij0123456789'", "-H 'Authorization: token <auth:1>'"),
        ('{"access_token": "abcdefgh", "n": 1}', '{"access_token": "<key:1>", "n": 1}'),
        (r'"{\"api_key\":\"abcdefgh\"}"', r'"{\"api_key\":\"<key:1>\"}"'),
        ("grant=x&client_secret=abcdefgh", "grant=x&client_secret=<key:1>"),
        ('{"apiKey":"abcdefgh","password": "hunter22"}', '{"apiKey":"<key:1>","password": "<key:2>"}'),
        ('{"x-api-key": "abcdefgh"}', '{"x-api-key": "<key:1>"}'),
        (
            '{"accessToken": "abcdefgh", "clientSecret": "b"}',
            '{"accessToken": "<key:1>", "clientSecret": "b"}',
        ),
        ('{"aws_secret_access_key": "abcd/efgh+"}', '{"aws_secret_access_key": "<key:1>"}'),
        ('{"Authorization": "Token abcdefgh"}', '{"Authorization": "Token <auth:1>"}'),
        (
            r'"-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END',
            '"-----BEGIN RSA PRIVATE KEY-----<key:1>-----END',
        ),
        ("https://t.me/bot123456789:AA" + "xY7" * 11 + "/send", "https://t.me/bot123456789:<key:1>/send"),
        ("client_secret=abcdefgh&grant=x", "client_secret=<key:1>&grant=x"),
        ("GET https://h/?token=abcdefgh failed", "GET https://h/?token=<key:1> failed"),
    ],
)
def test_what_texts_call_a_secret_is_replaced(text: str, kept: str) -> None:
    assert answer_of(redact(exchange(answer=text.encode()))).data.decode() == kept


@pytest.mark.parametrize(
    "text",
    [
        "a task-force of risk-averse people who ask-questions-very-politely",
        "OpenAI(api_key=settings.api_key, token=token)",
        "authorization: required-for-everybody, Authorization: Bearer",
        "the bearer responsibilities and bearer authentication",
        "https://example.com/a:b@c and mail me@example.com, http://localhost:8080/a@b",
        "eyJ is how tokens begin. eyJabcdefghijk.abc",
        '{"max_tokens": 16, "monkey": "key=1", "tool_call_id": "call_abc123"}',
        "AKIA is a prefix; I am AI",
        '{"password": "string", "token": "Hello", "logprob": -0.1, "idToken": null, "authorization": true}',
        '{"primaryKey": "abcdefgh-1234", "sort_key": "abcdefgh", "nextPageToken": "abcdefgh"}',
    ],
)
def test_texts_without_a_secret_are_left_alone(text: str) -> None:
    plain = exchange(body=text.encode(), answer=text.encode())
    assert redact(plain) is plain


def test_a_secret_of_a_header_is_replaced_wherever_it_stands_now_and_later() -> None:
    redactor = Redactor()
    first = exchange(
        headers=(("authorization", "Bearer my-own-key-77"),),
        body=b'{"note":"my-own-key-77"}',
        answer=b"wrong key: my-own-key-77",
        error="my-own-key-77 refused",
    )
    result = redactor.redact(first)
    assert result.request.body.data == b'{"note":"<auth:1>"}'
    assert answer_of(result).data == b"wrong key: <auth:1>"
    assert result.error == "<auth:1> refused"
    assert redactor.redact(exchange(target="/a/my-own-key-77/b")).request.target == "/a/<auth:1>/b"


def test_a_secret_of_a_header_is_replaced_where_a_url_has_it_escaped() -> None:
    secret = "aB3+cd/EF4=="
    result = redact(exchange(headers=(("x-api-key", secret),), target="/x?q=aB3%2Bcd%2FEF4%3D%3D&n=1"))
    assert result.request.target == "/x?q=<key:1>&n=1"


def test_a_secret_that_only_the_answer_shows_for_one_is_replaced_in_the_request_too() -> None:
    result = redact(exchange(body=f"x{KEY}".encode(), answer=KEY.encode()))
    assert result.request.body.data == b"x<key:1>"


def test_short_or_common_words_are_not_sought_elsewhere() -> None:
    result = redact(exchange(headers=(("x-api-key", "test"), ("cookie", "theme=dark")), body=b"a dark test"))
    assert result.request.body.data == b"a dark test"


def test_the_password_inside_basic_credentials_is_a_secret_too() -> None:
    credentials = base64.b64encode(b"me:pass-word-99").decode()
    result = redact(exchange(headers=(("authorization", f"Basic {credentials}"),), answer=b"pass-word-99?"))
    assert b"pass-word-99" not in answer_of(result).data
    assert credentials not in str(result)


def test_a_wrong_key_stays_different_from_the_right_one_and_equal_ones_stay_equal() -> None:
    redactor = Redactor()
    keys = ["right-key-1", "wrong-key-2", "right-key-1"]
    kept = [redactor.redact(exchange(headers=(("x-api-key", key),))).request.headers[0][1] for key in keys]
    assert kept == ["<key:1>", "<key:2>", "<key:1>"]


def test_a_secret_over_chunk_boundaries_is_replaced_and_the_ends_are_mapped() -> None:
    data = b"data: " + KEY.encode() + b"\n\ndata: b\n\n"
    result = answer_of(redact(exchange(answer=data, chunks=(10, 20, 30, len(data) - 9, len(data)))))
    assert result.data == b"data: <key:1>\n\ndata: b\n\n"
    ends = [chunk.end for chunk in result.chunks]
    assert [result.data[a:b] for a, b in pairwise([0, *ends])] == [
        b"data: <key",
        b":1>",
        b"\n\n",
        b"data: b\n\n",
    ]


def test_the_content_length_follows_and_that_of_an_untouched_body_stays() -> None:
    length = (("Content-Length", str(len(KEY))),)
    result = redact(exchange(answer=KEY.encode(), answer_headers=length))
    assert result.response is not None
    assert result.response.headers == (("Content-Length", "7"),)
    assert redact(exchange(answer=b"abc", answer_headers=(("content-length", "3"),))).redacted is False


def test_the_size_of_a_cut_body_follows() -> None:
    whole = exchange(answer=KEY.encode())
    assert whole.response is not None
    data = KEY.encode() + b" and"
    cut = replace(whole, response=replace(whole.response, body=Body(data, (), 1000)))
    assert answer_of(redact(cut)).size == 1000 - len(KEY) + len("<key:1>")


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


def event(text: str, index: int = 0) -> bytes:
    choice = {"index": index, "delta": {"content": text}}
    return b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n"


@pytest.mark.parametrize("size", [1, 7, 40])
def test_a_secret_of_which_every_event_carries_a_part_is_replaced(size: int) -> None:
    said = f"it is {KEY} indeed"
    wire = [event(said[at : at + size]) for at in range(0, len(said), size)]
    ends = tuple(accumulate(map(len, wire)))
    body = answer_of(redact(exchange(answer=b"".join(wire), chunks=ends)))
    events = [json.loads(line[6:]) for line in body.data.splitlines() if line]
    assert "".join(each["choices"][0]["delta"]["content"] for each in events) == "it is <key:1> indeed"
    assert len(events) == len(body.chunks) == len(wire)


def test_a_known_secret_is_found_over_events_and_apart_from_what_comes_between() -> None:
    wire = event("it is my-own-") + event("another answer", 1) + event("key-77!")
    result = redact(exchange(headers=(("authorization", "Bearer my-own-key-77"),), answer=wire))
    expected = event("it is <auth:1>") + event("another answer", 1) + event("!")
    assert answer_of(result).data == expected


def test_one_endless_line_of_members_is_looked_through_in_linear_time() -> None:
    began = time.process_time()
    redact(exchange(answer=b"data: " + b'"content":"a",' * 60_000))
    assert time.process_time() - began < 4  # 0.2 s on an idle machine; 20 s where it is quadratic


def test_events_without_a_secret_keep_their_bytes() -> None:
    plain = exchange(answer=event("it is sk") + event("-") + event("no key at all") + b"data: [DONE]\n\n")
    assert redact(plain) is plain


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


SECRETS = st.text(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~+/-", min_size=24, max_size=60
)
TEXTS = st.text(max_size=30)
LOOKALIKES = st.sampled_from(
    [
        KEY,
        "x" + KEY,
        "<auth:1>",
        "<",
        ">",
        "sk-",
        "Bearer ",
        "://a:b@",
        "&key=abcdef1",
        '"api_key":"abcdefgh"',
        JWT,
    ]
)


@st.composite
def planted(draw: st.DrawFn) -> tuple[Exchange, str]:
    """An exchange with a secret in one telling place, and in other places too."""
    secret = draw(SECRETS)
    pieces = st.lists(st.one_of(TEXTS, LOOKALIKES, st.just(secret)), max_size=8)
    body, answer = ("".join(draw(pieces)).encode("utf-8", "replace") for _ in range(2))
    packed = draw(st.booleans())
    telling = draw(
        st.sampled_from(
            [
                ("Authorization", f"Bearer {secret}"),
                ("x-api-key", secret),
                ("Cookie", f"a=b; sid={secret}"),
                ("x-auth-token", secret),
            ]
        )
    )
    wire = gzip.compress(answer) if packed else answer
    ends = sorted(draw(st.sets(st.integers(1, len(wire)), max_size=4))) if wire else []
    made = exchange(
        target=draw(st.sampled_from(["/a", f"/a/{secret}", f"/a?b={secret}"])),
        headers=(
            telling,
            ("content-length", str(len(body))),
            ("x-other", draw(st.sampled_from(["", secret]))),
        ),
        body=body,
        answer=wire,
        answer_headers=(("content-encoding", "gzip" if packed else "identity"),),
        chunks=(*ends, len(wire)) if wire and (not ends or ends[-1] != len(wire)) else tuple(ends),
        error=draw(st.sampled_from([None, f"{secret}!"])),
    )
    return made, secret


def readable(seen: Exchange) -> bytes:
    answer = answer_of(seen)
    packed = header(seen.response.headers, "content-encoding") == "gzip" if seen.response else False
    plain = gzip.decompress(answer.data) if packed and answer.data else answer.data
    texts = [seen.request.target, seen.error or "", *(value for _, value in seen.request.headers)]
    return b"\0".join([seen.request.body.data, plain, *(text.encode() for text in texts)])


@given(planted())
def test_no_planted_secret_survives(case: tuple[Exchange, str]) -> None:
    made, secret = case
    result = redact(made)
    assert result.redacted
    assert secret.encode() not in readable(result)
    assert header(result.request.headers, "content-length") == str(len(result.request.body.data))
    for body in (result.request.body, answer_of(result)):
        ends = [chunk.end for chunk in body.chunks]
        assert ends == sorted(set(ends))
        assert all(0 < end <= len(body.data) for end in ends)


@given(planted())
def test_redacting_twice_is_redacting_once(case: tuple[Exchange, str]) -> None:
    redactor = Redactor()
    once = redactor.redact(case[0])
    assert redactor.redact(once) == once
    assert redact(once) == once


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


def test_a_placeholder_stays_and_later_secrets_are_counted_on_from_it() -> None:
    first, second = request_headers(("x-api-key", "<key:7>"), ("api-key", "another-1"))
    assert (first[1], second[1]) == ("<key:7>", "<key:8>")


def test_an_empty_credential_is_no_secret() -> None:
    assert request_headers(("Cookie", "a=; b= ")) == (("Cookie", "a=; b= "),)


def test_only_the_latest_secrets_are_sought_elsewhere() -> None:
    redactor = Redactor()
    keys = [f"secret-number-{number:04}" for number in range(SOUGHT_AT_ONCE + 1)]
    for key in keys:
        redactor.redact(exchange(headers=(("x-api-key", key),)))
    result = answer_of(redactor.redact(exchange(answer=f"{keys[0]} {keys[-1]}".encode())))
    assert result.data == f"{keys[0]} <key:{len(keys)}>".encode()


def test_what_could_be_a_part_of_a_placeholder_is_not_sought_elsewhere() -> None:
    result = redact(exchange(headers=(("authorization", "auth:1234567"),), answer=b"auth:1234567"))
    assert answer_of(result).data == b"auth:1234567"


def test_a_header_with_a_line_end_of_its_own_loses_its_secret_too() -> None:
    assert request_headers(("referer", f"a\nb {KEY}"), ("x", "y")) == (
        ("referer", "a\nb <key:1>"),
        ("x", "y"),
    )


def test_basic_credentials_that_are_no_base64_are_one_secret() -> None:
    assert request_headers(("Authorization", "Basic abcde")) == (("Authorization", "Basic <auth:1>"),)


def test_replacing_ends_even_where_it_would_find_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching_module, "PASSES", 1)
    assert answer_of(redact(exchange(answer=KEY.encode()))).data == b"<key:1>"


def test_a_request_that_was_never_answered_loses_its_secrets_too() -> None:
    refused = replace(exchange(headers=(("x-api-key", "abc"),), error=f"no way to {KEY}"), response=None)
    assert redact(refused).request.headers == (("x-api-key", "<key:1>"),)
    assert redact(refused).error == "no way to <key:2>"
