"""What every test may use: where the shared cases lie, and golden files."""

import os
from collections.abc import Callable
from pathlib import Path

import httpcore  # noqa: F401  # loaded first inside a `pytester` run, it would be another one after it
import httpcore2  # noqa: F401
import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).parent.parent
SHARED = Path(os.environ.get("ABS_SHARED", REPOSITORY.parent / "shared"))

# No test is failed by a slow machine. New examples are looked for by whoever develops; CI tries the same ones
# each time, where a claim needs no more than these.
settings.register_profile("ours", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("ci" if os.environ.get("CI") else "ours")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Branches that generated examples and real processes happen to reach do not count as tested."""
    if config.getoption("cov_source", None):
        for item in items:
            generated = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
            if generated or item.get_closest_marker("processes"):
                item.add_marker("no_cover")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared cases; the test is skipped where there is none."""
    if not SHARED.is_dir():
        pytest.skip(f"no shared cases at {SHARED}; set ABS_SHARED")
    return SHARED


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare text with a file under `fixtures/`, or write that file with `--update-golden`."""

    def check(name: str, text: str) -> None:
        path = REPOSITORY / "fixtures" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no golden file {path}; make it with --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return check
