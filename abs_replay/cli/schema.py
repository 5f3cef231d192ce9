"""`abs schema`: the JSON Schema of session documents, for editors, or a page of every key, for people."""

import json

import click


@click.command()
@click.option(
    "--format",
    "format_",
    type=click.Choice(["json", "markdown"]),
    default="json",
    show_default=True,
    help="The schema, or a page of every key.",
)
def command(format_: str) -> None:
    """Print the JSON Schema (2020-12) of session documents, for completion and checks in editors.

    \b
    abs schema > abs.schema.json
    and at the top of a session, for editors that use yaml-language-server:
    # yaml-language-server: $schema=abs.schema.json
    \b
    abs schema --format markdown > keys.md     every key of every evaluation, to read

    It knows the evaluators of installed packages. What a schema can not say, abs validate says.
    """
    from abs_replay.spec.schema import document_schema

    if format_ == "json":
        click.echo(json.dumps(document_schema(), ensure_ascii=False, indent=2))
        return
    from abs_replay.spec.schema_page import page

    click.echo(page(document_schema()), nl=False)
