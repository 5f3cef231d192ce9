"""What only the expanded session shows: ids, who requires whom, what a rule names (SEMANTICS D5, D7, C5)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from abs_replay.errors import Problem
from abs_replay.exact_json import Json
from abs_replay.spec.fragments import Placed
from abs_replay.spec.listing import behavior_references
from abs_replay.spec.places import Path, meant
from abs_replay.spec.rule_checks import COMPOSITIONS, at_load
from abs_replay.spec.rules import VARIANTS

type Aliases = Mapping[str, tuple[str, ...]]


def problems(
    behaviors: Sequence[Placed], evaluations: Sequence[Placed], aliases: Aliases
) -> Iterator[Problem]:
    """Give every problem of a session's behaviors and evaluations with each other."""
    ids = _first(behaviors)
    yield from _ids(behaviors, ids)
    yield from _required(behaviors, ids)
    heard = cache(lambda: _heard(behaviors))
    for placed in behaviors:
        yield from _inputs(placed, ids)
    for placed in evaluations:
        for path, rule in _nested(placed.value, ()):
            for key, message in _named(rule, ids, heard):
                yield placed.problem((*path, key), message)
            for index in _optional_only(rule, behaviors, aliases):
                message = "picks optional behaviors only, which may not be observed"
                yield placed.problem((*path, "order", index), message)


def _text(placed: Placed, key: str) -> str | None:
    value = placed.value.get(key)
    return value if isinstance(value, str) else None


def _first(behaviors: Sequence[Placed]) -> dict[str, int]:
    """The ids with the position of the first behavior that has each."""
    ids: dict[str, int] = {}
    for index, placed in enumerate(behaviors):
        id_ = _text(placed, "id")
        if id_ is not None:
            ids.setdefault(id_, index)
    return ids


def _ids(behaviors: Sequence[Placed], ids: Mapping[str, int]) -> Iterator[Problem]:
    for index, placed in enumerate(behaviors):
        id_ = _text(placed, "id")
        if id_ is not None and ids[id_] < index:
            yield placed.problem(("id",), f"`{id_}` is the id of an earlier behavior too")


def _required(behaviors: Sequence[Placed], ids: Mapping[str, int]) -> Iterator[Problem]:
    known = tuple(ids)
    for index, placed in enumerate(behaviors):
        wanted = _text(placed, "requires")
        if wanted is None or ids.get(wanted, index) < index:
            continue
        message = f"no behavior has the id `{wanted}`: {meant(wanted, known)}"
        if wanted in ids:
            message = f"`{wanted}` comes later: only an earlier one can be required"
        yield placed.problem(("requires",), message)


def _nested(rule: Json, path: Path) -> Iterator[tuple[Path, Mapping[str, Json]]]:
    if isinstance(rule, Mapping):
        yield path, rule
        parts = rule.get("evaluations") if rule.get("type") in COMPOSITIONS else None
        for index, part in enumerate(parts if isinstance(parts, list) else []):
            yield from _nested(part, (*path, "evaluations", index))


def _inputs(placed: Placed, ids: Mapping[str, int]) -> Iterator[Problem]:
    """What `f1`, `bleu` and `rouge` compare: their fields name texts that exist (SEMANTICS E8)."""
    for path, rule in _nested({**placed.value, "type": COMPOSITIONS[0]}, ()):
        if rule.get("type") not in tuple(VARIANTS):
            continue
        if rule.get("ground_truth") == "self" and "content" not in placed.value:
            message = "`self` means the content of this behavior, and it has none"
            yield placed.problem((*path, "ground_truth"), message)
        response = rule.get("response")
        if not isinstance(response, str) or response in ("self", "user") or at_load(response):
            continue
        if response.partition(".")[0] not in ids:
            known = meant(response, ("self", "user", *ids))
            yield placed.problem((*path, "response"), f"no behavior has the id `{response}`: {known}")


def _named(
    rule: Mapping[str, Json], ids: Mapping[str, int], heard: Callable[[], set[str]]
) -> Iterator[tuple[str, str]]:
    behavior, variable = rule.get("behavior"), rule.get("variable")
    if rule.get("type") == "expected" and isinstance(behavior, str) and behavior not in ids:
        yield "behavior", f"no behavior has the id `{behavior}`: {meant(behavior, tuple(ids))}"
    consistent = rule.get("type") == "variable_consistency" and isinstance(variable, str)
    if consistent and not _is_heard(str(variable), heard()):
        hint = meant(str(variable), sorted(heard()))
        yield "variable", f"nothing captures `{variable}` or refers to it: {hint}"


def _is_heard(variable: str, heard: set[str]) -> bool:
    return any(_part_of(name, variable) or _part_of(variable, name) for name in heard)


def _heard(behaviors: Sequence[Placed]) -> set[str]:
    captures = (placed.value.get("capture") for placed in behaviors)
    captured = {name for capture in captures if isinstance(capture, Mapping) for name in capture}
    return captured.union(*(behavior_references(placed.value) for placed in behaviors))


def _part_of(name: str, whole: str) -> bool:
    return name == whole or name.startswith(f"{whole}.")


def _optional_only(rule: Mapping[str, Json], behaviors: Sequence[Placed], aliases: Aliases) -> Iterator[int]:
    """The selectors of a `sequence` that pick optional behaviors and no other (D5)."""
    order = rule.get("order") if rule.get("type") == "sequence" else None
    for index, selector in enumerate(order if isinstance(order, list) else []):
        if not isinstance(selector, Mapping) or not selector:
            continue
        picked = [placed for placed in behaviors if _picks(selector, placed.value, aliases)]
        sure = [placed for placed in picked if "target" not in selector or "target" in placed.value]
        if sure and all(placed.value.get("optional") is True for placed in picked):
            yield index


def _picks(selector: Mapping[str, Json], behavior: Mapping[str, Json], aliases: Aliases) -> bool:
    """Say whether a selector could pick the step of a behavior; open targets could be anything."""
    if any(key in selector and selector[key] != behavior.get(key) for key in ("actor", "action")):
        return False
    wanted, target = selector.get("target"), behavior.get("target")
    if not isinstance(wanted, str) or not isinstance(target, str) or at_load(wanted) or at_load(target):
        return True
    return wanted == target or any({wanted, target} <= {name, *others} for name, others in aliases.items())
