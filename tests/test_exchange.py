"""What an exchange says of itself."""

from abs_replay.exchange import Request


def test_a_target_is_a_path_and_a_query() -> None:
    asked = Request("GET", "/a/b?c=d?e")
    assert (asked.path, asked.query) == ("/a/b", "c=d?e")
    assert Request("GET", "/a").query == ""
