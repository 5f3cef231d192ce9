"""What repeats is kept once, and no more of it than goes on side by side."""

from abs_replay.assembly import pool as pooling
from abs_replay.assembly.pool import Line, Lines, Pool
from abs_replay.decoders import Message
from tests.assembly.wire import A1, A2, U1, U2, told, user

U3 = user("three")


def heard(pool: Pool, *history: Message) -> Line:
    return pool.heard(history)[0]


def test_a_message_that_was_read_is_itself_whatever_else_says_the_same() -> None:
    pool, again = Pool(), user("one")
    assert pool.keep(U1) is U1
    assert pool.keep(again) is U1
    assert heard(pool, again).messages[0] is U1


def test_a_number_and_a_truth_that_python_takes_for_one_are_two_messages() -> None:
    pool, one, true = Pool(), told("c1", 1), told("c1", True)
    assert pool.keep(one) is one
    assert pool.keep(true) is true


def test_histories_that_go_on_from_another_share_what_it_holds() -> None:
    pool = Pool()
    first, second = heard(pool, U1), heard(pool, U1, A1, U2)
    assert first._shared is second._shared
    assert (first.messages, second.messages) == ((U1,), (U1, A1, U2))


def test_a_history_that_goes_back_is_read_from_there_and_changes_no_other() -> None:
    pool = Pool()
    lines = [heard(pool, U1), heard(pool, U1, A1, U2), heard(pool, U1, A2, U3), heard(pool, U1, A2)]
    assert [line.messages for line in lines] == [(U1,), (U1, A1, U2), (U1, A2, U3), (U1, A2)]


def test_histories_beyond_the_most_are_forgotten_the_oldest_first() -> None:
    pool = Pool()
    for number in range(pooling._MOST + 2):
        heard(pool, user(str(number)))
    known = list(pool._heard._known.values())
    assert [begun.history[-1].content for begun in known[:1]] == ["2"]
    assert len(known) == pooling._MOST


def test_no_messages_are_no_line() -> None:
    assert list(Lines().line(())) == []


def test_what_begins_alike_has_the_numbers_of_what_it_begins_with() -> None:
    lines = Lines()
    one, other = lines.line((U1, A1, U2)), lines.line((U1, A2))
    assert (one[0], other[0]) == (lines.line((U1,))[0],) * 2
    assert one[1] != other[1]
    assert list(lines.line((U1, A1, U2))) == list(one)
