"""No bytes make an importer raise anything but one line that names the file, and nothing is executed."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay import importers
from abs_replay.errors import UsageError
from abs_replay.exact_json import Number
from abs_replay.importers import IMPORTERS, Source, open_source, recognise, yaml_values

FIXTURES = Path(__file__).parents[2] / "fixtures" / "importers"
MADE = (".cassette.json", ".txt", ".trace.jsonl")
FILES = sorted(path for path in FIXTURES.glob("*/*") if not path.name.endswith(MADE))

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS | st.sampled_from(["request", "\ud800", "☃", -1, 2**70, "Mon, 99 Nov 2026 09:00:00 GMT"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=4,
)


def take(source: Source, formats: tuple[str, ...] = tuple(IMPORTERS)) -> None:
    """Ask every importer, and have it read all the same."""
    recognise(source)
    for name in formats:
        message = _message(name, source)
        assert message is None or message.startswith(str(source.path)), name
        assert message is None or "\n" not in message, name


def _message(name: str, source: Source) -> str | None:
    try:
        importers.read(name, source)
    except UsageError as error:
        return str(error)
    return None


@settings(max_examples=100)
@given(
    st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes(data: bytes) -> None:
    take(Source(Path("some.file"), data))


@settings(max_examples=60)
@given(
    st.sampled_from(FILES),
    st.floats(0, 1),
    st.integers(0, 30),
    st.sampled_from(
        [b"", b": ", b"- ", b"{", b"[", b"\x00", b"\xff", b"!!python/x ", b"*a", b"&a ", b'"', b"\n"]
    ),
)
def test_a_file_with_a_slip_of_the_pen(path: Path, where: float, gone: int, there: bytes) -> None:
    data = path.read_bytes()
    at = int(where * len(data))
    take(Source(path, data[:at] + there + data[at + gone :]), (path.parent.name,))


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in _places(item, (*path, key)))]


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = _with(value[path[0]], path[1:], new)
    return changed


def _document(path: Path) -> Any:
    source = open_source(path)
    lines = source.json_lines
    if path.suffix == ".jsonl" and isinstance(lines, tuple):
        return _without_bytes([line.value for line in lines])
    return _without_bytes(source.json or source.yaml)


def _without_bytes(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _without_bytes(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_bytes(item) for item in value]
    if isinstance(value, Number):
        return float(value)
    return value if isinstance(value, str | int | float | None) else str(value)


DOCUMENTS = [(path, _document(path)) for path in FILES]


@settings(max_examples=150)
@given(st.data())
def test_a_document_with_something_else_at_one_place(data: st.DataObject) -> None:
    path, document = data.draw(st.sampled_from(DOCUMENTS))
    place = data.draw(st.sampled_from(_places(document)))
    changed = _with(document, place, data.draw(VALUES))
    lines = path.suffix == ".jsonl" and isinstance(changed, list)
    text = "\n".join(map(json.dumps, changed)) if lines else json.dumps(changed)
    take(Source(path.with_suffix(".json"), text.encode()), (path.parent.name, "pair"))


@pytest.mark.parametrize("side", [[], {}, 1, None, "away"])
def test_a_message_of_no_side_is_left_out(side: Any) -> None:
    (path,) = (path for path in FILES if path.name == "browser.har")
    document = json.loads(path.read_text(encoding="utf-8"))
    for entry in document["log"]["entries"]:
        for frame in entry.get("_webSocketMessages", ()):
            frame["type"] = side
    imported = importers.read("har", Source(path, json.dumps(document).encode()))
    assert [len(each.websocket.messages) for each in imported.exchanges if each.websocket] == [0]


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.mkdir", "!!python/object/new:os.mkdir", "!ruby/object:X"]
)
def test_a_tag_that_makes_objects_runs_nothing(tmp_path: Path, tag: str) -> None:
    bad = tmp_path / "made"
    text = (
        (FIXTURES / "vcr" / "tags.yaml")
        .read_text()
        .replace("!!python/object/new:_io.BytesIO", f"{tag} [{bad}]\n#")
    )
    for where in (text, f"interactions: {tag} [{bad}]\n", f"? {tag} [{bad}]\n: 1\ninteractions: []\n"):
        take(Source(Path("x.yaml"), where.encode()))
    assert not bad.exists()


def test_nothing_of_python_is_called_for_any_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr(os, "system", called.append)
    value = yaml_values.read("a: !!python/object/apply:os.system ['echo']\nb: !!python/name:os.system ''\n")
    assert value["a"] == yaml_values.Tagged("tag:yaml.org,2002:python/object/apply:os.system", ["echo"])
    assert not called


def _yaml_bomb() -> str:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    bomb = "\n".join(["a0: &a0 [xxxxxxxxxx]", *levels])
    used = "interactions:\n- request: {method: GET, uri: /, parsed_body: *a11}\n  response: {status: 200}\n"
    return f"{bomb}\n{used}"


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "aliases.yaml": (lambda: _yaml_bomb().encode(), "aliases stand for more"),
    "itself.yaml": (lambda: b"interactions: &a\n- request: {uri: *a}\n", "nested more than"),
    "deep.yaml": (
        lambda: b"interactions:\n- request: {uri: " + b"[" * 900 + b"]" * 900 + b"}\n",
        "nested more than",
    ),
    "deeper.yaml": (lambda: b"interactions: " + b"{a: " * 100_000, "nesting"),
    "deep.json": (lambda: b'{"interactions": ' + b"[" * 100_000, "deep"),
    "deep.har": (lambda: b'{"log": ' + b'{"a": ' * 100_000 + b"1" + b"}" * 100_000 + b"}", "deep"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_one_line(name: str) -> None:
    make, message = BOMBS[name]
    source = Source(Path(name), make())
    format_ = "har" if name.endswith(".har") else "vcr"
    with pytest.raises(UsageError, match=message) as raised:
        importers.read(format_, source)
    assert "\n" not in str(raised.value)
    recognise(source)


def test_a_gzip_bomb_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("abs_replay.importers.source.LARGEST", 1 << 20)
    (tmp_path / "x.yaml.gz").write_bytes(gzip.compress(b"\x00" * (8 << 20)))
    with pytest.raises(UsageError, match="expands to more than 1 MiB"):
        open_source(tmp_path / "x.yaml.gz")
    (tmp_path / "x.yaml").write_bytes(b" " * (2 << 20))
    with pytest.raises(UsageError, match="larger than 1 MiB"):
        open_source(tmp_path / "x.yaml")


@pytest.mark.parametrize(
    "data",
    [b"\x1f\x8b", gzip.compress(b"x" * 99)[:-5], b"\x1f\x8b\x08" + b"\xff" * 30],
    ids=["its mark alone", "cut", "no gzip behind its mark"],
)
def test_what_only_begins_like_gzip_is_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.gz").write_bytes(data)
    with pytest.raises(UsageError, match=r"x\.gz: is no gzip that can be read"):
        open_source(tmp_path / "x.gz")


@pytest.mark.parametrize("letter", [b"\x00", b"x", b"["])
def test_twenty_megabytes_of_nothing_are_known_for_nothing_at_once(letter: bytes) -> None:
    assert recognise(Source(Path("x"), letter * 20_000_000)) is None
