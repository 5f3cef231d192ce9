"""The built-in judge: OpenAI, Anthropic or Gemini, by what keys there are.

An endpoint of one's own (`base_url`) speaks as OpenAI does. Else the model's name decides, and of the vendors
whose key is in the environment the first of `KEYS`.
"""

from collections.abc import Mapping
from dataclasses import replace

from abs_replay.judges.engine import Engine
from abs_replay.judges.settings import EngineSettings, Unconfigured, sendable_key

KEYS: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
MODELS = {"claude": "anthropic", "gemini": "gemini", "gpt": "openai"}  # how models' names begin
HOW = (
    "no judge configured: set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, name an endpoint with "
    "--judge-base-url, or another judge with --adapter"
)


def open_engine(settings: EngineSettings) -> Engine:
    """Open the vendor's engine; raises `Unconfigured` where there is neither key nor endpoint."""
    from abs_replay.judges import open_engine

    vendor = vendor_of(settings)
    if vendor is None:
        raise Unconfigured(HOW)
    return open_engine(vendor, with_key(vendor, settings))


def vendor_of(settings: EngineSettings) -> str | None:
    """Name the vendor whose model is asked; None where no key says so."""
    if settings.base_url:
        return "openai"
    named = next(
        (vendor for start, vendor in MODELS.items() if (settings.model or "").startswith(start)), None
    )
    if settings.api_key:
        return named or "openai"
    there = [vendor for vendor in KEYS if key_of(vendor, settings.environment)]
    return named if named in there else next(iter(there), None)


def with_key(vendor: str, settings: EngineSettings) -> EngineSettings:
    """The settings with the vendor's key where none was given; an endpoint of somebody else never gets it."""
    if settings.api_key or settings.base_url:
        return settings
    return replace(settings, api_key=key_of(vendor, settings.environment))


def key_of(vendor: str, environment: Mapping[str, str]) -> str | None:
    """The key of a vendor in the environment; an empty one is none."""
    name = next((name for name in KEYS.get(vendor, ()) if environment.get(name, "").strip()), None)
    return None if name is None else sendable_key(environment[name], name)
