"""The command line: `abs COMMAND`. Commands load when they are called, not for `abs --help`."""

import sys
from importlib import import_module

import click

# One line a command: its module (which holds `command`), and what `abs --help` says of it.
COMMANDS = {
    "record": ("abs_replay.cli.record", "Record what an agent, its model and its tools say."),
    "ca": ("abs_replay.cli.ca", "Show the certificate authority that recorded clients have to trust."),
    "shim": (
        "abs_replay.cli.shim",
        "Stand in for an MCP server of standard input and output, and record it.",
    ),
    "tail": ("abs_replay.cli.tail", "Follow a running recording from another terminal."),
    "ls": ("abs_replay.cli.ls", "List recordings, exchanges, traces or gradings."),
    "show": ("abs_replay.cli.show", "Show a recording, a trace, an exchange or a grading."),
    "annotate": ("abs_replay.cli.annotate", "Name, tag or note a recording, a trace or an exchange."),
    "rm": ("abs_replay.cli.rm", "Remove recordings with all they hold, single traces, or gradings."),
    "merge": ("abs_replay.cli.merge", "Take over what other stores hold."),
    "vacuum": ("abs_replay.cli.vacuum", "Remove old recordings, and give back the room of what is gone."),
    "redact": ("abs_replay.cli.redact", "Take secrets out of what is stored, or say whether any are there."),
    "import": ("abs_replay.cli.import_", "Take recordings of other tools into the store."),
    "export": ("abs_replay.cli.export", "Write a recording as a cassette, or for other tools."),
    "replay": ("abs_replay.cli.replay", "Serve a cassette in place of agent, model and tools."),
    "check": ("abs_replay.cli.check", "Look cassettes through for what would make a job lie."),
    "learn": ("abs_replay.cli.learn", "Compare two recordings, and propose what does not count in matching."),
    "run": ("abs_replay.cli.run", "Play sessions against an agent, live or replayed, and grade them."),
    "grade": ("abs_replay.cli.grade", "Judge stored traces by sessions; nothing is run."),
    "gradings": ("abs_replay.cli.gradings", "List gradings: when, who, with what, and what they took."),
    "diff": ("abs_replay.cli.diff", "List what flipped between two gradings."),
    "check-evidence": ("abs_replay.cli.check_evidence", "Say which evaluations stored traces can decide."),
    "label": ("abs_replay.cli.label", "Say yourself what a judge said, in the terminal or as CSV."),
    "calibrate": ("abs_replay.cli.calibrate", "Say how far judges agree with the people who labelled."),
    "sql": ("abs_replay.cli.sql", "Ask the store in SQL, over documented views."),
    "trials": ("abs_replay.cli.trials", "Show how reliably sessions pass that were played several times."),
    "report": ("abs_replay.cli.report", "Show a saved report again, in any format."),
    "validate": ("abs_replay.cli.validate", "Check session documents and say all that is wrong."),
    "schema": ("abs_replay.cli.schema", "Print the JSON Schema of session documents, for editors."),
    "addon-path": ("abs_replay.cli.addon_path", "Print where the mitmproxy addons lie."),
}


class LazyCommands(click.Group):
    """A group that imports a command's module only when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from abs_replay import __version__

        click.echo(f"abs-replay {__version__}")
        ctx.exit()


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    callback=_print_version,
    expose_value=False,
    is_eager=True,
    help="Print the version and exit.",
)
def cli() -> None:
    """Record what an AI agent and its tools really said, replay it, grade it again.

    \b
    abs record --agent http://localhost:8080 --llm openai    chat by hand, everything is kept
    abs replay order.cassette.json -- pytest                 the same again, without the network
    abs grade order.abs.yaml                                 judge what was recorded
    abs diff last~1 last                                     what flipped since the rubric was edited
    """


def main() -> None:
    """Run `abs`; exit 0, 1 or 2 as in SEMANTICS R3, and never with a traceback for a user's error."""
    from abs_replay.cli.failure import run

    sys.exit(run(cli, sys.argv[1:]))
