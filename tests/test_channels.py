"""Channels: what the command line declares, and the environment that leads there."""

import pytest

from abs_replay.channels import (
    base_path,
    distinct,
    environment,
    is_loopback,
    local_url,
    parse_upstream,
    replay_environment,
    variable,
    without_proxy,
)
from abs_replay.errors import UsageError
from abs_replay.exchange import Channel, Role, Upstream

LLM = Channel(Role.LLM, "llm")


def test_a_url_alone_names_its_channel_by_the_role() -> None:
    assert parse_upstream(Role.AGENT, "http://h:1/chat") == Upstream(
        Channel(Role.AGENT, "agent"), "http://h:1/chat"
    )


def test_a_name_stands_before_the_url() -> None:
    upstream = parse_upstream(Role.TOOL, "Order MCP=http://h:1/mcp?a=b")

    assert upstream == Upstream(Channel(Role.TOOL, "Order MCP"), "http://h:1/mcp?a=b")


@pytest.mark.parametrize("text", ["openai", "https://api.openai.com/v1"])
def test_a_known_model_is_called_by_its_vendor(text: str) -> None:
    assert parse_upstream(Role.LLM, text).channel == Channel(Role.LLM, "openai")


@pytest.mark.parametrize("text", ["", "localhost:8080", "ftp://h/x", "Order MCP=", "http://", "openia"])
def test_what_is_no_url_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(UsageError, match="expected URL or NAME=URL"):
        parse_upstream(Role.LLM, text)


def test_two_channels_of_one_name_are_refused() -> None:
    twice = [parse_upstream(Role.TOOL, f"Orders=http://h:{port}") for port in (1, 2)]

    with pytest.raises(UsageError, match="two channels are called tool:Orders"):
        distinct(twice)


@pytest.mark.parametrize(("one", "other"), [("Order API", "order-api"), ("日本", "中文")])
def test_two_channels_of_one_variable_are_refused(one: str, other: str) -> None:
    both = [parse_upstream(Role.TOOL, f"{name}=http://h") for name in (one, other)]

    with pytest.raises(UsageError, match=f"tool:{one} and tool:{other} would both be ABS_TOOL"):
        distinct(both)


def test_a_listener_keeps_the_path_of_its_upstream() -> None:
    assert base_path(Upstream(LLM, "http://h:1/v1/")) == "/v1"


@pytest.mark.parametrize(
    ("channel", "name"),
    [
        (LLM, "ABS_LLM_URL"),
        (Channel(Role.TOOL, "Order MCP"), "ABS_TOOL_ORDER_MCP_URL"),
        (Channel(Role.AGENT, "support-agent"), "ABS_AGENT_SUPPORT_AGENT_URL"),
    ],
)
def test_a_variable_is_named_by_role_and_name(channel: Channel, name: str) -> None:
    assert variable(channel) == name


def test_a_gateway_is_taken_to_speak_openai() -> None:
    assert environment({LLM: "http://l"}) == {"ABS_LLM_URL": "http://l", "OPENAI_BASE_URL": "http://l"}


def test_each_vendor_goes_to_its_own_sdk() -> None:
    addresses = {Channel(Role.LLM, name): f"http://{name}" for name in ("anthropic", "gemini")}

    found = environment(addresses)

    assert found["ANTHROPIC_BASE_URL"] == "http://anthropic"
    assert found["GOOGLE_GEMINI_BASE_URL"] == "http://gemini"
    assert "OPENAI_BASE_URL" not in found


def test_the_only_channel_of_a_role_is_also_found_by_the_role() -> None:
    found = environment({Channel(Role.AGENT, "support"): "http://a"})

    assert found == {"ABS_AGENT_SUPPORT_URL": "http://a", "ABS_AGENT_URL": "http://a"}


def test_loopback_is_kept_from_a_proxy_only_where_there_is_one() -> None:
    assert without_proxy({}) == {}
    assert without_proxy({"HTTP_PROXY": "http://p", "NO_PROXY": "x"})["NO_PROXY"] == "x,127.0.0.1"


@pytest.mark.parametrize(
    ("host", "is_here"),
    [("127.0.0.2", True), ("::1", True), ("localhost", True), ("10.0.0.1", False), ("example.org", False)],
)
def test_this_machine_is_known_by_address_and_by_name(host: str, is_here: bool) -> None:
    assert is_loopback(host) is is_here


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "http://127.0.0.1:7070"), ("::", "http://[::1]:7070"), ("10.0.0.1", "http://10.0.0.1:7070")],
)
def test_a_wildcard_is_reached_on_loopback(host: str, url: str) -> None:
    assert local_url(host, 7070) == url


def test_upstreams_that_differ_are_given_as_they_are() -> None:
    upstreams = [Upstream(LLM, "http://h"), Upstream(Channel(Role.TOOL, "t"), "http://h")]
    assert distinct(upstreams) == tuple(upstreams)


def test_what_was_declared_leads_a_replay_as_it_led_the_recording_whatever_a_proxy_met_besides() -> None:
    declared, met = Channel(Role.LLM, "gateway"), Channel(Role.LLM, "openai")
    addresses = {declared: "http://127.0.0.1:1/v1", met: "http://127.0.0.1:2"}
    upstreams = (Upstream(declared, "http://gateway/v1"),)
    variables = replay_environment(addresses, {}, upstreams)
    recorded = environment({declared: addresses[declared]})
    assert recorded.items() <= variables.items()
    assert variables["OPENAI_BASE_URL"] == variables["ABS_LLM_URL"] == addresses[declared]
    assert variables["ABS_LLM_OPENAI_URL"] == addresses[met]


def test_keys_are_placeholders_where_an_sdk_would_find_none() -> None:
    addresses = {Channel(Role.LLM, "gemini"): "http://127.0.0.1:1"}
    assert replay_environment(addresses, {})["GEMINI_API_KEY"] == "replayed-by-abs"
    assert "GEMINI_API_KEY" not in replay_environment(addresses, {"GEMINI_API_KEY": "k"})
    assert "GEMINI_API_KEY" not in replay_environment(addresses, {"GOOGLE_API_KEY": "k"})
    assert "OPENAI_API_KEY" not in replay_environment({Channel(Role.TOOL, "t"): "http://127.0.0.1:1"}, {})
