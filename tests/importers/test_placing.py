"""Exchanges of tools that know no channels are placed by what they hold, or as the user says."""

import json

import pytest

from abs_replay.errors import UsageError
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role, Upstream
from abs_replay.importers import UNPLACED
from abs_replay.importers.placing import Rule, place


def exchange(url: str, asked: object = None, told: object = None, channel: Channel = UNPLACED) -> Exchange:
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    json_type = (("content-type", "application/json"),)
    request = Request(
        "POST" if asked else "GET", f"/{path}", json_type, _body(asked), scheme=scheme, host=host
    )
    return Exchange("", channel, 0.0, request, Response(200, json_type, _body(told)))


def _body(value: object) -> Body:
    return Body(b"" if value is None else json.dumps(value).encode())


CHAT = {"messages": [{"role": "user", "content": "Hi"}]}
CHOICES = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}}]}
ANSWER = {"message": {"role": "assistant", "content": "Hello"}}
OPENAI = exchange("https://api.openai.com/v1/chat/completions", CHAT, CHOICES)
EMBED = exchange("https://api.openai.com/v1/embeddings", {"input": "x"}, {"data": []})
LOCAL = exchange("http://localhost:8000/api/v1/chat/completions", CHAT, CHOICES)
TOOL = exchange("http://mcp.example/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
ENDED = exchange("http://mcp.example/mcp")
REST = exchange("https://orders.example/orders/17")
AGENT = exchange("http://agent.example/chat", CHAT, ANSWER)
A2A = exchange("http://agent.example:9/", {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {}})
TASK = exchange("http://agent.example:9/", {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {}})


def channels(*exchanges: Exchange, rules: tuple[str, ...] = ()) -> list[str]:
    return [str(each.channel) for each in place(exchanges, [Rule.parse(rule) for rule in rules])[0]]


def test_a_models_exchange_is_on_an_llm_channel_named_by_vendor_or_host() -> None:
    assert channels(OPENAI, LOCAL) == ["llm:openai", "llm:localhost:8000"]


def test_tools_are_named_by_host_and_agents_too() -> None:
    assert channels(TOOL, REST, AGENT) == ["tool:mcp.example", "tool:orders.example", "agent:agent.example"]


def test_what_no_decoder_claims_goes_where_its_host_goes() -> None:
    assert channels(EMBED) == ["llm:openai"]
    assert channels(LOCAL, exchange("http://localhost:8000/health")) == ["llm:localhost:8000"] * 2
    assert channels(ENDED, TOOL) == ["tool:mcp.example"] * 2


def test_an_a2a_agent_is_one_for_all_it_is_asked() -> None:
    assert set(channels(A2A, A2A, exchange("http://agent.example:9/.well-known/agent-card.json"))) == {
        "agent:agent.example:9"
    }


def test_a_rule_comes_before_what_is_found_and_the_first_one_counts() -> None:
    rules = ("agent:Chat=agent.*", "llm=*.example", "tool=agent.*")
    assert channels(AGENT, A2A, REST, OPENAI, rules=rules) == [
        *("agent:Chat", "agent:Chat", "llm:orders.example", "llm:openai")
    ]


def test_a_channel_that_is_known_stays_unless_a_rule_says_otherwise() -> None:
    known = exchange("https://orders.example/", channel=Channel(Role.TOOL, "Orders"))
    assert channels(known) == ["tool:Orders"]
    assert channels(known, rules=("tool:Other=orders.example",)) == ["tool:Other"]


@pytest.mark.parametrize("text", ["", "llm", "llm=", "model=x", "llm:=x", "=x", "tool:X"])
def test_a_rule_that_is_none_says_how_one_looks(text: str) -> None:
    with pytest.raises(UsageError, match=r"expected ROLE\[:NAME\]=HOST_PATTERN"):
        Rule.parse(text)


@pytest.mark.parametrize(
    ("exchanges", "url"),
    [
        ((OPENAI, EMBED), "https://api.openai.com/v1"),
        ((LOCAL,), "http://localhost:8000/api/v1"),
        ((TOOL, ENDED), "http://mcp.example/mcp"),
        ((REST,), "https://orders.example"),
        ((AGENT,), "http://agent.example/chat"),
        ((AGENT, exchange("http://agent.example/other", CHAT, ANSWER)), "http://agent.example"),
    ],
)
def test_the_upstream_is_the_base_url_that_a_client_has(exchanges: tuple[Exchange, ...], url: str) -> None:
    placed, upstreams = place(exchanges, ())
    assert upstreams == (Upstream(placed[0].channel, url),)


@pytest.mark.parametrize("host", ["", "[", "a:b:c", "a b", "h:99999"])
def test_a_host_that_makes_no_url_has_no_upstream_or_a_good_one(host: str) -> None:
    _, upstreams = place([exchange(f"http://{host}/x")], ())
    assert len(upstreams) <= 1
