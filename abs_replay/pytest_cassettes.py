"""What happens to a test with a cassette: it is replayed to it, or recorded from it, or left alone.

See `pytest_plugin`, which loads this with the first such test.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from abs_replay.channels import variable
from abs_replay.errors import AbsReplayError, UsageError
from abs_replay.exchange import Channel, Exchange, Upstream
from abs_replay.network_guard import Guard, guarded
from abs_replay.replay import Asked, Replay, Wanted, chosen, read, replaying

if TYPE_CHECKING:
    from abs_replay.capturing import Capture

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
recorded = pytest.StashKey[set[Path]]()


@dataclass(frozen=True, slots=True)
class Marked:
    """What a test's marker says, and where its cassette is."""

    path: Path
    match: Wanted | None
    channels: Sequence[str] | None
    upstreams: Mapping[str, str] | None
    fail_unused: bool


class InTest:
    """A cassette in a test, as the fixture `abs_replay` gives it. `mode` is replay, record, or off."""

    mode = "off"

    def __init__(self) -> None:
        self.addresses: Mapping[Channel, str] = {}
        self.environment: Mapping[str, str] = {}

    @property
    def urls(self) -> Mapping[str, str]:
        """The base URL of every channel, by its name: `llm:openai`, `tool:Orders`, `agent`."""
        return {str(channel): url for channel, url in self.addresses.items()}

    def url(self, channel: str) -> str:
        """The base URL of a channel, by its name, or by its role where there is one such (`llm`)."""
        return self.addresses[chosen(tuple(self.addresses), channel)]

    @property
    def requests(self) -> tuple[Asked, ...]:
        """What was asked of the replay so far, and why it was answered."""
        return ()

    @property
    def misses(self) -> tuple[Asked, ...]:
        """What was asked and is not recorded."""
        return tuple(asked for asked in self.requests if asked.missed)

    @property
    def unused(self) -> tuple[Exchange, ...]:
        """What is recorded and was not asked so far."""
        return ()

    def reset(self) -> None:
        """Begin the play again."""

    def run(self, until: ExitStack) -> None:
        """Begin; what is to be ended is left with `until`."""

    def fail_if_missed(self) -> None:
        """Fail the test, at the end of its call, where it asked for what is not there."""

    def tell(self, report: pytest.TestReport) -> None:
        """Note how a phase of the test ended, and say in its report what there is to say."""

    def end(self) -> None:
        """Do what is left once all is ended."""


class Untouched(InTest):
    """Nothing is replaced: the URLs are those of the upstreams, to which SDKs find by themselves."""

    def __init__(self, upstreams: Sequence[Upstream]) -> None:
        super().__init__()
        self.addresses = {upstream.channel: upstream.url for upstream in upstreams}
        self.environment = {variable(channel): url for channel, url in self.addresses.items()}

    def run(self, until: ExitStack) -> None:
        _set(until.enter_context(pytest.MonkeyPatch.context()), self.environment)


class Replayed(InTest):
    """A replay, no network beside it, and the test fails for what it missed."""

    mode = "replay"

    def __init__(self, replay: Replay, guard: Guard) -> None:
        super().__init__()
        self._replay, self._guard = replay, guard
        self._told: str | None = None
        self._passed = False

    @property
    def requests(self) -> tuple[Asked, ...]:
        return self._replay.requests

    @property
    def unused(self) -> tuple[Exchange, ...]:
        return self._replay.unused

    def reset(self) -> None:
        self._replay.reset()

    def run(self, until: ExitStack) -> None:
        environ = until.enter_context(pytest.MonkeyPatch.context())
        for name in PROXIES:  # a proxy on loopback would be a way out
            environ.delenv(name, raising=False)
        self._replay.start()
        until.callback(self._replay.stop)
        self.addresses, self.environment = self._replay.addresses, self._replay.environment
        _set(environ, self.environment)
        until.enter_context(guarded(self._guard))

    def fail_if_missed(self) -> None:
        self._fail(with_unused=False)

    def tell(self, report: pytest.TestReport) -> None:
        failure = self._failure(with_unused=False)
        if report.failed and failure and self._told is None:
            self._told = failure
            report.sections.append(("abs-replay", failure))
        if report.when == "call":
            self._passed = report.passed

    def end(self) -> None:
        self._fail(with_unused=self._passed)  # only now: fixtures of clients have said their last, too

    def _fail(self, with_unused: bool) -> None:
        failure = self._failure(with_unused)
        if failure is not None and failure != self._told:
            self._told = failure
            pytest.fail(failure, pytrace=False)

    def _failure(self, with_unused: bool) -> str | None:
        told = [self._replay.failure(with_unused=with_unused)]
        told += map(self._guard.told, dict.fromkeys(self._guard.refused))
        return "\n".join(filter(None, told)) or None


class Recorded(InTest):
    """A recording, which becomes the cassette if the test passes."""

    mode = "record"

    def __init__(self, capture: "Capture", path: Path) -> None:
        super().__init__()
        self._capture, self._path, self._passed = capture, path, False

    def run(self, until: ExitStack) -> None:
        environ = until.enter_context(pytest.MonkeyPatch.context())
        self._capture.start()
        until.callback(self._capture.stop)
        self.addresses, self.environment = self._capture.addresses, self._capture.environment
        _set(environ, self.environment)

    def tell(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self._passed = report.passed
        if report.failed:
            report.sections.append(("abs-replay", f"{self._path} is not written: the test did not pass"))

    def end(self) -> None:
        if self._passed:
            self._capture.write(self._path)


@contextmanager
def serving(item: pytest.Item) -> Iterator[InTest]:
    """Let a test have its cassette while the block runs; what is wrong fails it, without a traceback."""
    with ExitStack() as until:
        try:
            current = _opened(item)
            current.run(until)
        except AbsReplayError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        yield current
    try:
        current.end()
    except AbsReplayError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


def _opened(item: pytest.Item) -> InTest:
    marked, mode = _marked(item), item.config.getoption("--abs-mode")
    if mode == "off":
        return Untouched(_upstreams(marked))
    if mode == "record" or (mode == "auto" and not marked.path.exists()):
        return _recorded(item, marked)
    if not marked.path.exists():
        raise UsageError(f"{marked.path} is not there: record it with --abs-mode=record")
    replay = replaying(
        marked.path,
        match=marked.match,
        channels=marked.channels,
        fail_unused=marked.fail_unused,
        directory=item.path.parent,
    )
    return Replayed(replay, Guard(item.nodeid, item.config.getini("abs_allow_hosts")))


def _recorded(item: pytest.Item, marked: Marked) -> InTest:
    from abs_replay.capturing import Capture

    done = item.config.stash.setdefault(recorded, set())
    if marked.path in done:
        raise UsageError(f"{marked.path} is recorded by another test of this run: give each its own")
    upstreams = _upstreams(marked)
    if not upstreams:
        raise UsageError(
            f"nothing says what {marked.path.name} records: say upstreams={{'llm': 'openai'}} in the marker"
        )
    done.add(marked.path)
    return Recorded(
        Capture(marked.path.name.removesuffix(".cassette.json"), upstreams, item.path.parent), marked.path
    )


def _upstreams(marked: Marked) -> Sequence[Upstream]:
    """Those that the marker names, else those of the cassette that is there."""
    from abs_replay.capturing import upstreams_of

    if marked.upstreams is not None:
        return upstreams_of(marked.upstreams)
    return read(marked.path).recording.upstreams if marked.path.exists() else ()


def _marked(item: pytest.Item) -> Marked:
    marker = item.get_closest_marker("cassette")
    if marker is None:
        raise UsageError(
            "abs_replay needs a cassette: mark the test, or its module, @pytest.mark.cassette(NAME)"
        )
    said = item.config.getini("abs_cassette_dir")
    folder = item.config.rootpath / said if said else item.path.parent / "cassettes"
    try:
        return _read(folder, *marker.args, **marker.kwargs)
    except TypeError as error:
        raise UsageError(f"@pytest.mark.cassette: {str(error).removeprefix('_read() ')}") from None


def _read(
    folder: Path,
    name: str,
    /,
    *,
    match: Wanted | None = None,
    channels: Sequence[str] | None = None,
    upstreams: Mapping[str, str] | None = None,
    fail_unused: bool = False,
) -> Marked:
    file = name if name.endswith(".json") else f"{name}.cassette.json"
    return Marked(folder / file, match, channels, upstreams, fail_unused)


def _set(environ: pytest.MonkeyPatch, variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        environ.setenv(name, value)
