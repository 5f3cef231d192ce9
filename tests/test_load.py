"""Under a steady load nothing is lost. `python -m benchmarks.under_load` puts it on for longer."""

from pathlib import Path

import pytest

from benchmarks.under_load import SHARE, recorded, sustained, upstream

pytestmark = pytest.mark.processes


def test_nothing_is_lost_at_two_fifths_of_what_mitmdump_sustains_beside_many_streams(tmp_path: Path) -> None:
    with upstream() as target:
        found = recorded(target, tmp_path, SHARE * sustained(target, 2), 10)
    assert found.steady.answered > 0
    assert (found.lost, found.missing) == (0, 0)
    assert max(found.steady.memory) < 300  # MiB
