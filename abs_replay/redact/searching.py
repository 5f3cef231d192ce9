"""Replaces in texts and bodies: what looks like a secret, is known as one, or an author's rules find."""

import base64
import binascii
from collections.abc import Iterator, Sequence
from functools import partial

from abs_replay.redact import frames
from abs_replay.redact.bodies import Edit, edited
from abs_replay.redact.events import divided, loosely_joined
from abs_replay.redact.fitting import Fitting
from abs_replay.redact.forms import lengths, packed_parts, secret_fields
from abs_replay.redact.json_paths import values
from abs_replay.redact.layers import cleaned
from abs_replay.redact.named import named
from abs_replay.redact.placeholders import PLACEHOLDER, Placeholders
from abs_replay.redact.rules import Rules
from abs_replay.redact.shapes import looks
from abs_replay.redact.slices import matches
from abs_replay.redact.unfinished import WINDOW, begins_at
from abs_replay.redact.views import apart, seen_through

PASSES = 10
DEEP = 2  # escapes in escapes


class Search:
    """The search of one `Redactor`. `held` counts the bytes held back at the ends of what is not whole.

    Of what is `running` all is held back from where a secret may have begun, so that what is kept of it only
    grows; of what broke off, the parts of that secret alone.
    """

    def __init__(self, rules: Rules, placeholders: Placeholders) -> None:
        self._rules, self._placeholders = rules, placeholders
        self.held, self.running = 0, False

    def body(
        self, data: bytes, ends: Sequence[int], content_type: str, whole: bool
    ) -> tuple[bytes, Sequence[int]]:
        """Replace in a body without content-encoding; the very same bytes where nothing is found."""
        found = frames.read(data)
        if not found:
            return self.replaced(data, ends, content_type, whole, self.running)
        rest = found[-1].stop
        replace = partial(self.replaced, content_type="", whole=whole, running=self.running)
        edits = list(frames.replaced(found, replace))
        if rest < len(data):
            edits += self._rest(data, rest, whole)
        return edited(data, ends, edits) if edits else (data, ends)

    def _rest(self, data: bytes, rest: int, whole: bool) -> Iterator[Edit]:
        """What stands behind the last whole frame: no reader gets to it; half a frame is held back."""
        if not whole:
            self.held += len(data) - rest
            yield rest, len(data), b""
            return
        cleaned, _ = self.replaced(data[rest:])
        if cleaned != data[rest:]:
            yield rest, len(data), cleaned

    def replaced(
        self,
        data: bytes,
        ends: Sequence[int] = (),
        content_type: str = "",
        whole: bool = True,
        running: bool = False,
    ) -> tuple[bytes, Sequence[int]]:
        """Replace until nothing is left: what stands beside a secret may look like one without it."""
        if not whole:
            data, ends = self._without_beginning(data, ends, running)
        before = data
        for _ in range(PASSES):
            if not (edits := apart(self._every(data, content_type, whole))):
                break
            data, ends = edited(data, ends, edits)
        if data is not before and (edits := list(lengths(content_type, before, data))):
            data, ends = edited(data, ends, edits)
        return data, ends

    def _every(self, data: bytes, content_type: str, whole: bool) -> Iterator[Edit]:
        yield from self._edits(data)
        yield from divided(data, self._edits, whole, partial(self._edits, own=False))
        if content_type and self._rules.builtin:
            yield from secret_fields(content_type, data, self._placeholders.of)
        for start, stop in packed_parts(content_type, data):
            clean, _ = cleaned(data[start:stop], (), (), self._part)
            if clean != data[start:stop]:
                yield start, stop, clean
        if self._rules.paths:
            yield from self._at_paths(data)

    def _part(self, data: bytes, ends: Sequence[int], *, ended: bool = False) -> tuple[bytes, Sequence[int]]:
        return self.replaced(data, ends)

    def lines(self, data: bytes, ends: Sequence[int]) -> tuple[bytes, Sequence[int]]:
        """Replace what lies over several of the lines that end there and are no JSON."""
        for _ in range(PASSES):
            spans = zip((0, *ends), (end - 1 for end in ends), strict=False)
            plain = [(start, stop) for start, stop in spans if data[start : start + 1] not in b"{["]
            if not (edits := apart(loosely_joined(data, plain, partial(self._edits, own=False)))):
                break
            data, ends = edited(data, ends, edits)
        return data, ends

    def _edits(self, data: bytes, depth: int = 0, own: bool = True) -> Iterator[Edit]:
        if self._rules.builtin:
            for start, stop, kind in looks(data):
                yield start, stop, self._placeholders.of(kind, data[start:stop])
                self._learn(data, start, stop)
            for start, stop in named(data):
                yield start, stop, self._placeholders.of("key", data[start:stop])
        yield from self._placeholders.found(data)
        if own and self._rules.finders:
            yield from self._findings(data)
        if depth < DEEP:
            yield from seen_through(data, partial(self._edits, depth=depth + 1, own=own))

    def _learn(self, data: bytes, start: int, stop: int) -> None:
        if data.endswith((b"Basic ", b"basic "), 0, start):
            self._placeholders.of("auth", password(data[start:stop]))

    def _findings(self, data: bytes) -> Iterator[Edit]:
        """What the author's patterns find, but for what is found in a placeholder."""
        spans = [
            (start, stop, finder.kind) for finder in self._rules.finders for start, stop in finder.spans(data)
        ]
        if not spans:
            return
        there = [found.span() for found in matches(PLACEHOLDER, data)]
        fitting = Fitting(data)
        for start, stop, kind in spans:
            if not any(start < after and before < stop for before, after in there):
                yield from fitting.edits(start, stop, partial(self._placeholders.of, kind))

    def _at_paths(self, data: bytes) -> Iterator[Edit]:
        for start, stop, is_text in values(data, self._rules.paths):
            placeholder = self._placeholders.of("field", data[start:stop])
            if placeholder != data[start:stop]:
                yield start, stop, placeholder if is_text else b'"' + placeholder + b'"'

    def _without_beginning(
        self, data: bytes, ends: Sequence[int], running: bool
    ) -> tuple[bytes, Sequence[int]]:
        """Hold back what may be the beginning of a secret, at the end or at the end of a member's texts."""
        for _ in range(PASSES):
            if not (edits := apart(self._beginnings(data, running))):
                break
            if running:
                edits = [(edits[0][0], len(data), b"")]
            before = len(data)
            data, ends = edited(data, ends, edits)
            self.held += before - len(data)
        return data, ends

    def _beginnings(self, data: bytes, running: bool) -> Iterator[Edit]:
        find = partial(self._beginning, running=running)
        if edits := list(find(data)):
            yield from edits
            return
        yield from divided(data, find, whole=False)

    def _beginning(self, data: bytes, running: bool, depth: int = 0) -> Iterator[Edit]:
        start = begins_at(data, self._placeholders, self._rules, running)
        if start < len(data):
            yield start, len(data), b""
        elif depth < DEEP:
            cut = max(0, len(data) - WINDOW)
            find = partial(self._beginning, running=running, depth=depth + 1)
            for begin, stop, text in seen_through(data[cut:], find):
                if stop == len(data) - cut:
                    yield begin + cut, stop + cut, text


def password(credentials: bytes) -> bytes:
    """The password in the credentials of the Basic scheme (RFC 7617); empty where there is none."""
    try:
        return base64.b64decode(credentials).partition(b":")[2]
    except binascii.Error:
        return b""
