"""On which channel an exchange of a foreign recording was seen: found by what it holds, or as the user says.

What a model's decoder claims runs on an `llm` channel, what the chat contract's or A2A's claims on an `agent`
channel, anything else on a `tool` channel; each is named after its host. What no decoder claims goes where
its host's others go: embeddings to the model, session ends to the tool.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import urlsplit

from abs_replay.channels import KNOWN_MODELS
from abs_replay.decoders import DECODERS, fields, rest
from abs_replay.decoders.content import request_content
from abs_replay.errors import UsageError
from abs_replay.exchange import Channel, Exchange, Role, Upstream
from abs_replay.importers.imported import UNPLACED

# Decoders of what is no model; every other built-in one is a model's.
_ROLES: Final[Mapping[str, Role]] = {
    "mcp": Role.TOOL,
    "chat_contract": Role.AGENT,
    "a2a": Role.AGENT,
    "botpress": Role.AGENT,
    "otlp": Role.AGENT,
}
_A2A = (
    "message/send",
    "message/stream",
    "SendMessage",
    "SendStreamingMessage",
)  # a2a-protocol.org, 0.3 and 1.0
_ENDPOINTS = ("/chat/completions", "/responses", "/embeddings", "/completions")  # below an SDK's base URL
_VENDORS = {urlsplit(url).hostname: name for name, url in KNOWN_MODELS.items()}


@dataclass(frozen=True, slots=True)
class Rule:
    """What `--channel ROLE[:NAME]=HOST_PATTERN` says; without a name the host gives it."""

    role: Role
    name: str | None
    pattern: str

    @classmethod
    def parse(cls, text: str) -> "Rule":
        """Read a rule; raises `UsageError`."""
        what, equals, pattern = text.partition("=")
        role, colon, name = what.partition(":")
        if role not in Role or not equals or not pattern or (colon and not name):
            raise UsageError(
                f"--channel {text!r}: expected ROLE[:NAME]=HOST_PATTERN, as in tool:Orders=orders.*; "
                "ROLE is agent, llm or tool"
            )
        return cls(Role(role), name or None, pattern.lower())

    def applies(self, host: str) -> bool:
        return fnmatchcase(host.lower(), self.pattern) or fnmatchcase(_without_port(host), self.pattern)


def place(
    exchanges: Sequence[Exchange], rules: Sequence[Rule]
) -> tuple[tuple[Exchange, ...], tuple[Upstream, ...]]:
    """Give the exchanges on their channels, and where those channels led; what has a channel keeps it."""
    claimed = [_role(each) for each in exchanges]
    by_host: dict[str, Counter[Role]] = {}
    for each, role in zip(exchanges, claimed, strict=True):
        if role is not None:
            by_host.setdefault(each.request.host, Counter())[role] += 1
    placed = tuple(
        replace(each, channel=_channel(each, role or _usual(each, by_host), rules))
        if each.channel == UNPLACED or _ruled(each, rules)
        else each
        for each, role in zip(exchanges, claimed, strict=True)
    )
    return placed, _upstreams(
        [each for each, before in zip(placed, exchanges, strict=True) if each != before]
    )


def _ruled(exchange: Exchange, rules: Sequence[Rule]) -> bool:
    return any(rule.applies(exchange.request.host) for rule in rules)


def _channel(exchange: Exchange, role: Role, rules: Sequence[Rule]) -> Channel:
    host = exchange.request.host
    rule = next((rule for rule in rules if rule.applies(host)), None)
    role = role if rule is None else rule.role
    return Channel(role, (rule and rule.name) or _name(role, host))


def _name(role: Role, host: str) -> str:
    vendor = _VENDORS.get(_without_port(host)) if role is Role.LLM else None
    return vendor or host or role.value


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


def _usual(exchange: Exchange, by_host: Mapping[str, Counter[Role]]) -> Role:
    """The role of what no decoder claims."""
    host = exchange.request.host
    if known := by_host.get(host):
        return known.most_common(1)[0][0]
    return Role.LLM if _without_port(host) in _VENDORS else Role.TOOL


def _role(exchange: Exchange) -> Role | None:
    """The role that an exchange's decoder gives it; models are asked first, for agents speak like them."""
    if exchange.channel != UNPLACED:
        return exchange.channel.role
    if _is_a2a(exchange):
        return Role.AGENT
    for role in (Role.LLM, Role.AGENT):
        seen = replace(exchange, channel=Channel(role, role.value))
        claiming = (name for name in DECODERS if DECODERS[name] is not rest and _claims(name, seen))
        if name := next(claiming, None):
            return _ROLES.get(name, Role.LLM)
    return None


def _claims(name: str, exchange: Exchange) -> bool:
    try:
        return DECODERS[name].claims(exchange)
    except Exception:  # a decoder's fault costs one exchange its channel, not the file its import
        return False


def _is_a2a(exchange: Exchange) -> bool:
    data = request_content(exchange).data
    return b'"jsonrpc"' in data and fields.obj(fields.parse_or_none(data)).get("method") in _A2A


def _upstreams(exchanges: Sequence[Exchange]) -> tuple[Upstream, ...]:
    """Where each channel led, by the host of its first exchange."""
    by_channel: dict[Channel, list[Exchange]] = {}
    for each in exchanges:
        by_channel.setdefault(each.channel, []).append(each)
    found = (Upstream(channel, _base_url(channel, those)) for channel, those in by_channel.items())
    return tuple(upstream for upstream in found if _is_url(upstream.url))


def _base_url(channel: Channel, exchanges: Sequence[Exchange]) -> str:
    first = exchanges[0].request
    origin = f"{first.scheme if first.scheme in ('http', 'https') else 'http'}://{first.host}"
    known = KNOWN_MODELS.get(channel.name) if channel.role is Role.LLM else None
    base = urlsplit(known).path if known else _base_path(channel.role, exchanges)
    inside = all(each.request.path.startswith(base) and each.request.host == first.host for each in exchanges)
    return origin + (base if inside else "")


def _base_path(role: Role, exchanges: Sequence[Exchange]) -> str:
    """The path in a client's base URL: what stands before a model's endpoint, or all of an agent's."""
    paths = {each.request.path for each in exchanges}
    if role is Role.LLM:
        ends = ((path, next((end for end in _ENDPOINTS if path.endswith(end)), None)) for path in paths)
        bases = {path.removesuffix(end) for path, end in ends if end}
        return bases.pop() if len(bases) == 1 else ""
    one_endpoint = role is Role.AGENT or any(b'"jsonrpc"' in each.request.body.data for each in exchanges)
    return paths.pop().rstrip("/") if one_endpoint and len(paths) == 1 else ""


def _is_url(url: str) -> bool:
    try:
        return bool(urlsplit(url).hostname) and urlsplit(url).port != 0
    except ValueError:
        return False
