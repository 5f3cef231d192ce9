"""What `docs/pytest.md` shows works: recorded from a server once, and replayed without it."""

from importlib import import_module
from pathlib import Path

import pytest

from abs_replay import capturing, pytest_cassettes, pytest_plugin  # noqa: F401 (see below)
from tests.many_apis import serving_apis
from tests.proxied import write_certificate
from tests.test_docs import ROOT, blocks

# Kept loaded between the inner runs, which forget what they load.
for name in ("anthropic", "httpx2", "mcp", "openai"):
    import_module(name)

pytest_plugins = "pytester"

pytestmark = pytest.mark.processes

PAGE = ROOT / "docs" / "pytest.md"
UPSTREAMS = {
    "https://api.openai.com/v1": "/v1",
    "https://api.anthropic.com": "",
    "https://shop.example": "",
    "https://tools.example/mcp": "/mcp",
}


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for variable in ("CI", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    return pytester


def write_example(folder: Path, live: str) -> str:
    """Write the files that are shown, with upstreams that are there; gives the last block."""
    *files, last = blocks(PAGE, "python")
    for text in files:
        for shown, path in UPSTREAMS.items():
            text = text.replace(f'"{shown}"', f'"{live}{path}"')
        (folder / text.split("\n", 1)[0].removeprefix("# ")).write_text(text, encoding="utf-8")
    return last


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    plugins = ("-p", "abs_replay.pytest_plugin", "-p", "anyio", "-p", "no:cacheprovider")
    return project.runpytest_inprocess(*plugins, *options)


def test_the_example_is_recorded_and_replayed_and_so_is_the_block(
    project: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving_apis(write_certificate(tmp_path / "c.pem")) as apis, monkeypatch.context() as keys:
        last = write_example(project.path, f"http://127.0.0.1:{apis.plain}")
        keys.setenv("OPENAI_API_KEY", "sk-live-1234567890")
        keys.setenv("ANTHROPIC_API_KEY", "sk-live-1234567890")
        run(project, "--abs-mode=record").assert_outcomes(passed=4)

    run(project).assert_outcomes(passed=4)
    exec(last, {})

    kept = sorted(path.name for path in (project.path / "cassettes").iterdir())
    assert kept == [f"{name}.cassette.json" for name in ("chat", "claude", "shop", "tools")]
    assert not any("sk-live" in path.read_text() for path in (project.path / "cassettes").iterdir())
