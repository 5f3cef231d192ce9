"""`abs schema`: the JSON Schema of session documents, for editors."""

import json

import click


@click.command()
def command() -> None:
    """Print the JSON Schema (2020-12) of session documents, for completion and checks in editors.

    \b
    abs schema > abs.schema.json
    and at the top of a session, for editors that use yaml-language-server:
    # yaml-language-server: $schema=abs.schema.json

    It knows the evaluators of installed packages. What a schema can not say, abs validate says.
    """
    from abs_replay.spec.schema import document_schema

    click.echo(json.dumps(document_schema(), ensure_ascii=False, indent=2))
