"""How a command ends when something is wrong: one line each, status 2, JSON where JSON was asked."""

import errno
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from itertools import pairwise

import click

from abs_replay.cli.saying import say
from abs_replay.errors import AbsReplayError, Problem, SpecError
from abs_replay.exact_json import Json

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)  # what a disk says of standard output


def run(group: click.Group, arguments: Sequence[str]) -> int:
    """Call the command line and give its exit status (SEMANTICS R3)."""
    _write_everywhere()
    try:
        status = group.main(args=list(arguments), prog_name="abs", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.Abort:  # Ctrl-C, or nothing more on standard input where a question waits
        say("abs: stopped")
        return 130
    except click.ClickException as error:
        return _report_usage(error, arguments)
    except AbsReplayError as error:
        return _report(error, arguments)
    except BrokenPipeError:  # the reader went away (`abs ls | head`)
        _leave_output()
        return 0
    except OSError as error:
        if error.errno not in FULL or error.filename is not None:
            raise
        _leave_output()
        click.echo(f"abs: the output can not be written ({error.strerror})", err=True)
        return 2


def _leave_output() -> None:
    """Write what is still buffered nowhere: Python would complain again while exiting."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_everywhere() -> None:
    """Escape what a stream's encoding can not show, rather than fail: a pipe may be ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _wants_json(arguments: Sequence[str]) -> bool:
    return "--format=json" in arguments or ("--format", "json") in pairwise(arguments)


def _report_usage(error: click.ClickException, arguments: Sequence[str]) -> int:
    message = _without_secrets(error.format_message())
    if _wants_json(arguments):
        _print_json({"result": "usage", "problems": [{"message": message}]})
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f" (see {context.command_path} --help)" if context else ""
    message = message.replace("\n\t", " ")  # click lists choices below each other
    say(f"abs: {message}{hint}")
    return 2


def _report(error: AbsReplayError, arguments: Sequence[str]) -> int:
    if _wants_json(arguments):
        invalid = isinstance(error, SpecError)
        problems = error.problems if isinstance(error, SpecError) else (Problem(str(error)),)
        _print_json(
            {
                "result": "invalid" if invalid else "usage",
                "problems": [_as_json(p, invalid) for p in problems],
            }
        )
    for line in map(str, error.problems) if isinstance(error, SpecError) else (f"abs: {error}",):
        say(_without_secrets(line))
    return error.exit_status


def _as_json(problem: Problem, placed: bool) -> dict[str, Json]:
    if not placed:
        return {"message": _without_secrets(problem.message)}
    message = _without_secrets(problem.message)
    return {"file": problem.file, "line": problem.line, "path": problem.path, "message": message}


def _without_secrets(message: str) -> str:
    """A message that repeats what was given, such as a URL with a password, for whoever reads the log."""
    from abs_replay.redact import Redactor

    return Redactor().text(message)


def _print_json(value: Json) -> None:
    from abs_replay.reports.json_report import write

    click.echo(write(value), nl=False)
