"""`match.ignore` rules into a configuration file as text, so that comments and layout stay.

The text is added where it can be seen to mean just that; the result is read again before it counts.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from abs_replay.cli.writing import write
from abs_replay.errors import UsageError
from abs_replay.exact_json import Json
from abs_replay.spec.yaml_nodes import read

type Rules = Sequence[Mapping[str, str]]


def yaml_of(rules: Rules) -> str:
    """The key `match:` with these rules, to be pasted."""
    return "match:\n  ignore:\n" + _items(rules, "    ")


def add(path: Path, rules: Rules) -> bool:
    """Add rules to a configuration, or begin one; False where that can not be done with its text as it is."""
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} can not be read: {getattr(error, 'strerror', None) or error}") from None
    after = _with(before, rules)
    if after is None or _value(after) != _wanted(before, rules):
        return False
    write(path, after.encode(), force=True)
    return True


def _items(rules: Rules, indent: str) -> str:
    return "".join(f"{indent}- {_flow(rule)}\n" for rule in rules)


def _flow(rule: Mapping[str, str]) -> str:
    text: str = yaml.safe_dump(
        dict(rule), default_flow_style=True, sort_keys=False, width=1 << 30, allow_unicode=True
    )
    return text.strip()


def _with(text: str, rules: Rules) -> str | None:
    """The text with the rules in it; None where its layout leaves no sure place for them."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    if root is None:
        return _ended(text) + yaml_of(rules)
    match = _child(root, "match")
    if not _is_block(root) or root.start_mark.column:
        return None
    if match is None:
        return _ended(text) + yaml_of(rules)
    ignore = _child(match, "ignore")
    if not _is_block(match):
        return None
    if ignore is None:
        indent = " " * match.start_mark.column
        return _after(text, match, f"{indent}ignore:\n{_items(rules, indent + '  ')}")
    if not _is_block(ignore) or not isinstance(ignore, yaml.SequenceNode):
        return None
    return _after(text, ignore, _items(rules, " " * ignore.start_mark.column))


def _is_block(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style and bool(node.value)


def _child(node: yaml.Node, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for name, value in pairs if name.value == key), None)


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _after(text: str, node: yaml.Node, added: str) -> str:
    """Put lines behind the line on which a node's last value ends."""
    lines = _ended(text).splitlines(keepends=True)
    line = _last_line(node) + 1
    return "".join([*lines[:line], added, *lines[line:]])


def _last_line(node: yaml.Node) -> int:
    # A block collection's own end is where the next thing begins, comments skipped.
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        mark = node.end_mark
        return int(mark.line - (mark.column == 0 and mark.line > node.start_mark.line))
    last = node.value[-1]
    return _last_line(last[1] if isinstance(last, tuple) else last)


def _value(text: str) -> Json | None:
    parsed = read(text.encode(), "configuration")
    if parsed.problems or len(parsed.documents) > 1:
        return None
    return parsed.documents[0].value if parsed.documents else {}


def _wanted(text: str, rules: Rules) -> Any:
    """What the file must say then: all that it said, and the rules behind those it had."""
    said: Any = _value(text)
    if not isinstance(said, Mapping) or not isinstance(said.get("match", {}), Mapping):
        return None
    match = said.get("match", {})
    ignore = [*match.get("ignore", []), *map(dict, rules)]
    return {**said, "match": {**match, "ignore": ignore}}
