"""A name of a secret is one wherever it stands and however it is written; other names are none."""

import json
import time
from urllib.parse import quote

import pytest

from abs_replay.exchange import Body, Channel, Exchange, Headers, Recording, Request, Role
from abs_replay.redact import Redactor, redact
from abs_replay.redact.named import is_like_a_credential, named
from abs_replay.redact.names import Naming, naming

KEY = "sk-proj-Abcdefghijklmnop1234567890"
X = "q7Rb2mXk9LwZt4Vy8NcPd3Hs6GfJa1Ue"


def kept(body: str, kind: str = "", target: str = "/", headers: Headers = ()) -> Request:
    request = Request("POST", target, (("content-type", kind), *headers), Body(body.encode()))
    result = redact(Exchange("1", Channel(Role.LLM, "llm"), 0.0, request))
    assert redact(result) == result
    return result.request


NAMES = [
    *(
        "token",
        "secret",
        "auth_token",
        "api-token",
        "sessionToken",
        "webhook_secret",
        "credentials",
        "bearer",
    ),
    *("OPENAI_API_KEY", "openaiApiKey", "connection_string", "connectionString", "Password", "DB_PASSWORD"),
    *(
        "X-Api-Key",
        "aws_session_token",
        "AWS_SECRET_ACCESS_KEY",
        "github_token",
        "clientSecret",
        "passphrase",
    ),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "form",
    [
        '{{"{}": "{}"}}',
        "{{'{}': '{}'}}",
        "{}={}\n",
        "export {}={}",
        "{}: {}\n",
        "<{0}>{1}</{0}>",
        '<a {}="{}"/>',
        "`{}`: `{}`",
        "**{}:** {}",
        "run --{} {} --fast",
        "os.environ['{}'] = '{}'",
    ],
)
def test_what_a_name_calls_a_secret_is_replaced_in_every_notation(name: str, form: str) -> None:
    for sent in (form.format(name, X), json.dumps({"say": form.format(name, X)})):
        assert kept(sent).body.data.decode().replace("<auth:", "<key:") == sent.replace(X, "<key:1>")


@pytest.mark.parametrize("name", [*NAMES, "session", "AccessKeyId", "assertion", "client_assertion", "sig"])
def test_the_same_names_are_those_of_fields_parameters_and_fragments(name: str) -> None:
    form = kept(f"a=b&{name}=short1&c=d", "application/x-www-form-urlencoded")
    assert form.body.data.decode() == f"a=b&{name}=<key:1>&c=d"
    for sign in "?&#":
        assert kept("", target=f"/x{sign}{name}=short1").target == f"/x{sign}{name}=<key:1>"
    assert kept("", target=f"/x?{quote(name).replace('_', '%5F')}=s1").target.endswith("=<key:1>")


@pytest.mark.parametrize("name", ["X-My-Credential", "x-credentials", "Client-Secret", "X-Session-Token"])
def test_the_same_names_are_those_of_headers(name: str) -> None:
    assert kept("", headers=((name, "short"),)).headers[-1] == (name, "<key:1>")


@pytest.mark.parametrize(
    "text",
    [
        '{"token": "Hello", "secret": true, "key": "name", "logprobs": [{"token": " the"}]}',
        '{"token": "internationalization", "tokens": "q7Rb2mXk9LwZt4Vy8NcPd3"}',
        f'{{"next_page_token": "{X}", "pageToken": "{X}", "progressToken": "{X}", "nextToken": "{X}"}}',
        f'{{"max_tokens": 16, "token_count": 16, "prompt_tokens": 1, "cache_key": "{X}", "key": "{X}"}}',
        '{"type": "object", "properties": {"password": {"type": "string"}, "apiKey": {"type": "string"}}}',
        "client = OpenAI(api_key=os.environ['OPENAI_API_KEY'], token=tokens[0])",
        "see api_key=settings.first.api_key1, password: required-field, token: str = get_token()",
        "PWD=/home/user1/project-22 and password: ${DB_PASSWORD_2}",
        '{"pwd": "/home/user1/project-22", "secret": "projects", "token": "getElementsById"}',
        '{"connection": "keep-alive-10000", "keyboard": "qwertz-layout-1"}',
        "API_KEY=YOUR_API_KEY",
        "the secret q7Rb2mXk9LwZt4Vy8Nc is told; use --password your-password",
    ],
)
def test_names_that_only_resemble_them_keep_their_values(text: str) -> None:
    assert kept(text).body.data.decode() == text


def test_names_of_headers_that_only_resemble_them_keep_their_values() -> None:
    headers = (("access-control-allow-credentials", "true"), ("sec-websocket-key", "dGhlIHNhbXBsZQ=="))
    assert kept("", headers=headers).headers[1:] == headers


def test_a_connection_string_is_a_secret_with_its_blanks() -> None:
    assert (
        kept('{"connection_string": "Server=a b;Pwd=c d"}').body.data == b'{"connection_string": "<key:1>"}'
    )


def test_a_sentence_ends_behind_a_secret() -> None:
    assert (
        kept(f'password: {X}. Then "token": "{X}"').body.data == b'password: <key:1>. Then "token": "<key:1>"'
    )


@pytest.mark.parametrize("name", ["", "-", "é", "tokenizer", "monkey", "primaryKey", "input_tokens"])
def test_a_name_that_says_nothing_says_nothing(name: str) -> None:
    assert naming(name) is Naming.NOTHING


def test_names_of_tags_and_the_session_of_a_recording_are_looked_at() -> None:
    recording = Recording("1", "a", 0.0, session=f"s-{KEY}", tags={"password": "short", "ticket": "42"})
    kept = Redactor().recording(recording)
    assert kept.session == "s-<key:1>"
    assert kept.tags == {"password": "<key:2>", "ticket": "42"}
    assert Redactor().recording(Recording("1", "a", 0.0)) == Recording("1", "a", 0.0)


def test_a_key_is_found_in_the_name_of_a_header_in_a_method_and_among_protocols() -> None:
    protocols = f"graphql-transport-ws, v10.stomp, auth.{X},{X}"
    sent = Request(
        f"say-{KEY}", "/", ((KEY, "a"), ("Sec-WebSocket-Protocol", protocols), ("Content-Length", KEY))
    )
    error = f"invalid request: 'GET /?password={X} HTTP/1.1', 'X-Api-Key: {X}'"
    result = redact(Exchange("1", Channel(Role.LLM, "llm"), 0.0, sent, error=error))
    assert result.request.method == "say-redacted-key-2"
    assert result.request.headers == (
        ("redacted-key-2", "a"),
        ("Sec-WebSocket-Protocol", "graphql-transport-ws, v10.stomp, auth.<key:1>,<key:1>"),
        ("Content-Length", "<key:2>"),
    )
    assert result.error == "invalid request: 'GET /?password=<key:1> HTTP/1.1', 'X-Api-Key: <key:1>'"


def test_one_endless_value_of_names_is_looked_through_in_linear_time() -> None:
    began = time.process_time()
    assert not list(named(b"token=" * 40_000))
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        (b"1234567890" * 2, False),
        (b"1234567890" * 3, True),
        (b"abcdefgh12345678", True),
        (b"abcdefgh1234567", False),
        (b"http://host/a1b2c3d4", False),
        (b"some_identifier_of_code", False),
    ],
)
def test_a_credential_is_long_and_no_number_or_word_of_a_program(value: bytes, is_one: bool) -> None:
    assert is_like_a_credential(value) is is_one
