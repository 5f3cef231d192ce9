"""Which request continues which, when clients edit the history they send."""

from abs_replay.assembly.threads import Fit, Thread, best, same
from abs_replay.decoders import Call, Message


def user(text: str) -> Message:
    return Message("user", text)


def said(text: str | None, *calls: Call) -> Message:
    return Message("assistant", text, calls)


ASKED = (user("a"),)


def thread(reply: Message | None, failed: bool = False, asked: tuple[Message, ...] = ASKED) -> Thread:
    made = Thread()
    made.advance(asked, reply, failed)
    return made


def start(fit: Fit | None) -> int | None:
    return fit.start if fit else None


def test_an_empty_thread_is_continued_by_nothing() -> None:
    assert Thread().fit(ASKED) is None
    assert thread(said("b")).fit(()) is None


def test_the_same_request_again_continues_only_what_failed_or_says_so() -> None:
    assert thread(said("b")).fit(ASKED) is None
    assert start(thread(said("b")).fit(ASKED, retried=True)) == 1
    again = thread(None, failed=True).fit(ASKED)
    assert again is not None
    assert again.again


def test_blanks_around_words_and_empty_words_make_no_difference() -> None:
    assert start(thread(said("b")).fit((user(" a\n"), said("b "), user("c")))) == 2
    assert start(thread(said(None)).fit((user("a"), said(""), user("c")))) == 2


def test_an_echo_is_known_by_its_ids_or_its_calls_whatever_its_words() -> None:
    one = thread(said("Let me see", Call("f", {"n": 1}, "c1")))
    for echo in (said(None, Call("f", {}, "c1")), said(None, Call("f", {"n": 1}, "made-up"))):
        fit = one.fit((user("a"), echo, Message("tool", "x", call_id="c1")))
        assert fit is not None
        assert (fit.quality, fit.start) == (3, 2)


def test_an_exact_echo_goes_before_an_edited_one() -> None:
    other, mine = thread(said("other")), thread(said("mine"))
    found = best([mine, other], (user("a"), said("mine"), user("c")))
    assert found is not None
    assert found[0] is mine


def test_the_longest_common_history_wins_and_among_equals_the_newest() -> None:
    short, long = thread(said("b")), thread(said("d"), asked=(user("a"), said("b"), user("c")))
    found = best([long, short], (user("a"), said("b"), user("c"), said("d"), user("e")))
    assert found is not None
    assert found[0] is long
    twins = [thread(said("b")), thread(said("b"))]
    found = best(twins, (user("a"), said("b"), user("c")))
    assert found is not None
    assert found[0] is twins[1]


def test_another_history_is_another_thread() -> None:
    assert thread(said("b")).fit((user("z"), said("b"), user("c"))) is None
    assert thread(said("d"), asked=(user("a"), said("b"), user("c"))).fit((user("a"), said("x"))) is None


def test_a_history_that_begins_otherwise_goes_on_from_the_threads_end() -> None:
    one = thread(said("d"), asked=(user("a"), said("b"), user("c")))
    assert one.fit((user("Summary"), user("c"), said("d"), user("e"))) is None
    fit = one.tail((user("Summary"), user("c"), said("d"), user("e")))
    assert fit is not None
    assert (fit.start, fit.segment, fit.prelude) == (3, "rewritten", (user("Summary"),))
    fit = one.tail((user("c"), said("d"), user("e")))
    assert fit is not None
    assert (fit.start, fit.segment, fit.prelude) == (2, "compacted", ())
    assert one.tail((user("Summary"), user("e"))) is None
    assert one.tail((user("other"), said("d"), user("e"))) is None


def test_a_history_leaves_a_thread_only_behind_an_answer_that_was_seen() -> None:
    imported = thread(said("d"), asked=(user("a"), said("b"), user("c")))
    assert imported.leaves((user("a"), said("b"), user("x"))) is None
    known = (user("a"), said("b"), user("c"), said("d"), user("e"))
    imported.advance(known, said("f"), False, Fit(3, 3, 4))
    for edited in (known, (*known[:4], user("x"))):
        leaving = imported.leaves(edited)
        assert leaving is not None
        assert leaving.number == 1
    assert imported.leaves((*known[:2], user("x"))) is None


def test_answers_of_tools_are_one_by_their_id_whatever_they_say() -> None:
    told = Message("tool", "seen", call_id="c1")
    assert same(told, Message("tool", "cut", call_id="c1"))
    assert not same(told, Message("tool", "seen", call_id="c2"))
    assert same(told, Message("tool", "seen"))


def test_what_was_tried_again_is_left_before_its_first_attempt() -> None:
    one = thread(said("b"))
    asked = (*ASKED, said("b"), user("c"))
    one.advance(asked, None, True, Fit(1, 2, 2))
    one.advance(asked, said("d"), False, Fit(3, 2, 3, again=True))
    leaving = one.leaves(asked)
    assert leaving is not None
    assert leaving.number == 1
