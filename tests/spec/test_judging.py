"""The keys `judge:` and `adapters:` of a configuration: what is read, and what is said where it is wrong."""

from pathlib import Path
from typing import get_args

import pytest

from abs_replay.errors import SpecError
from abs_replay.exact_json import Number
from abs_replay.judges import ENGINES
from abs_replay.spec import judging, rules
from abs_replay.spec.configuration import Configuration, load
from abs_replay.spec.judging import Endpoint, Judging


def read(folder: Path, text: str) -> Configuration:
    path = folder / "abs.config.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path)


def test_without_the_keys_everything_is_left_to_flags_and_environment(tmp_path: Path) -> None:
    assert read(tmp_path, "agent: x\n").judging == Judging() == Configuration().judging


def test_both_keys_are_read(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
judge:
  adapter: strict
  model: m
  base_url: http://localhost:1/v1
  api_key_env: MY_KEY
  api_key_header: api-key
  timeout: 1.5
  price: {input: 0.5, output: 2}
  votes: 3
  concurrency: 8
  max_cost: 0.25
adapters:
  Groundedness: azure
  custom: strict
  azure: {deployment: judge, timeout: 9}
  strict: {adapter: openai, model: big}
  Fluency: {adapter: openai, model: small}
""",
    )
    assert found.adapters == ("azure", "strict", "Fluency")
    assert found.judging == Judging(
        Endpoint("strict", "m", "http://localhost:1/v1", "MY_KEY", "api-key", 1.5, (0.5, 2.0)),
        3,
        8,
        0.25,
        {"Groundedness": "azure", "custom": "strict", "Fluency": "Fluency"},
        {
            "azure": Endpoint(timeout=9.0, options={"deployment": "judge"}),
            "strict": Endpoint("openai", "big"),
            "Fluency": Endpoint("openai", "small"),
        },
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("judge: gpt", "1: judge: must be a mapping of adapter, model"),
        ("judge:\n  modle: x", "2: judge.modle: unknown key `modle`: did you mean `model`?"),
        ("judge: {model: 3}", "1: judge.model: must be text"),
        ("judge: {adapter: azur}", "judge.adapter: no adapter is called `azur`: did you mean `azure`?"),
        ("judge: {adapter: [x]}", "judge.adapter: must be the name of an adapter"),
        ("judge: {votes: 0}", "judge.votes: must be a whole number from 1"),
        ("judge: {votes: true}", "judge.votes: must be a whole number from 1"),
        ("judge: {concurrency: 1.5}", "judge.concurrency: must be a whole number from 1"),
        ("judge: {max_cost: -1}", "judge.max_cost: must be a number of US dollars above 0"),
        ("judge: {timeout: soon}", "judge.timeout: must be a number of seconds above 0"),
        ("judge: {price: {input: 1}}", "judge.price: must be a mapping of input and output"),
        ("judge: {price: {input: 1, output: -1}}", "judge.price: must be a mapping"),
        ("judge: {region: eu}", "judge.region: unknown key `region`: "),
        ("judge: {adapter: google, temperature: 0}", "judge.temperature: unknown key `temperature`"),
        ("judge: {api_key: sk-1}", "judge.api_key: a secret does not stand in a file"),
        ("adapters: [azure]", "adapters: must be a mapping: TYPE: NAME, or NAME: {its settings}"),
        ("adapters: {llm_juge: azure}", "adapters.llm_juge: no type that a judge decides is called"),
        (
            "adapters: {llm_judge: azur}",
            "adapters.llm_judge: no adapter is called `azur`: did you mean `azure`?",
        ),
        (
            "adapters: {azur: {}}",
            "no adapter is called `azur`: did you mean `azure`?; a name of your own needs",
        ),
        ("adapters: {a: {adapter: b}, b: {adapter: aws}}", "adapters.a.adapter: `b` is named here itself"),
        ("adapters: {a: {adapter: nobody}}", "adapters.a.adapter: no adapter is called `nobody`"),
        (
            "adapters: {azure: {deploymnt: x}}",
            "adapters.azure.deploymnt: unknown key `deploymnt`: did you mean",
        ),
        ("adapters: {google: {token: x}}", "adapters.google.token: a secret does not stand in a file"),
        ("adapters: {llm_judge: {model: x}}", "a name of your own needs `adapter: NAME` in its settings"),
    ],
)
def test_what_is_wrong_is_told_at_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        read(tmp_path, text)
    assert len(error.value.problems) == 1
    assert message in str(error.value)


def test_every_name_is_that_of_an_engine_and_every_type_one_that_a_judge_decides() -> None:
    assert tuple(ENGINES) == judging.ENGINES
    judged = get_args(rules.Judged.model_fields["type"].annotation)
    assert set(judging.TYPES) == {*judged, "custom"}


def test_the_judge_takes_what_its_adapter_takes(tmp_path: Path) -> None:
    found = read(tmp_path, "judge: {adapter: aws, region: eu, temperature: 0.5}\n").judging
    assert found.default == Endpoint("aws", options={"region": "eu", "temperature": Number("0.5")})
    assert read(tmp_path, "judge: {max_tokens: 100}\n").judging.default.options == {"max_tokens": 100}
    assert read(tmp_path, "judge: {adapter: s, x: 1}\nadapters: {s: {adapter: aws}}\n").judging.votes is None
