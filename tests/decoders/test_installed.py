"""Decoders of other packages: when they are asked, and what their faults cost."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from abs_replay import plugins
from abs_replay.decoders import DECODERS_VERSION, decode, version
from abs_replay.derivation import traces_of
from abs_replay.errors import UsageError
from abs_replay.exchange import Body, Channel, Exchange, Recording, Request, Role
from abs_replay.store import Store

CODE = """
from abs_replay.decoders import Decoded

def claims(exchange):
    return exchange.request.path == "/acme"

def decode(exchange):
    if not exchange.request.body.data.endswith(b"}"):
        raise KeyError("end")
    return Decoded("acme")
"""

type Lay = Callable[[str], None]


@pytest.fixture
def lay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lay]:
    """Lay a package beside its metadata, as an installer does, where Python finds it."""

    def laid(target: str) -> None:
        info = tmp_path / "acme-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[abs_replay.decoders]\nacme = {target}\n")
        (tmp_path / "acme_decoder.py").write_text(CODE)
        monkeypatch.syspath_prepend(str(tmp_path))

    yield laid
    plugins._scan.cache_clear()


def exchange(data: bytes, role: Role = Role.AGENT) -> Exchange:
    return Exchange("x", Channel(role, "m"), 0.0, Request("POST", "/acme", (), Body(data)))


def test_they_are_asked_before_those_that_take_what_is_left(lay: Lay) -> None:
    lay("acme_decoder")
    assert decode(exchange(b'{"messages": []}')).protocol == "acme"
    assert decode(exchange(b"{}", Role.TOOL)).protocol == "acme"
    assert version() == f"{DECODERS_VERSION} acme=1.0"


def test_a_fault_of_one_costs_one_exchange(lay: Lay) -> None:
    lay("acme_decoder")
    assert decode(exchange(b"")).reason == "acme failed: KeyError('end')"


def test_what_is_no_decoder_is_told_in_a_line(lay: Lay) -> None:
    lay("json.decoder")
    with pytest.raises(UsageError, match="has no `claims` and `decode`"):
        decode(exchange(b"{}"))


def test_a_decoder_that_failed_is_told_once_where_traces_are_derived(
    lay: Lay, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay("acme_decoder")
    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r-1", "demo", 1.0))
    store.append("r-1", [replace(exchange(b""), id=id_) for id_ in ("x1", "x2")])

    assert traces_of(store) == ()
    assert capsys.readouterr().err == (
        "abs: recording demo (r-1): of 2 exchanges, acme failed: KeyError('end'); what it can not decode "
        "is in no trace: `abs show r-1 --why` lists it\n"
    )
