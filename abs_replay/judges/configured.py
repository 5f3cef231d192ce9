"""Flags, environment and configuration as routes to engines: the first that says something (DESIGN §9).

What `--judge-*` and `ABS_JUDGE_*` say of model, endpoint and key is of the built-in judge and of `openai`,
and of `anthropic` and `gemini` where they are the default and no address is given: a gateway's is none of
Azure's, and its key goes to nobody else.
`judge:` is of the judge that it names. Any other engine has what `adapters:` says of it, and its service's
variables.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field

from abs_replay import judges
from abs_replay.errors import UsageError
from abs_replay.judges.builtin import with_key
from abs_replay.judges.engine import Engine
from abs_replay.judges.routing import BUILT_IN, Choices, Routes
from abs_replay.judges.settings import TIMEOUT, EngineSettings, Unconfigured, checked_url, sendable_key
from abs_replay.spec.judging import TYPES, Endpoint, Judging, is_known, unknown
from abs_replay.spec.places import meant
from abs_replay.values import dataclass

OURS = (BUILT_IN, "openai")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 5.6.2
GENERAL = (*OURS, "anthropic", "gemini")


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line, or `ABS_JUDGE_*`, says of judges; `adapters` are NAME or TYPE=NAME."""

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    api_key_header: str | None = None
    model: str | None = None
    timeout: float | None = None
    adapters: tuple[str, ...] = ()


def routes(given: Given, judging: Judging, environment: Mapping[str, str]) -> Routes:
    """Say which engine answers what, and how each is opened.

    Raises `UsageError` for an adapter that nobody knows, or an address that is none.
    """
    if given.base_url is not None:
        checked_url(given.base_url, "--judge-base-url (ABS_JUDGE_BASE_URL)")
    if given.api_key_header is not None and not _HEADER.fullmatch(given.api_key_header):
        raise UsageError(f"--judge-api-key-header {given.api_key_header!r} is no name of a header")
    choices = choices_of(given.adapters, judging)
    default = choices.default or choices.default_of_file or BUILT_IN

    def opened(name: str) -> Engine:
        of, settings = settings_of(name, default, given, judging, environment)
        return judges.open_engine(of, settings)

    return Routes(choices, opened, lambda name: is_known(name, judging.named))


def choices_of(adapters: Sequence[str], judging: Judging) -> Choices:
    """Read `--adapter NAME` and `--adapter TYPE=NAME`; of two for the same, the last counts."""
    by_type: dict[str, str] = {}
    default: str | None = None
    for written in adapters:
        type_, equals, name = written.rpartition("=")
        if equals and type_ not in TYPES:
            known = meant(type_, TYPES)
            raise UsageError(
                f"--adapter {written}: no type that a judge decides is called `{type_}`: {known}"
            )
        if not is_known(name, judging.named):
            raise UsageError(f"--adapter {written}: {unknown(name, tuple(judging.named))}")
        if equals:
            by_type[type_] = name
        else:
            default = name
    return Choices(by_type, default, judging.by_type, judging.default.adapter)


def settings_of(
    name: str, default: str, given: Given, judging: Judging, environment: Mapping[str, str]
) -> tuple[str, EngineSettings]:
    """Give the engine behind a name, and what it is opened with; raises `Unconfigured`."""
    own, rest = judging.named.get(name, Endpoint()), Endpoint(timeout=judging.default.timeout)
    of = own.adapter or name
    file = judging.default if _means(judging.default.adapter or BUILT_IN, name) else rest
    is_general = name in OURS or (name == default and of in (OURS if given.base_url else GENERAL))
    flags = given if is_general else Given(timeout=given.timeout)
    found = EngineSettings(
        model=flags.model or own.model or file.model,
        base_url=flags.base_url or own.base_url or file.base_url,
        api_key=_flag(flags) or _secret(own, environment) or _secret(file, environment),
        api_key_header=flags.api_key_header or own.api_key_header or file.api_key_header,
        timeout=flags.timeout or own.timeout or file.timeout or TIMEOUT,
        price=own.price or file.price,
        options={**file.options, **own.options},
        environment=environment,
    )
    if found.base_url is not None:
        checked_url(found.base_url, "base_url")
    return of, with_key(of, found)


def _means(default: str, name: str) -> bool:
    return name == default or (name in OURS and default in OURS)


def _secret(endpoint: Endpoint, environment: Mapping[str, str]) -> str | None:
    if endpoint.api_key_env is None:
        return None
    found = environment.get(endpoint.api_key_env, "").strip()
    if not found:
        raise Unconfigured(f"api_key_env names {endpoint.api_key_env}, and that variable is not set")
    return sendable_key(found, endpoint.api_key_env)


def _flag(given: Given) -> str | None:
    return sendable_key(given.api_key, "--judge-api-key (ABS_JUDGE_API_KEY)") if given.api_key else None
