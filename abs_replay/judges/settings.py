"""What an engine is opened with: flags, environment, configuration and defaults, settled (DESIGN §9)."""

from collections.abc import Mapping
from dataclasses import field
from urllib.parse import urlsplit

from abs_replay.errors import UsageError
from abs_replay.exact_json import Json
from abs_replay.values import dataclass

TIMEOUT = 60.0
SHORTEST_SECRET = 6  # letters; what is shorter stands in every other word


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """`None` is an engine's own default. `timeout` is in seconds and for one call, `price` in US dollars a
    million tokens, in and out. `options` are what `adapters:` of the configuration says for this engine
    besides; `environment` has the services' own variables. Secrets are never shown."""

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    api_key_header: str | None = None
    timeout: float = TIMEOUT
    price: tuple[float, float] | None = None
    options: Mapping[str, Json] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def hide(self, text: str) -> str:
        """The text without the key: a service may repeat it in an error."""
        return hidden(text, self.api_key)


class Unconfigured(UsageError):
    """An engine lacks what it needs: a key, a project, a package. The message says what to do; it becomes the
    error of each question that needs the engine, and what needs no judge is graded all the same."""


def own(settings: EngineSettings, option: str, *variables: str) -> str | None:
    """What an engine's own option says, else the first of the service's variables that is set."""
    said = settings.options.get(option)
    if said is not None:
        return str(said).strip() or None
    name = next((name for name in variables if settings.environment.get(name, "").strip()), None)
    return None if name is None else sendable_key(settings.environment[name], name)


def hidden(text: str, *secrets: str | None) -> str:
    """The text without these, as far as they are long enough to be secrets."""
    for secret in secrets:
        if secret and len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, "<key>")
    return text


def sendable_key(key: str, named: str) -> str:
    """A key without blanks around it; raises `Unconfigured` for one that no header can hold."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise Unconfigured(f"{named} is no key: it holds characters that can not be sent")
    return key


def checked_url(url: str, named: str) -> str:
    """An address; raises `UsageError` for what is none, without showing it: it may hold a password."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
        fine = fine and parts.port != 0
    except ValueError:
        fine = False
    if not fine:
        raise UsageError(f"{named} must be an http or https address without user and password")
    if parts.query or parts.fragment:
        raise UsageError(f"{named} must end with its path: what stands behind a ? or # is not sent")
    return url.rstrip("/")
