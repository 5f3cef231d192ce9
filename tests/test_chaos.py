"""A recorder that is killed at random moments keeps what had ended. `benchmarks.chaos` kills more."""

from pathlib import Path

import pytest

from benchmarks.chaos import kill

pytestmark = pytest.mark.processes


def test_what_had_ended_before_a_kill_is_found_afterwards_and_what_ran_is_kept_as_far(tmp_path: Path) -> None:
    damage = kill(3, tmp_path, at_most_s=2.5)
    assert damage.ended > 0
    assert max(damage.lost, default=0.0) < 1.0  # 0.25 on an idle machine
    assert max(damage.cut, default=0.0) < 3.0  # 1 on an idle machine
