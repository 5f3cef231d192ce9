"""How long services ask to wait."""

import email.utils
import time

import pytest

from abs_replay.judges.waiting import asked_to_wait

DELAY = '{"error": {"details": [{"@type": "x/google.rpc.RetryInfo", "retryDelay": "34.5s"}]}}'


@pytest.mark.parametrize(
    ("headers", "text", "wait"),
    [
        ({}, "", None),
        ({"retry-after": "7"}, "", 7.0),
        ({"retry-after": "0.25"}, "", 0.25),
        ({"retry-after-ms": "350", "retry-after": "1"}, "", 0.35),
        ({"retry-after-ms": "soon", "retry-after": "1"}, "", 1.0),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "-3"}, "", None),
        ({"retry-after": "inf"}, "", None),
        ({"retry-after": "nan"}, "", None),
        ({"retry-after": ""}, DELAY, 34.5),
        ({"retry-after": "2"}, DELAY, 2.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, "", 0.0),
        ({"retry-after": "Wed, 99 Oct 99999 07:28:00 GMT"}, "", None),
    ],
)
def test_a_wait_is_read_in_each_way_that_vendors_say_it(
    headers: dict[str, str], text: str, wait: float | None
) -> None:
    assert asked_to_wait(headers, text) == wait


def test_a_date_is_so_many_seconds_from_now() -> None:
    date = email.utils.formatdate(time.time() + 60, usegmt=True)

    assert asked_to_wait({"retry-after": date}) == pytest.approx(60, abs=3)
