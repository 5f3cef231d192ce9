"""The pytest plugin: marker `cassette`, fixture `abs_replay`, option `--abs-mode`.

Every pytest run where this package is installed loads this module, so it imports nothing: what a test with
a cassette needs comes with the first such test (`pytest_cassettes`).
"""

import os
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from abs_replay.pytest_cassettes import InTest

FIXTURE, MARKER = "abs_replay", "cassette"
MODES = ("replay", "record", "auto", "off")
USE = (
    "cassette(name, *, match=None, channels=None, upstreams=None, fail_unused=False): replay "
    "cassettes/NAME.cassette.json in place of agent, model and tools while the test runs (abs-replay)"
)
in_test: "pytest.StashKey[InTest]" = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("abs-replay", "cassettes of agents, models and tools")
    group.addoption(
        "--abs-mode",
        choices=MODES,
        default="replay",
        help="What @pytest.mark.cassette does: replay (default), record anew, auto (record what is missing), "
        "off (nothing is replaced).",
    )
    group.addoption(
        "--abs-allow-network", action="store_true", help="Allow other modes than replay under CI=true."
    )
    parser.addini("abs_cassette_dir", "Where cassettes are [default: cassettes/ beside each test file].")
    parser.addini("abs_allow_hosts", "Hosts that are reached during a replay (patterns).", type="args")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", USE)
    mode = config.getoption("--abs-mode")
    if mode != "replay" and _in_ci() and not config.getoption("--abs-allow-network"):
        raise pytest.UsageError(
            f"--abs-mode={mode} reaches the network, and CI is set: leave it out, or say --abs-allow-network"
        )


def _in_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def pytest_itemcollected(item: pytest.Item) -> None:
    names: list[str] | None = getattr(item, "fixturenames", None)
    if names is not None and (FIXTURE in names or item.get_closest_marker(MARKER) is not None):
        # Before all others: a fixture that makes a client finds the environment that leads to the replay.
        # A list of its own: the marker may be on one of a test's parameters only.
        item.fixturenames = [FIXTURE, *(name for name in names if name != FIXTURE)]  # type: ignore[attr-defined]


@pytest.fixture
def abs_replay(request: pytest.FixtureRequest) -> Generator["InTest"]:
    """The test's cassette, replayed (or recorded) while it runs: base URLs, environment, what was asked."""
    from abs_replay.pytest_cassettes import serving

    with serving(request.node) as current:
        request.node.stash[in_test] = current
        yield current


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    result = yield
    if (current := item.stash.get(in_test, None)) is not None:
        current.fail_if_missed()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if (current := item.stash.get(in_test, None)) is not None:
        current.tell(report)
    return report
