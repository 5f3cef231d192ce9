"""Keys and what a text calls a secret are replaced wherever they stand, and nothing else is."""

import pytest

from abs_replay.redact import redact
from tests.redact.exchanges import JWT, KEY, answer_of, exchange


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


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Hi, my password is hunter2.", "Hi, my password is <key:1>."),
        ("The Password is: 'Tr0ub4dor&3', thanks", "The Password is: '<key:1>', thanks"),
        ('{"content":"my password is \\"s3cret!x\\" ok"}', '{"content":"my password is \\"<key:1>\\" ok"}'),
        ("my passphrase is correct4horse", "my passphrase is <key:1>"),
        ("your api key is 9f8e7d6c5b4a39281706f5e4d3c2b1a0 today", "your api key is <key:1> today"),
        ("the access token is **abcDEF1234567890xyz**", "the access token is **<key:1>**"),
    ],
)
def test_what_people_say_of_a_secret_is_replaced(text: str, kept: str) -> None:
    result = redact(exchange(body=text.encode()))
    assert result.request.body.data.decode() == kept
    assert redact(result) is result


@pytest.mark.parametrize(
    "text",
    [
        "Your password is required. The password is incorrect, or the password is expired.",
        "The password is sha256-hashed, its password is base64 encoded, a password is 32-character long",
        "a password is 8-16 characters; my password is {password1}; the password is getpass1()",
        "If the password is too short: the password is at least 12 characters",
        "Le mot de passe est perdu2; my password is <auth:1>",
        "The API key is invalid. Your api key is not-configured-yet, the API key is required for this.",
        "the access token is expired; this token is xY12345678901234567 of the vocabulary",
        "the primary key is order_id_1234567890123, the public key is abcdefghijklmnop1234",
    ],
)
def test_sentences_about_secrets_that_name_none_are_left_alone(text: str) -> None:
    asked = exchange(body=text.encode())
    assert redact(asked) is asked
