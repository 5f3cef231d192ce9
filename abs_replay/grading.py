"""Many traces against a set of sessions: which judges which, and what is kept of it.

The shell around `scoring.evaluate` and `asking`. Everything that can be wrong with sessions and variables
is found before the first trace is judged (SEMANTICS V3). Time is linear in the traces.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from abs_replay import asking, exact_json
from abs_replay.errors import Problem, SpecError, UsageError
from abs_replay.exact_json import Json
from abs_replay.judgement import Judge
from abs_replay.reports.labels import labelled, quoted, words_of
from abs_replay.scoring import Policy
from abs_replay.spec.lines import lines
from abs_replay.spec.session import Session
from abs_replay.spec.variables import Sources, Template
from abs_replay.trace import Trace
from abs_replay.values import dataclass
from abs_replay.verdicts import Grading, Provenance, Report, Run

if TYPE_CHECKING:
    from abs_replay.store import Store


@dataclass(frozen=True, slots=True)
class Selection:
    """Which session judges which trace, in the traces' order. `ungraded` are sessions that no trace
    names; `others` and `nameless` count stored traces that were left out (SEMANTICS D9)."""

    chosen: tuple[tuple[Trace, Template], ...]
    ungraded: tuple[str, ...] = ()
    others: int = 0
    nameless: int = 0


@dataclass(frozen=True, slots=True)
class Settings:
    """What judging depends on besides session and trace."""

    variables: Mapping[str, Json] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    judge: Judge | None = None


def select_given(
    traces: Sequence[Trace], sessions: Sequence[Template], session_for: str | None = None
) -> Selection:
    """Say which session judges which trace of a file: all of them are judged (SEMANTICS D9).

    Raises `UsageError` for a trace that none of the sessions is for.
    """
    by_name = _by_name(sessions)
    only = _only(by_name, session_for)
    for trace in () if only else traces:
        if trace.session not in by_name and (trace.session or len(by_name) > 1):
            raise _stray(trace, by_name)
    alone = sessions[0] if len(sessions) == 1 else None
    chosen = [(trace, only or (by_name[trace.session] if trace.session else alone)) for trace in traces]
    return _selection([(trace, session) for trace, session in chosen if session], sessions)


def select_stored(
    traces: Sequence[Trace], sessions: Sequence[Template], session_for: str | None = None
) -> Selection:
    """Say which session judges which trace of a store; those that name none of them are left out.

    A trace of a recording that plays no session names one where it is called like it.

    Raises `UsageError` where nothing is left to judge.
    """
    by_name = _by_name(sessions)
    only = _only(by_name, session_for)
    chosen = [(trace, only or by_name.get(trace.session or trace.name or "")) for trace in traces]
    left_out = [trace for trace, session in chosen if session is None]
    nameless = sum(trace.session is None for trace in left_out)
    selection = replace(
        _selection([(trace, session) for trace, session in chosen if session], sessions),
        others=len(left_out) - nameless,
        nameless=nameless,
    )
    if not selection.chosen:
        names = _listed(by_name)
        why = left_out_of(selection) or "no trace was found"
        raise UsageError(
            f"nothing to grade with {names}: {why}; --session-for NAME says which session judges them, and "
            "for good `abs import --session` or `abs annotate TRACE --name` does"
        )
    return selection


def left_out_of(selection: Selection) -> str:
    """Say in words how many stored traces were left out; empty where none was."""
    counts = ((selection.others, "of other sessions"), (selection.nameless, "that name{} no session"))
    return " and ".join(_count(count, which) for count, which in counts if count)


def namesakes_of(selection: Selection) -> str:
    """Say in words where several of the chosen traces have one name; empty where none have."""
    counts = Counter((template.name, trace.id) for trace, template in selection.chosen)
    several = [(name, count) for (_, name), count in counts.items() if count > 1]
    if not several:
        return ""
    (name, count), others = several[0], len(several) - 1
    more = f", and several each of {others} other name{'' if others == 1 else 's'}" if others else ""
    return f"{count} traces are called {name}{more}"


def _count(count: int, which: str) -> str:
    return f"{count} trace{'' if count == 1 else 's'} {which.format('s' if count == 1 else '')}"


def _by_name(sessions: Sequence[Template]) -> dict[str, Template]:
    return {session.name: session for session in reversed(sessions)}


def _refuse_twins(chosen: Iterable[Template], sessions: Sequence[Template]) -> None:
    """Two sessions of one name can not be told apart by a trace that names them."""
    used = {session.name for session in chosen}
    files: dict[str, str] = {}
    for session in sessions:
        if session.name in used and session.name in files:
            both = " and ".join(sorted({files[session.name], session.file}))
            raise UsageError(
                f"two sessions are called {quoted(session.name)} (in {both}): rename one, "
                "since a trace tells by the name which session judges it"
            )
        files.setdefault(session.name, session.file)


def _only(by_name: Mapping[str, Template], session_for: str | None) -> Template | None:
    if session_for is None or session_for in by_name:
        return by_name[session_for] if session_for is not None else None
    from difflib import get_close_matches

    names = " or ".join(map(quoted, get_close_matches(session_for, by_name, n=1) or by_name))
    raise UsageError(f"--session-for {quoted(session_for)}: no session given is called so; is it {names}?")


def _stray(trace: Trace, by_name: Mapping[str, Template]) -> UsageError:
    if trace.session is None:
        return UsageError(
            f"trace {trace.id} names no session, and several are given ({_listed(by_name)}): "
            "say with --session-for NAME which judges it"
        )
    return UsageError(
        f"trace {trace.id} is of session {quoted(trace.session)}, which is not given (given: "
        f"{_listed(by_name)}): give its document, or say with --session-for NAME which judges it"
    )


def _listed(names: Collection[str]) -> str:
    shown = [quoted(name) for name in list(names)[:5]]
    return ", ".join([*shown, f"{len(names) - 5} more"] if len(names) > 5 else shown)


def _selection(chosen: Sequence[tuple[Trace, Template]], sessions: Sequence[Template]) -> Selection:
    _refuse_twins((session for _, session in chosen), sessions)
    used = {session.name for _, session in chosen}
    names = dict.fromkeys(session.name for session in sessions)
    return Selection(tuple(chosen), tuple(name for name in names if name not in used))


def grade(selection: Selection, settings: Settings) -> tuple[Run, ...]:
    """Judge every chosen trace; raises `SpecError` before the first where a reference has no source."""
    pairs = _resolved(selection, settings)
    places = {name: lines(used) for name, used in {used.name: used for _, used in selection.chosen}.items()}
    words = {id(session): words_of(session) for session in {id(one): one for _, one in pairs}.values()}
    runs = asking.judged(pairs, settings.policy, settings.judge)
    return tuple(
        _cut_short(labelled(run, session, trace, words[id(session)], places[template.name]), trace)
        for run, (trace, session), (_, template) in zip(runs, pairs, selection.chosen, strict=True)
    )


def _cut_short(run: Run, trace: Trace) -> Run:
    """A run whose trace broke off passes no more when it is judged again."""
    return run if trace.broke_off is None else run.cut_short(trace.broke_off)


def unanswered(selection: Selection, settings: Settings) -> asking.Open:
    """Say what a judge would have to answer beyond what `settings.judge` does; nothing is judged."""
    return asking.open_questions(_resolved(selection, settings), settings.policy, settings.judge)


def _resolved(selection: Selection, settings: Settings) -> list[tuple[Trace, Session]]:
    """Give each trace with its session, resolved once for all traces with the same data."""
    known: dict[tuple[str, str], Session] = {}
    pairs, problems = [], dict[Problem, None]()
    for trace, template in selection.chosen:
        has_data = trace.bindings or trace.vars  # most have none, which needs no text to tell apart
        key = template.name, exact_json.dumps([trace.bindings, trace.vars]) if has_data else ""
        try:
            if key not in known:
                known[key] = resolve(template, trace, settings)
            pairs.append((trace, known[key]))
        except SpecError as error:
            problems.update(dict.fromkeys(error.problems))
    if problems:
        raise SpecError(tuple(problems))
    return pairs


def resolve(template: Template, trace: Trace, settings: Settings) -> Session:
    """A session for one trace: its bindings are the row, its `vars` rank below `--var` (SEMANTICS V5)."""
    sources = Sources(trace.bindings, settings.variables, settings.environment, recorded=trace.vars)
    return template.resolve(sources)


def new_id(now: datetime) -> str:
    """An id for a grading: those of later gradings sort behind it."""
    return f"g-{now.astimezone(UTC):%Y%m%d-%H%M%S-%f}-{os.urandom(3).hex()}"


def keep(
    report: Report,
    store: "Store",
    sessions: Iterable[Template],
    now: datetime,
    made_by: Provenance = Provenance(),
    id_: str | None = None,
) -> Grading:
    """Keep a report as a grading; the one returned bears its id."""
    grading = made(report, sessions, now, made_by, id_ or new_id(now))
    store.save_grading(grading)
    return grading


def made(
    report: Report, sessions: Iterable[Template], now: datetime, made_by: Provenance, id_: str
) -> Grading:
    """A report as a grading, which is not kept yet."""
    digests = {file: hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files_of(sessions)}
    return Grading(id_, now.timestamp(), replace(report, grading=id_), digests, made_by)


def files_of(sessions: Iterable[Template]) -> tuple[str, ...]:
    """The files of sessions, each once."""
    return tuple(dict.fromkeys(session.file for session in sessions))
