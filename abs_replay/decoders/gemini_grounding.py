"""What Gemini's answers say that Google searched and read by itself: metadata beside the parts.

https://ai.google.dev/api/generate-content#GroundingMetadata and #UrlContextMetadata. Where the parts
show no such call, nothing else tells a reader that the answer comes from a search.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from abs_replay.decoders.events import Call, Part, Said, Served
from abs_replay.decoders.fields import items, obj
from abs_replay.exact_json import Json

_CHUNKS: Final = {
    "web": "google_search",
    "image": "google_search",
    "retrievedContext": "file_search",
    "maps": "google_maps",
}


def grounding(candidate: Mapping[str, Any], at: str, streamed: bool) -> list[Served]:
    """Read what a candidate is grounded in; `at` is its place, or that of the event which holds it."""
    searches, pages = ("", "") if streamed else (".groundingMetadata", ".urlContextMetadata")
    return [*_searches(candidate, at + searches), *_pages(candidate, at + pages)]


def _searches(candidate: Mapping[str, Any], at: str) -> list[Served]:
    metadata = obj(candidate.get("groundingMetadata"))
    queries = items(metadata.get("webSearchQueries"))
    chunks = [chunk for chunk in items(metadata.get("groundingChunks")) if obj(chunk)]
    found: list[Served] = []
    for name in dict.fromkeys(_CHUNKS.values()):
        asked: Json = {"queries": queries} if name == "google_search" and queries else {}
        read = [chunk for chunk in chunks if _tool(chunk) == name]
        if read or asked:
            found.append(Served(Call(name, asked, at=at), read or None, answered=bool(read), at=at))
    return found


def _tool(chunk: Mapping[str, Any]) -> str:
    return next((name for key, name in _CHUNKS.items() if key in chunk), "google_search")


def _pages(candidate: Mapping[str, Any], at: str) -> list[Served]:
    metadata = obj(candidate.get("urlContextMetadata"))
    read = [page for page in items(metadata.get("urlMetadata")) if obj(page)]
    asked = {"urls": [page.get("retrievedUrl") for page in read]}
    return [Served(Call("url_context", asked, at=at), read, at=at)] if read else []


def grounded(parts: Sequence[Part], found: Sequence[Served]) -> list[Part]:
    """Add what was found: to the call that shows no result of its own, else before the first words."""
    made = list(parts)
    for served in found:
        bare = next((i for i, part in enumerate(made) if _is_bare(part, served.call.name)), None)
        if bare is None:
            first = next((i for i, part in enumerate(made) if isinstance(part, Said)), len(made))
            made.insert(first, served)
            continue
        known = made[bare]
        assert isinstance(known, Served)
        made[bare] = replace(known, content=served.content, answered=served.answered, at=served.at)
    return made


def _is_bare(part: Part, name: str) -> bool:
    return isinstance(part, Served) and part.call.name == name and part.content is None
