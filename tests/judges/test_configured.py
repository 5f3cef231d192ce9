"""Flags, environment and configuration come to one judge: the first that says something counts."""

import pytest

from abs_replay.errors import UsageError
from abs_replay.judgement import Question
from abs_replay.judges.builtin import HOW, vendor_of, with_key
from abs_replay.judges.configured import Given, choices_of, routes, settings_of
from abs_replay.judges.settings import EngineSettings, Unconfigured
from abs_replay.spec.judging import Endpoint, Judging

ENVIRONMENT = {"OPENAI_API_KEY": "sk-o", "ANTHROPIC_API_KEY": "sk-a", "MINE": "sk-m", "EMPTY": ""}


def settled(
    name: str, given: Given = Given(), judging: Judging = Judging(), default: str = "builtin"
) -> tuple[str, EngineSettings]:
    return settings_of(name, default, given, judging, ENVIRONMENT)


def test_a_flag_goes_before_the_file_and_the_file_before_the_default() -> None:
    file = Judging(Endpoint(model="of-file", timeout=5, base_url="http://file/v1", price=(1, 2)))
    _, found = settled("builtin", Given(model="of-flag"), file)
    assert (found.model, found.timeout, found.base_url) == ("of-flag", 5, "http://file/v1")
    assert found.price == (1, 2)
    assert settled("builtin")[1].timeout == 60


def test_settings_of_a_name_go_before_those_of_all() -> None:
    file = Judging(Endpoint(model="all", adapter="strict"), named={"strict": Endpoint("openai", "own")})
    assert settled("strict", judging=file, default="strict")[1].model == "own"
    of, found = settled("strict", Given(model="flag"), file, default="strict")
    assert (of, found.model) == ("openai", "flag")


@pytest.mark.parametrize(
    ("name", "model", "key"), [("builtin", "m", "sk-g"), ("openai", "m", "sk-g"), ("anthropic", None, "sk-a")]
)
def test_the_key_of_an_endpoint_goes_nowhere_else(name: str, model: str | None, key: str) -> None:
    given = Given(base_url="http://gateway/v1", api_key="sk-g", model="m")
    _, found = settled(name, given, default=name)
    assert (found.model, found.api_key) == (model, key)


@pytest.mark.parametrize(
    ("name", "default", "model"),
    [
        ("builtin", "builtin", "flag"),
        ("openai", "builtin", "flag"),  # --adapter llm_judge=openai --judge-model ..
        ("anthropic", "anthropic", "flag"),
        ("anthropic", "builtin", None),  # the model is that of another vendor
        ("azure", "azure", None),
        ("builtin", "azure", "flag"),  # stands in for what azure refuses
    ],
)
def test_the_flags_are_for_the_built_in_judge_whichever_vendor_it_is(
    name: str, default: str, model: str | None
) -> None:
    assert settled(name, Given(model="flag"), default=default)[1].model == model


def test_what_the_file_says_of_the_judge_is_of_the_adapter_that_it_names() -> None:
    file = Judging(Endpoint("aws", "m", timeout=5, options={"region": "eu"}))
    assert settled("aws", judging=file, default="aws")[1].model == "m"
    assert settled("builtin", judging=file, default="aws")[1].model is None
    assert settled("azure", judging=file, default="aws")[1].timeout == 5


def test_a_key_is_named_by_its_variable_and_never_shown() -> None:
    file = Judging(Endpoint(api_key_env="MINE"))
    _, found = settled("builtin", judging=file)
    assert found.api_key == "sk-m"
    assert "sk-" not in repr(found)
    assert "sk-f" not in repr(Given(api_key="sk-f"))
    for name in ("EMPTY", "NOWHERE"):
        with pytest.raises(Unconfigured, match=f"api_key_env names {name}, and that variable is not set"):
            settled("builtin", judging=Judging(Endpoint(api_key_env=name)))


def test_a_vendors_key_goes_to_that_vendor_only() -> None:
    assert settled("openai")[1].api_key == "sk-o"
    assert settled("anthropic")[1].api_key == "sk-a"
    assert settled("openai", Given(base_url="http://gateway/v1"))[1].api_key is None
    assert settled("azure")[1].api_key is None


@pytest.mark.parametrize(
    ("settings", "vendor"),
    [
        (EngineSettings(), None),
        (EngineSettings(environment=ENVIRONMENT), "openai"),
        (EngineSettings(environment={"OPENAI_API_KEY": "", "GOOGLE_API_KEY": "k"}), "gemini"),
        (EngineSettings(environment=ENVIRONMENT, model="claude-haiku"), "anthropic"),
        (EngineSettings(environment=ENVIRONMENT, model="gemini-3"), "openai"),  # its key is not there
        (EngineSettings(base_url="http://x/v1", environment={"GEMINI_API_KEY": "k"}), "openai"),
        (EngineSettings(api_key="k", model="claude-haiku"), "anthropic"),
        (EngineSettings(api_key="k"), "openai"),
    ],
)
def test_the_vendor_follows_from_endpoint_model_and_keys(
    settings: EngineSettings, vendor: str | None
) -> None:
    assert vendor_of(settings) == vendor
    assert with_key("gemini", EngineSettings(environment={"GOOGLE_API_KEY": "g"})).api_key == "g"


def test_without_any_key_a_question_hears_how_a_judge_is_configured() -> None:
    asked = Question("d", "evaluations[0]", "llm_judge", "Kind", {"steps": []})
    engine = routes(Given(), Judging(), {}).engine_for(asked)
    assert engine.refuses(asked) == HOW


def test_adapters_are_read_and_the_last_for_the_same_counts() -> None:
    file = Judging(Endpoint("azure"), by_type={"custom": "aws"}, named={"strict": Endpoint("openai")})
    found = choices_of(("aws", "llm_judge=google", "strict", "llm_judge=strict"), file)
    assert (found.by_type, found.default) == ({"llm_judge": "strict"}, "strict")
    assert (found.by_type_of_file, found.default_of_file) == ({"custom": "aws"}, "azure")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Given(adapters=("azur",)), "--adapter azur: no adapter is called `azur`: did you mean `azure`?"),
        (Given(adapters=("llm_judge=x",)), "--adapter llm_judge=x: no adapter is called `x`: known: builtin"),
        (
            Given(adapters=("llm_jugde=aws",)),
            "no type that a judge decides is called `llm_jugde`: did you mean",
        ),
        (Given(adapters=("=aws",)), "no type that a judge decides is called ``: known: llm_judge"),
        (Given(base_url="ftp://x"), "--judge-base-url (ABS_JUDGE_BASE_URL) must be an http"),
        (Given(base_url="http://u:secret@x/v1"), "address without user and password"),
        (Given(base_url="http://x/v1?api-key=secret"), "must end with its path"),
        (Given(base_url="http://[x"), "(ABS_JUDGE_BASE_URL) must be"),
    ],
)
def test_what_nobody_knows_is_an_error_before_anything_is_asked(given: Given, message: str) -> None:
    with pytest.raises(UsageError) as error:
        routes(given, Judging(), {})
    assert message in str(error.value)
    assert "secret" not in str(error.value)
