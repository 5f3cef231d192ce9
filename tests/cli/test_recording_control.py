"""What a running recorder answers under `/__abs__/`: marks from anyone, exchanges for the token alone."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from abs_replay.cli.recording_control import Control
from abs_replay.exchange import Channel, Exchange, Headers, Mark, Recording, Request, Role
from abs_replay.recorder import Recorder
from abs_replay.store import Store
from abs_replay.store.lines import exchange_line
from abs_replay.store.rows import exchange_row

TOKEN = (("X-Abs-Token", "let me in"),)
RECORDING = Recording("r1", "r1", 1.0)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "s.duckdb"


@pytest.fixture
def control(store: Path) -> Iterator[Control]:
    control = Control(RECORDING, "let me in")
    recorder = Recorder(store, RECORDING, on_kept=control.kept)
    control.begin(recorder, lambda: "ab")
    yield control
    recorder.close()


@pytest.fixture
def idle() -> Control:
    """Of a recording that has not begun, for what is refused or answered before that matters."""
    return Control(RECORDING, "let me in")


def asked(
    control: Control, method: str, path: str, body: bytes = b"", headers: Headers = ()
) -> tuple[int, object]:
    status, answer = control(method, path, headers, body)
    return status, json.loads(answer)


def exchange(id_: str) -> Exchange:
    return Exchange(id_, Channel(Role.TOOL, "shop"), 2.0, Request("POST", "/mcp"))


def line(id_: str) -> bytes:
    return exchange_line(exchange_row("", exchange(id_))).encode()


def test_a_mark_with_a_name_and_one_without_are_kept_in_the_store(control: Control, store: Path) -> None:
    status, answer = asked(control, "POST", "mark", b'{"name": "refund"}')
    assert status == 200
    assert isinstance(answer, dict)
    assert answer["name"] == "refund"
    assert [asked(control, "POST", "mark", body)[0] for body in (b"", b" ", b"{}")] == [200] * 3
    control._running().close()
    marks = Store(store).recording("r1").marks
    assert marks[0] == Mark(answer["at"], "refund")
    assert [mark.name for mark in marks[1:]] == [None] * (len(marks) - 1)


def test_what_is_said_of_a_mark_has_no_secret(control: Control) -> None:
    key = "sk-proj-Abcdefghijklmnop1234567890"
    _, answer = asked(control, "POST", "mark", b'{"name": "with %s"}' % key.encode())
    assert isinstance(answer, dict)
    assert answer["name"] == "with <key:1>"


@pytest.mark.parametrize("body", [b"refund", b'"refund"', b'{"name": 3}', b'{"name": "%s"}' % (b"x" * 201)])
def test_a_mark_that_is_none_is_refused_with_the_shape_that_is_expected(idle: Control, body: bytes) -> None:
    status, answer = asked(idle, "POST", "mark", body)
    assert status == 400
    assert "name" in str(answer)


def test_an_exchange_is_taken_from_who_shows_the_token_alone(control: Control, store: Path) -> None:
    assert asked(control, "POST", "exchange", line("e1"))[0] == 403
    assert asked(control, "POST", "exchange", line("e1"), (("x-abs-token", "let me"),))[0] == 403
    assert asked(control, "POST", "exchange", line("e1"), TOKEN) == (200, {"id": "e1"})
    control._running().close()
    assert [each.id for each in Store(store).exchanges("r1")] == ["e1"]


@pytest.mark.parametrize("body", [b"", b"{}", b'{"id": "e1"}', b"[1]", b"\xff"])
def test_a_body_that_is_no_exchange_is_refused(idle: Control, body: bytes) -> None:
    assert asked(idle, "POST", "exchange", body, TOKEN)[0] == 400


def test_the_status_counts_what_was_kept_and_what_is_open(control: Control) -> None:
    status, answer = asked(control, "GET", "status")
    assert isinstance(answer, dict)
    assert (status, answer["recording"], answer["exchanges"], answer["open"]) == (200, "r1", 0, 2)


def test_who_follows_gets_each_exchange_once(idle: Control) -> None:
    assert asked(idle, "GET", "recent")[0] == 403
    for id_ in ("e1", "e2", "e3"):
        idle.kept(exchange(id_))
    seen = [asked(idle, "GET", f"recent?since={since}", headers=TOKEN)[1] for since in (0, 2, 3, 9)]
    assert [[each["id"] for each in answer["exchanges"]] for answer in seen] == [  # type: ignore[index]
        ["e1", "e2", "e3"],
        ["e3"],
        [],
        [],
    ]
    assert asked(idle, "GET", "recent?since=x", headers=TOKEN)[0] == 400


def test_who_is_far_behind_gets_the_last_thousand(idle: Control) -> None:
    for count in range(1200):
        idle.kept(exchange(f"e{count}"))
    _, answer = asked(idle, "GET", "recent?since=5", headers=TOKEN)
    assert isinstance(answer, dict)
    assert (answer["count"], len(answer["exchanges"])) == (1200, 1000)
    _, answer = asked(idle, "GET", "recent?since=1190", headers=TOKEN)
    assert isinstance(answer, dict)
    assert [each["id"] for each in answer["exchanges"]] == [f"e{count}" for count in range(1190, 1200)]


def test_what_is_not_there_is_said_with_what_is(idle: Control) -> None:
    assert asked(idle, "GET", "stats")[0] == 404
    assert asked(idle, "GET", "mark") == (405, {"error": "/__abs__/mark takes POST"})


@pytest.mark.parametrize(
    ("origin", "status"),
    [("http://localhost:3000", 503), ("http://127.0.0.1", 503), ("https://evil.example", 403), ("null", 403)],
)
def test_pages_from_elsewhere_set_no_marks(idle: Control, origin: str, status: int) -> None:
    assert asked(idle, "POST", "mark", headers=(("origin", origin),))[0] == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:7070", 503),
        ("localhost:7070", 503),
        ("[::1]:7070", 503),
        ("evil.example", 403),
        ("evil.example:7070", 403),
        ("127.0.0.1.evil.example:7070", 403),
        ("", 403),
        ("[", 403),
    ],
)
def test_a_name_that_was_made_to_lead_to_loopback_sets_no_marks(
    idle: Control, host: str, status: int
) -> None:
    assert asked(idle, "POST", "mark", headers=(("Host", host),))[0] == status


def test_a_listener_for_other_machines_is_asked_by_any_name_and_so_is_any_with_the_token() -> None:
    open_to_all = Control(RECORDING, "let me in", listens_at="0.0.0.0")
    assert asked(open_to_all, "POST", "mark", headers=(("host", "build-7:7070"),))[0] == 503
    idle = Control(RECORDING, "let me in")
    assert asked(idle, "POST", "mark", headers=(("host", "build-7:7070"), *TOKEN))[0] == 503


def test_before_the_recording_has_begun_nothing_is_taken(idle: Control) -> None:
    assert asked(idle, "POST", "mark")[0] == 503
