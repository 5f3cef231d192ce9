"""Secrets, each in a place of its own, as a client sends them and a server answers with them."""

import base64
import gzip
import json
import random
import string
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from urllib.parse import quote

from backports import zstd

from abs_replay.redact.frames import written

LETTERS = string.ascii_letters + string.digits
SSE = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Case:
    """One request and its answer; `secrets` are in it, `halves` are secrets of which a part alone is sent."""

    name: str
    secrets: tuple[str, ...]
    method: str = "POST"
    query: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"{}"
    status: int = 200
    answer_headers: dict[str, str] = field(default_factory=dict)
    chunks: tuple[bytes, ...] = (b"{}",)
    broken: bool = False  # the server breaks off after these chunks


class Secrets:
    """Makes secrets, the same ones in each run: words that only their place betrays, and vendors' keys."""

    def __init__(self) -> None:
        self._random = random.Random(5)
        self.made: list[str] = []

    def _made(self, secret: str) -> str:
        self.made.append(secret)
        return secret

    def word(self, size: int = 24, more: str = "") -> str:
        letters = "".join(self._random.choice(LETTERS) for _ in range(size))
        return self._made(f"{letters[:8]}{more}{letters[8:]}7")

    def key(self) -> str:
        return self._made("sk-" + "".join(self._random.choice(LETTERS) for _ in range(32)))

    def jwt(self) -> str:
        parts = [base64.urlsafe_b64encode(self._random.randbytes(24)).decode() for _ in range(2)]
        return self._made(f"eyJ{parts[0][:20]}.eyJ{parts[1][:20]}.{parts[0]}")


def event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def split(text: str, size: int = 3) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def chat(text: str) -> list[bytes]:
    """The events of a model that says it in small pieces."""
    return [event({"choices": [{"index": 0, "delta": {"content": part}}]}) for part in split(text)]


def frame(text: str) -> bytes:
    inner = base64.b64encode(json.dumps({"delta": {"text": text}}).encode()).decode()
    return written(b"", json.dumps({"bytes": inner}).encode())


def multipart(name: str, value: str, more: str = "") -> bytes:
    head = f'--x1\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'
    return f"{head}{value}\r\n--x1--\r\n".encode()


def in_headers(s: Secrets) -> Iterator[Case]:
    for name, form in (
        ("authorization", "Bearer {}"),
        ("x-api-key", "{}"),
        ("cookie", "theme=dark; sid={}"),
        ("x-auth-token", "{}"),
        ("referer", "https://host/?a=b&access_token={}"),
        ("x-note", "see https://me:{}@host/"),
    ):
        secret = s.word()
        yield Case(
            f"header-{name}", (secret,), headers={name: form.format(secret)}, chunks=(secret.encode(),)
        )
    secret = s.word()
    packed = base64.b64encode(f"me:{secret}".encode()).decode()
    yield Case(
        "basic", (secret, packed), headers={"authorization": f"Basic {packed}"}, chunks=(secret.encode(),)
    )
    secret = s.word()
    yield Case("set-cookie", (secret,), answer_headers={"set-cookie": f"sid={secret}; Path=/"})
    secret = s.word()
    yield Case("location", (secret,), status=302, answer_headers={"location": f"https://me:{secret}@host/"})


def in_urls(s: Secrets) -> Iterator[Case]:
    secret = s.word()
    yield Case("query", (secret,), query=f"?api_key={secret}&n=1")
    secret = s.word(more="+/=")
    yield Case("query-encoded", (secret,), query=f"?n=1&access_token={quote(secret, safe='')}")
    secret = s.key()
    yield Case("query-text", (secret,), query=f"?q=what%20is%20{secret}")


def in_bodies(s: Secrets) -> Iterator[Case]:
    for name, form in (
        ("api_key", '{{"api_key": "{}"}}'),
        ("password", '{{"user": {{"password": "{}"}}}}'),
        ("nested", r'{{"arguments": "{{\"client_secret\": \"{}\"}}"}}'),
        ("member", '{{"headers": {{"Authorization": "Bearer {}"}}}}'),
        ("userinfo", '{{"url": "https:\\/\\/me:{}@host\\/"}}'),
        ("token", '{{"token": "{}"}}'),
        ("capitals", '{{"OPENAI_API_KEY": "{}"}}'),
        ("variable", '{{"text": "export SLACK_TOKEN={}"}}'),
        ("element", '{{"text": "<apiKey>{}</apiKey>"}}'),
        ("curl", '{{"text": "curl -H \'Authorization: Bearer {}\'"}}'),
    ):
        secret = s.word()
        yield Case(f"json-{name}", (secret,), headers=JSON, body=form.format(secret).encode())
    secret = s.key()
    yield Case(
        "json-escaped",
        (secret,),
        headers=JSON,
        body=json.dumps({"a": secret}).replace("-", r"\u002d").encode(),
    )
    secret = s.key()
    packed = base64.b64encode(f"user:{secret}".encode()).decode()
    yield Case("json-base64", (secret,), headers=JSON, body=json.dumps({"auth": packed}).encode())
    secret = s.jwt()
    yield Case("json-jwt", (secret,), headers=JSON, body=json.dumps({"say": f"it is {secret}"}).encode())
    secret = s.word(64)
    pem = f"-----BEGIN PRIVATE KEY-----\n{secret}\n-----END PRIVATE KEY-----\n"
    yield Case("json-pem", (secret,), headers=JSON, body=json.dumps({"pem": pem}).encode())
    fields = {"content-type": "application/x-www-form-urlencoded"}
    secret = s.word(6)
    yield Case("form", (secret,), headers=fields, body=f"user=me&password={secret}".encode())
    secret = s.word(more="+/=")
    yield Case(
        "form-encoded", (secret,), headers=fields, body=f"client_secret={quote(secret, safe='')}&a=b".encode()
    )
    parts = {"content-type": "multipart/form-data; boundary=x1"}
    secret = s.word(6)
    yield Case("multipart", (secret,), headers=parts, body=multipart("api_key", secret))
    secret = s.key()
    yield Case("file", (secret,), headers=parts, body=multipart("f", f"a {secret} b", '; filename="a.txt"'))


def in_streams(s: Secrets) -> Iterator[Case]:
    secret = s.key()
    yield Case(
        "deltas", (secret,), answer_headers=SSE, chunks=(*chat(f"it is {secret} ok"), b"data: [DONE]\n\n")
    )
    secret = s.key()
    whole = event({"choices": [{"index": 0, "delta": {"content": f"it is {secret} ok"}}]})
    yield Case(
        "chunks",
        (secret,),
        answer_headers=SSE,
        chunks=tuple(whole[at : at + 9] for at in range(0, len(whole), 9)),
    )
    secret = s.key()
    deltas = [
        {"index": 1, "delta": {"type": "input_json_delta", "partial_json": part}}
        for part in split(f'{{"a": "{secret}"}}')
    ]
    yield Case("partial-json", (secret,), answer_headers=SSE, chunks=tuple(map(event, deltas)))
    secret = s.key()
    lines = [
        json.dumps({"message": {"content": part}, "done": False}).encode() + b"\n"
        for part in split(f" {secret} ")
    ]
    yield Case(
        "ndjson", (secret,), answer_headers={"content-type": "application/x-ndjson"}, chunks=tuple(lines)
    )
    secret = s.key()
    lines = [json.dumps({"x": part}).encode() + b"\n" for part in split(f" {secret} ")]
    yield Case("pieces-of-any-name", (secret,), chunks=tuple(lines))
    secret = s.key()
    frames = tuple(frame(part) for part in split(f" {secret} "))
    yield Case(
        "frames",
        (secret,),
        answer_headers={"content-type": "application/vnd.amazon.eventstream"},
        chunks=frames,
    )
    secret = s.key()
    yield Case(
        "half", (secret[:10],), answer_headers=SSE, chunks=(*chat("so "), *chat(secret[:15])), broken=True
    )
    secret = s.key()
    yield Case("half-text", (secret[:10],), chunks=(f"it is {secret[:15]}".encode(),), broken=True)


def compressed(s: Secrets) -> Iterator[Case]:
    packers = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "br": import_module("brotli").compress,
        "zstd": zstd.compress,
    }
    for coding, pack in packers.items():
        secret = s.key()
        wire = pack(json.dumps({"text": f"it is {secret}"}).encode())
        yield Case(
            f"answer-{coding}",
            (secret,),
            answer_headers={**JSON, "content-encoding": coding},
            chunks=(wire[:20], wire[20:]),
        )
        secret = s.key()
        sent = pack(json.dumps({"text": f"it is {secret}"}).encode())
        yield Case(f"request-{coding}", (secret,), headers={**JSON, "content-encoding": coding}, body=sent)
        secret = s.key()
        if coding != "br":  # which nothing tells without a header
            yield Case(f"bare-{coding}", (secret,), headers=JSON, body=pack(f"it is {secret}".encode()))
    secret = s.key()
    packer = zlib.compressobj(wbits=31)
    chunks = [packer.compress(each) + packer.flush(zlib.Z_SYNC_FLUSH) for each in chat(f" {secret} ")]
    yield Case(
        "deltas-gzip",
        (secret,),
        answer_headers={**SSE, "content-encoding": "gzip"},
        chunks=(*chunks, packer.flush()),
    )


def wide(s: Secrets) -> Iterator[Case]:
    for charset in ("utf-16", "utf-32"):
        secret = s.key()
        kind = {"content-type": f"application/json; charset={charset}"}
        yield Case(charset, (secret,), headers=kind, body=json.dumps({"say": secret}).encode(charset))


def error_pages(s: Secrets) -> Iterator[Case]:
    secret = s.key()
    message = {"error": {"message": f"Incorrect API key provided: {secret}."}}
    yield Case(
        "error-json", (secret,), status=401, answer_headers=JSON, chunks=(json.dumps(message).encode(),)
    )
    secret = s.word()
    page = f"<html><a href='/login?a=b&amp;token={secret}'>again</a> https://h/?access_token={secret}</html>"
    yield Case("error-page", (secret,), status=500, chunks=(page.encode(),))


def cases(secrets: Secrets) -> tuple[Case, ...]:
    """Every case over HTTP."""
    makers = (in_headers, in_urls, in_bodies, in_streams, compressed, wide, error_pages)
    return tuple(case for make in makers for case in make(secrets))


def forms(secret: str) -> Iterator[bytes]:
    """How a secret may be written: as it is, in a URL, in JSON, and in base64 whatever stands before it."""
    raw = secret.encode()
    yield from {raw, quote(secret, safe="").encode(), json.dumps(secret)[1:-1].encode()}
    yield secret.encode("utf-16-le")[:-1]  # which is in the other byte order, too
    yield secret.encode("utf-32-le")[:-3]
    for before in range(3):
        packed = base64.b64encode(b"x" * before + raw)
        yield packed[(0, 2, 3)[before] : -4]  # without the characters that depend on what is around it
