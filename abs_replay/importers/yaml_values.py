"""YAML as other tools write it, as data: values, and tags beside them, nothing executed.

Read from PyYAML's nodes, with YAML 1.1's notion of plain scalars (PyYAML's and Ruby's writers both mean it):
null, booleans and whole numbers as such, numbers with a fraction exact; dates stay text. `!!binary` and
`!binary` are bytes. Any other tag is kept beside its value, as `Tagged`. A mapping is a dict where all its
keys are text; other plain keys become text; where a key is a list, it stands as a tuple.
"""

import base64
import binascii
import re
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import yaml

from abs_replay.exact_json import Number

DEEPEST = 200
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE = "tag:yaml.org,2002:"
_BINARY = (f"{_CORE}binary", "!binary")
_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WHOLE = re.compile(r"[-+]?[0-9]{1,400}")


class BadYaml(ValueError):
    """What keeps a text from being read, and the line, from 1, where there is one."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Tagged:
    """A value under a tag that is none of YAML's own; the tag is only told, nothing is made of it."""

    tag: str
    value: Any


def read(text: str) -> Any:
    """Give the value of the first document; None where there is none. Raises `BadYaml`."""
    loader = _LOADER(text)
    try:
        loader.check_node()
        root = loader.get_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BadYaml(error.problem or "it is not well-formed", mark.line + 1 if mark else None) from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadYaml(" ".join(str(error).split())) from None
    except RecursionError:
        raise BadYaml("it is nested too deep") from None
    finally:
        loader.dispose()
    return None if root is None else _Values(len(text)).of(root, 0)


class _Values:
    """Makes values of nodes; what aliases stand for counts every time, so that they can not multiply."""

    def __init__(self, size: int) -> None:
        self._left = 4 * size + 200_000

    def of(self, node: yaml.Node, depth: int) -> Any:
        line = node.start_mark.line + 1 if node.start_mark else None
        self._left -= 1 + (len(node.value) if isinstance(node, yaml.ScalarNode) else 0)
        if self._left < 0:
            raise BadYaml("its aliases stand for more than it could hold", line)
        if depth > DEEPEST:
            raise BadYaml(f"nested more than {DEEPEST} deep", line)
        if node.tag in _BINARY and isinstance(node, yaml.ScalarNode):
            return _bytes(node.value, line)
        value = self._plain(node, depth)
        return value if node.tag.startswith(_CORE) and ":python" not in node.tag else Tagged(node.tag, value)

    def _plain(self, node: yaml.Node, depth: int) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.of(item, depth + 1) for item in node.value]
        assert isinstance(node, yaml.MappingNode)
        return {_key(self.of(key, depth + 1)): self.of(item, depth + 1) for key, item in node.value}


def _key(value: Any) -> Hashable:
    if isinstance(value, Tagged):
        return _key(value.value)
    if isinstance(value, list):
        return tuple(map(_key, value))
    if isinstance(value, dict):
        return tuple((key, _key(item)) for key, item in value.items())
    return value if isinstance(value, str | bytes) else str(value)


def _bytes(text: str, line: int | None) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadYaml(f"!!binary that is no base64: {error}", line) from None


def _scalar(node: yaml.ScalarNode) -> Any:
    kind, text = node.tag.removeprefix(_CORE), node.value
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if kind == "int" and _WHOLE.fullmatch(text) and not re.match(r"[-+]?0[0-9]", text):
        return int(text)
    if kind == "float" and _JSON_NUMBER.fullmatch(text):
        return Number(text)
    return text
