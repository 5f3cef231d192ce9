"""What headers and URLs call a secret is replaced, also where it stands elsewhere."""

import base64
from dataclasses import replace

import pytest

from abs_replay.redact import Redactor, redact
from tests.redact.exchanges import JWT, KEY, answer_of, exchange, request_headers


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


def test_an_empty_credential_is_no_secret() -> None:
    assert request_headers(("Cookie", "a=; b= ")) == (("Cookie", "a=; b= "),)


def test_a_header_with_a_line_end_of_its_own_loses_its_secret_too() -> None:
    assert request_headers(("referer", f"a\nb {KEY}"), ("x", "y")) == (
        ("referer", "a\nb <key:1>"),
        ("x", "y"),
    )


def test_basic_credentials_that_are_no_base64_are_one_secret() -> None:
    assert request_headers(("Authorization", "Basic abcde")) == (("Authorization", "Basic <auth:1>"),)


def test_a_name_or_method_that_held_a_key_stays_one_that_http_knows() -> None:
    asked = exchange(headers=((f"X-{KEY}", "1"),), answer_headers=((KEY, "2"),))
    result = redact(replace(asked, request=replace(asked.request, method=f"GET{KEY}")))
    assert result.response is not None
    (name, _), (other, _) = result.request.headers[0], result.response.headers[0]
    assert (name, other) == ("X-redacted-key-1", "redacted-key-1")
    assert result.request.method.endswith("redacted-key-1")
    assert redact(result) is result
