"""Print the tests that mirror the core, which is what `[tool.coverage.report]` of pyproject.toml counts."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
CASES = "tests/test_conformance_core.py"  # of all of it


def core_tests() -> Iterator[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for counted in settings["tool"]["coverage"]["report"]["include"]:
        module = Path(counted.removeprefix("abs_replay/").removesuffix("/*").removesuffix(".py"))
        for path in (Path("tests") / module, Path("tests") / module.with_name(f"test_{module.name}.py")):
            if (ROOT / path).exists():
                yield path.as_posix()
    yield CASES


if __name__ == "__main__":
    print(*core_tests())
