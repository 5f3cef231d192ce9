"""The judge that a command line names: files of answers, an endpoint, a vendor, an adapter."""

import os
from collections.abc import Callable, Sequence
from dataclasses import field, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abs_replay.values import dataclass

if TYPE_CHECKING:
    from abs_replay.judges.chain import Chain
    from abs_replay.judges.configured import Given
    from abs_replay.judges.panel import Panel, Progress, Terms
    from abs_replay.judges.recorded import RecordedJudge
    from abs_replay.spec.configuration import Configuration
    from abs_replay.spec.judging import Judging
    from abs_replay.store import Store

CONCURRENCY = 8


@dataclass(frozen=True, slots=True)
class JudgeFlags:
    """What the command line says of judges; None, and nothing, where it does not."""

    judge_answers: tuple[Path, ...] = ()
    adapter: tuple[str, ...] = ()
    judge_base_url: str | None = None
    judge_api_key: str | None = field(default=None, repr=False)
    judge_api_key_header: str | None = None
    judge_model: str | None = None
    judge_votes: int | None = None
    judge_concurrency: int | None = None
    judge_timeout: float | None = None
    max_cost: float | None = None
    no_cache: bool = False


_ABOVE_0 = click.FloatRange(min=0, min_open=True)
_FROM_1 = click.IntRange(min=1)
_OPTIONS = (
    click.option(
        "--judge-answers",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Answers for judged evaluations, as abs grade --dry-run --format json asks them; repeatable.",
    ),
    click.option(
        "--adapter",
        multiple=True,
        metavar="[TYPE=]NAME",
        help="Who judges: builtin, openai, anthropic, gemini, azure, aws, google, aievaluator; repeatable.",
    ),
    click.option(
        "--judge-base-url",
        envvar="ABS_JUDGE_BASE_URL",
        show_envvar=True,
        metavar="URL",
        help="An endpoint that speaks as OpenAI does.",
    ),
    click.option(
        "--judge-api-key",
        envvar="ABS_JUDGE_API_KEY",
        show_envvar=True,
        metavar="KEY",
        help="Its key; the variable shows it to fewer.",
    ),
    click.option(
        "--judge-api-key-header",
        envvar="ABS_JUDGE_API_KEY_HEADER",
        show_envvar=True,
        metavar="NAME",
        help="The header of that key [default: Authorization].",
    ),
    click.option(
        "--judge-model",
        envvar="ABS_JUDGE_MODEL",
        show_envvar=True,
        metavar="NAME",
        help="The model that judges [default: a small one of the vendor].",
    ),
    click.option(
        "--judge-votes",
        envvar="ABS_JUDGE_VOTES",
        show_envvar=True,
        type=_FROM_1,
        metavar="N",
        help="Answers to each question; the majority counts [default: 1].",
    ),
    click.option(
        "--judge-concurrency",
        envvar="ABS_JUDGE_CONCURRENCY",
        show_envvar=True,
        type=_FROM_1,
        metavar="N",
        help=f"Questions asked at once [default: {CONCURRENCY}].",
    ),
    click.option(
        "--judge-timeout",
        envvar="ABS_JUDGE_TIMEOUT",
        show_envvar=True,
        type=_ABOVE_0,
        metavar="S",
        help="Seconds for one call of a judge [default: 60].",
    ),
    click.option("--max-cost", type=_ABOVE_0, metavar="USD", help="Stop asking before more is spent."),
    click.option("--no-cache", is_flag=True, help="Ask again what a judge answered before."),
)


def judge_options[Command: Callable[..., Any]](command: Command) -> Callable[..., Any]:
    """Give a command all flags of judges; it gets them as one value, `judge`."""

    @wraps(command)
    def packed(**given: Any) -> Any:
        names = [one.name for one in fields(JudgeFlags)]
        return command(judge=JudgeFlags(**{name: given.pop(name) for name in names}), **given)

    for option in reversed(_OPTIONS):
        packed = option(packed)
    return packed


def open_judge(
    flags: JudgeFlags,
    configuration: "Configuration",
    store: "Store | None" = None,
    grading: str | None = None,
    progress: "Progress | None" = None,
) -> "Chain":
    """Make the judge; with neither flag nor key every question hears how one is configured.

    Raises `UsageError` for files, adapters and addresses that make no sense, before anything is asked.
    """
    from abs_replay.judges.chain import Chain
    from abs_replay.judges.configured import routes

    judging = configuration.judging
    found = routes(_given(flags), judging, os.environ)
    files = _recorded(flags.judge_answers) if flags.judge_answers else None

    def open_panel() -> "Panel":
        from abs_replay.judges.panel import Panel

        clean = _cleaner(configuration)
        return Panel(found.engine_for, _terms(flags, judging), store, clean, grading, progress)

    return Chain(files, open_panel)


def _cleaner(configuration: "Configuration") -> Callable[[str], str]:
    """Take secrets out of what is kept of questions and answers, as out of everything that is kept."""
    from abs_replay.cli.redaction import configured_rules
    from abs_replay.redact import Redactor

    return Redactor(configured_rules(lambda _: None, configuration.file)).text


def _given(flags: JudgeFlags) -> "Given":
    from abs_replay.judges.configured import Given

    return Given(
        flags.judge_base_url,
        flags.judge_api_key,
        flags.judge_api_key_header,
        flags.judge_model,
        flags.judge_timeout,
        flags.adapter,
    )


def _terms(flags: JudgeFlags, judging: "Judging") -> "Terms":
    from abs_replay.judges.panel import Terms

    return Terms(
        flags.judge_votes or judging.votes or 1,
        flags.judge_concurrency or judging.concurrency or CONCURRENCY,
        flags.max_cost or judging.max_cost,
        use_kept=not flags.no_cache,
    )


def _recorded(files: Sequence[Path]) -> "RecordedJudge":
    from abs_replay.judges import recorded  # which loads what finds near names

    return recorded.read(*files)
