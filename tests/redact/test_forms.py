"""Forms, plain and in parts, stay what they are without the secrets in their fields."""

import gzip
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qs

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.redact import redact
from tests.redact.sent import KEY, SECRET, body_of, exchange

FORM = "application/x-www-form-urlencoded"


MULTIPART = 'multipart/form-data; boundary="b 1"'


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (b"password=abc&user=me", b"password=<key:1>&user=me"),
        (b"user=me&client_secret=a%2Bb&password=c", b"user=me&client_secret=<key:1>&password=<key:2>"),
        (b"grant_type=x&refresh_token=a&scope=b", b"grant_type=x&refresh_token=<key:1>&scope=b"),
        (b"country_code=DE&code=DE&monkey=1&sort_key=a", b"country_code=DE&code=DE&monkey=1&sort_key=a"),
    ],
)
def test_fields_of_a_form_that_are_named_like_secrets_are_replaced(sent: bytes, kept: bytes) -> None:
    result = redact(exchange(sent, FORM))
    assert result.request.body.data == kept
    assert dict(result.request.headers)["content-length"] == str(len(kept))


def multipart(**fields: bytes) -> bytes:
    parts = [
        b'--b 1\r\nContent-Disposition: form-data; name="%s"\r\nContent-Length: %d\r\n\r\n%s\r\n'
        % (name.encode(), len(value), value)
        for name, value in fields.items()
    ]
    return b"".join(parts) + b"--b 1--\r\n"


def fields_of(body: bytes) -> dict[str, bytes]:
    message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + MULTIPART.encode() + b"\r\n\r\n" + body)
    found = {}
    for part in message.iter_parts():
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        assert int(part["content-length"]) == len(content)
        found[str(part.get_param("name", header="content-disposition"))] = content
    return found


def test_parts_of_a_multipart_body_lose_their_secrets_and_keep_heads_and_boundaries() -> None:
    sent = multipart(api_key=b"a\r\nb", note=b"it is " + KEY.encode(), file=b"\x00\x01--b", password=b"")
    result = redact(exchange(sent, MULTIPART)).request.body.data
    assert fields_of(result) == {
        "api_key": b"<key:2>",
        "note": b"it is <key:1>",
        "file": b"\x00\x01--b",
        "password": b"",
    }


@pytest.mark.parametrize("packing", [gzip, zstd])
def test_a_part_that_is_packed_is_opened_and_packed_anew_with_its_length(packing: Any) -> None:
    data = packing.compress(b"a\n" * 300 + b"it is " + KEY.encode() + b"\n")
    plain = packing.compress(b"nothing here")
    result = redact(exchange(multipart(file=data, other=plain), MULTIPART))
    fields = fields_of(result.request.body.data)
    assert packing.decompress(fields["file"]).endswith(b"it is <key:1>\n")
    assert fields["other"] == plain
    assert redact(result) is result


def test_a_multipart_body_that_is_none_or_is_cut_keeps_its_bytes() -> None:
    for body in (b"--b 1\r\nno head", b"nothing", b"--b 1--\r\n", multipart(api_key=b"a")[:-12][:60]):
        assert body_of(body, MULTIPART) == body
    assert body_of(multipart(api_key=b"a"), "multipart/form-data") == multipart(api_key=b"a")


def test_the_last_part_of_a_body_that_is_cut_loses_its_secret_too() -> None:
    cut = multipart(note=b"fine", api_key=b"abcdefgh")[: -len(b"\r\n--b 1--\r\n")]
    assert body_of(cut, MULTIPART) == cut.replace(b"abcdefgh", b"<key:1>").replace(b": 8", b": 7")


@given(SECRET, st.lists(st.binary(max_size=20), min_size=1, max_size=5), st.integers(0, 4))
def test_multipart_and_forms_stay_what_they_are(secret: str, values: list[bytes], at: int) -> None:
    values[at % len(values)] += b" " + secret.encode()
    values = [value.replace(b"--b 1", b"").replace(b"\n", b"").replace(b"\r", b"") for value in values]
    named = {f"field{number}": value for number, value in enumerate(values)}
    kept = fields_of(body_of(multipart(**named), MULTIPART))
    assert list(kept) == list(named)
    assert secret.encode() not in b"".join(kept.values())
    form = body_of(f"a=1&token={secret}&b={secret}%20".encode(), FORM).decode()
    assert parse_qs(form) == {"a": ["1"], "token": ["<key:1>"], "b": ["<key:1> "]}
