"""What repeats is kept once, and no more of it than goes on side by side."""

from abs_replay.assembly import pool as pooling
from abs_replay.assembly.pool import Pool
from tests.assembly.wire import U1, user


def test_a_message_that_was_read_is_itself_whatever_else_says_the_same() -> None:
    pool, again = Pool(), user("one")
    assert pool.keep(U1) is U1
    assert pool.keep(again) is U1
    pool.mark(again)
    assert pool.keep(again) is again


def test_histories_beyond_the_most_are_forgotten_the_oldest_first() -> None:
    pool = Pool()
    for number in range(pooling._MOST + 2):
        pool.heard((user(str(number)),))
    assert [history[-1].content for history, _ in pool._heard.values()][:1] == ["2"]
    assert len(pool._heard) == pooling._MOST


def test_no_messages_are_no_line_and_nothing_to_remember() -> None:
    pool = Pool()
    assert pool.line(()) == []
    assert pool._lines == {}
