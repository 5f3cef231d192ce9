"""A block of Python that a cassette is served around gets what is recorded, and is told what is not."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

import abs_replay
from abs_replay.cassette import Cassette, dumps
from abs_replay.channels import PLACEHOLDER
from abs_replay.errors import AbsReplayError, CassetteError, ReplayMiss, SpecError, UsageError
from abs_replay.exact_json import Json
from abs_replay.exchange import Channel, Recording, Role, Upstream
from abs_replay.testing import exchange

MODEL = Upstream(Channel(Role.LLM, "openai"), "https://api.openai.com/v1")
ORDERS = Upstream(Channel(Role.TOOL, "Orders"), "http://orders:9001")
ASKED: dict[str, Json] = {"order": "A", "nonce": "one"}
CASSETTE = Cassette(
    Recording("r", "orders", 0.0, upstreams=(MODEL, ORDERS)),
    (
        exchange(ASKED, {"state": "shipped"}, role=Role.TOOL, name="Orders", target="/find", id="found"),
        exchange({"say": "hi"}, {"text": "hello"}, role=Role.LLM, name="openai", target="/v1/say", id="said"),
    ),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "orders.cassette.json"
    path.write_text(dumps(CASSETTE), encoding="utf-8")
    return path


def find(base: str, **changes: Json) -> httpx.Response:
    return httpx.post(f"{base}/find", json=ASKED | changes)


def test_the_block_gets_what_is_recorded_and_the_log_says_why(file: Path) -> None:
    with abs_replay.replaying(file) as replay:
        assert find(replay.url("tool:Orders")).json() == {"state": "shipped"}
        assert httpx.post(f"{replay.url('llm')}/say", json={"say": "hi"}).json() == {"text": "hello"}

    assert [asked.answered_by for asked in replay.requests] == ["found", "said"]
    assert "the same bytes as exchanges[0]" in replay.requests[0].why
    assert (replay.misses, replay.unused) == ((), ())


def test_a_miss_that_the_client_swallowed_is_raised_at_the_end(file: Path) -> None:
    with (
        pytest.raises(ReplayMiss, match=r'(?s)1 request missed.*order: recorded "A", asked "B"'),
        abs_replay.replaying(file) as replay,
    ):
        find(replay.url("tool"), order="B")

    assert [asked.request.target for asked in replay.misses] == ["/find"]


def test_an_error_of_the_block_is_passed_on_with_a_note_of_what_was_missed(file: Path) -> None:
    with (
        pytest.raises(httpx.HTTPStatusError) as raised,
        abs_replay.replaying(file, fail_unused=True) as replay,
    ):
        find(replay.url("tool"), order="B").raise_for_status()

    (note,) = raised.value.__notes__
    assert "1 request missed in cassette orders" in note
    assert "unused" not in note


def test_what_was_missed_or_not_asked_for_fails_as_it_is_wanted(file: Path) -> None:
    with abs_replay.replaying(file, fail_missed=False) as lenient:
        find(lenient.url("tool"), order="B")
    assert len(lenient.misses) == 1

    with (
        pytest.raises(ReplayMiss, match=r"(?s)1 exchange unused.*POST /v1/say on llm:openai \(id said\)"),
        abs_replay.replaying(file, fail_unused=True) as strict,
    ):
        find(strict.url("tool"))


def test_only_the_channels_that_are_wanted_are_there(file: Path) -> None:
    with abs_replay.replaying(file, channels=["tool"], fail_unused=True) as replay:
        assert list(replay.urls) == ["tool:Orders"]
        assert "OPENAI_BASE_URL" not in replay.environment
        find(replay.url("tool"))

    with pytest.raises(UsageError, match="there is no channel 'agent'; there is llm:openai, tool:Orders"):
        abs_replay.replaying(file, channels=["agent"])


def test_a_role_of_two_channels_does_not_say_which() -> None:
    two = tuple(Upstream(Channel(Role.TOOL, name), "http://h:1") for name in ("a", "b"))
    replay = abs_replay.replaying(Cassette(Recording("r", "n", 0.0, upstreams=two), ()))
    with replay, pytest.raises(UsageError, match="'tool' is tool:a, tool:b: say which"):
        replay.url("tool")


def test_it_is_as_good_in_asynchronous_code(file: Path) -> None:
    async def run() -> None:
        async with abs_replay.replaying(file) as replay, httpx.AsyncClient() as client:
            answers = await asyncio.gather(
                client.post(f"{replay.url('tool')}/find", json=ASKED),
                client.post(f"{replay.url('tool')}/find", json=ASKED),
            )
            assert sorted(answer.status_code for answer in answers) == [200, 422]

    with pytest.raises(ReplayMiss, match="recorded once, and all were played"):
        asyncio.run(run())


def test_the_environment_is_that_of_a_command(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "mine")
    with abs_replay.replaying(file) as replay:
        environment = replay.environment
        assert environment["OPENAI_BASE_URL"] == environment["ABS_LLM_URL"] == replay.url("llm")
        assert environment["ABS_TOOL_ORDERS_URL"] == replay.url("tool")
    assert environment["OPENAI_API_KEY"] == PLACEHOLDER
    assert "ANTHROPIC_API_KEY" not in environment
    assert "OPENAI_API_KEY" not in os.environ


def test_names_and_the_configuration_are_looked_for_in_the_directory_that_is_given(file: Path) -> None:
    config = file.with_name("abs.config.yaml")
    config.write_text("match: {ignore: [{json: $.nonce}]}\n", encoding="utf-8")

    with abs_replay.replaying(file.name, directory=file.parent) as replay:
        find(replay.url("tool"), nonce="two").raise_for_status()


@pytest.mark.parametrize(
    ("match", "status"), [("canonical", 422), ({"ignore": [{"json": "$.nonce"}]}, 200)], ids=["mode", "rules"]
)
def test_what_counts_may_be_said_where_it_is_used(match: Any, status: int) -> None:
    with abs_replay.replaying(CASSETTE, match=match, fail_missed=False) as replay:
        assert find(replay.url("tool"), nonce="two").status_code == status


@pytest.mark.parametrize(
    ("match", "said"),
    [
        ("exact", "mode: must be one of strict, canonical, loose"),
        ({"ignor": []}, "did you mean `ignore`"),
        ({"ignore": [{"json": "no path"}]}, "is no path"),
    ],
)
def test_a_wrong_match_is_said_at_once(match: Any, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        abs_replay.replaying(CASSETTE, match=match)


@pytest.mark.parametrize(
    ("content", "said"), [(None, "can not be read: No such file"), (b"\xff", "no UTF-8"), (b"{", "JSON")]
)
def test_a_cassette_that_can_not_be_read_is_named(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "x.cassette.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CassetteError, match=rf"x\.cassette\.json.*{said}"):
        abs_replay.replaying(path)


def test_the_play_begins_again_after_a_reset() -> None:
    with abs_replay.replaying(CASSETTE) as replay:
        for _ in range(2):
            find(replay.url("tool")).raise_for_status()
            replay.reset()
    assert len(replay.requests) == 2


def test_no_request_is_left_when_the_block_ends() -> None:
    with abs_replay.replaying(CASSETTE) as replay:
        base = replay.url("tool")
    with pytest.raises(httpx.ConnectError):
        find(base)


def test_importing_the_package_loads_nothing_of_it() -> None:
    program = (
        "import sys, abs_replay; print(*[name for name in sys.modules if name.startswith('abs_replay')])"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)

    assert loaded.stdout.split() == ["abs_replay"]


def test_what_the_package_does_not_have_is_no_attribute() -> None:
    assert not hasattr(abs_replay, "recording")
    assert issubclass(ReplayMiss, AbsReplayError)
    assert isinstance(abs_replay.replaying(CASSETTE).urls, Mapping)
