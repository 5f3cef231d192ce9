"""States of a run of OpenAI's Agents SDK: `RunState.to_json()`, schema versions 1.0 to 1.13.

    {"$schemaVersion", "original_input", "session_items": [{"type", "raw_item"}], "model_responses": [...]}

https://github.com/openai/openai-agents-python. Raw items are those of the Responses API; what waits for an
approval is the call once more.
"""

from collections.abc import Mapping
from typing import Any

from abs_replay.decoders import responses_items
from abs_replay.decoders.fields import items, obj, text
from abs_replay.importers import loose_messages
from abs_replay.importers.imported import Imported
from abs_replay.importers.source import Source
from abs_replay.importers.telling import TIMELESS, Teller, tagged


def recognises(source: Source) -> bool:
    """Whether the file is an object with `$schemaVersion` and the items of a run."""
    return '"$schemaVersion"' in (source.text or "") and "generated_items" in obj(source.json)


def read(source: Source) -> Imported:
    """Read the one conversation; raises `UsageError`."""
    document = obj(source.need_json())
    found = [obj(item) for key in ("session_items", "generated_items") for item in items(document.get(key))]
    asked = document.get("original_input")
    if not found and not asked:
        raise source.wrong("expected an `original_input` and `generated_items`")
    teller = Teller()
    for message in (*loose_messages.messages(asked), *responses_items.history(_raw(document), "").messages):
        teller.tell(message)
    if not len(teller):
        raise source.wrong("its items hold no message and no call")
    agent = obj(document.get("current_agent"))
    tags = tagged(
        (("agent", text(agent.get("name"))), ("workflow", obj(document.get("trace")).get("workflow_name")))
    )
    return Imported(traces=(teller.trace(tags),), remarks=(TIMELESS,))


def _raw(document: Mapping[str, Any]) -> list[Any]:
    """The raw items, of the whole session where that is kept, each once."""
    whole = items(document.get("session_items")) or items(document.get("generated_items"))
    wanted = (obj(item) for item in whole)
    return [item.get("raw_item") for item in wanted if item.get("type") != "tool_approval_item"]
