"""`abs learn`: what two recordings of the same conversation teach about what does not count in matching."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.rule_writing import add, yaml_of
from abs_replay.cli.saying import say
from abs_replay.errors import CassetteError, UsageError
from abs_replay.reports.totals import plural

if TYPE_CHECKING:
    from abs_replay.cassette import Cassette
    from abs_replay.learning import Example, Lesson

_SHOWN = 80
_LISTED = 10


@click.command()
@click.argument("recorded", metavar="A")
@click.argument("asked", metavar="B")
@click.option(
    "--store", type=click.Path(path_type=Path), help="The store [default: ABS_STORE, or .abs/store.duckdb]."
)
@click.option("--write", "write_", is_flag=True, help="Add the rules to the nearest abs.config.yaml.")
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(recorded: str, asked: str, store: Path | None, write_: bool, format_: str) -> int:
    """Compare A and B, two recordings of the same conversation, and propose what `match.ignore` should say.

    Both are recordings of the store (a name, an id, last, last~1) or cassettes. What B asks is played against
    A; where it misses, what differs without meaning (nonces, times, random ids, a sentence that is written
    anew) becomes a rule, with its evidence: the fewest rules that make B match. What the user said, amounts,
    and what an answer brought are never proposed. Exits 1 if some requests would miss even with the rules.

    \b
    abs learn last~1 last                          the same conversation, recorded twice
    abs learn order.cassette.json last --write     into abs.config.yaml
    """
    from abs_replay.learning import learn
    from abs_replay.matching import Match
    from abs_replay.spec.configuration import NAME, find

    configuration = find(Path.cwd())
    cassettes = _read(recorded, store), _read(asked, store)
    mode = Match(configuration.match.mode or "canonical")
    lesson = learn(*cassettes, mode, configuration.match.ignore)
    for line in _as_json(lesson) if format_ == "json" else _as_text(lesson, cassettes[1]):
        say(line, err=False)
    rules = [each.rule for each in lesson.proposals]
    if rules and write_:
        _write(configuration.file or Path.cwd() / NAME, rules)
    return int(bool(lesson.left))


def _read(name: str, store: Path | None) -> "Cassette":
    from abs_replay.cassette import Cassette, loads
    from abs_replay.store import Store, default_path

    path = Path(name)
    if name.endswith(".json") or path.is_file():
        try:
            return loads(path.read_text(encoding="utf-8"), name)
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "no UTF-8 text"
            raise CassetteError(f"{name} can not be read: {why}") from None
    stored = Store(default_path(store, os.environ))
    found = stored.recording(name)
    exchanges = stored.exchanges(found.id)
    if not exchanges:
        raise UsageError(f"recording {found.name} holds no exchanges: there is nothing to compare")
    return Cassette(found, exchanges)


def _write(path: Path, rules: Sequence[Mapping[str, str]]) -> None:
    if add(path, rules):
        say(f"{path}: {plural(len(rules), 'rule')} added")
        return
    say(f"{path} is written in a way that can not be extended safely: nothing was changed; add to it")
    for line in yaml_of(rules).splitlines():
        say(line, err=False)


# -- telling


def _as_json(lesson: "Lesson") -> Iterator[str]:
    yield json.dumps(
        {
            "pairs": lesson.pairs,
            "alike": lesson.alike,
            "echoed": lesson.echoed,
            "rules": [asdict(each) | {"rule": dict(each.rule)} for each in lesson.proposals],
            "not_proposed": [asdict(each) | {"channel": str(each.channel)} for each in lesson.doubts],
            "would_miss": lesson.left,
            "without_partner": lesson.alone,
            "never_asked": lesson.unasked,
        },
        ensure_ascii=False,
    )


def _as_text(lesson: "Lesson", asked: "Cassette") -> Iterator[str]:
    yield f"{plural(lesson.pairs, 'pair')}, {lesson.alike} alike as they are"
    if lesson.echoed:
        yield f"{plural(lesson.echoed, 'pair')} differ in what an answer brought, as it will in replay"
    if lesson.proposals:
        yield from yaml_of([each.rule for each in lesson.proposals]).splitlines()
        yield "evidence:"
    for proposal in lesson.proposals:
        settled = f"{proposal.settled} of them match with the rules"
        yield f"  {_name(proposal.rule)}: {plural(proposal.pairs, 'pair')}, {settled}"
        yield from map(_example, proposal.examples)
        if proposal.merged:
            yield f"    careful: {proposal.merged} requests of A with different answers are equal then, and"
            yield "    are answered in recorded order"
    if lesson.doubts:
        yield "differs with meaning? not proposed:"
    for doubt in lesson.doubts:
        yield f"  {doubt.where} on {doubt.channel}: {plural(doubt.pairs, 'pair')}, {doubt.why}"
        yield from map(_example, doubt.examples)
    yield from _left(lesson, asked)


def _name(rule: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in rule.items())


def _example(example: "Example") -> str:
    then, now = map(_shown, example)
    return f"    {then} / {now}"


def _shown(value: str | None) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _left(lesson: "Lesson", asked: "Cassette") -> Iterator[str]:
    if not lesson.left:
        yield "nothing of B would miss" + (" with these rules" if lesson.proposals else "")
        return
    yield f"{plural(len(lesson.left), 'request')} of B would miss still:"
    for number in lesson.left[:_LISTED]:
        exchange = asked.exchanges[number]
        request, alone = exchange.request, ", which A has not" if number in lesson.alone else ""
        yield f"  exchanges[{number}], {request.method} {request.path} on {exchange.channel}{alone}"
    if len(lesson.left) > _LISTED:
        yield f"  and {len(lesson.left) - _LISTED} more"
