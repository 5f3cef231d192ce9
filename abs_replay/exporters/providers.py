"""Who answered a model's exchange, in the words of the GenAI conventions, by its host, else by its path.

https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/ lists the well-known names of
`gen_ai.provider.name`. An API that others speak too is named after who made it, where the host says nothing.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from abs_replay.exchange import Recording, Role
from abs_replay.store.summaries import ExchangeSummary

_HOSTS: Final[Mapping[str, str]] = {
    "api.openai.com": "openai",
    "openai.azure.com": "azure.ai.openai",
    "services.ai.azure.com": "azure.ai.inference",
    "models.ai.azure.com": "azure.ai.inference",
    "api.anthropic.com": "anthropic",
    "amazonaws.com": "aws.bedrock",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "aiplatform.googleapis.com": "gcp.vertex_ai",
    "api.cohere.com": "cohere",
    "api.cohere.ai": "cohere",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.deepseek.com": "deepseek",
    "api.perplexity.ai": "perplexity",
    "api.x.ai": "x_ai",
    "ml.cloud.ibm.com": "ibm.watsonx.ai",
}
_PATHS: Final = (
    (re.compile(r"/(chat/completions|completions|responses|realtime)$"), "openai"),
    (re.compile(r"/v1/messages$"), "anthropic"),
    (re.compile(r"/model/[^/]+/(converse|invoke)[a-z-]*$"), "aws.bedrock"),
    (re.compile(r"/models/[^/]+:(stream)?[gG]enerateContent$"), "gcp.gen_ai"),
    (re.compile(r"/v[12]/chat$"), "cohere"),
    (re.compile(r"/api/(chat|generate)$"), "ollama"),
)


def providers(recording: Recording, exchanges: Iterable[ExchangeSummary]) -> dict[str, str]:
    """Give the provider of each exchange, by id, that a model's channel has and whose provider is known."""
    declared = {upstream.channel: upstream.url for upstream in recording.upstreams}
    found = {
        one.id: provider(declared.get(one.channel) or f"https://{one.host}", one.target)
        for one in exchanges
        if one.channel.role is Role.LLM
    }
    return {id_: name for id_, name in found.items() if name}


def provider(url: str, target: str) -> str | None:
    """Say who answers a request with that target, at the host of a URL."""
    host = f".{_host(url)}"
    named = next(
        (name for suffix, name in _HOSTS.items() if host.endswith((f".{suffix}", f"-{suffix}"))), None
    )
    path = target.partition("?")[0]
    return named or next((name for pattern, name in _PATHS if pattern.search(path)), None)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # what was recorded may be no host
        return ""
