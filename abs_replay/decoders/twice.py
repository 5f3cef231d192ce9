"""Keys that stand twice in one object of a body: JSON leaves open which counts (RFC 8259 §4).

Every decoder takes the last, as most programs do. To look for them takes as long as to decode, so it is done
where somebody asks for reasons, and not for each trace.
"""

from dataclasses import replace

from abs_replay import exact_json
from abs_replay.decoders.content import request_content, response_content
from abs_replay.decoders.events import Decoded
from abs_replay.exact_json import DuplicateKey
from abs_replay.exchange import Exchange


def with_twice(decoded: Decoded, exchange: Exchange) -> Decoded:
    """Remark the first key that stands twice in the request, and in the response, where there is one."""
    bodies = {"request": request_content(exchange).data, "response": response_content(exchange).data}
    found = tuple(
        f"{side}: {said}; the last counts" for side, data in bodies.items() if (said := _twice(data))
    )
    return replace(decoded, remarks=(*decoded.remarks, *found)) if found else decoded


def _twice(data: bytes) -> str | None:
    if data.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        exact_json.loads(data, strict=True)
    except DuplicateKey as error:
        return str(error)
    except (ValueError, RecursionError):  # no JSON: the decoder says so
        return None
    return None
