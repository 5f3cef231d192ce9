"""The key `match:` of a configuration: how alike requests must be, and what does not count (DESIGN §5).

match:
  mode: canonical
  ignore:
    - json: $.metadata.user_id
    - {query: nonce, channel: "tool:Orders"}
    - {json: "$.messages[*].content", pattern: 'session \\d+'}
    - header: authorization
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from abs_replay.errors import Problem
from abs_replay.exact_json import Json
from abs_replay.spec.paths import Path, parsed
from abs_replay.spec.places import Document, nearest

if TYPE_CHECKING:
    from abs_replay.exchange import Channel

KEYS = ("mode", "ignore")
MODES = ("strict", "canonical", "loose")
PLACES = ("json", "query", "header")
RULE_KEYS = (*PLACES, "pattern", "channel")
# No other header takes part in matching, so there is nothing to be ignored in one.
HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")


class Ignore(NamedTuple):
    """What does not count: a value by its path, a query's parameter, a header, or what a pattern matches.

    A pattern counts in the place that is named beside it, else in the whole body and target. `channel` is
    `llm`, for all of a role, or `tool:Orders`; None is every channel.
    """

    json: Path | None = None
    query: str | None = None
    header: str | None = None
    pattern: str | None = None
    channel: str | None = None

    def concerns(self, channel: "Channel") -> bool:
        return self.channel in (None, str(channel), channel.role.value)


class Matching(NamedTuple):
    """The key as written; `mode` is None where it is left to the command."""

    mode: str | None = None
    ignore: tuple[Ignore, ...] = ()


def problems(document: Document, value: Json) -> Iterator[Problem]:
    """Everything that is wrong with the key."""
    if not isinstance(value, Mapping):
        yield document.problem(("match",), f"must be a mapping of {', '.join(KEYS)}")
        return
    yield from _unknown(document, ("match",), value, KEYS)
    if value.get("mode", MODES[0]) not in MODES:
        yield document.problem(("match", "mode"), f"must be one of {', '.join(MODES)}")
    rules = value.get("ignore", [])
    if not isinstance(rules, list):
        yield document.problem(("match", "ignore"), "must be a list of rules")
        return
    for index, rule in enumerate(rules):
        yield from _rule_problems(document, ("match", "ignore", index), rule)


def _unknown(
    document: Document, at: tuple[str | int, ...], value: Mapping[str, Json], known: tuple[str, ...]
) -> Iterator[Problem]:
    for key in value:
        if key not in known:
            near = nearest(key, known)
            hint = f"did you mean `{near}`?" if near else f"known: {', '.join(known)}"
            yield document.problem((*at, key), f"unknown key `{key}`: {hint}")


def _rule_problems(document: Document, at: tuple[str | int, ...], rule: Json) -> Iterator[Problem]:
    if not isinstance(rule, Mapping):
        yield document.problem(at, f"must be a mapping of {', '.join(RULE_KEYS)}")
        return
    yield from _unknown(document, at, rule, RULE_KEYS)
    places = [key for key in PLACES if key in rule]
    if len(places) > 1 or not (places or "pattern" in rule):
        yield document.problem(at, f"must name one of {', '.join(PLACES)}, or a pattern")
    for key in RULE_KEYS:
        if key in rule and (wrong := _wrong(key, rule[key])):
            yield document.problem((*at, key), wrong)


def _wrong(key: str, value: Json) -> str | None:
    """Why a value does not do for its key; None where it does."""
    if not (isinstance(value, str) and value):
        return "must be text"
    try:
        match key:
            case "json":
                parsed(value)
            case "pattern" if re.compile(value).fullmatch(""):
                return "matches the empty text, so it would be everywhere"
    except ValueError as error:
        return f"is no path: {error}"
    except (re.error, RecursionError, OverflowError) as error:
        return f"can not be compiled: {error}"
    if key == "header" and value.lower() not in HEADERS:
        return f"does not count anyway; those that do: {', '.join(HEADERS)}"
    return _no_channel(value) if key == "channel" else None


def _no_channel(value: str) -> str | None:
    from abs_replay.exchange import Role  # most documents are judged without an exchange at hand

    if value.partition(":")[0] in list(Role):
        return None
    return f"must be {', '.join(Role)}, or one of these with `:NAME`"


def matching(value: Json) -> Matching:
    """The key's value, once it has no problems."""
    assert isinstance(value, Mapping)
    rules, mode = value.get("ignore", []), value.get("mode")
    assert isinstance(rules, list)
    return Matching(
        None if mode is None else str(mode), tuple(_rule(rule) for rule in rules if isinstance(rule, Mapping))
    )


def _rule(rule: Mapping[str, Json]) -> Ignore:
    said = {key: str(value) for key, value in rule.items()}
    path = parsed(said.pop("json")) if "json" in said else None
    return Ignore(path, **said)
