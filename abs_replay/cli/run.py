"""`abs run`: play sessions against an agent, live or out of a cassette, and grade what came."""

import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.judge import JudgeFlags, judge_options, open_judge
from abs_replay.cli.report_format import format_option, put_out
from abs_replay.cli.saying import harmless, say, say_lines
from abs_replay.errors import Problem, StoreError, UsageError
from abs_replay.reports import Screen, render

if TYPE_CHECKING:
    from abs_replay.cli.stage import Stage
    from abs_replay.exchange import Recording
    from abs_replay.judges.chain import Chain
    from abs_replay.redact import Rules
    from abs_replay.runner import RunOutcome
    from abs_replay.spec.configuration import Configuration
    from abs_replay.spec.loader import Documents
    from abs_replay.spec.plan import Part
    from abs_replay.store import Store
    from abs_replay.verdicts import Report

FILE = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said."""

    sessions: tuple[Path, ...]
    agent: str | None
    agent_format: str
    cassette: Path | None
    store: Path | None
    no_store: bool
    var: tuple[str, ...]
    filters: tuple[str, ...]
    timeout: float
    format_: str
    output: Path | None
    strict_user: bool
    no_require_match: bool
    judge: JudgeFlags
    ci: bool


@click.command()
@click.argument("sessions", nargs=-1, required=True, type=FILE, metavar="SESSION...")
@click.option(
    "--agent", metavar="URL", help="The agent [default: ABS_AGENT_URL]; /chat where it has no path."
)
@click.option("--agent-format", type=click.Choice(["chat"]), default="chat", show_default=True)
@click.option("--cassette", type=FILE, help="Play against this recording instead, without any network.")
@click.option("--store", type=FILE, help="Where it is kept [default: ABS_STORE, or .abs/store.duckdb].")
@click.option("--no-store", is_flag=True, help="Keep nothing.")
@click.option("--var", multiple=True, metavar="NAME=VALUE", help="A variable; NAME:=JSON gives another type.")
@click.option("--filter", "filters", multiple=True, metavar="COLUMN:VALUE", help="Only these dataset rows.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="S",
    help="Seconds that the agent has for one answer.",
)
@format_option
@click.option("--output", type=FILE, help="Write the report to this file.")
@click.option("--strict-user", is_flag=True, help="Fail where the user's words differ from the session's.")
@click.option("--no-require-match", is_flag=True, help="Report behaviors without a step, but don't fail.")
@judge_options
@click.option("--ci", is_flag=True, help="Plain output: no colours, no questions, 100 columns.")
def command(**options: object) -> int:
    """Play the user's part of sessions against an agent, and judge what it did.

    \b
    abs run order.abs.yaml --agent http://localhost:8080        a live agent
    abs run order.abs.yaml --cassette order.cassette.json       its recording; nothing else runs
    abs run order.abs.yaml --agent URL --judge-model gpt-5.4-mini    and a judge for what needs one

    What was said is kept as a recording, and what it came to as a grading, unless --no-store is given.
    The exit status is 0 when every session passed, 1 when not, or when the agent or the cassette had no
    answer, 2 for wrong usage or an invalid document.
    """
    return run(Options(**options))  # type: ignore[arg-type]


@dataclass(slots=True)
class Played:
    """What was played so far, in order; `problems` are all that went wrong, kept or not."""

    parts: list[tuple["Part", "RunOutcome"]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def run(options: Options) -> int:
    """Play, grade, keep, print; gives the exit status."""
    from abs_replay.cli.judge_progress import progress_of
    from abs_replay.cli.redaction import configured_rules
    from abs_replay.cli.stage import open_stage
    from abs_replay.grading import new_id
    from abs_replay.spec.configuration import find
    from abs_replay.spec.loader import load
    from abs_replay.spec.plan import plan
    from abs_replay.spec.variables import parse_variables
    from abs_replay.verdicts import Result

    configuration = find(Path.cwd())
    documents = load(options.sessions, configuration)
    parts = plan(documents.sessions, options.filters, parse_variables(options.var), os.environ)
    if not parts:
        raise UsageError(f"nothing to run: no row has {' and '.join(options.filters)}")
    store = _store(options)
    url = options.agent or (None if options.cassette else _default_agent(configuration))
    id_ = new_id(datetime.now(UTC))
    with open_judge(options.judge, configuration, store, id_, progress_of(options.ci)) as judge:
        with open_stage(url, options.cassette, options.agent_format, options.timeout) as stage:
            played = _play(parts, stage, store, configured_rules(say))
        report = _report(documents, played, stage.name, options, judge)
        report = _kept(report, id_, documents, played, store, judge)
    _print(report, played.problems, options)
    return 0 if report.result is Result.PASSED and not played.problems else 1


def _default_agent(configuration: "Configuration") -> str | None:
    url = os.environ.get("ABS_AGENT_URL") or configuration.settings.get("agent")
    return url if isinstance(url, str) else None


def _store(options: Options) -> "Store | None":
    if options.no_store:
        return None
    from abs_replay.store import Store, default_path

    return Store(default_path(options.store, os.environ))


# -- playing and keeping


def _play(parts: Sequence["Part"], stage: "Stage", store: "Store | None", rules: "Rules") -> Played:
    """Play all parts; each session is a recording of its own, kept when its last row was played."""
    from abs_replay import runner
    from abs_replay.cli.conversations import conversation_key
    from abs_replay.derivation import version

    played = Played()
    for _, of_session in groupby(parts, key=lambda part: part.template.name):
        recording, outcomes = None, []
        for part in of_session:
            recording = recording or _begin(part, stage, store)
            outcome = runner.run(
                part.session, stage.agent, bindings=part.bindings, variables=part.variables, rules=rules
            )
            # The misses where there are any: the agent's problem only repeats them.
            problems = stage.missed() or ([outcome.problem] if outcome.problem else [])
            if problems:
                outcome = runner.broken_off(outcome, "; ".join(problems))
            outcomes.append(outcome)
            played.parts.append((part, outcome))
            played.problems += [f"{_called(part)}: {problem}" for problem in problems]
        if store and recording:
            with _excused(played.problems):
                runner.keep(store, recording, outcomes, version(conversation_key()))
    return played


def _begin(part: "Part", stage: "Stage", store: "Store | None") -> "Recording":
    from abs_replay.agents.chat_contract import CHANNEL
    from abs_replay.exchange import Recording, Upstream

    now = datetime.now(UTC)
    recording = Recording(
        id=f"r-{now:%Y%m%d-%H%M%S-%f}-{secrets.token_hex(3)}",
        name=part.template.name,
        started_at=now.timestamp(),
        session=part.template.name,
        tags={"made_by": "abs run", "agent": stage.name},
        upstreams=(Upstream(CHANNEL, stage.base_url),),
    )
    if store:
        try:
            store.begin(recording)
        except StoreError as error:
            raise StoreError(f"{error}; --no-store keeps nothing") from None
    return recording


def _called(part: "Part") -> str:
    return harmless(part.template.name) + ("" if part.row is None else f", row {part.row}")


@contextmanager
def _excused(problems: list[str]) -> Iterator[None]:
    """Go on where something can not be kept; it is said at the end, and the exit status is not 0."""
    try:
        yield
    except StoreError as error:
        problems.append(f"not kept: {error}")


# -- grading and printing


def _report(documents: "Documents", played: Played, name: str, options: Options, judge: "Chain") -> "Report":
    from abs_replay.grading import Settings, grade, select_given
    from abs_replay.scoring import Policy
    from abs_replay.verdicts import Report

    selection = select_given([outcome.trace for _, outcome in played.parts], documents.sessions)
    # A trace brings its variables: what is judged now is what is judged when it is graded again.
    settings = Settings(
        environment=os.environ,
        policy=Policy(strict_user=options.strict_user, require_match=not options.no_require_match),
        judge=judge,
    )
    runs = tuple(
        replace(run, agent=name, row=part.row)
        for run, (part, _) in zip(grade(selection, settings), played.parts, strict=True)
    )
    warnings = (*documents.warnings, *judge.troubles(), *map(Problem, played.problems))
    told = tuple(map(asdict, warnings))
    return Report(runs, warnings=told, ungraded_sessions=selection.ungraded, judging=judge.judging)


def _kept(
    report: "Report",
    id_: str,
    documents: "Documents",
    played: Played,
    store: "Store | None",
    judge: "Chain",
) -> "Report":
    from abs_replay.carrying import with_carried
    from abs_replay.cli.provenance import provenance_of
    from abs_replay.grading import files_of, keep

    if store is None:
        return report
    sessions = documents.sessions
    with _excused(played.problems):
        made_by = provenance_of(files_of(sessions), judge)
        return keep(with_carried(report, store), store, sessions, datetime.now(UTC), made_by, id_).report
    return report


def _print(report: "Report", problems: Sequence[str], options: Options) -> None:
    for problem in problems:
        say_lines(f"abs: {problem}")
    screen = None if options.output or options.ci else Screen.of(sys.stdout)
    put_out(render(options.format_, report, screen), options.output)
