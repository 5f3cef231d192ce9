"""What a replay itself is asked, under `/__abs__/` of any of its listeners; no recorded exchange answers it.

POST reset   the play begins again
POST mark    taken as a recorder takes it, and without effect: a harness may set its marks in both
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from abs_replay.callers import CONTROL, other_name, page_from_elsewhere
from abs_replay.exchange import Headers

type Answer = tuple[int, bytes]  # a status, and JSON


def is_control(path: str) -> bool:
    """Say whether a request is for the replay itself."""
    return path.startswith(CONTROL)


class Control:
    """Answers for one replay; `is_local` says that it listens on loopback alone."""

    def __init__(self, reset: Callable[[], None], is_local: bool = True) -> None:
        self._is_local = is_local
        self._known: Mapping[str, Callable[[], None]] = {"reset": reset, "mark": _nothing}

    def answer(self, method: str, path: str, scope: Any) -> Answer:
        """Do what is asked, unless a page asks it that may not."""
        name = path.removeprefix(CONTROL)
        if name not in self._known:
            return _refused(404, f"nothing at {path} of a replay; there is {', '.join(self._known)}")
        if method != "POST":
            return _refused(405, f"{path} takes POST")
        headers = _headers(scope)
        refused = page_from_elsewhere(headers) or (other_name(headers) if self._is_local else None)
        if refused is not None:
            return _refused(403, refused)
        self._known[name]()
        return 204, b""


def _nothing() -> None:
    return None


def _headers(scope: Any) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])


def _refused(status: int, message: str) -> Answer:
    return status, json.dumps({"error": message}).encode()
