"""The two servers that judges are asked on: the scripted one, and one that says what it is told to."""

import threading
from collections.abc import Callable, Iterator

import pytest

from fixtures.judges.running import running
from tests.judges.asked import Canned, opened


@pytest.fixture(scope="package")
def scripted() -> Iterator[str]:
    """The address of the scripted judge."""
    with running() as url:
        yield url


@pytest.fixture(scope="package")
def _canned() -> Iterator[Canned]:
    server = Canned()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def canned(_canned: Canned) -> Callable[..., Canned]:
    """`canned(response, ..)`: a server that gives these, each `{status, headers, json | text}`."""
    return _canned.giving


@pytest.fixture(scope="package", autouse=True)
def _closed() -> Iterator[None]:
    yield
    opened.close()
