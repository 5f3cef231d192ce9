"""A provider is named by its host, else by the API that it speaks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.exchange import Channel, Outcome, Recording, Role, Upstream
from abs_replay.exporters.providers import provider, providers
from abs_replay.store.summaries import ExchangeSummary


def summary(id_: str, role: Role, host: str, target: str) -> ExchangeSummary:
    channel = Channel(role, "m")
    return ExchangeSummary(
        id_, "r", channel, 0.0, "POST", host, target, 200, Outcome.COMPLETE, None, 0, 0, 1.0
    )


@pytest.mark.parametrize(
    ("url", "target", "name"),
    [
        ("https://api.openai.com/v1", "/v1/responses", "openai"),
        ("https://api.groq.com/openai/v1", "/openai/v1/chat/completions", "groq"),
        (
            "https://me.openai.azure.com",
            "/openai/deployments/m/chat/completions?api-version=1",
            "azure.ai.openai",
        ),
        ("https://us-central1-aiplatform.googleapis.com", "/v1/models/g:generateContent", "gcp.vertex_ai"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com", "/model/m/converse-stream", "aws.bedrock"),
        ("http://127.0.0.1:8000", "/v1/messages?beta=true", "anthropic"),
        ("http://127.0.0.1:8000", "/v1/chat/completions", "openai"),
        ("http://127.0.0.1:11434", "/api/chat", "ollama"),
        ("http://127.0.0.1:8000", "/v1beta/models/g:streamGenerateContent?alt=sse", "gcp.gen_ai"),
        ("https://notapi.openai.com.example", "/ask", None),
        ("https://[", "/ask", None),
    ],
)
def test_a_provider_is_known_by_its_host_else_by_its_path(url: str, target: str, name: str | None) -> None:
    assert provider(url, target) == name


@given(st.text(), st.text())
def test_nothing_that_was_recorded_is_an_error(url: str, target: str) -> None:
    assert provider(url, target) is None or provider(url, target)


def test_only_models_have_a_provider_and_a_declared_upstream_goes_before_the_host_asked() -> None:
    upstream = Upstream(Channel(Role.LLM, "m"), "https://api.mistral.ai/v1")
    listed = [
        summary("x1", Role.LLM, "127.0.0.1:9", "/v1/chat/completions"),
        summary("x2", Role.TOOL, "api.openai.com", "/v1/chat/completions"),
    ]
    assert providers(Recording("r", "n", 0.0, upstreams=(upstream,)), listed) == {"x1": "mistral_ai"}
    assert providers(Recording("r", "n", 0.0), listed) == {"x1": "openai"}
