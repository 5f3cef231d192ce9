"""`abs annotate`: a name, tags and a note for a recording, a trace or an exchange."""

import os
from pathlib import Path

import click

from abs_replay.cli.saying import say
from abs_replay.errors import UsageError


@click.command()
@click.argument("ref", metavar="REF")
@click.option("--name", metavar="N", help="What it is called from now on.")
@click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="Set a tag; may repeat.")
@click.option("--untag", multiple=True, metavar="KEY", help="Take a tag away; may repeat.")
@click.option("--note", metavar="TEXT", help="Anything in words; an empty text takes it away.")
@click.option("--trace", "kind", flag_value="trace", help="REF is a trace's: `last --trace`.")
@click.option("--exchange", "kind", flag_value="exchange", help="REF is an exchange's: `last --exchange`.")
@click.option(
    "--store", type=click.Path(path_type=Path), help="The store [default: ABS_STORE, or .abs/store.duckdb]."
)
def command(
    ref: str,
    name: str | None,
    tags: tuple[str, ...],
    untag: tuple[str, ...],
    note: str | None,
    kind: str | None,
    store: Path | None,
) -> None:
    """Name, tag or note a recording, a trace or an exchange; `abs ls` and `abs show` tell it.

    \b
    abs annotate last --name "refund, angry user" --tag ticket=42
    abs annotate t-3f2a --name refund --note "wrong amount in the second answer"
    abs annotate demo --untag ticket

    REF is an id or its beginning, a recording's name, last, or last~1. Traces have the tags of their
    recording; a trace of a recording that plays no session is graded by the session that it is called like.
    Secrets in what is added become placeholders.
    """
    from abs_replay.cli.derived import derived
    from abs_replay.cli.redaction import configured_rules
    from abs_replay.redact import Redactor
    from abs_replay.store import Note, Store, default_path

    if name is None and note is None and not tags and not untag:
        raise UsageError("nothing to add: say --name, --tag, --untag or --note")
    if name is not None and not name.strip():
        raise UsageError("--name is empty: say what it is called")
    clean = Redactor(configured_rules(say), say)
    name, note = name and clean.text(name), note and clean.text(note)
    opened = Store(default_path(store, os.environ))
    if kind == "trace":
        derived(opened)  # those that nobody has read yet are not there to be found
    found = opened.find(ref, kind)
    if found.kind == "grading":
        raise UsageError(f"{ref} is a grading, and what it says stays as it was: annotate its traces")
    changes = {key: value and clean.tag(key, value) for key, value in _changes(tags, untag).items()}
    opened.annotate(found, name, Note(changes, note))
    say(f"{found.kind} {found.id}: {', '.join(_said(name, changes, note))}")


def _changes(tags: tuple[str, ...], untag: tuple[str, ...]) -> dict[str, str | None]:
    changes: dict[str, str | None] = dict.fromkeys(untag)
    for text in tags:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise UsageError(f"--tag {text!r}: expected KEY=VALUE")
        if key in changes:
            raise UsageError(f"the tag {key} is named twice: say once what becomes of it")
        changes[key] = value
    return changes


def _said(name: str | None, changes: dict[str, str | None], note: str | None) -> list[str]:
    said = [f"called {name}"] if name is not None else []
    said += [f"no tag {key}" if value is None else f"tag {key}={value}" for key, value in changes.items()]
    return said if note is None else [*said, "noted" if note else "no note"]
