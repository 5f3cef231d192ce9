"""Record what an agent and its tools said on the wire, replay it without them, grade it again."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abs_replay.replay import replaying as replaying

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Load what stands here for users of Python only where it is asked for: it takes a server."""
    if name != "replaying":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module("abs_replay.replay").replaying
