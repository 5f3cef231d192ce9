"""What is in no trace is told by assembly as by the reasons for its traces."""

from hypothesis import given
from hypothesis import strategies as st

from abs_replay.assembly import Fate, assemble, explain
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role

BODIES = (
    b"",
    b"no JSON",
    b'{"messages": []}',
    b'{"messages": [{"role": "user", "content": "hi"}]}',
    b'{"messages": [{"role": "user", "content": "hi"}, {"role": "tool", "content": "x"}]}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}',
    b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "look"}}',
)
PATHS = ("/chat", "/v1/chat/completions", "/mcp", "/health")


@st.composite
def exchanges(draw: st.DrawFn) -> list[Exchange]:
    found = []
    for number in range(draw(st.integers(0, 6))):
        sent, got = Body(draw(st.sampled_from(BODIES))), Body(draw(st.sampled_from(BODIES)))
        request = Request(draw(st.sampled_from(("GET", "POST"))), draw(st.sampled_from(PATHS)), (), sent)
        answer = Response(draw(st.sampled_from((200, 500))), (), got)
        role = draw(st.sampled_from(Role))
        at = draw(st.sampled_from((1.0, 400.0))) * number
        found.append(Exchange(f"x{number}", Channel(role, str(role)), at, request, answer))
    return found


@given(exchanges())
def test_what_assembly_leaves_out_is_what_the_account_says_to_be_in_no_trace(made: list[Exchange]) -> None:
    left: list[Fate] = []
    traces = assemble(made, left_out=left.append)
    account = explain(made)
    assert traces == account.traces
    assert sorted(map(repr, left)) == sorted(repr(fate) for fate in account.fates if not fate.traces)


def test_a_poll_that_shows_nothing_yet_of_what_nobody_saw_asked_is_in_no_trace() -> None:
    got = Body(b'{"id": "resp_1", "object": "response", "status": "queued", "output": []}')
    channel, json = Channel(Role.LLM, "openai"), (("content-type", "application/json"),)
    poll = Exchange("x", channel, 1.0, Request("GET", "/v1/responses/resp_1"), Response(200, json, got))
    left: list[Fate] = []
    assert assemble([poll], left_out=left.append) == explain([poll]).traces == ()
    assert [(fate.exchange, fate.protocol) for fate in left] == [("x", "openai_responses")]
    assert tuple(left) == explain([poll]).fates
