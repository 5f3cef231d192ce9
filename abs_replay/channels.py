"""Channels as the command line declares them, and the environment that leads a program to them."""

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from abs_replay.errors import UsageError
from abs_replay.exchange import Channel, Role, Upstream

KNOWN_MODELS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}

# Where each vendor's SDK looks for the base URL.
SDK_VARIABLES = {
    "openai": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
}

# SDKs refuse to start without these; what stands in them does not matter to a recording.
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
# Google's SDK warns where both are set, and takes this one.
OTHER_KEYS = {"GEMINI_API_KEY": "GOOGLE_API_KEY"}
PLACEHOLDER = "replayed-by-abs"


def parse_upstream(role: Role, text: str) -> Upstream:
    """Read `URL`, `NAME=URL` or a known model's name; raises `UsageError` where it is none."""
    name, _, url = text.partition("=") if re.match(r"[^/:?]+=", text) else ("", "", text)
    if role is Role.LLM and url in KNOWN_MODELS:
        name, url = name or url, KNOWN_MODELS[url]
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        known = f", or one of {', '.join(KNOWN_MODELS)}" if role is Role.LLM else ""
        raise UsageError(f"--{role} {text!r}: expected URL or NAME=URL with http:// or https://{known}")
    return Upstream(Channel(role, name.strip() or _usual_name(role, parts.hostname)), url)


def _usual_name(role: Role, host: str) -> str:
    vendors = {urlsplit(url).hostname: vendor for vendor, url in KNOWN_MODELS.items()}
    return vendors.get(host, role.value) if role is Role.LLM else role.value


def distinct(upstreams: Sequence[Upstream]) -> tuple[Upstream, ...]:
    """Refuse two channels of one role and name, or of one variable: a program could not tell them apart."""
    seen: dict[str, Channel] = {}
    for upstream in upstreams:
        channel, name = upstream.channel, variable(upstream.channel)
        if seen.get(name) == channel:
            raise UsageError(f"two channels are called {channel}: name them, --{channel.role} NAME=URL")
        if name in seen:
            raise UsageError(
                f"{seen[name]} and {channel} would both be {name}: name one otherwise, in letters A to Z"
            )
        seen[name] = channel
    return tuple(upstreams)


def base_path(upstream: Upstream) -> str:
    """The path that an upstream's listener keeps: `/v1` of `http://h:1/v1`."""
    return urlsplit(upstream.url).path.rstrip("/")


def local_url(host: str, port: int) -> str:
    """The URL under which this machine reaches a listener; a wildcard is reached on loopback."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def variable(channel: Channel) -> str:
    """The variable of a channel: `ABS_LLM_URL`, `ABS_TOOL_ORDER_MCP_URL`."""
    words = [channel.role.value] if channel.name == channel.role.value else [channel.role.value, channel.name]
    return "ABS_" + re.sub(r"[^A-Z0-9]+", "_", " ".join(words).upper()).strip("_") + "_URL"


def environment(addresses: Mapping[Channel, str]) -> dict[str, str]:
    """The variables that lead a program to these base URLs, those of the SDKs included."""
    result = {variable(channel): url for channel, url in addresses.items()}
    for role in Role:
        of_role = [url for channel, url in addresses.items() if channel.role is role]
        if len(of_role) == 1:
            result.setdefault(f"ABS_{role.value.upper()}_URL", of_role[0])
    for vendor, name in SDK_VARIABLES.items():
        models = {channel.name: url for channel, url in addresses.items() if channel.role is Role.LLM}
        # What is no vendor's own API is most often a gateway that speaks OpenAI's.
        gateways = [url for name, url in models.items() if name not in KNOWN_MODELS and vendor == "openai"]
        if vendor in models or gateways:
            result[name] = models[vendor] if vendor in models else gateways[0]
    return result


def replay_environment(
    addresses: Mapping[Channel, str], environ: Mapping[str, str], upstreams: Iterable[Upstream] = ()
) -> dict[str, str]:
    """The variables of a replay: those that lead there, keys that are missing, no proxy for loopback.

    The channels of `upstreams`, which were declared, lead as they did when recorded, whatever else was met.
    """
    declared = {each.channel for each in upstreams}
    leading = {channel: url for channel, url in addresses.items() if channel in declared}
    variables = environment(addresses) | environment(leading)
    if any(channel.role is Role.LLM for channel in addresses):
        missing = [key for key in KEYS if not (environ.get(key) or environ.get(OTHER_KEYS.get(key, key)))]
        variables |= dict.fromkeys(missing, PLACEHOLDER)
    return variables | without_proxy(environ)


def without_proxy(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that keep a proxy, where the environment names one, from being asked for loopback."""
    if not any(environ.get(name) for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")):
        return {}
    hosts = ",".join(filter(None, (environ.get("NO_PROXY") or environ.get("no_proxy"), "127.0.0.1")))
    return {"NO_PROXY": hosts, "no_proxy": hosts}


def is_loopback(host: str) -> bool:
    """Whether a host, by name or address, is this machine itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
