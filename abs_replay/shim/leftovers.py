"""What a server has not answered yet, beside the store: a kill of the process that records takes none of it.

Readers see it as `unfinished` then, and the next who writes into the store folds it in.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from abs_replay.exchange import Exchange
from abs_replay.redact import Redactor
from abs_replay.store import Unfinished


class Leftovers:
    """The exchanges of one run of a server that are open, each written again where more of it has come.

    `redactor` makes what takes the secrets out.
    """

    def __init__(self, store: Path, redactor: Callable[[], Redactor], say: Callable[[str], None]) -> None:
        self._store, self._make, self._say = store, redactor, say
        self._redactor: Redactor | None = None
        self._recording = ""
        self._kept: Unfinished | None = None
        self._sizes: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._sizes)

    def show(self, recording: str, opened: Sequence[Exchange]) -> None:
        """Keep these of a recording, and no others."""
        try:
            if recording != self._recording:
                self._forget()
                self._recording = recording
                self._kept = Unfinished(self._store, recording, f" by {os.getpid()}")
            self._show(opened)
        except OSError as error:
            self._say(f"what is not answered yet can not be kept: {error.strerror or error}")

    def close(self) -> None:
        """Forget all: it is kept elsewhere, or lost."""
        with suppress(OSError):
            self._forget()

    def _show(self, opened: Sequence[Exchange]) -> None:
        assert self._kept is not None
        sizes = {each.id: _size(each) for each in opened}
        for each in opened:
            if self._sizes.get(each.id) != sizes[each.id]:
                self._redactor = self._redactor or self._make()
                self._kept.put(self._redactor.redact(each))
        self._kept.drop(id_ for id_ in self._sizes if id_ not in sizes)
        self._sizes = sizes

    def _forget(self) -> None:
        if self._kept is not None:
            self._kept.drop(self._sizes)
            self._kept.close()
        self._sizes, self._kept, self._recording = {}, None, ""


def _size(exchange: Exchange) -> int:
    return 0 if exchange.response is None else len(exchange.response.body.data)
