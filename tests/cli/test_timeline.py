"""A trace reads like a conversation, in any width."""

import pytest

from abs_replay.cli.timeline import timeline
from abs_replay.reports import Screen
from abs_replay.trace import Source, Step, Trace, Usage, Visibility

TRACE = Trace(
    id="t-1",
    steps=(
        Step(1, "user", "says", content="Where is\nmy order \x1b[31m?", at_ms=0.0),
        Step(2, "assistant", "calls", target="Order MCP", arguments={"id": "12"}, call_id="c1", at_ms=410.0),
        Step(
            3,
            "tool",
            "responds",
            target="Order MCP",
            content={"status": "shipped"},
            at_ms=520.0,
            duration_ms=110.0,
            sources=(Source("e1"),),
        ),
        Step(
            4,
            "assistant",
            "responds",
            content="hidden",
            visibility=Visibility.INTERNAL,
            model="gpt",
            usage=Usage(10, 5),
        ),
        Step(5, "assistant", "responds", content="It is on its way.", at_ms=900.0, error="cut off"),
    ),
    session="Refund",
    bindings={"cases.n": 1},
)


def test_a_pipe_gets_one_line_a_step() -> None:
    assert timeline(TRACE, None) == (
        "trace t-1: 5 steps\n"
        "  session: Refund\n"
        "  models: gpt\n"
        "  tokens: 10 in, 5 out\n"
        "  bound cases.n: 1\n"
        "\n"
        "1  +0.000  user says                      Where is\\nmy order \\x1b[31m?\n"
        '2  +0.410  assistant calls                Order MCP  {"id":"12"}\n'
        '3  +0.520  tool responds                  Order MCP  {"status":"shipped"}  [110 ms]\n'
        "4          assistant responds (internal)  hidden\n"
        "5  +0.900  assistant responds             It is on its way.  error: cut off\n"
    )


def test_words_are_wrapped_to_the_screen_and_keep_their_breaks() -> None:
    steps = timeline(TRACE, Screen(70)).splitlines()[6:]

    assert steps[:2] == [
        "1  +0.000  user says                      Where is",
        "                                          my order \\x1b[31m?",
    ]
    assert all(len(line) <= 70 for line in steps)


def test_a_narrow_screen_has_the_words_on_their_own_lines() -> None:
    steps = timeline(TRACE, Screen(40)).splitlines()[6:]

    assert steps[:3] == ["1  +0.000  user says", "    Where is", "    my order \\x1b[31m?"]
    assert all(len(line) <= 40 for line in steps)


def test_internal_steps_are_dim_where_there_are_colours() -> None:
    dim = [line for line in timeline(TRACE, Screen(100, colour=True)).splitlines() if "\x1b[2m" in line]

    assert len(dim) == 1
    assert "hidden" in dim[0]


def test_a_trace_without_steps_is_shown() -> None:
    assert timeline(Trace("t-0", ()), None) == "trace t-0: 0 steps\n\n"


def test_long_arguments_and_structures_are_cut_and_say_their_size_but_words_are_whole() -> None:
    words = "w" * 60_000
    steps = (
        Step(1, "user", "says", content=words),
        Step(2, "assistant", "calls", target="t", arguments={"a": words}),
        Step(3, "tool", "responds", target="t", content={"a": words}),
    )
    said, called, answered = timeline(Trace("t-2", steps), None).splitlines()[-3:]
    assert words in said
    for line in (called, answered):
        assert len(line) < 2200
        assert line.endswith("www… (60 kB; --format json has it whole)")


@pytest.mark.parametrize("unit", ["\x00", "\x89PNG\ufffd\ufffd", "\udc80a"])
def test_bytes_that_stand_as_a_string_are_cut_and_say_their_size(unit: str) -> None:
    data = unit * 1_000_000
    steps = (
        Step(1, "tool", "responds", target="t", content=data),
        Step(2, "assistant", "calls", target="t", arguments=data),
        Step(3, "tool", "responds", target="t", error=data),
    )
    shown = timeline(Trace("t-2", steps), None)
    assert len(shown) < 3000
    assert shown.count("MB; --format json has it whole)") == 3


def test_words_that_nobody_can_read_to_the_end_are_cut_and_say_their_size() -> None:
    shown = timeline(Trace("t-2", (Step(1, "user", "says", content="word\n" * 1_000_000),)), None)
    assert len(shown) < 300_000
    assert "(5 MB; --format json has it whole)" in shown


def test_a_few_signs_without_a_shape_make_no_bytes_of_words() -> None:
    words = "\x1b[31mred\x1b[0m and back again, " * 40
    assert "back again" in timeline(Trace("t-2", (Step(1, "user", "says", content=words),)), None)[-60:]


def test_what_was_cached_or_thought_stands_behind_its_total() -> None:
    step = Step(1, "assistant", "responds", content="hi", usage=Usage(30, 9, 20, 5))
    assert "  tokens: 30 in (20 cached), 9 out (5 thought)\n" in timeline(Trace("t", (step,)), None)
