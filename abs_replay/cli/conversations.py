"""How conversations are told apart, as the nearest configuration says, for commands that read traces."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abs_replay.assembly import ConversationKey


def conversation_key() -> "ConversationKey":
    """The configured key; raises `SpecError` for a configuration that can not be used."""
    from abs_replay.assembly import ConversationKey
    from abs_replay.spec.configuration import find

    return ConversationKey(**find(Path.cwd()).conversation)
