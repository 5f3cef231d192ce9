"""`abs label`: verdicts of people beside those of judges, given in the terminal or as CSV."""

import getpass
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.saying import harmless, say
from abs_replay.errors import UsageError

if TYPE_CHECKING:
    from abs_replay.cli.label_choice import Wanted
    from abs_replay.labels import Evaluated, Label
    from abs_replay.store import Store
    from abs_replay.trace import Trace

FILE = click.Path(path_type=Path)
KEYS = {"p": "pass", "f": "fail", "u": "unsure", "s": "skip", "b": "back", "q": "quit"}
ASKED = "[p]ass [f]ail [u]nsure [s]kip [b]ack [q]uit, then a note if you like: "


@click.command()
@click.option("--session", metavar="NAME", help="Only evaluations of that session.")
@click.option("--evaluation", metavar="AT", help="Only that evaluation: behaviors[1].evaluations[0].")
@click.option("--trace", metavar="T", help="Only that trace: its id, or the beginning of it.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Only N, a fair share of every kind.")
@click.option("--seed", type=int, default=0, show_default=True, help="Which N: the same seed, the same ones.")
@click.option(
    "--only-disagreeing",
    is_flag=True,
    help="Only where labels and judge, or labels among themselves, differ.",
)
@click.option("--show-verdict", is_flag=True, help="Show what the judge said; it may sway you.")
@click.option("--who", metavar="NAME", help="Who you are [default: the user of this system].")
@click.option(
    "--export", type=FILE, metavar="CSV", help="Write labels, and rows to fill in; - is the screen."
)
@click.option("--import", "import_", type=FILE, metavar="CSV", help="Take over labels that were filled in.")
@click.option("--force", is_flag=True, help="With --export: write over a file that is there.")
@click.option("--store", type=FILE, help="The store [default: ABS_STORE, or .abs/store.duckdb].")
def command(
    session: str | None,
    evaluation: str | None,
    trace: str | None,
    sample: int | None,
    seed: int,
    only_disagreeing: bool,
    show_verdict: bool,
    who: str | None,
    export: Path | None,
    import_: Path | None,
    force: bool,
    store: Path | None,
) -> None:
    """Say yourself what a judge said, so that abs calibrate can tell how good it is.

    \b
    abs label --sample 50                        a conversation at a time, and one key for each
    abs label --session Refund --evaluation "evaluations[0]"
    abs label --only-disagreeing --show-verdict  a second look
    abs label --sample 200 --export labels.csv   to be filled in with a spreadsheet, and then:
    abs label --import labels.csv

    Every label is kept at once; called again, it goes on with what you have not labelled. Nothing is
    overwritten: your last word on something counts. The judge's verdicts are not shown unless you ask.
    """
    from abs_replay.cli.label_choice import Wanted
    from abs_replay.store import Store, default_path

    if export is not None and import_ is not None:
        raise UsageError("abs label: --export and --import at once: leave one out")
    opened = Store(default_path(store, os.environ))
    wanted = Wanted(session, evaluation, trace, sample, seed, only_disagreeing)
    if import_ is not None:
        _import(opened, import_, _who(who))
    elif export is not None:
        _export(opened, export, wanted, show_verdict, force)
    else:
        _ask(opened, wanted, _who(who), show_verdict)


def _who(given: str | None) -> str:
    if given:
        return given
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container whose user has no name
        raise UsageError("abs label: nobody knows who you are here: say so with --who NAME") from None


def _import(store: "Store", path: Path, who: str) -> None:
    from abs_replay.cli.label_files import read
    from abs_replay.reports.totals import plural

    kept = store.labelled()
    found = read(path, kept.evaluated, kept.labels, who, datetime.now(UTC))
    store.add_labels(found.labels)
    rest = [f"{found.known} known already"] * bool(found.known)
    rest += [f"{plural(found.empty, 'row')} without a verdict left out"] * bool(found.empty)
    say(f"{plural(len(found.labels), 'label')} taken over" + "".join(f", {each}" for each in rest))


def _export(store: "Store", path: Path, wanted: "Wanted", verdicts: bool, force: bool) -> None:
    from abs_replay.cli.label_choice import chosen
    from abs_replay.cli.label_files import written
    from abs_replay.cli.writing import write
    from abs_replay.reports.totals import plural

    kept = store.labelled()
    found = chosen(kept, wanted)
    write(path, written(found, kept.labels, verdicts).encode(), force)
    if str(path) != "-":
        what = plural(len(found), "evaluation")
        say(f"{what} in {path}: fill in verdict and note, and then: abs label --import {path}")


def _ask(store: "Store", wanted: "Wanted", who: str, verdicts: bool) -> None:
    from abs_replay.cli.label_choice import chosen, unlabelled
    from abs_replay.reports.totals import plural

    kept = store.labelled()
    found = chosen(kept, wanted)
    waiting = found if wanted.only_disagreeing else unlabelled(found, kept.labels, who)
    traces = {trace.id: trace for trace in store.traces(ids=sorted({each.trace for each in waiting}))}
    shown = [each for each in waiting if each.trace in traces]
    if gone := len(waiting) - len(shown):
        say(f"{plural(gone, 'evaluation')} left out, whose traces are no longer in the store")
    if not waiting:
        labelled = f"{who} has labelled all {plural(len(found), 'evaluation')}"
        say(f"nothing to label: {labelled if found else 'nobody disagrees'}")
    if not shown:
        return
    given = _Talk(store, shown, traces, who, verdicts).run()
    left = len({each.place for each in shown} - given)
    say(f"{plural(len(given), 'label')} kept" + (f", {left} left: call it again to go on" if left else ""))


@dataclass(slots=True)
class _Talk:
    """Evaluations one after the other; labels are kept as they are given."""

    store: "Store"
    waiting: "Sequence[Evaluated]"
    traces: "Mapping[str, Trace]"
    who: str
    verdicts: bool

    def run(self) -> "set[object]":
        """Ask until all are answered, or no more answers come; gives the places that were labelled."""
        given: set[object] = set()
        number = 0
        while number < len(self.waiting):
            evaluated = self.waiting[number]
            click.echo(self._shown(number))
            word, note = self._answer()
            if word == "quit":
                break
            if word == "back":
                number = max(0, number - 1)
                continue
            if word != "skip":
                self.store.add_labels([self._label(evaluated, word, note)])
                given.add(evaluated.place)
            number += 1
        return given

    def _answer(self) -> tuple[str, str | None]:
        while True:
            click.echo(ASKED, nl=False)
            line = sys.stdin.readline()
            if not line:
                return "quit", None
            key, _, note = line.strip().partition(" ")
            words = [word for each, word in KEYS.items() if key.casefold() in (each, word)]
            if words:
                return words[0], note.strip() or None
            say(f"{key!r} is none of them")

    def _label(self, evaluated: "Evaluated", word: str, note: str | None) -> "Label":
        from abs_replay.cli.label_files import new_id
        from abs_replay.labels import Label

        now = datetime.now(UTC)
        place = (evaluated.session, evaluated.trace, evaluated.at)
        about = (evaluated.question, evaluated.fingerprint, evaluated.grading)
        return Label(new_id(now), now.timestamp(), self.who, *place, word, note, *about)

    def _shown(self, number: int) -> str:
        from abs_replay.cli.timeline import timeline
        from abs_replay.reports import Screen

        evaluated = self.waiting[number]
        told = timeline(self.traces[evaluated.trace], Screen.of(sys.stdout))
        lines = [
            f"{number + 1} of {len(self.waiting)}: {evaluated.label or evaluated.type}",
            f"  {evaluated.session}, {evaluated.at}, looks at steps {_ranges(evaluated.evidence)}",
        ]
        if self.verdicts:
            score = "" if evaluated.score is None else f" ({evaluated.score:g})"
            lines.append(
                f"  {evaluated.judge or 'the rule'} says {evaluated.status}{score}: {evaluated.reason}"
            )
        return f"\n{told}\n" + "\n".join(map(harmless, lines))


def _ranges(numbers: "Sequence[int]") -> str:
    """Numbers in few words: 1-4, 7."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1] = [ranges[-1][0], number]
        else:
            ranges.append([number])
    return ", ".join("-".join(map(str, each)) for each in ranges) or "none"
