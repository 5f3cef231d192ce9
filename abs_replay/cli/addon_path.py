"""`abs addon-path`: where the scripts for a stock mitmproxy lie."""

from pathlib import Path

import click

import abs_replay
from abs_replay.errors import UsageError

ADDONS = {"record": "abs_recorder.py", "replay": "abs_player.py"}


@click.command()
@click.argument("which", type=click.Choice(list(ADDONS)))
def command(which: str) -> None:
    """Print where the mitmproxy addon for recording or replaying lies.

    \b
    mitmweb -s "$(abs addon-path record)" --set abs_name=chat
    """
    click.echo(addon_path(ADDONS[which]))


def addon_path(name: str) -> Path:
    """The addon in the package, or beside it in an editable checkout; raises `UsageError` without one."""
    package = Path(abs_replay.__file__).parent
    places = (package / "addons" / name, package.parent / "addons" / name)
    for place in places:
        if place.is_file():
            return place
    raise UsageError(
        f"{name} is not in this installation (looked in {places[0].parent}): install abs-replay anew"
    )
