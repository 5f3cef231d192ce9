"""Where the hosts that the forward listener meets belong: to channels, past the recorder, or nowhere.

A pattern is a host with `*`, `?` and `[..]` as in file names: `api.example.com`, `*.example.com`; with a
port, `localhost:9001`, it fits that port alone. What is declared outdoes what is known, and of routes the
first that fits wins.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from abs_replay.errors import UsageError
from abs_replay.exchange import Channel, Role, Upstream

# Hosts that speak for a model, whoever asks them.
MODEL_HOSTS: Mapping[str, str] = {
    "api.openai.com": "openai",
    "*.api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gemini",
    "aiplatform.googleapis.com": "vertex",
    "*-aiplatform.googleapis.com": "vertex",
    "*.openai.azure.com": "azure",
    "*.cognitiveservices.azure.com": "azure",
    "*.services.ai.azure.com": "azure",
    "bedrock-runtime*.amazonaws.com": "bedrock",
    "api.cohere.com": "cohere",
    "api.cohere.ai": "cohere",
    "api.mistral.ai": "mistral",
    "api.groq.com": "groq",
    "api.deepseek.com": "deepseek",
    "api.together.xyz": "together",
    "api.fireworks.ai": "fireworks",
    "api.x.ai": "xai",
    "openrouter.ai": "openrouter",
    "localhost:11434": "ollama",
    "127.0.0.1:11434": "ollama",
}
USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Route:
    """Hosts by pattern, and whose they are; a channel without a name takes that of its host."""

    pattern: str
    role: Role
    name: str = ""


@dataclass(frozen=True, slots=True)
class Routes:
    """What was said of hosts, and of URLs; those of `upstreams` are more exact, but patterns come first."""

    routes: tuple[Route, ...] = ()
    upstreams: tuple[Upstream, ...] = ()
    ignored: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()

    def channel(self, scheme: str, host: str, port: int, target: str = "/") -> Channel:
        """The channel of what is asked there."""
        place = host if USUAL_PORTS.get(scheme) == port else f"{host}:{port}"
        for route in self.routes:
            if fits(route.pattern, host, port):
                return Channel(route.role, route.name or _usual_name(route.role, host, port, place))
        declared = [each for each in self.upstreams if _is_under(each.url, scheme, host, port, target)]
        if declared:
            return max(declared, key=lambda each: len(each.url)).channel
        model = _model(host, port)
        return Channel(Role.LLM, model) if model else Channel(Role.TOOL, place)

    def is_ignored(self, host: str, port: int) -> bool:
        return any(fits(pattern, host, port) for pattern in self.ignored)

    def blocked_by(self, host: str, port: int) -> str | None:
        """The pattern that keeps a host from being asked, if one does."""
        return next((pattern for pattern in self.blocked if fits(pattern, host, port)), None)

    def hosts(self) -> tuple[str, ...]:
        """The hosts that someone wants recorded; of a pattern, what its hosts end with."""
        patterns = [re.sub(r":([0-9]+|\*)$", "", route.pattern).lstrip("*.") for route in self.routes]
        return (*filter(None, patterns), *(urlsplit(each.url).hostname or "" for each in self.upstreams))


def parse_route(text: str) -> Route:
    """Read `HOST_PATTERN=ROLE[:NAME]`; raises `UsageError` where it is none."""
    pattern, equals, channel = (part.strip() for part in text.rpartition("="))
    role, _, name = channel.partition(":")
    if not equals or role not in list(Role):
        raise UsageError(f"--route {text!r}: expected HOST_PATTERN=ROLE[:NAME], ROLE agent, llm or tool")
    return Route(parse_pattern("--route", pattern), Role(role), name.strip())


def parse_pattern(option: str, text: str) -> str:
    """A pattern of hosts, in small letters; raises `UsageError` for what can name no host."""
    if not text or "/" in text or re.search(r"\s", text):
        raise UsageError(f"{option} {text!r}: expected a host: api.example.com, *.example.com, host:443")
    return text.lower()


def fits(pattern: str, host: str, port: int) -> bool:
    """Whether a host is meant by a pattern."""
    host = host.lower().rstrip(".")
    return fnmatchcase(f"{host}:{port}" if _has_port(pattern) else host, pattern)


def _has_port(pattern: str) -> bool:
    return re.search(r":([0-9]+|\*)$", pattern) is not None


def _model(host: str, port: int) -> str | None:
    known = (name for pattern, name in MODEL_HOSTS.items() if fits(pattern, host, port))
    return next(known, None)


def _usual_name(role: Role, host: str, port: int, place: str) -> str:
    if role is Role.TOOL:
        return place
    return (_model(host, port) or role.value) if role is Role.LLM else role.value


def _is_under(url: str, scheme: str, host: str, port: int, target: str) -> bool:
    parts = urlsplit(url)
    there = parts.scheme, parts.hostname, parts.port or USUAL_PORTS[parts.scheme]
    base = parts.path.rstrip("/")
    beginning = target.startswith(base) and target[len(base) : len(base) + 1] in ("", "/", "?")
    return there == (scheme, host.lower(), port) and beginning
