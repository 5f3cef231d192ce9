"""What a replay itself is asked is answered to programs of this machine, and to no page from elsewhere."""

import json
from typing import Any

import pytest

from abs_replay.server.control import Control, is_control


class Play:
    resets = 0

    def reset(self) -> None:
        self.resets += 1


def scope(**headers: str) -> Any:
    return {"headers": [(name.encode(), value.encode()) for name, value in headers.items()]}


def status(control: Control, path: str = "/__abs__/reset", method: str = "POST", **headers: str) -> int:
    return control.answer(method, path, scope(**headers))[0]


@pytest.mark.parametrize("host", ["127.0.0.1:7070", "localhost:7070", "[::1]:7070"])
def test_a_program_of_this_machine_begins_the_play_again(host: str) -> None:
    play = Play()
    assert status(Control(play.reset), host=host) == 204
    assert status(Control(play.reset)) == 204
    assert play.resets == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example:7070"},
        {"host": "127.0.0.1", "origin": "https://evil.example"},
        {"host": "127.0.0.1", "origin": "null"},
        {"host": "[", "origin": "http://["},
    ],
)
@pytest.mark.parametrize("name", ["reset", "mark"])
def test_a_page_from_elsewhere_asks_nothing_of_a_replay(name: str, headers: dict[str, str]) -> None:
    play = Play()
    assert status(Control(play.reset), f"/__abs__/{name}", **headers) == 403
    assert play.resets == 0


def test_a_replay_that_is_reached_from_elsewhere_has_names_that_nobody_here_knows() -> None:
    play = Play()
    assert status(Control(play.reset, is_local=False), host="build-agent:7070") == 204
    assert status(Control(play.reset, is_local=False), host="x", origin="https://evil.example") == 403


def test_a_mark_is_taken_and_changes_nothing() -> None:
    play = Play()
    assert status(Control(play.reset), "/__abs__/mark", host="localhost") == 204
    assert play.resets == 0


def test_what_is_not_there_is_said_with_what_is() -> None:
    control = Control(Play().reset)
    wrong, told = control.answer("POST", "/__abs__/resett", scope())
    assert wrong == 404
    assert json.loads(told) == {"error": "nothing at /__abs__/resett of a replay; there is reset, mark"}
    assert status(control, method="GET") == 405
    assert not is_control("/v1/__abs__/reset")
