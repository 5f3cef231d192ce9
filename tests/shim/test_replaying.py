"""What a replayed server of standard input and output says, line by line."""

import json
from typing import Any

import pytest

from abs_replay.cassette import Cassette
from abs_replay.errors import UsageError
from abs_replay.exchange import Body, Channel, Exchange, Outcome, Recording, Request, Response, Role
from abs_replay.matching import Match
from abs_replay.player import Player
from abs_replay.shim.lines import Line
from abs_replay.shim.replaying import ReplayedServer, ServerEnded
from abs_replay.shim.talk import Place, Talk

PLACE = Place("files", "server")


def message(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode()


INITIALIZE = message(id=0, method="initialize")
READY = message(method="notifications/initialized")
DONE = message(id=0, result={"name": "s"})


def talk(*lines: tuple[str, bytes], outcome: Outcome = Outcome.CLIENT_CLOSED) -> list[Exchange]:
    """What the recorder makes of lines that pass, `>` the client's and `<` the server's, a second apart."""
    kept: list[Exchange] = []
    recorded = Talk(PLACE, 0.0, kept.append)
    for second, (who, line) in enumerate(lines):
        take = recorded.from_client if who == ">" else recorded.from_server
        take(Line(line), float(second))
    recorded.end(outcome, float(len(lines)))
    return kept


class Replayed:
    """A replay of such a talk."""

    def __init__(self, exchanges: list[Exchange], channel: Channel = PLACE.channel) -> None:
        self.said: list[bytes] = []
        self.misses: list[str] = []
        self.player = Player(Cassette(Recording("r", "r", 0.0), tuple(exchanges)), Match.CANONICAL)
        self._server = ReplayedServer(self.player, channel, self.said.append, self.misses.append)

    def ask(self, line: bytes) -> list[bytes]:
        """Give what goes out for a line."""
        before = len(self.said)
        self._server.take(Line(line))
        return self.said[before:]


def test_an_answer_bears_the_clients_id_and_what_was_said_before_it_goes_before_it() -> None:
    call = {"method": "tools/call", "params": {"name": "add", "_meta": {"progressToken": 5}}}
    progress = {"method": "notifications/progress", "params": {"progressToken": 5, "progress": 1}}
    recorded = [(">", message(id=5, **call)), ("<", message(**progress)), ("<", message(id=5, result={}))]
    replayed = Replayed(talk(*recorded))
    call["params"] = {"name": "add", "_meta": {"progressToken": "mine"}}
    said = [json.loads(line) for line in replayed.ask(message(id="mine", **call))]
    assert [each.get("method") for each in said] == ["notifications/progress", None]
    assert said[0]["params"]["progressToken"] == "mine"
    assert said[1]["id"] == "mine"
    assert replayed.player.summary().unused == ()


def test_what_stood_in_the_listening_stream_goes_out_where_it_stood_and_not_before_the_client_is_ready() -> (
    None
):
    early, late = message(method="notifications/early"), message(method="notifications/tools/list_changed")
    call, called = message(id=1, method="tools/call"), message(id=1, result={})
    lines = [
        ("<", early),
        (">", INITIALIZE),
        ("<", DONE),
        (">", READY),
        (">", call),
        ("<", called),
        ("<", late),
    ]
    replayed = Replayed(talk(*lines))
    assert replayed.ask(INITIALIZE) == [DONE]
    assert replayed.ask(READY) == [early]
    assert replayed.ask(call) == [called, late]
    assert replayed.player.summary().unused == ()


def test_what_the_server_asks_is_answered_before_it_goes_on() -> None:
    call = message(id=1, method="tools/call")
    sampling, sampled = message(id=9, method="sampling/createMessage"), message(id=9, result={"text": "42"})
    done = message(id=1, result={"text": "42"})
    replayed = Replayed(talk((">", call), ("<", sampling), (">", sampled), ("<", done)))
    assert replayed.ask(call) == [sampling]
    assert replayed.ask(sampled) == [done]


def test_a_request_that_nobody_recorded_is_answered_with_an_error_that_explains_and_is_said() -> None:
    replayed = Replayed(talk((">", INITIALIZE), ("<", DONE)))
    (answer,) = map(json.loads, replayed.ask(message(id=3, method="tools/list")))
    assert (answer["id"], answer["error"]["code"]) == (3, -32001)
    assert "nobody recorded this request" in answer["error"]["message"]
    assert [line.partition("\n")[0] for line in replayed.misses] == [
        "miss: POST /files on tool:files: nobody recorded this request"
    ]
    assert replayed.ask(message(method="notifications/unknown")) == []
    assert replayed.player.summary().missed == 2


def test_a_request_is_answered_as_often_as_it_was_recorded() -> None:
    replayed = Replayed(talk((">", INITIALIZE), ("<", DONE)))
    assert replayed.ask(INITIALIZE) == [DONE]
    assert b"all were played" in replayed.ask(INITIALIZE)[0]


def test_a_request_that_was_given_up_is_never_answered_and_its_cancellation_is_known_by_any_id() -> None:
    hang = message(id=4, method="tools/call", params={"name": "hang"})
    cancel = message(method="notifications/cancelled", params={"requestId": 4})
    replayed = Replayed(talk((">", hang), (">", cancel)))
    assert replayed.ask(message(id=77, method="tools/call", params={"name": "hang"})) == []
    assert replayed.ask(message(method="notifications/cancelled", params={"requestId": 77})) == []
    assert (replayed.misses, replayed.player.summary().unused) == ([], ())


def test_a_server_that_died_dies_again() -> None:
    call = message(id=1, method="tools/call")
    replayed = Replayed(talk((">", call), outcome=Outcome.UPSTREAM_CLOSED))
    with pytest.raises(ServerEnded):
        replayed.ask(call)


def test_a_server_that_was_recorded_over_http_is_replayed_with_its_session_on_lines() -> None:
    tool, session = Channel(Role.TOOL, "web"), ("mcp-session-id", "s1")
    pretty = Body(json.dumps(json.loads(DONE), indent=1).encode())
    posts = [
        (Request("POST", "/mcp", (), Body(INITIALIZE)), Response(200, (session,), pretty)),
        (Request("POST", "/mcp", (session,), Body(READY)), Response(202, (session,))),
        (Request("POST", "/mcp", (session,), Body(message(id=1, method="gone"))), Response(404)),
    ]
    exchanges = [Exchange(str(n), tool, n, request, response) for n, (request, response) in enumerate(posts)]
    replayed = Replayed(exchanges, tool)
    (line,) = replayed.ask(INITIALIZE)
    assert b"\n" not in line
    assert json.loads(line) == json.loads(DONE)
    assert replayed.ask(READY) == []
    (failed,) = replayed.ask(message(id=1, method="gone"))
    assert json.loads(failed)["error"]["message"] == "abs replay: the recorded server answered 404"
    assert replayed.misses == []


def test_a_channel_of_which_nothing_was_recorded_is_an_error_that_names_the_others() -> None:
    with pytest.raises(UsageError, match="nothing of tool:other: what was recorded is of tool:files"):
        Replayed(talk((">", INITIALIZE)), Channel(Role.TOOL, "other"))
