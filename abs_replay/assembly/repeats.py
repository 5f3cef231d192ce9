"""What every request repeats, and what was said once more.

A history bears its system messages again and again, at places that clients choose; only where one
request bears the same more often than any before did, it was said again.
"""

from collections import Counter
from collections.abc import Hashable

from abs_replay import exact_json
from abs_replay.exact_json import Json


class Repeats:
    """How often each content was told, and how often the request at hand bears it so far."""

    def __init__(self) -> None:
        self._told: Counter[Hashable] = Counter()
        self._borne: Counter[Hashable] = Counter()

    def begin(self) -> None:
        """Begin with a further request."""
        self._borne.clear()

    def is_further(self, content: Json) -> bool:
        """Count content that the request bears, and say whether that is once more than was told."""
        key = content if isinstance(content, str) else (exact_json.dumps(content),)
        self._borne[key] += 1
        if self._borne[key] <= self._told[key]:
            return False
        self._told[key] += 1
        return True
