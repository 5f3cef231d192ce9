"""Labels as CSV: to be given in a spreadsheet, or taken over from elsewhere.

session, trace, at   which evaluation of which trace
verdict              pass, fail or unsure; a row without one is left out
note                 why
who                  who says so [default: --who]
made_at              when, as a time of ISO 8601 [default: now]
question, fingerprint   what the label is about [default: what stands at that place]
grading              the grading whose verdict was looked at
id                   of a label that is in the store
rule, status, score  what is judged, and what it came to; only for people to read
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path

from abs_replay.errors import Problem, SpecError, UsageError
from abs_replay.labels import FAIL, PASS, UNSURE, Evaluated, Label, Place

COLUMNS = (
    *("session", "trace", "at", "rule", "verdict", "note", "who", "made_at"),
    *("question", "fingerprint", "grading", "id", "status", "score"),
)
NEEDED = ("session", "trace", "at", "verdict")
VERDICTS = {
    "passed": PASS,
    "p": PASS,
    "failed": FAIL,
    "f": FAIL,
    "u": UNSURE,
    **{w: w for w in (PASS, FAIL, UNSURE)},
}


def written(evaluated: Sequence[Evaluated], labels: Sequence[Label], verdicts: bool) -> str:
    """Every label of these evaluations, and a row to fill in for each that has none.

    Without `verdicts` the judge's are left out, which would sway whoever fills it in.
    """
    by_place: dict[Place, list[Label]] = {}
    for label in labels:
        by_place.setdefault(label.place, []).append(label)
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for each in evaluated:
        row = {"session": each.session, "trace": each.trace, "at": each.at, "rule": each.label or each.type}
        if verdicts:
            row |= {"status": each.status, "score": "" if each.score is None else f"{each.score:g}"}
        about = {"question": each.question, "fingerprint": each.fingerprint, "grading": each.grading}
        for said in [_said(label) for label in by_place.get(each.place, ())] or [about]:
            writer.writerow(row | {name: value or "" for name, value in said.items()})
    return text.getvalue()


def _said(label: Label) -> dict[str, str | None]:
    made_at = datetime.fromtimestamp(label.made_at, UTC).isoformat()
    own = {name: getattr(label, name) for name in ("verdict", "note", "who", "question", "fingerprint")}
    return {**own, "grading": label.grading, "id": label.id, "made_at": made_at}


@dataclass(slots=True)
class Read:
    """What stands in a file: new labels, and how many rows said nothing, or what the store has already."""

    labels: list[Label] = field(default_factory=list)
    empty: int = 0
    known: int = 0


def read(
    path: Path, evaluated: Sequence[Evaluated], labels: Sequence[Label], who: str, now: datetime
) -> Read:
    """Read a file of labels; raises `SpecError` with every problem of it by line, `UsageError`."""
    reader = _Reader(
        str(path), {each.place: each for each in evaluated}, {label.id: label for label in labels}, who, now
    )
    found = Read()
    for line, row in _rows(path, _text(path)):
        reader.take(line, row, found)
    if reader.problems:
        raise SpecError(reader.problems)
    return found


@dataclass(slots=True)
class _Reader:
    file: str
    evaluated: Mapping[Place, Evaluated]
    labels: Mapping[str, Label]
    who: str
    now: datetime
    problems: list[Problem] = field(default_factory=list)

    def take(self, line: int, row: Mapping[str, str], found: Read) -> None:
        if not row["verdict"]:
            found.empty += 1
            return
        verdict = VERDICTS.get(row["verdict"].casefold())
        place = Place(row["session"], row["trace"], row["at"])
        stands = self.evaluated.get(place)
        if verdict is None:
            self._wrong(line, f"verdict {row['verdict']!r}: say pass, fail or unsure, or nothing")
        elif stands is None and not (row.get("question") or row.get("fingerprint")):
            self._wrong(line, self._unknown(place))
        else:
            label = self._label(line, place, verdict, row, stands, len(found.labels))
            if label is None:
                found.known += 1
            else:
                found.labels.append(label)

    def _label(
        self,
        line: int,
        place: Place,
        verdict: str,
        row: Mapping[str, str],
        stands: Evaluated | None,
        nth: int,
    ) -> Label | None:
        """The label of a row; None where the store has it. One that was changed in the file is a new one."""
        before = self.labels.get(row.get("id", ""))
        note = row.get("note") or None
        if before and (before.verdict, before.note, before.place) == (verdict, note, place):
            return None
        return Label(
            id=new_id(self.now, nth),
            made_at=self._moment(line, "" if before else row.get("made_at", "")),
            who=row.get("who") or self.who,
            session=place.session,
            trace=place.trace,
            at=place.at,
            verdict=verdict,
            note=note,
            question=row.get("question")
            or (None if row.get("fingerprint") or not stands else stands.question),
            fingerprint=row.get("fingerprint") or (stands.fingerprint if stands else ""),
            grading=row.get("grading") or (stands.grading if stands else None),
        )

    def _moment(self, line: int, text: str) -> float:
        if not text:
            return self.now.timestamp()
        try:
            return datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError):
            self._wrong(line, f"made_at {text!r}: say a time as 2026-05-31T12:00:00+00:00, or nothing")
            return 0.0

    def _unknown(self, place: Place) -> str:
        for name in ("session", "trace", "at"):
            known = {getattr(each, name) for each in self.evaluated}
            value = getattr(place, name)
            if value not in known:
                near = get_close_matches(value, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else "grade it first"
                return f"no verdict stands for {name} {value!r}: {hint}"
        return f"no verdict stands for {place.at} of {place.session!r} on {place.trace}: grade it first"

    def _wrong(self, line: int, message: str) -> None:
        self.problems.append(Problem(message, self.file, line))


def new_id(now: datetime, nth: int = 0) -> str:
    """An id for a label: those of later labels sort behind it."""
    import secrets

    return f"l-{now.astimezone(UTC):%Y%m%d-%H%M%S-%f}-{nth:04d}-{secrets.token_hex(3)}"


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: can not be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is no UTF-8 text (byte {error.start}); save it as CSV UTF-8") from None


def _rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Every row by the line on which it ends, its cells without the blanks around them."""
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names = [name.strip().casefold() for name in next(reader, [])]
        _check(path, names)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                if len(cells) > len(names):
                    raise SpecError(
                        [Problem("it has more cells than the first line", str(path), reader.line_num)]
                    )
                padded = cells + [""] * (len(names) - len(cells))
                yield reader.line_num, {name: cell.strip() for name, cell in zip(names, padded, strict=True)}
    except csv.Error as error:
        raise SpecError([Problem(f"is no CSV: {error}", str(path), reader.line_num)]) from None


def _check(path: Path, names: Sequence[str]) -> None:
    problems = [
        f"there is no column {name!r}: the first line names session, trace, at, verdict"
        for name in NEEDED
        if name not in names
    ]
    for name in names:
        if name not in COLUMNS:
            near = get_close_matches(name, COLUMNS, n=1)
            problems.append(
                f"unknown column {name!r}: {f'did you mean {near[0]}' if near else 'leave it out'}"
            )
    problems += [f"column {name!r} is there twice" for name in dict.fromkeys(names) if names.count(name) > 1]
    if problems:
        raise SpecError([Problem(problem, str(path), 1) for problem in problems])
