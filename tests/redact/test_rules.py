"""What an author adds: headers, JSON paths, patterns, what is about persons, a hook."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.errors import UsageError
from abs_replay.exchange import Body, Channel, Exchange, Headers, Outcome, Request, Response, Role
from abs_replay.predicates import patterns
from abs_replay.redact import Redactor, Rules, finders, rules_of
from abs_replay.spec.redaction import Redaction

KEY = "sk-proj-Abcdefghijklmnop1234567890"


def exchange(body: bytes, headers: Headers = ()) -> Exchange:
    request = Request("POST", "/a?b=c", headers, Body(body))
    return Exchange("1", Channel(Role.AGENT, "agent"), 0.0, request, Response(200, (), Body(b"fine")))


def kept(body: str | bytes, **written: object) -> str:
    redactor = Redactor(rules_of(replace(Redaction(), **written)))  # type: ignore[arg-type]
    data = body.encode() if isinstance(body, str) else body
    once = redactor.redact(exchange(data)).request.body.data
    assert redactor.redact(exchange(once)).request.body.data == once
    return once.decode("utf-8", "replace")


def test_named_headers_are_secrets_whatever_is_in_them() -> None:
    redactor = Redactor(rules_of(Redaction(headers=("X-Customer",))))
    result = redactor.redact(exchange(b"", (("x-customer", "me and you"), ("x-other", "me"))))
    assert result.request.headers == (("x-customer", "<key:1>"), ("x-other", "me"))


@pytest.mark.parametrize(
    ("path", "sent", "left"),
    [
        ("$.user.ssn", '{"user": {"ssn": "1-2", "a": "1-2"}}', '{"user": {"ssn": "<field:1>", "a": "1-2"}}'),
        ("user.ssn", '{"user":{"ssn":12,"b":1}}', '{"user":{"ssn":"<field:1>","b":1}}'),
        (
            "m[*].t",
            '{"m": [{"t": "a"}, {"t": "b", "u": "a"}]}',
            '{"m": [{"t": "<field:1>"}, {"t": "<field:2>", "u": "a"}]}',
        ),
        ("m[1]", '{"m": [1, [2, null, {"a": true}]]}', '{"m": [1, ["<field:1>", null, {"a": "<field:2>"}]]}'),
        ("$..pin", '[{"a": {"pin": "1"}}, {"pin": ""}]', '[{"a": {"pin": "<field:1>"}}, {"pin": ""}]'),
        ("['a b'].*", r'{"a b": {"x": "\"q\""}}', '{"a b": {"x": "<field:1>"}}'),
        ("a", r'{"\u0061": "x"}', r'{"\u0061": "<field:1>"}'),
        (r"['\x']", r'{"\x": "x"}', r'{"\x": "<field:1>"}'),
        ("a", 'data: {"a": "x"}\n\ndata: {"b": "x"}\n\n', 'data: {"a": "<field:1>"}\n\ndata: {"b": "x"}\n\n'),
        ("a", '{"a": "x"}\n{"a": "y"}\n', '{"a": "<field:1>"}\n{"a": "<field:2>"}\n'),
        ("a", '"a": "x"', '"a": "x"'),
        ("a", "[" * 600 + '{"a": 1}', "[" * 600 + '{"a": 1}'),
        ("a", '}]{"a": "x', '}]{"a": "x'),
    ],
)
def test_paths_lead_to_values_and_nothing_else_changes(path: str, sent: str, left: str) -> None:
    assert kept(sent, json=(path,)) == left


def test_a_value_at_a_path_that_is_long_enough_is_a_secret_elsewhere_too() -> None:
    assert kept('{"id": "customer-4711", "say": "I am customer-4711"}', json=("id",)) == (
        '{"id": "<field:1>", "say": "I am <field:1>"}'
    )


def test_a_value_at_a_path_that_goes_on_is_held_back() -> None:
    redactor = Redactor(rules_of(Redaction(json=("$.ssn",))))
    running = replace(
        exchange(b""), response=Response(200, (), Body(b'{"ssn": "123-4')), outcome=Outcome.UNFINISHED
    )
    result = redactor.redact(running)
    assert result.response
    assert result.response.body.data == b'{"ssn": "'


@pytest.mark.parametrize(
    ("pattern", "sent", "left"),
    [
        (r"C-\d+", "it is C-12, C-3 and C-12", "it is <customer:1>, <customer:2> and <customer:1>"),
        (r"id=(\w+)", "id=ab id=c", "id=<customer:1> id=<customer:2>"),
        (r"größe \w+", "größe zwölf — größe zehn", "<customer:1> — <customer:2>"),
        (
            r"\d+",
            '{"a": 12, "b": "x12y", "c": [1.5]}',
            '{"a": "<customer:1>", "b": "x<customer:1>y", "c": ["<customer:2>"]}',
        ),
        (
            r"\d+",
            r'{"a": "{\"n\": 12, \"m\": \"13\"}"}',
            r'{"a": "{\"n\": \"<customer:1>\", \"m\": \"<customer:2>\"}"}',
        ),
        (r'"ssn": "?\d+"?', '{"ssn": "12", "b": 1}', '{"ssn": "<customer:1>", "b": 1}'),
        (r'"ssn": "?\d+"?', '{"ssn": 12}', '{"ssn": "<customer:1>"}'),
        (r'b", "c', '{"a": "ab", "c": 1}', '{"a": "a<customer:1>", "c": 1}'),
        (r"n?x", r'{"a": "\nx"}', '{"a": "<customer:1>"}'),
        (r"x.", r'{"a": "x\u0041"}', '{"a": "<customer:1>"}'),
        (r"\d+", "12", '"<customer:1>"'),
        (r"x", '"x"', '"<customer:1>"'),
        (r"\[", '{"a": [1]}', '{"a": [1]}'),
        (r"<\w+", "<key:1> <b", "<key:1> <customer:1>"),
    ],
)
def test_patterns_are_replaced_and_json_stays_json(pattern: str, sent: str, left: str) -> None:
    assert kept(sent, patterns=(("customer", pattern),)) == left


def test_patterns_are_found_in_headers_and_over_events() -> None:
    redactor = Redactor(rules_of(Redaction(patterns=(("customer", r"C-\d{4}"),))))
    events = b"".join(b'data: {"delta": "%s"}\n\n' % part for part in (b"so C-", b"12", b"34."))
    result = redactor.redact(exchange(events, (("x", "a C-1234"), ("y", "C-12"))))
    assert result.request.headers == (("x", "a <customer:1>"), ("y", "C-12"))
    said = "".join(json.loads(line[6:])["delta"] for line in result.request.body.data.split(b"\n\n")[:-1])
    assert said == "so <customer:1>."


def test_a_pattern_is_found_over_the_slices_of_a_large_body() -> None:
    body = "ä" * 32_766 + "C-1234" + "b" * 70_000 + "C-1234"
    assert kept(body, patterns=(("customer", r"C-\d{4}"),)) == body.replace("C-1234", "<customer:1>")


def test_what_a_slow_pattern_did_not_search_is_withheld_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finders, "TIME_LIMIT", 0.01)
    told: list[str] = []
    redactor = Redactor(rules_of(Redaction(patterns=(("slow", r"(a|aa)+$"),))), told.append)
    result = redactor.redact(exchange(b"a" * 3000 + b"b"))
    assert result.request == Request("POST", "/", (), Body(size=3001), host="")
    assert result.response == Response(200, (), Body(size=4))
    assert result.error == "content withheld: the pattern `slow` took longer than 0.01 s"
    assert result.redacted
    assert (redactor.withheld, len(told)) == (1, 1)
    assert redactor.text("a" * 3000 + "b") == "(withheld: the pattern `slow` took longer than 0.01 s)"


PERSONS = {
    "email": (["me@example.com", "a.b+c@mail.example.co.uk"], ["@decorator", "me@localhost", "a@b.c1"]),
    "phone": (
        ["+49 30 1234567", "+1 (555) 123-4567", "555-123-4567", "(555) 123-4567", "+442071234567"],
        ["2024-11-30", "1730000000", "127.0.0.1:7070", "+1", "555-1234", "1-555-123-45678"],
    ),
    "card": (
        ["4111111111111111", "4111 1111 1111 1111", "5500-0000-0000-0004", "340000000000009"],
        ["4111111111111112", "1730000000000", "0000000000000000", "12345"],
    ),
    "iban": (
        ["DE89370400440532013000", "GB82 WEST 1234 5698 7654 32"],
        ["DE89370400440532013001", "ABCD1234", "AB12CDEFGHIJKLMNOPQRSTUVWXYZ"],
    ),
}


@pytest.mark.parametrize("kind", PERSONS)
def test_what_is_about_persons_is_found_and_what_is_not_is_left(kind: str) -> None:
    found, others = PERSONS[kind]
    for text in found:
        assert kept(f"it is {text}, ok", pii=(kind,)) == f"it is <{kind}:1>, ok"
        assert kept(json.dumps({"a": f"\n{text}\n"}), pii=(kind,)) == json.dumps({"a": f"\n<{kind}:1>\n"})
        assert kept(f"it is {text}, ok") == f"it is {text}, ok"
    for text in others:
        assert kept(f"it is {text}, ok", pii=(kind,)) == f"it is {text}, ok"


def test_a_card_that_is_a_number_in_json_becomes_a_text() -> None:
    assert kept('{"card": 4111111111111111}', pii=("card",)) == '{"card": "<card:1>"}'


@pytest.mark.parametrize("kind", PERSONS)
def test_what_may_go_on_as_something_about_persons_is_held_back(kind: str) -> None:
    redactor = Redactor(rules_of(Redaction(pii=(kind,), patterns=(("customer", r"C-\d{4}"),))))
    for text in (PERSONS[kind][0][0], "C-1234"):
        begun = f"it is: {text[:-2]}".encode()
        running = replace(exchange(b""), response=Response(200, (), Body(begun)), outcome=Outcome.UNFINISHED)
        result = redactor.redact(running)
        assert result.response
        assert result.response.body.data == b"it is: "


def test_without_what_is_built_in_only_the_rules_hold() -> None:
    redactor = Redactor(Rules(builtin=False, headers=frozenset({"x-mine"})))
    headers = (("authorization", f"Bearer {KEY}"), ("x-mine", "abcdefgh-123456"))
    result = redactor.redact(exchange(f"password=a {KEY} abcdefgh-123456".encode(), headers))
    assert result.request.headers == (("authorization", f"Bearer {KEY}"), ("x-mine", "<key:1>"))
    assert result.request.body.data == f"password=a {KEY} <key:1>".encode()
    assert redactor.text("https://h/?token=abc") == "https://h/?token=abc"


HOOK = """
from dataclasses import replace
from abs_replay.exchange import Body

def scrub(exchange):
    body = exchange.request.body.data
    assert b"sk-" not in body, "it sees no secrets"
    if b"raise" in body:
        raise ValueError("no way with " + body.decode())
    if b"leave" in body:
        raise SystemExit(0)
    if b"none" in body:
        return None
    return replace(exchange, request=replace(exchange.request, body=Body(body.replace(b"Bob", b"someone"))))

nothing = 1
"""


@pytest.fixture
def hooks(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "our_hooks.py").write_text(HOOK)
    (tmp_path / "broken_hooks.py").write_text("1 / 0")
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    for name in ("our_hooks", "broken_hooks"):
        sys.modules.pop(name, None)


def test_a_hook_comes_last_and_the_lengths_follow(hooks: Path) -> None:
    redactor = Redactor(rules_of(Redaction(hook="our_hooks:scrub"), hooks))
    body = f"Bob has {KEY}".encode()
    result = redactor.redact(exchange(body, (("content-length", str(len(body))),)))
    assert result.request.body.data == b"someone has <key:1>"
    assert result.request.headers == (("content-length", str(len(b"someone has <key:1>"))),)
    assert result.redacted


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            f"raise my-own-key-77 {KEY}",
            "the redaction hook failed: ValueError: no way with raise <key:1> <key:2>",
        ),
        ("leave", "the redaction hook failed: SystemExit: 0"),
        ("none", "the redaction hook gave no exchange of the same id and channel"),
    ],
)
def test_what_a_hook_failed_on_is_kept_without_its_content_and_told(body: str, why: str, hooks: Path) -> None:
    told: list[str] = []
    redactor = Redactor(rules_of(Redaction(hook="our_hooks:scrub"), hooks), told.append)
    result = redactor.redact(exchange(body.encode(), (("x-api-key", "my-own-key-77"),)))
    assert result.error == f"content withheld: {why}"
    assert (result.request.headers, result.request.target, result.request.body.data) == ((), "/", b"")
    assert told == [f"exchange 1 is kept without its content: {why}"]


@pytest.mark.parametrize(
    ("hook", "why"),
    [
        ("broken_hooks:scrub", "can not be loaded: ZeroDivisionError: division by zero"),
        ("our_hooks:absent", "can not be loaded: AttributeError"),
        ("absent_hooks:scrub", "can not be loaded: ModuleNotFoundError"),
        ("our_hooks:nothing", "is no function"),
    ],
)
def test_a_hook_that_can_not_be_used_is_told_at_once(hook: str, why: str, hooks: Path) -> None:
    with pytest.raises(UsageError, match=f"the redaction hook `{hook}` {why}"):
        rules_of(Redaction(hook=hook), hooks)


@given(
    st.lists(
        st.sampled_from(["a", "1", "4111111111111111", '"', "\\", "me@example.com", "é", "\n", " "]),
        max_size=12,
    )
)
def test_json_stays_json_under_every_rule(parts: list[str]) -> None:
    value = {"t": "".join(parts), "n": 4111111111111111, "l": ["1", 1, [1, "".join(parts)]], "1": "1"}
    value["in"] = json.dumps(value)
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only)
        result = json.loads(
            kept(text, pii=("email", "card"), patterns=(("digit", r"[1a]"), ("odd", r"\W{2}")))
        )
        assert set(json.loads(json.dumps(result))) >= {"t", "n", "l"}


def test_patterns_are_those_of_re() -> None:
    assert patterns.compiled(r"[[a]").search("[")


def test_a_hook_of_an_installed_package_needs_no_folder() -> None:
    before = list(sys.path)
    found: object = rules_of(Redaction(hook="json:loads")).hook
    assert found is json.loads
    assert sys.path == before


def test_a_hook_sees_a_request_that_was_never_answered(hooks: Path) -> None:
    unanswered = replace(exchange(b"Bob"), response=None)
    result = Redactor(rules_of(Redaction(hook="our_hooks:scrub"), hooks)).redact(unanswered)
    assert (result.request.body.data, result.response) == (b"someone", None)


def test_what_is_withheld_is_withheld_where_nobody_is_told(hooks: Path) -> None:
    redactor = Redactor(rules_of(Redaction(hook="our_hooks:scrub"), hooks))
    assert redactor.redact(exchange(b"none")).request.body == Body(size=4)
    assert redactor.withheld == 1
