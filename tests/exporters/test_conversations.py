"""A cassette's exchanges stand by conversation, so that git merges what was added to different ones."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

from abs_replay.assembly import Account, explain
from abs_replay.cassette import dumps, loads
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Response, Role
from abs_replay.exporters import Content, render
from abs_replay.exporters.conversations import Conversation, by_conversation, conversations, numbered

LLM = Channel(Role.LLM, "openai")
RECORDING = Recording("r", "shop", 0.0)


def asked(id_: str, at: float, history: list[str]) -> Exchange:
    """A turn of a chat; the last of the history is asked, and answered by its own echo."""
    messages = [
        {"role": "assistant" if number % 2 else "user", "content": text}
        for number, text in enumerate(history)
    ]
    answer = {"role": "assistant", "content": f"echo {history[-1]}"}
    body = json.dumps({"model": "m", "messages": messages}).encode()
    said = json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": answer}]}).encode()
    request = Request("POST", "/v1/chat/completions", (("content-type", "application/json"),), Body(body))
    response = Response(200, (("content-type", "application/json"),), Body(said))
    return Exchange(id_, LLM, at, request, response, ended_ms=100.0)


def chat(name: str, at: float, turns: int = 3, every: float = 10.0) -> list[Exchange]:
    history: list[str] = []
    exchanges = []
    for turn in range(turns):
        history.append(f"{name} asks {turn}: {'what is it, and why? ' * 10}")
        exchanges.append(asked(f"{name}-{turn}", at + every * turn, history))
        history.append(f"echo {history[-1]}")
    return exchanges


def lost(id_: str, at: float) -> Exchange:
    return Exchange(id_, Channel(Role.TOOL, "shop"), at, Request("GET", f"/health/{id_}"), Response(204))


def joined(exchanges: list[Exchange]) -> tuple[Conversation, ...]:
    return conversations(exchanges, explain(sorted(exchanges, key=lambda each: each.started_at), RECORDING))


def exported(*exchanges: Exchange) -> str:
    found = list(exchanges)
    return render("cassette", Content(RECORDING, exchanges, conversations=joined(found))).decode()


def ids(text: str) -> list[str]:
    return [exchange.id for exchange in loads(text).exchanges]


def test_exchanges_of_a_conversation_stand_together_however_they_were_mixed() -> None:
    mixed = [*chat("ann", 0.0), *chat("bob", 1.0), lost("h", 900.0), *chat("cat", 3.0)]
    text = exported(*mixed)
    found = ids(text)
    assert sorted(found) == sorted(each.id for each in mixed)
    places = {
        name: [n for n, id_ in enumerate(found) if id_.startswith(name)] for name in ("ann", "bob", "cat")
    }
    assert all(place == list(range(place[0], place[0] + 3)) for place in places.values())
    assert loads(text).begins == {"ann-0", "bob-0", "cat-0"}


def test_the_order_does_not_depend_on_when_it_was_recorded() -> None:
    first = exported(*chat("ann", 0.0), *chat("bob", 100.0), *chat("cat", 200.0))
    second = exported(*chat("cat", 0.0), *chat("ann", 100.0), *chat("bob", 200.0))
    assert ids(first) == ids(second)


def test_a_cassette_that_was_added_to_gets_the_order_of_an_export() -> None:
    base, new = (
        [*chat("ann", 0.0), *chat("bob", 100.0), lost("h", 900.0)],
        [*chat("cat", 500.0), lost("i", 910.0)],
    )
    there = loads(exported(*base))
    exchanges = sorted((*there.exchanges, *new), key=lambda each: each.started_at)
    whole = by_conversation(replace(there, exchanges=tuple(exchanges)), explain(exchanges, RECORDING))
    assert dumps(whole) == exported(*base, *new)


def test_a_conversation_that_goes_on_stays_where_it_is() -> None:
    others = [*chat("bob", 100.0), *chat("cat", 200.0), *chat("dan", 300.0)]
    before, after = (ids(exported(*chat("ann", 0.0, turns), *others)) for turns in (2, 4))
    assert [id_ for id_ in after if id_ in before] == before


def test_a_branch_stands_with_what_it_left() -> None:
    exchanges = chat("ann", 0.0)
    said = [message["content"] for message in json.loads(exchanges[1].request.body.data)["messages"]]
    edited = asked("edited", 50.0, [*said[:2], "no, something else"])
    (whole,) = joined([*exchanges, edited])
    assert [each.id for each in whole.exchanges] == ["ann-0", "ann-1", "ann-2", "edited"]


def test_conversations_are_called_by_their_marks_or_by_their_number() -> None:
    parts = tuple(
        Conversation((lost(str(number), float(number)),), name, known)
        for number, (name, known) in enumerate(
            [(None, True), ("lamp", True), (None, False), ("lamp", True), ("lamp-4", True), (None, False)]
        )
    )
    called = {name: [each.exchanges[0].id for each in those] for name, those in numbered(parts).items()}
    assert called == {"1": ["0"], "lamp": ["1"], "lamp-3": ["3"], "lamp-4": ["4"], "rest": ["2", "5"]}


def test_a_name_that_a_number_has_taken_gives_way() -> None:
    parts = tuple(
        Conversation((lost(str(number), float(number)),), name)
        for number, name in enumerate(["a-3", "a", "a"])
    )
    assert list(numbered(parts)) == ["a-3", "a", "conversation-3"]


def test_what_nobody_joined_stands_for_itself() -> None:
    parts = conversations([lost("b", 2.0), lost("a", 1.0)], Account((), {}, ()))
    assert [(part.exchanges[0].id, part.known) for part in parts] == [("a", False), ("b", False)]


# -- git


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    settings = ["-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *settings, *arguments], cwd=folder, capture_output=True, text=True, timeout=20, check=False
    )


def merged(folder: Path, base: str, ours: str, theirs: str) -> tuple[int, str]:
    """Merge two branches that changed a cassette, with git itself."""
    file = folder / "shop.cassette.json"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for branch, text in (("main", base), ("theirs", theirs), ("ours", ours)):
        git(folder, "checkout", "-q", "-B", branch, *([] if branch == "main" else ["main"]))
        file.write_text(text, encoding="utf-8")
        git(folder, "add", file.name)
        git(folder, "commit", "-q", "-m", branch)
    result = git(folder, "merge", "-q", "--no-edit", "theirs")
    return result.returncode, file.read_text(encoding="utf-8")


def test_two_branches_that_add_a_conversation_each_merge_and_one_edits_another(tmp_path: Path) -> None:
    base = [each for n, name in enumerate(("ann", "bob", "cat", "dan")) for each in chat(name, 100.0 * n)]
    there = exported(*base)
    ours = exported(*base, *chat("eve", 1000.0))
    theirs = exported(*base, *chat("fay", 2000.0)).replace("echo cat asks 0", "Echo cat asks 0", 1)
    status, text = merged(tmp_path / "repo", there, ours, theirs)
    assert status == 0, text
    wanted = {f"{name}-{turn}" for name in ("ann", "bob", "cat", "dan", "eve", "fay") for turn in range(3)}
    assert set(ids(text)) == wanted
    assert sum("Echo cat asks 0" in str(bodies_of(each)) for each in loads(text).exchanges) == 1
    assert exported(*loads(text).exchanges) == text


def bodies_of(exchange: Exchange) -> tuple[bytes, bytes]:
    assert exchange.response is not None
    return exchange.request.body.data, exchange.response.body.data


def test_two_branches_that_go_on_with_different_conversations_merge(tmp_path: Path) -> None:
    def recorded(ann: int, dan: int) -> str:
        return exported(*chat("ann", 0.0, ann), *chat("bob", 100.0), *chat("dan", 300.0, dan))

    status, text = merged(tmp_path / "repo", recorded(2, 2), recorded(4, 2), recorded(2, 3))
    assert status == 0, text
    assert text == recorded(4, 3)
