"""What the four services' judges have in common: Azure, Bedrock, Vertex AI and AI Evaluator."""

import re

import pytest

from abs_replay.errors import JudgeError, UsageError
from abs_replay.judges import open_engine
from abs_replay.judges.settings import Unconfigured
from fixtures.judges.services import Services
from tests.judges.asked_services import asked, outcomes, sampled, settings

QUALITY = ("Groundedness", "Relevance", "Coherence", "Fluency")
NAMES = ("azure", "aws", "google", "aievaluator")


# Raw scores as each service gives them, and what they come to.
SCALES = [
    ("azure", "Groundedness", [("1", 0.0), ("3", 0.5), ("4", 0.75), ("5", 1.0)]),
    ("azure", "Fluency", [("2", 0.25)]),
    ("google", "Groundedness", [("0", 0.0), ("1", 1.0)]),
    ("google", "Coherence", [("1", 0.0), ("4", 0.75), ("4.5", 0.875)]),
    ("google", "Violence", [("0", 0.0), ("1", 1.0)]),
    ("google", "Relevance", [("2", 0.25)]),
    ("aievaluator", "Groundedness", [("0", 0.0), ("0.4", 0.4), ("1", 1.0)]),
    ("aievaluator", "Fluency", [("0.9", 0.9)]),
]


@pytest.mark.parametrize(("name", "type_", "raws"), SCALES)
def test_raw_scores_come_to_0_to_1_and_are_kept(
    services: Services, name: str, type_: str, raws: list[tuple[str, float]]
) -> None:
    engine = open_engine(name, settings(name, services.url))
    samples = sampled(engine, *(asked(type_, f"Blue. [raw {raw}]") for raw, _ in raws))
    assert [sample.error for sample in samples] == [None] * len(raws)
    assert [sample.score for sample in samples] == pytest.approx([score for _, score in raws])
    assert [(sample.details or {})["raw_score"] for sample in samples] == [float(raw) for raw, _ in raws]
    assert all(sample.reason and sample.settled for sample in samples)


@pytest.mark.parametrize(
    ("name", "type_", "raw"),
    [
        ("azure", "Fluency", "6"),
        ("azure", "Fluency", "3.5"),
        ("azure", "Fluency", "text"),
        ("google", "Fluency", "0"),
        ("google", "Fluency", "null"),
        ("google", "Sexual", "1.5"),
        ("aievaluator", "Fluency", "1.1"),
        ("aievaluator", "Fluency", "-0.1"),
        ("aievaluator", "Fluency", "null"),
    ],
)
def test_a_raw_score_beside_the_scale_is_unreadable_and_never_clamped(
    services: Services, name: str, type_: str, raw: str
) -> None:
    (sample,) = sampled(open_engine(name, settings(name, services.url)), asked(type_, f"Blue. [raw {raw}]"))
    assert (sample.score, sample.settled) == (None, False)
    assert "no answer could be read in" in (sample.error or "")
    assert set(outcomes(sample)) == {"unreadable"}
    assert len(sample.attempts) > 1


@pytest.mark.parametrize("name", NAMES)
def test_a_limit_passes_and_every_attempt_is_kept(services: Services, name: str) -> None:
    question = asked("Fluency", f"For {name}. [trouble 429]")
    if name == "aws":
        question = asked(criteria="- contains: blue\n- trouble: 429 1")
    (sample,) = sampled(open_engine(name, settings(name, services.url)), question)
    assert sample.score is not None
    assert outcomes(sample) == ["failed", "read"]
    assert "status 429" in (sample.attempts[0].problem or "")
    assert sample.usage.calls == 2


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("azure", {"AZURE_OPENAI_API_KEY": "wrong"}),
        ("aws", {"AWS_BEARER_TOKEN_BEDROCK": "wrong"}),
        ("google", None),
        ("aievaluator", {"AIEVALUATOR_API_KEY": "wrong"}),
    ],
)
def test_a_wrong_key_stops_the_engine_and_is_not_shown(
    services: Services, name: str, more: dict[str, str] | None
) -> None:
    given = settings(name, services.url, more or {}, **({} if more else {"api_key": "wrong"}))
    with pytest.raises(JudgeError) as error:
        sampled(open_engine(name, given), asked("Fluency", criteria="contains: blue"))
    assert f"the judge at {services.url}" in str(error.value)
    assert "is the key right" in str(error.value) or "may not use" in str(error.value)


@pytest.mark.parametrize("name", NAMES)
def test_what_can_not_be_reached_is_told_with_its_address(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("abs_replay.judges.calling.BUDGET", {"unreachable": 0, "timed out": 0})
    url = "http://127.0.0.1:9"
    with pytest.raises(JudgeError, match=r"the judge at http://127\.0\.0\.1:9.* can not be reached") as error:
        sampled(open_engine(name, settings(name, url)), asked("Fluency", criteria="contains: blue"))
    assert re.search(r"is (AZURE|AWS|GOOGLE|AIEVALUATOR)_\w+ right\?$", str(error.value))


@pytest.mark.parametrize("name", NAMES)
def test_a_fingerprint_names_the_model_and_the_endpoint_but_no_key(services: Services, name: str) -> None:
    one, same = (open_engine(name, settings(name, services.url)) for _ in range(2))
    other = open_engine(name, settings(name, services.url, model="another"))
    elsewhere = {
        "AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:9",
        "AIEVALUATOR_ENGINE_URL": "http://127.0.0.1:9",
    }
    there = open_engine(name, settings(name, "http://127.0.0.1:9", elsewhere))
    assert one.fingerprint == same.fingerprint
    assert len({one.fingerprint, other.fingerprint, there.fingerprint}) == (2 if name == "azure" else 3) + (
        name == "azure"
    )
    for secret in ("azure-key", "bedrock-key", "google-token", "aie-key"):
        assert secret not in one.fingerprint + one.shown + repr(one)
    assert one.name == name


@pytest.mark.parametrize("name", ["azure", "google", "aievaluator"])
def test_an_empty_response_is_never_sent(services: Services, name: str) -> None:
    engine = open_engine(name, settings(name, services.url))
    for type_ in QUALITY:
        assert engine.refuses(asked(type_, " "))
        assert engine.refuses(asked(type_)) is None


@pytest.mark.parametrize(
    ("name", "environment", "message"),
    [
        (
            "azure",
            {"AZURE_OPENAI_ENDPOINT": "", "AZURE_AI_PROJECT_ENDPOINT": ""},
            "set AZURE_OPENAI_ENDPOINT",
        ),
        (
            "azure",
            {"AZURE_OPENAI_DEPLOYMENT": "", "AZURE_AI_PROJECT_ENDPOINT": ""},
            "AZURE_OPENAI_DEPLOYMENT",
        ),
        ("aws", {"BEDROCK_EVALUATOR_MODEL_ID": ""}, "set BEDROCK_EVALUATOR_MODEL_ID"),
        ("aws", {"AWS_REGION": ""}, "set AWS_REGION"),
        ("google", {"GOOGLE_CLOUD_PROJECT": ""}, "set GOOGLE_CLOUD_PROJECT"),
    ],
)
def test_what_is_not_set_is_named(
    services: Services, name: str, environment: dict[str, str], message: str
) -> None:
    with pytest.raises(Unconfigured, match=message):
        open_engine(name, settings(name, services.url, environment))


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("azure", "AZURE_OPENAI_ENDPOINT"),
        ("azure", "AZURE_AI_PROJECT_ENDPOINT"),
        ("aievaluator", "AIEVALUATOR_ENGINE_URL"),
        ("aws", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
    ],
)
@pytest.mark.parametrize(
    "url", ["my-resource", "https://u:hidden@a.test", "http://a.test:99999", "http://[a"]
)
def test_an_address_that_is_none_is_named_by_its_variable_and_not_shown(
    services: Services, logged_in: list[str], name: str, variable: str, url: str
) -> None:
    with pytest.raises(UsageError) as error:
        open_engine(name, settings(name, services.url, {variable: url}, base_url=None))
    assert str(error.value) == f"{variable} must be an http or https address without user and password"


@pytest.mark.parametrize(
    ("name", "package", "environment"),
    [
        ("azure", "azure", {"AZURE_OPENAI_API_KEY": "", "AZURE_AI_PROJECT_ENDPOINT": ""}),
        ("aws", "botocore", {"AWS_BEARER_TOKEN_BEDROCK": ""}),
        ("google", "google.auth", {}),
    ],
)
def test_a_missing_package_is_one_line_that_names_the_extra(
    services: Services, name: str, package: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(wanted: str) -> object | None:
        return None if wanted.startswith(package) else object()

    monkeypatch.setattr("importlib.util.find_spec", without)
    for module in ("azure_token", "aws", "google"):
        monkeypatch.setattr(f"abs_replay.judges.{module}.find_spec", without)
    given = settings(name, services.url, environment, **({"api_key": None} if name == "google" else {}))
    with pytest.raises(Unconfigured) as error:
        open_engine(name, given)
    assert f"pip install 'abs-replay[{name}]'" in str(error.value)
    assert "\n" not in str(error.value)
