"""Why a trace is as it is: what shows each step, what was merged and dropped, and what is in no trace."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from abs_replay.assembly import Account, Fate, Note
from abs_replay.assembly.places import locate
from abs_replay.cli.timeline import heading, marks
from abs_replay.exact_json import Json
from abs_replay.exchange import Exchange, Recording
from abs_replay.reports import Screen
from abs_replay.reports.cells import cut, escaped, painted, wrapped
from abs_replay.reports.totals import plural
from abs_replay.trace import Step, Trace

ID = 12  # characters of an exchange's id; every command takes the beginning of one
_NAMES: Mapping[str, str] = {"shown": "seen in", "merged": "also in", "echo": "echo in", "retry": "dropped"}


@dataclass(frozen=True, slots=True)
class Why:
    """A trace with what is known about it: its notes, by step, and the recording's exchanges by id."""

    trace: Trace
    account: Account
    exchanges: Mapping[str, Exchange]

    @property
    def steps(self) -> list[tuple[Step, tuple[Note, ...]]]:
        return list(zip(self.trace.steps, self.account.notes[self.trace.id], strict=True))

    @property
    def fates(self) -> list[Fate]:
        """What became of this trace's exchanges, where there is more to say than that they are in it."""
        noted = {note.exchange for _, notes in self.steps for note in notes}
        return [
            fate
            for fate in self.account.fates
            if self.trace.id in fate.traces and (fate.why or fate.remarks or fate.exchange not in noted)
        ]

    @property
    def bringing(self) -> set[str]:
        """The exchanges that brought a step."""
        return {note.exchange for _, notes in self.steps for note in notes if note.kind == "shown"}

    @property
    def left_out(self) -> list[Fate]:
        return in_no_trace(self.account)


def as_json(why: Why) -> dict[str, Json]:
    """The reasons as programs read them, beside the trace file's own fields."""
    steps: list[Json] = [
        {"seq": step.seq, "notes": [_note_json(note, why) for note in notes]} for step, notes in why.steps
    ]
    return {
        "why": {
            "steps": steps,
            "exchanges": [fate_json(fate, why.exchanges) for fate in why.fates],
            "in_no_trace": [fate_json(fate, why.exchanges) for fate in why.left_out],
        }
    }


def _note_json(note: Note, why: Why) -> dict[str, Json]:
    exchange = why.exchanges.get(note.exchange)
    place = locate(exchange, note.at) if exchange else None
    written: dict[str, Json] = {**asdict(note), **_where(exchange)}
    return written | ({"bytes": asdict(place)} if place else {})


def fate_json(fate: Fate, exchanges: Mapping[str, Exchange]) -> dict[str, Json]:
    """What became of an exchange, as programs read it."""
    named: dict[str, Json] = {"exchange": fate.exchange, "protocol": fate.protocol, "why": fate.why}
    return {**named, "remarks": list(fate.remarks), **_where(exchanges.get(fate.exchange))}


def _where(exchange: Exchange | None) -> dict[str, Json]:
    if exchange is None:
        return {}
    request = exchange.request
    return {"channel": str(exchange.channel), "method": request.method, "path": request.path}


def text(why: Why, screen: Screen | None) -> str:
    """A heading; each step with what shows it; then what is in no trace. Lines fit the screen."""
    colour = screen is not None and screen.colour
    lines = list(heading(why.trace))
    for step, notes in why.steps:
        lines += ["", _cut(_step(step), screen)]
        for note in notes:
            lines += [painted(line, "quiet", colour) for line in _note(note, why, screen)]
    bringing = why.bringing
    idle = [fate for fate in why.fates if fate.exchange not in bringing]
    lines += _listed("that brought no step", idle, why.exchanges, screen)
    more = [fate for fate in why.fates if fate.exchange in bringing]
    lines += _listed("of which there is more to say", more, why.exchanges, screen)
    lines += _listed("in no trace", why.left_out, why.exchanges, screen)
    return "".join(f"{line}\n" for line in lines)


def text_of_all(
    recording: Recording, account: Account, exchanges: Mapping[str, Exchange], screen: Screen | None
) -> str:
    """Of a recording: which exchanges are in no trace, and why; and what is to say of the others."""
    named = f"recording {recording.name} ({recording.id})"
    lines = [
        escaped(f"{named}: {plural(len(account.fates), 'exchange')}, {plural(len(account.traces), 'trace')}")
    ]
    lines += _listed("in no trace", in_no_trace(account), exchanges, screen)
    lines += _listed("of which there is more to say", more_to_say(account), exchanges, screen)
    if len(lines) == 1:
        lines += ["", "every exchange is in a trace, and there is no more to say of any"]
    return "".join(f"{line}\n" for line in lines)


def in_no_trace(account: Account) -> list[Fate]:
    return [fate for fate in account.fates if not fate.traces]


def more_to_say(account: Account) -> list[Fate]:
    return [fate for fate in account.fates if fate.traces and (fate.why or fate.remarks)]


def _step(step: Step) -> str:
    said = step.target or (step.content if isinstance(step.content, str) else None)
    parts = [f"{step.seq}  {step.actor} {step.action}", said, *marks(step)]
    return escaped("  ".join(part for part in parts if part))


def _note(note: Note, why: Why, screen: Screen | None) -> Iterator[str]:
    exchange = why.exchanges.get(note.exchange)
    where = f"{note.exchange[:ID]} {_asked(exchange)}" if exchange else note.exchange[:ID]
    yield _cut(escaped(f"   {_NAMES[note.kind]}  {where}"), screen)
    yield from _wrapped(f"{_bytes(note, exchange)}: {note.text}", 12, screen)


def _asked(exchange: Exchange) -> str:
    return f"{exchange.channel} {exchange.request.method} {exchange.request.path}"


def _bytes(note: Note, exchange: Exchange | None) -> str:
    """The place in a body, and its bytes: counted from 0, the last not included."""
    place = locate(exchange, note.at) if exchange else None
    if place is None:
        return note.at or "the request line"
    size = f"{place.start}–{place.end}" + (" unpacked" if place.unpacked else "")
    return f"{note.at or place.side} ({place.side} bytes {size})"


def _listed(
    title: str, fates: list[Fate], exchanges: Mapping[str, Exchange], screen: Screen | None
) -> Iterator[str]:
    if not fates:
        return
    yield ""
    yield f"{plural(len(fates), 'exchange')} {title}"
    for fate in fates:
        exchange = exchanges.get(fate.exchange)
        yield _cut(
            escaped(f"  {fate.exchange[:ID]}  {_asked(exchange) if exchange else ''}".rstrip()), screen
        )
        for words in (fate.why, *fate.remarks):
            yield from _wrapped(words, 4, screen) if words else ()


def _wrapped(words: str, margin: int, screen: Screen | None) -> Iterator[str]:
    width = 10_000 if screen is None else max(screen.width - margin, 24)
    yield from (f"{' ' * margin}{line}" for line in wrapped(escaped(words), width))


def _cut(line: str, screen: Screen | None) -> str:
    return line if screen is None else cut(line, screen.width)
