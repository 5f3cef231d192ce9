"""Where in a file a value stands, also under a key that was meant and not written."""

from abs_replay.spec.places import Document
from abs_replay.spec.yaml_nodes import read


def document(text: str) -> Document:
    (found,) = read(text.encode(), "f").documents
    return found


def test_a_path_leads_to_its_line_or_to_that_of_what_is_there_on_the_way() -> None:
    there = document("a:\n  - b: 1\n  - c: 2\n")
    paths = ((), ("a",), ("a", 1), ("a", 1, "c"), ("a", 1, "d"), ("a", 7), ("x",))
    assert [there.line(path) for path in paths] == [1, 1, 3, 3, 3, 1, 1]


def test_what_was_meant_stands_where_it_was_written() -> None:
    there = document("a:\n  - x: 1\n    wrong: { b: 1 }\n")
    there.stands_for(("a", 0, "wrong"), "right")
    assert [there.line(("a", 0, key)) for key in ("right", "wrong")] == [3, 3]
    there.stands_for(("a", 0, "right", "b"), "c")
    assert there.line(("a", 0, "wrong", "c")) == 3


def test_what_stands_nowhere_stands_for_nothing() -> None:
    there = document("a:\n  b: 1\n")
    there.stands_for(("x", "b"), "c")
    there.stands_for(("a", "x"), "c")
    assert there.line(("a", "c")) == 1
