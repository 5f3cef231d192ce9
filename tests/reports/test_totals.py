"""What a report counts, and when it need not look for trials."""

from hypothesis import given
from hypothesis import strategies as st

from abs_replay.reports import totals, trials
from abs_replay.verdicts import Result, Run

SAID = st.sampled_from([(), ("a",), ("a", "ab"), ("a", "ac"), ("b",)])


def run(session: str, trace: str, said: tuple[str, ...], agent: str | None, row: int | None) -> Run:
    return Run(session, None, trace, Result.PASSED, (), agent=agent, row=row, said=said)


RUNS = st.builds(
    run,
    st.sampled_from("ST"),
    st.sampled_from("tuv"),
    SAID,
    st.sampled_from([None, "http://a"]),
    st.sampled_from([None, 0, 1]),
)


@given(st.lists(RUNS, max_size=6))
def test_no_trial_is_passed_over_where_beginnings_differ(runs: list[Run]) -> None:
    assert totals.trials_line(runs) == trials.line(runs)
