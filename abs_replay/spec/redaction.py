"""The key `redact:` of a configuration: what is taken out beside what is built in (DESIGN §8)."""

import re
from collections.abc import Iterator, Mapping

from abs_replay.errors import Problem
from abs_replay.exact_json import Json
from abs_replay.spec.paths import parsed
from abs_replay.spec.places import Document, nearest
from abs_replay.values import dataclass

KEYS = ("builtin", "headers", "json", "patterns", "pii", "hook")
PII = ("email", "phone", "card", "iban")
TAKEN = ("auth", "key", "cookie", "field", *PII)  # classes of placeholders that have a meaning

_NAME = re.compile(r"[a-z][a-z-]{1,19}")  # as a placeholder shows it
_HOOK = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Redaction:
    """The key as written; `patterns` are names and patterns, `hook` is `module:function`."""

    builtin: bool = True
    headers: tuple[str, ...] = ()
    json: tuple[str, ...] = ()
    patterns: tuple[tuple[str, str], ...] = ()
    pii: tuple[str, ...] = ()
    hook: str | None = None


def problems(document: Document, value: Json) -> Iterator[Problem]:
    """Everything that is wrong with the key."""
    if not isinstance(value, Mapping):
        yield document.problem(("redact",), f"must be a mapping of {', '.join(KEYS)}")
        return
    for key in value:
        if key not in KEYS:
            near = nearest(key, KEYS)
            hint = f"did you mean `{near}`?" if near else f"known: {', '.join(KEYS)}"
            yield document.problem(("redact", key), f"unknown key `{key}`: {hint}")
    if not isinstance(value.get("builtin", True), bool):
        yield document.problem(("redact", "builtin"), "must be true or false")
    for key in ("headers", "json", "pii"):
        yield from _list_problems(document, key, value.get(key, []))
    yield from _patterns_problems(document, value.get("patterns", []))
    hook = value.get("hook")
    if hook is not None and not (isinstance(hook, str) and _HOOK.fullmatch(hook)):
        yield document.problem(("redact", "hook"), "must name a function as `module:function`")


def _list_problems(document: Document, key: str, value: Json) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield document.problem(("redact", key), "must be a list")
        return
    for index, each in enumerate(value):
        if not (isinstance(each, str) and each.strip()):
            yield document.problem(("redact", key, index), "must be text")
        elif key == "pii" and each not in PII:
            yield document.problem(("redact", key, index), f"`{each}` is not known: write {', '.join(PII)}")
        elif key == "json" and (wrong := _wrong_path(each)):
            yield document.problem(("redact", key, index), wrong)


def _wrong_path(text: str) -> str | None:
    try:
        parsed(text)
    except ValueError as error:
        return str(error)
    return None


def _patterns_problems(document: Document, value: Json) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield document.problem(("redact", "patterns"), "must be a list of a `name` and a `pattern` each")
        return
    for index, each in enumerate(value):
        at = ("redact", "patterns", index)
        if not (isinstance(each, Mapping) and set(each) == {"name", "pattern"}):
            yield document.problem(at, "must have a `name` and a `pattern`, and nothing else")
            continue
        name, pattern = each["name"], each["pattern"]
        if not (isinstance(name, str) and _NAME.fullmatch(name)) or name in TAKEN:
            message = f"must be 2 to 20 letters a-z or dashes, and none of {', '.join(TAKEN)}"
            yield document.problem((*at, "name"), message)
        wrong = _wrong(pattern) if isinstance(pattern, str) else "must be text"
        if wrong:
            yield document.problem((*at, "pattern"), wrong)


def _wrong(pattern: str) -> str | None:
    """Why a pattern does not do; None where it does."""
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"can not be compiled: {error}"
    return "matches the empty text, so it would be everywhere" if compiled.fullmatch("") else None


def redaction(value: Json) -> Redaction:
    """The key's value, once it has no problems."""
    assert isinstance(value, Mapping)
    patterns = value.get("patterns", [])
    assert isinstance(patterns, list)
    hook = value.get("hook")
    return Redaction(
        bool(value.get("builtin", True)),
        _texts(value.get("headers", [])),
        _texts(value.get("json", [])),
        tuple((str(each["name"]), str(each["pattern"])) for each in patterns if isinstance(each, Mapping)),
        _texts(value.get("pii", [])),
        str(hook) if hook is not None else None,
    )


def _texts(value: Json) -> tuple[str, ...]:
    assert isinstance(value, list)
    return tuple(map(str, value))
