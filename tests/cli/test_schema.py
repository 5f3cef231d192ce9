"""`abs schema`: for editors by default, for people when asked."""

import json

from click.testing import CliRunner

from abs_replay.cli import cli
from abs_replay.spec.schema import document_schema
from abs_replay.spec.schema_page import page


def test_it_prints_the_json_schema() -> None:
    assert json.loads(CliRunner().invoke(cli, ["schema"]).stdout) == document_schema()


def test_it_prints_the_page_of_every_key() -> None:
    assert CliRunner().invoke(cli, ["schema", "--format", "markdown"]).stdout == page(document_schema())
