"""The forward listener of `abs record`: its options, where hosts belong, and what leads programs to it."""

import ipaddress
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abs_replay.errors import UsageError
from abs_replay.exchange import Upstream
from abs_replay.routes import Route, Routes, parse_pattern, parse_route

if TYPE_CHECKING:
    from abs_replay.proxy import Forwarding

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
# Each replaces a program's roots: by them it must also know who is not intercepted.
BUNDLE_VARIABLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "HTTPLIB2_CA_CERTS",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "NIX_SSL_CERT_FILE",
)

OPTIONS = (
    click.option(
        "--forward",
        is_flag=True,
        help="Be a proxy for all other hosts, too [default: if nothing is declared, or a host is named].",
    ),
    click.option(
        "--route",
        multiple=True,
        metavar="HOST=ROLE[:NAME]",
        help="Whose a host is, met by the proxy: '*.example.com=tool:Orders' [default: models are known, "
        "the rest are tools].",
    ),
    click.option(
        "--ignore-host", multiple=True, metavar="HOST", help="Pass a host through, unread and unrecorded."
    ),
    click.option("--block-host", multiple=True, metavar="HOST", help="Refuse what is asked of a host."),
)


def forward_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of the forward listener."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def routes_of(
    route: Sequence[str], ignored: Sequence[str], blocked: Sequence[str], upstreams: tuple[Upstream, ...]
) -> Routes:
    """What was said of hosts, the command line before the configuration file; raises `UsageError`."""
    return Routes(
        (*map(parse_route, route), *_configured()),
        upstreams,
        tuple(parse_pattern("--ignore-host", host) for host in ignored),
        tuple(parse_pattern("--block-host", host) for host in blocked),
    )


def _configured() -> Iterator[Route]:
    from abs_replay.spec.configuration import find

    configuration = find(Path.cwd())
    channels = configuration.settings.get("channels", {})
    if not isinstance(channels, Mapping):
        raise UsageError(f"{configuration.file}: channels must be a mapping of hosts to ROLE or ROLE:NAME")
    for pattern, channel in channels.items():
        try:
            yield parse_route(f"{pattern}={channel}")
        except UsageError as error:
            raise UsageError(f"{configuration.file}: channels: {error}") from None


@dataclass(frozen=True, slots=True)
class Way:
    """What leads programs through the forward listener: variables, and what is to be said about them."""

    variables: dict[str, str]
    warnings: tuple[str, ...] = ()


def way_through(
    url: str | None,
    forwarding: "Forwarding | None",
    environ: Mapping[str, str],
    hidden: str = "what is to be recorded",
) -> Way:
    """The variables that SDKs and tools obey; without a forward listener there are none.

    `hidden` is what would be missed by who goes around it.
    """
    from abs_replay.proxy.authority import bundle

    if url is None or forwarding is None:
        return Way({})
    trusted, roots = str(forwarding.authority.certificate), str(bundle(forwarding.authority, environ))
    variables = {name: url for each in PROXY_VARIABLES for name in (each, each.lower())}
    variables |= dict.fromkeys(BUNDLE_VARIABLES, roots)
    if environ.get("SSL_CERT_DIR"):  # what is there is in the bundle: who looks into folders alone finds us
        variables["SSL_CERT_DIR"] = str(forwarding.authority.certificate.parent)
    # Node adds these to its own roots, and knows of proxies from version 22.21 and 24 on.
    variables["NODE_EXTRA_CA_CERTS"] = roots if environ.get("NODE_EXTRA_CA_CERTS") else trusted
    variables["NODE_USE_ENV_PROXY"] = "1"
    named = [entry.strip() for entry in _not_proxied(environ).split(",") if entry.strip()]
    hiding = [entry for entry in named if _hides(entry, forwarding.routes)]
    if named:
        left = ",".join(entry for entry in named if entry not in hiding)
        variables |= {"NO_PROXY": left, "no_proxy": left}
    said = f"NO_PROXY names {', '.join(hiding)}: left out, for it would hide {hidden}"
    return Way(variables, (said,) if hiding else ())


def unasked_proxies(environ: Mapping[str, str]) -> Iterator[str]:
    """What is to be said of proxies in the environment that the recorder does not go through."""
    for name in (*PROXY_VARIABLES, *map(str.lower, PROXY_VARIABLES)):
        scheme, divided, _ = environ.get(name, "").partition("://")
        if divided and scheme not in ("http", "https"):
            yield f"{name} names a proxy of {scheme}, which is not asked: upstreams are connected to directly"


def forwarding_for(routes: Routes) -> "Forwarding":
    """A forward listener with the user's own authority, which is made here if there is none."""
    from abs_replay.proxy import Forwarding
    from abs_replay.proxy.authority import authority

    return Forwarding(authority(os.environ), routes)


def _not_proxied(environ: Mapping[str, str]) -> str:
    return environ.get("NO_PROXY") or environ.get("no_proxy") or ""


def _hides(entry: str, routes: Routes) -> bool:
    """Whether an entry of NO_PROXY leads around us: to every host, or to one that was declared."""
    suffix = entry.lower().lstrip("*.")
    return entry == "*" or any(_covers(suffix, host) for host in routes.hosts())


def _covers(suffix: str, host: str) -> bool:
    if host == suffix or host.endswith(f".{suffix}"):
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(suffix)
    except ValueError:
        return False
