"""The servers that judges are asked on: the scripted one, one that says what it is told to, the services."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import NamedTuple

import pytest

from fixtures.judges.running import running
from fixtures.judges.services import Services, serving
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


@pytest.fixture(scope="package")
def _services() -> Iterator[Services]:
    with serving() as services:
        yield services


@pytest.fixture
def services(_services: Services) -> Services:
    """A server that speaks as the four services do; nothing was asked of it."""
    _services.asked.clear()
    return _services


class AccessToken(NamedTuple):
    """As azure-core has it."""

    token: str
    expires_on: int


class DefaultAzureCredential:
    """Stands in for azure-identity, which asks Entra ID."""

    scopes: list[str] = []  # noqa: RUF012

    def get_token(self, *scopes: str) -> AccessToken:
        self.scopes.extend(scopes)
        return AccessToken("entra", int(time.time()) + 3600)


@pytest.fixture
def logged_in(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An `azure.identity` that gives tokens; the scopes that were asked for."""
    DefaultAzureCredential.scopes.clear()
    for name in ("azure", "azure.identity"):
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(
        sys.modules["azure.identity"], "DefaultAzureCredential", DefaultAzureCredential, raising=False
    )
    return DefaultAzureCredential.scopes
