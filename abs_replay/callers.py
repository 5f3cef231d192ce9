"""Who may ask a listener about itself: what lies under `/__abs__/` of a recorder or a replay.

A page of any site in a browser on this machine can send requests to loopback; here it is refused.
"""

from urllib.parse import urlsplit

from abs_replay.channels import is_loopback
from abs_replay.exchange import Headers, header

CONTROL = "/__abs__/"  # what lies under it is meant for the listener, not for what is behind it


def page_from_elsewhere(headers: Headers) -> str | None:
    """Why a request of another site's page is refused, if it is one: a browser says whose page it is."""
    origin = header(headers, "origin")
    if origin is None or is_loopback(_host(origin)):
        return None
    return f"pages of {origin} may not ask this"


def other_name(headers: Headers) -> str | None:
    """Why a request for another host is refused where the listener is on loopback.

    A site may let its own name lead there (DNS rebinding): then its pages need name no origin.
    """
    named = header(headers, "host")
    if named is None or is_loopback(_host(f"//{named}")):
        return None
    return f"this is no {named}: ask 127.0.0.1, or send `Host: localhost`"


def _host(origin: str) -> str:
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""
