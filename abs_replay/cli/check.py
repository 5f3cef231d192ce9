"""`abs check`: what is wrong with cassettes, before git and CI trust them."""

import json
import re
import time
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.saying import harmless, say
from abs_replay.errors import UsageError
from abs_replay.exact_json import Json

if TYPE_CHECKING:
    from abs_replay.checking import Finding, Limits
    from abs_replay.exchange import Exchange

ENDING = ".cassette.json"
_AGE = re.compile(r"(\d+)([dwy])")
_DAYS = {"d": 1, "w": 7, "y": 365}


@dataclass(frozen=True, slots=True)
class Found:
    """A finding with the cassette's file, and its exchange with the line at which that begins."""

    file: str
    line: int
    finding: "Finding"
    exchange: "Exchange | None"

    @property
    def message(self) -> str:
        if self.exchange is None:
            return self.finding.message
        request = self.exchange.request
        named = f" (id {self.exchange.id})" if self.exchange.id else ""
        what = (
            f"exchanges[{self.finding.exchange}], {request.method} {request.path} on {self.exchange.channel}"
        )
        return f"{what}{named}: {self.finding.message}"


class _Age(click.ParamType[float]):
    name = "age"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = _AGE.fullmatch(str(value))
        if found is None:
            self.fail(f"{value!r}: expected a number with d, w or y, like 90d", param, ctx)
        return int(found[1]) * _DAYS[found[2]] * 24 * 3600.0


class Command(click.Command):
    """Tells of the codes in its help."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from abs_replay.checking import CODES

        with formatter.section("Codes (w: a warning)"):
            formatter.write_dl(
                [(code, f"{'' if error else 'w: '}{what}") for code, (error, what) in CODES.items()]
            )


@click.command(cls=Command)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="CASSETTE...")
@click.option(
    "--allow", multiple=True, metavar="CODE[=ID]", help="Let a code pass, everywhere or in one exchange."
)
@click.option(
    "--max-age", type=_Age(), metavar="90d", help="How long ago may have been recorded: 90d, 12w, 1y."
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="What `abs replay --report` wrote: what it did not play is found.",
)
@click.option("--strict", is_flag=True, help="Exit 1 for warnings, too.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", "github"]),
    default="table",
    show_default=True,
    help="How to print the findings.",
)
def command(
    paths: tuple[Path, ...],
    allow: tuple[str, ...],
    max_age: float | None,
    report: Path | None,
    strict: bool,
    format_: str,
) -> int:
    """Look through each CASSETTE, and all of a directory's, for what would make a job lie, or weigh it down.

    Exits 1 if there is an error (with --strict: or a warning).

    \b
    abs check tests/cassettes
    abs check order.cassette.json --allow error-status=3f2a91 --max-age 90d --format github
    """
    from abs_replay.checking import Limits

    _known(allow)
    limits = Limits(time.time(), max_age)
    if report is not None:
        used, unplayable = _reported(report)
        limits = replace(limits, used=used, unplayable=unplayable)
    found = [each for path in _files(paths) for each in _look(path, limits) if not _is_allowed(each, allow)]
    for line in _WRITERS[format_](found):
        say(line, err=False)
    errors = sum(each.finding.severity == "error" for each in found)
    return int(bool(errors or (strict and found)))


def _known(allow: Collection[str]) -> None:
    from abs_replay.checking import CODES

    for text in allow:
        code = text.partition("=")[0]
        if code not in CODES:
            raise UsageError(f"--allow {text!r}: there is no code {code!r}; known: {', '.join(CODES)}")


def _reported(report: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The ids that were used, and the channels of which nothing could be."""
    try:
        document = json.loads(report.read_bytes())
        return frozenset(map(str, document["used"])), frozenset(map(str, document.get("unplayable", ())))
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise UsageError(f"{report}: no report of `abs replay --report`: {error}") from None


def _files(paths: Collection[Path]) -> Iterator[Path]:
    for path in paths:
        inside = sorted(path.rglob(f"*{ENDING}")) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"{path}: there is no *{ENDING} in it")
        yield from inside


def _look(path: Path, limits: "Limits") -> Iterator[Found]:
    from abs_replay.cassette import loads
    from abs_replay.checking import findings

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: can not be read: {getattr(error, 'strerror', None) or error}") from None
    cassette, lines = loads(text, str(path)), _lines(text)
    for finding in findings(cassette, limits):
        number = finding.exchange
        exchange = None if number is None else cassette.exchanges[number]
        line = lines[number] if number is not None and number < len(lines) else 1
        yield Found(str(path), line, finding, exchange)


def _lines(text: str) -> list[int]:
    """The lines at which the exchanges begin, in a cassette that is laid out as `abs export` does it."""
    before, _, after = text.partition('\n  "exchanges": [')
    start = before.count("\n") + 2
    return [number for number, line in enumerate(after.split("\n"), start) if line.startswith("    {")]


def _is_allowed(found: Found, allow: Collection[str]) -> bool:
    code, exchange = found.finding.code, found.exchange
    ids = [text.partition("=")[2] for text in allow if text.partition("=")[0] == code]
    return any(not id_ or (exchange is not None and exchange.id.startswith(id_)) for id_ in ids)


# -- writing


def _table(found: Collection[Found]) -> Iterator[str]:
    from abs_replay.reports.totals import plural

    for each in found:
        yield f"{each.file}:{each.line}: {each.finding.severity} {each.finding.code}: {each.message}"
    counts = Counter(each.finding.severity.value for each in found)
    yield f"{plural(counts['error'], 'error')}, {plural(counts['warning'], 'warning')}"


def _json(found: Collection[Found]) -> Iterator[str]:
    rows: list[Json] = [
        {
            "code": each.finding.code,
            "severity": each.finding.severity.value,
            "file": each.file,
            "line": each.line,
            "exchange": each.exchange.id if each.exchange else None,
            "message": each.message,
        }
        for each in found
    ]
    yield json.dumps({"findings": rows})


def _github(found: Collection[Found]) -> Iterator[str]:
    from abs_replay.reports.github import annotation

    for each in found:
        title = f"abs check: {each.finding.code}"
        yield annotation(each.finding.severity.value, each.file, each.line, title, harmless(each.message))


_WRITERS = {"table": _table, "json": _json, "github": _github}
