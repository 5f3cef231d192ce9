"""A file of faults that a replay shall have (`--fault FILE`, DESIGN §5): what networks and vendors do.

seed: 7
faults:
  - {latency: 500, every: 3}                          # ms before the first byte
  - {cut: 2, first: 1, channel: llm}                  # the connection ends after two chunks
  - {status: 503, path: /orders, probability: 0.2}
  - {rate_limit: 20, first: 2}                        # 429 with `retry-after: 20`
  - {malformed: 1, channel: "tool:Orders"}            # the first chunk is garbled

Each rule has one fault, and says on which requests: of a channel, with a path that its pattern is found
in, of those on every nth or the first n, and of those with a probability. Without any, on every request.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from abs_replay.errors import Problem, SpecError, UsageError
from abs_replay.exact_json import Json
from abs_replay.exchange import Channel, Role
from abs_replay.spec.places import Document, meant
from abs_replay.spec.yaml_nodes import read

KEYS = ("seed", "faults")
# What a kind's number is, and from where to where it may go.
KINDS = {
    "latency": ("ms", 0, 600_000),
    "cut": ("chunks", 0, 1_000_000),
    "status": ("an HTTP status", 400, 599),
    "rate_limit": ("seconds", 0, 86_400),
    "malformed": ("the number of a chunk, from 1", 1, 1_000_000),
}
_FRACTIONS = ("latency", "rate_limit")
_MOST = 1_000_000_000
CONDITIONS = ("channel", "path", "every", "first", "probability")
RULE_KEYS = (*KINDS, *CONDITIONS)


@dataclass(frozen=True, slots=True)
class FaultRule:
    """One fault, with its number (`KINDS`), and the requests that have it."""

    kind: str
    amount: float
    channel: str | None = None
    path: str | None = None
    every: int = 1
    first: int | None = None
    probability: float = 1.0

    def concerns(self, channel: Channel, path: str) -> bool:
        named = self.channel in (None, str(channel), channel.role.value)
        return named and (self.path is None or re.search(self.path, path) is not None)


@dataclass(frozen=True, slots=True)
class Faults:
    """The rules of a file; the same seed gives the same faults to the same requests in the same order."""

    rules: tuple[FaultRule, ...] = ()
    seed: int = 0


def load(file: Path) -> Faults:
    """Read a file of faults.

    Raises `SpecError` with every problem, or `UsageError` where it can not be read.
    """
    try:
        parsed = read(file.read_bytes(), str(file))
    except OSError as error:
        raise UsageError(f"{file}: can not be read: {error.strerror}") from None
    problems = list(parsed.problems)
    problems += [document.problem((), "faults are one document") for document in parsed.documents[1:]]
    if not parsed.documents and not problems:
        problems = [Problem("must be a mapping with `faults`", str(file))]
    for document in parsed.documents[:1]:
        problems += _problems(document)
    if problems:
        raise SpecError(problems)
    return _faults(parsed.documents[0].value)


def _problems(document: Document) -> Iterator[Problem]:
    value = document.value
    if not isinstance(value, Mapping) or "faults" not in value:
        yield document.problem((), "must be a mapping with `faults`, a list of rules")
        return
    for key in value:
        if key not in KEYS:
            yield document.problem((key,), f"unknown key `{key}`: {meant(key, KEYS)}")
    if type(value.get("seed", 0)) is not int:
        yield document.problem(("seed",), "must be a whole number")
    rules = value["faults"]
    if not isinstance(rules, list):
        yield document.problem(("faults",), "must be a list of rules")
        return
    for index, rule in enumerate(rules):
        yield from _rule_problems(document, ("faults", index), rule)


def _rule_problems(document: Document, at: tuple[str | int, ...], rule: Json) -> Iterator[Problem]:
    if not isinstance(rule, Mapping):
        yield document.problem(at, f"must be a mapping of {', '.join(RULE_KEYS)}")
        return
    for key in rule:
        if key not in RULE_KEYS:
            yield document.problem((*at, key), f"unknown key `{key}`: {meant(key, RULE_KEYS)}")
    if len([key for key in KINDS if key in rule]) != 1:
        yield document.problem(at, f"must have one of {', '.join(KINDS)}")
    for key in RULE_KEYS:
        if key in rule and (wrong := _wrong(key, rule[key])):
            yield document.problem((*at, key), wrong)


def _wrong(key: str, value: Json) -> str | None:
    """Why a value does not do for its key; None where it does."""
    if key in KINDS:
        unit, least, most = KINDS[key]
        within = _is_within(value, least, most) and (key in _FRACTIONS or isinstance(value, int))
        return None if within else f"must be {unit}, {least} to {most}"
    match key:
        case "every" | "first":
            whole = isinstance(value, int) and _is_within(value, 1, _MOST)
            return None if whole else "must be a whole number from 1"
        case "probability":
            return None if _is_within(value, 0, 1) else "must be a number from 0 to 1"
    if not (isinstance(value, str) and value):
        return "must be text"
    return _wrong_channel(value) if key == "channel" else _wrong_pattern(value)


def _is_within(value: Json, least: int, most: int) -> bool:
    is_number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    return is_number and least <= float(str(value)) <= most


def _wrong_channel(value: str) -> str | None:
    if value.partition(":")[0] in list(Role):
        return None
    return f"must be {', '.join(Role)}, or one of these with `:NAME`"


def _wrong_pattern(value: str) -> str | None:
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError) as error:
        return f"can not be compiled: {error}"
    return None


def _faults(value: Json) -> Faults:
    assert isinstance(value, Mapping)  # checked
    rules, seed = value["faults"], value.get("seed", 0)
    assert isinstance(rules, list)
    assert isinstance(seed, int)
    return Faults(tuple(_rule(rule) for rule in rules if isinstance(rule, Mapping)), seed)


def _rule(rule: Mapping[str, Json]) -> FaultRule:
    kind = next(key for key in KINDS if key in rule)
    texts = {key: str(rule[key]) for key in ("channel", "path") if key in rule}
    counts = {key: int(str(rule[key])) for key in ("every", "first") if key in rule}
    probability = float(str(rule.get("probability", 1)))
    return FaultRule(kind, float(str(rule[kind])), **texts, **counts, probability=probability)  # type: ignore[arg-type]
