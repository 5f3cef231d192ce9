"""Hosts belong where they were declared to, models where they are known, and the rest are tools."""

import pytest

from abs_replay.channels import parse_upstream
from abs_replay.errors import UsageError
from abs_replay.exchange import Role
from abs_replay.routes import Routes, fits, parse_pattern, parse_route

ROUTES = Routes(
    (
        parse_route("*.shop.example=tool:Shop"),
        parse_route("localhost:8080 = agent"),
        parse_route("gw.example=llm"),
    ),
    (
        parse_upstream(Role.TOOL, "Orders=http://10.0.0.1:81/orders"),
        parse_upstream(Role.LLM, "http://10.0.0.1:81"),
    ),
    ignored=("*.sentry.io",),
    blocked=("*.tracker.example:443",),
)


@pytest.mark.parametrize(
    ("scheme", "host", "port", "target", "channel"),
    [
        ("https", "api.shop.example", 443, "/", "tool:Shop"),
        ("https", "API.Shop.Example.", 8443, "/", "tool:Shop"),
        ("https", "shop.example", 443, "/", "tool:shop.example"),
        ("http", "localhost", 8080, "/", "agent"),
        ("http", "localhost", 8081, "/", "tool:localhost:8081"),
        ("https", "gw.example", 443, "/", "llm"),
        ("http", "10.0.0.1", 81, "/orders/1", "tool:Orders"),
        ("http", "10.0.0.1", 81, "/orders?x", "tool:Orders"),
        ("http", "10.0.0.1", 81, "/ordersX", "llm"),
        ("https", "10.0.0.1", 81, "/orders", "tool:10.0.0.1:81"),
        ("https", "api.openai.com", 443, "/v1/responses", "llm:openai"),
        ("https", "x.openai.azure.com", 443, "/", "llm:azure"),
        ("https", "europe-west1-aiplatform.googleapis.com", 443, "/", "llm:vertex"),
        ("https", "bedrock-runtime.us-east-1.amazonaws.com", 443, "/", "llm:bedrock"),
        ("http", "localhost", 11434, "/api/chat", "llm:ollama"),
        ("http", "example.com", 80, "/", "tool:example.com"),
    ],
)
def test_a_host_has_the_channel_that_fits_it_best(
    scheme: str, host: str, port: int, target: str, channel: str
) -> None:
    assert str(ROUTES.channel(scheme, host, port, target)) == channel


def test_a_model_host_that_is_declared_without_a_name_keeps_its_usual_one() -> None:
    routes = Routes((parse_route("api.openai.com=llm"), parse_route("api.mistral.ai=tool")))
    assert str(routes.channel("https", "api.openai.com", 443)) == "llm:openai"
    assert str(routes.channel("https", "api.mistral.ai", 443)) == "tool:api.mistral.ai"


def test_hosts_are_ignored_and_blocked_by_pattern() -> None:
    assert ROUTES.is_ignored("o1.sentry.io", 443)
    assert not ROUTES.is_ignored("sentry.io", 443)
    assert ROUTES.blocked_by("a.tracker.example", 443) == "*.tracker.example:443"
    assert ROUTES.blocked_by("a.tracker.example", 80) is None


def test_what_was_declared_is_known_by_its_hosts() -> None:
    assert ROUTES.hosts() == ("shop.example", "localhost", "gw.example", "10.0.0.1", "10.0.0.1")
    assert Routes((parse_route("*=tool"),)).hosts() == ()


def test_a_port_in_a_pattern_may_be_any() -> None:
    assert fits("localhost:*", "localhost", 9)
    assert fits("*", "anything", 9)


@pytest.mark.parametrize("text", ["x", "x=", "=llm", "x=robot", "http://x=llm", "a b=tool", "x=robot:llm"])
def test_what_is_no_route_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="--route"):
        parse_route(text)


@pytest.mark.parametrize("text", ["", "http://x", "a b"])
def test_what_can_name_no_host_is_no_pattern(text: str) -> None:
    with pytest.raises(UsageError, match=r"--block-host .*: expected a host"):
        parse_pattern("--block-host", text)
