"""Multipart requests are compared by their parts."""

import json
import re
from typing import Any

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.exchange import Body, Channel, Request, Role
from abs_replay.matching.canonical import canonical
from abs_replay.matching.differences import differences
from abs_replay.matching.renaming import correspond, shape
from abs_replay.spec.ignoring import Ignore
from abs_replay.spec.paths import parsed

TOOL = Channel(Role.TOOL, "files")

type Part = tuple[str, bytes]


def form(boundary: str, parts: list[Part], kind: str = "form-data") -> Request:
    line = f"--{boundary}".encode()
    pieces = [b"%b\r\n%b\r\n\r\n%b\r\n" % (line, head.encode(), content) for head, content in parts]
    content_type = f'multipart/{kind}; charset=utf-8; boundary="{boundary}"'
    return Request(
        "POST", "/v1/files", (("Content-Type", content_type),), Body(b"".join([*pieces, line, b"--\r\n"]))
    )


def key(request: Request, *ignore: Ignore) -> Any:
    return canonical(request, TOOL, ignore).key


def field(name: str, content_type: str | None = None) -> str:
    head = f'Content-Disposition: form-data; name="{name}"'
    return head if content_type is None else f"{head}\r\nContent-Type: {content_type}"


BOUNDARIES = st.from_regex(r"[A-Za-z0-9'()+_,./:=?-]{1,60}", fullmatch=True)
PARTS = st.lists(st.tuples(st.sampled_from("abc").map(field), st.binary(max_size=40)), min_size=1, max_size=4)


def _apart(boundary: str, parts: list[Part]) -> bool:
    return all(f"--{boundary}".encode() not in content for _, content in parts)


@settings(max_examples=40)
@given(BOUNDARIES, BOUNDARIES, PARTS)
def test_another_boundary_is_the_same_request(one: str, other: str, parts: list[Part]) -> None:
    if _apart(one, parts) and _apart(other, parts):
        assert key(form(one, parts)) == key(form(other, parts))


@settings(max_examples=40)
@given(PARTS, PARTS)
def test_other_parts_or_another_order_are_another_request(one: list[Part], other: list[Part]) -> None:
    if _apart("Zq7", one + other):
        assert (key(form("Zq7", one)) == key(form("Zq7", other))) == (_meaning(one) == _meaning(other))


def _meaning(parts: list[Part]) -> list[Any]:
    """Bytes that are a JSON object or list count by their meaning."""
    found = []
    for head, content in parts:
        try:
            value = json.loads(content) if content.lstrip()[:1] in (b"{", b"[") else content
        except ValueError:
            value = content
        found.append((head, value if value == content else json.dumps(value)))
    return found


def test_json_in_a_part_is_json_and_can_be_ignored_by_path() -> None:
    one = form("A", [(field("meta", "application/json"), b'{"a": 1, "nonce": 5}'), (field("f"), b"text")])
    same = form("B", [(field("meta", "application/json"), b'{"nonce":5.0,"a":1}'), (field("f"), b"text")])
    other = form("B", [(field("meta", "application/json"), b'{"nonce":6,"a":1}'), (field("f"), b"text")])
    assert key(one) == key(same) != key(other)
    rule = Ignore(json=parsed("$.parts[0].json.nonce"))
    assert key(one, rule) == key(other, rule)
    found = differences(canonical(one, TOOL), canonical(other, TOOL))
    assert [(each.path, each.recorded, each.asked) for each in found] == [
        ("body.parts[0].json.nonce", "5", "6")
    ]


def test_the_headers_of_parts_count_but_for_case_and_length() -> None:
    parts = [('content-disposition: form-data; name="f"\r\nContent-Length: 4', b"text")]
    assert key(form("A", [(field("f"), b"text")])) == key(form("B", parts))
    assert key(form("A", [(field("f"), b"text")])) != key(form("A", [(field("g"), b"text")]))
    typed = form("A", [(field("f", "text/plain"), b"text")])
    assert key(form("A", [(field("f"), b"text")])) != key(typed)


def test_fresh_ids_in_a_part_are_renamed_and_the_boundary_takes_no_part() -> None:
    ids = "0d9c1e2a-1111-4222-8333-444455556666", "1d9c1e2a-1111-4222-8333-444455556666"
    forms = [
        form(ids[n] if n else "A", [(field("run"), ids[n].encode()), (field("n"), b"1")]) for n in (0, 1)
    ]
    shapes = [shape(each, canonical(each, TOOL)) for each in forms]
    assert correspond(*shapes) == (("uuid", *ids),)


def test_parts_within_parts_have_no_boundary_either() -> None:
    def nested(outer: str, inner: str) -> Request:
        content = form(inner, [(field("x"), b"1")], "mixed").body.data
        return form(outer, [(field("all", f"multipart/mixed; boundary={inner}"), content)])

    assert key(nested("A", "inA")) == key(nested("B", "inB"))


def test_bytes_are_told_by_length_and_digest() -> None:
    one, other = (canonical(form("A", [(field("f"), b"\xff" * n)]), TOOL) for n in (3, 4))
    assert [each.path for each in differences(one, other)] == ["body.parts[0].bytes", "body.parts[0].sha256"]


@given(st.binary(max_size=60) | st.from_regex(rb"(--A(--)?\r\n|x: y\r\n|\r\n|b){0,9}", fullmatch=True))
def test_what_is_formed_otherwise_is_compared_byte_by_byte(data: bytes) -> None:
    request = Request("POST", "/", (("content-type", "multipart/form-data; boundary=A"),), Body(data))
    found = canonical(request, TOOL)
    if found.document is None:
        assert found.body == data.decode("latin-1")
    else:
        assert data.startswith((b"--A", b"{", b"[")) or re.match(rb"\s*[\[{]", data)


def test_two_uploads_of_the_same_file_by_httpx_are_the_same_request() -> None:
    def upload(content: bytes) -> Request:
        files = {"file": ("a.bin", content, "application/octet-stream")}
        sent = httpx.Request("POST", "http://h/v1/files", data={"purpose": "assistants"}, files=files)
        return Request("POST", "/v1/files", tuple(sent.headers.items()), Body(sent.read()))

    one, same, other = upload(b"\x00\xff"), upload(b"\x00\xff"), upload(b"\x00\xfe")
    assert one.body.data != same.body.data
    assert key(one) == key(same) != key(other)
