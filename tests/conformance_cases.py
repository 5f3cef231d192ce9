"""Where the conformance cases lie (FORMATS, "Conformance case"): ours first, then those of `ABS_SHARED`
that we do not have, or that differ from ours in some file."""

import os
from pathlib import Path

OWN = Path(__file__).parent / "conformance"
SHARED = Path(os.environ.get("ABS_SHARED", Path(__file__).parents[2] / "shared")) / "conformance"


def case_folders(group: str = "*") -> list[Path]:
    """Give every folder of a group, or of all groups, that holds a session or an expectation."""
    shared = [
        case for case in _cases(SHARED, group) if _files(case) != _files(OWN / case.relative_to(SHARED))
    ]
    return [*_cases(OWN, group), *shared]


def case_id(case: Path) -> str:
    """Name a case by its root, group and folder: `own/aligning/missing-turn`."""
    root = "own" if case.is_relative_to(OWN) else "shared"
    return f"{root}/{case.parent.name}/{case.name}"


def _cases(root: Path, group: str) -> list[Path]:
    files = ("session.abs.yaml", "expected.json")
    return sorted({path.parent for file in files for path in root.glob(f"{group}/*/{file}")})


def _files(case: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in case.iterdir()} if case.is_dir() else {}
