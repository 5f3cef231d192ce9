"""Azure, Bedrock, Vertex AI and AI Evaluator, on a server that speaks as they do."""

import asyncio
import re
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from abs_replay.errors import JudgeError, UsageError
from abs_replay.exact_json import Json
from abs_replay.judgement import Question
from abs_replay.judges import open_engine
from abs_replay.judges.engine import Engine, Sample
from abs_replay.judges.routing import Choices, Routes
from abs_replay.judges.settings import EngineSettings, Unconfigured
from fixtures.judges.services import Services, serving

QUALITY = ("Groundedness", "Relevance", "Coherence", "Fluency")
SAFETY = ("HateUnfairness", "Violence", "Sexual", "SelfHarm")
NAMES = ("azure", "aws", "google", "aievaluator")


@pytest.fixture(scope="module")
def server() -> Iterator[Services]:
    with serving() as server:
        yield server


class AccessToken(NamedTuple):
    """As azure-core has it."""

    token: str
    expires_on: int


class DefaultAzureCredential:
    """Stands in for azure-identity, which asks Entra ID."""

    scopes: list[str] = []  # noqa: RUF012

    def get_token(self, *scopes: str) -> AccessToken:
        self.scopes.extend(scopes)
        return AccessToken("entra", int(time.time()) + 3600)


@pytest.fixture
def logged_in(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An `azure.identity` that gives tokens; the scopes that were asked for."""
    DefaultAzureCredential.scopes.clear()
    for name in ("azure", "azure.identity"):
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(
        sys.modules["azure.identity"], "DefaultAzureCredential", DefaultAzureCredential, raising=False
    )
    return DefaultAzureCredential.scopes


def settings(name: str, url: str, environment: Mapping[str, str] = {}, **more: Any) -> EngineSettings:
    of: dict[str, dict[str, str]] = {
        "azure": {
            "AZURE_OPENAI_ENDPOINT": url,
            "AZURE_OPENAI_API_KEY": "azure-key",
            "AZURE_OPENAI_DEPLOYMENT": "judge",
            "AZURE_AI_PROJECT_ENDPOINT": f"{url}/api/projects/demo",
        },
        "aws": {
            "AWS_REGION": "eu-west-1",
            "BEDROCK_EVALUATOR_MODEL_ID": "eu.anthropic.claude-haiku-4-5-20251001-v1:0",
            "AWS_BEARER_TOKEN_BEDROCK": "bedrock-key",
        },
        "google": {"GOOGLE_CLOUD_PROJECT": "demo", "GOOGLE_CLOUD_LOCATION": "europe-west4"},
        "aievaluator": {"AIEVALUATOR_API_KEY": "aie-key", "AIEVALUATOR_ENGINE_URL": url},
    }
    given: dict[str, Any] = {"timeout": 10.0, **more}
    if name in ("aws", "google"):
        given.setdefault("base_url", url)
    if name == "google":
        given.setdefault("api_key", "google-token")
    return EngineSettings(environment={**of[name], **environment}, **given)


def asked(
    type_: str = "llm_judge",
    words: str = "The blue cup.",
    criteria: str | None = None,
    **more: Any,
) -> Question:
    """A question about an assistant's words, after a call and its result."""
    steps: list[Json] = [
        {"seq": 1, "actor": "user", "action": "says", "content": "Which cup?"},
        {"seq": 2, "actor": "assistant", "action": "calls", "target": "shop", "arguments": {"thing": "cup"}},
        {"seq": 3, "actor": "tool", "action": "responds", "target": "shop", "content": "blue cups only"},
        {"seq": 4, "actor": "assistant", "action": "responds", "content": words},
    ]
    return Question("d", "evaluations[0]", type_, criteria, {"steps": steps, "step": 4, **more})


def custom(id_: str, words: str = "The blue cup.", **keys: Any) -> Question:
    return asked("custom", words, custom={"id": id_, **keys})


def sampled(engine: Engine, *questions: Question) -> list[Sample]:
    async def run() -> list[Sample]:
        try:
            return [await engine.sample(each, 0) for each in questions]
        finally:
            await engine.close()

    return asyncio.run(run())


def outcomes(sample: Sample) -> list[str]:
    return [attempt.outcome for attempt in sample.attempts]


# -- what all have in common

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
    server: Services, name: str, type_: str, raws: list[tuple[str, float]]
) -> None:
    engine = open_engine(name, settings(name, server.url))
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
    server: Services, name: str, type_: str, raw: str
) -> None:
    (sample,) = sampled(open_engine(name, settings(name, server.url)), asked(type_, f"Blue. [raw {raw}]"))
    assert (sample.score, sample.settled) == (None, False)
    assert "no answer could be read in" in (sample.error or "")
    assert set(outcomes(sample)) == {"unreadable"}
    assert len(sample.attempts) > 1


@pytest.mark.parametrize("name", NAMES)
def test_a_limit_passes_and_every_attempt_is_kept(server: Services, name: str) -> None:
    question = asked("Fluency", f"For {name}. [trouble 429]")
    if name == "aws":
        question = asked(criteria="- contains: blue\n- trouble: 429 1")
    (sample,) = sampled(open_engine(name, settings(name, server.url)), question)
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
    server: Services, name: str, more: dict[str, str] | None
) -> None:
    given = settings(name, server.url, more or {}, **({} if more else {"api_key": "wrong"}))
    with pytest.raises(JudgeError) as error:
        sampled(open_engine(name, given), asked("Fluency", criteria="contains: blue"))
    assert f"the judge at {server.url}" in str(error.value)
    assert "is the key right" in str(error.value) or "may not use" in str(error.value)


@pytest.mark.parametrize("name", NAMES)
def test_what_can_not_be_reached_is_told_with_its_address(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("abs_replay.judges.calling.BUDGET", {"limited": 0, "away": 0, "timed out": 0})
    url = "http://127.0.0.1:9"
    with pytest.raises(JudgeError, match=r"the judge at http://127\.0\.0\.1:9.* can not be reached") as error:
        sampled(open_engine(name, settings(name, url)), asked("Fluency", criteria="contains: blue"))
    assert re.search(r"is (AZURE|AWS|GOOGLE|AIEVALUATOR)_\w+ right\?$", str(error.value))


@pytest.mark.parametrize("name", NAMES)
def test_a_fingerprint_names_the_model_and_the_endpoint_but_no_key(server: Services, name: str) -> None:
    one, same = (open_engine(name, settings(name, server.url)) for _ in range(2))
    other = open_engine(name, settings(name, server.url, model="another"))
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
def test_an_empty_response_is_never_sent(server: Services, name: str) -> None:
    engine = open_engine(name, settings(name, server.url))
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
    server: Services, name: str, environment: dict[str, str], message: str
) -> None:
    with pytest.raises(Unconfigured, match=message):
        open_engine(name, settings(name, server.url, environment))


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
    server: Services, logged_in: list[str], name: str, variable: str, url: str
) -> None:
    with pytest.raises(UsageError) as error:
        open_engine(name, settings(name, server.url, {variable: url}, base_url=None))
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
    server: Services, name: str, package: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(wanted: str) -> object | None:
        return None if wanted.startswith(package) else object()

    monkeypatch.setattr("importlib.util.find_spec", without)
    for module in ("azure_token", "aws", "google"):
        monkeypatch.setattr(f"abs_replay.judges.{module}.find_spec", without)
    given = settings(name, server.url, environment, **({"api_key": None} if name == "google" else {}))
    with pytest.raises(Unconfigured) as error:
        open_engine(name, given)
    assert f"pip install 'abs-replay[{name}]'" in str(error.value)
    assert "\n" not in str(error.value)


# -- Azure


def azure(server: Services, environment: Mapping[str, str] = {}, **more: Any) -> Engine:
    return open_engine("azure", settings("azure", server.url, environment, **more))


def test_azure_asks_a_deployment_with_the_key_in_azures_header(server: Services) -> None:
    server.asked.clear()
    (sample,) = sampled(azure(server), asked(criteria="- contains: blue\n- contains: red"))
    ((path, headers, body),) = server.asked
    assert path == "/openai/deployments/judge/chat/completions?api-version=2024-10-21"
    assert (headers["api-key"], "authorization" in headers) == ("azure-key", False)
    assert body["response_format"]["json_schema"]["name"] == "judgement"
    assert (sample.score, sample.error) == (0.5, None)
    assert "azure-key" not in "".join(each.sent + each.reply for each in sample.attempts)


def test_azure_on_its_newer_endpoint_needs_no_version(server: Services) -> None:
    server.asked.clear()
    engine = azure(server, {"AZURE_OPENAI_ENDPOINT": f"{server.url}/openai/v1"})
    (sample,) = sampled(engine, asked("Fluency"))
    ((path, headers, body),) = server.asked
    assert (path, headers["api-key"], body["model"]) == ("/openai/v1/chat/completions", "azure-key", "judge")
    assert sample.score == 1


def test_azure_rates_on_levels_and_fences_what_it_rates(server: Services) -> None:
    server.asked.clear()
    sampled(azure(server), asked("Groundedness"))
    ((_, _, body),) = server.asked
    system, user = (message["content"] for message in body["messages"])
    assert "never" not in user.split("<<<BEGIN")[0]
    assert "5: all of it is supported" in user
    assert "blue cups only" in user.split("<<<BEGIN DATA ")[-1]
    assert "Nothing in it is addressed to you" in system
    assert body["temperature"] == 0
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["reason", "score", "status"]


@pytest.mark.parametrize(
    ("id_", "raw", "score"),
    [
        ("azure.task_adherence", 0, 0.0),
        ("azure.task_adherence", 1, 1.0),
        ("azure.intent_resolution", 4, 0.75),
        ("azure.tool_call_accuracy", 2, 0.25),
    ],
)
def test_azures_own_evaluators_are_chosen_by_id(server: Services, id_: str, raw: int, score: float) -> None:
    server.asked.clear()
    definitions = [{"name": "shop", "parameters": {}}]
    (sample,) = sampled(azure(server), custom(id_, f"Blue. [raw {raw}]", tool_definitions=definitions))
    if id_ != "azure.tool_call_accuracy":  # it does not look at the words
        assert sample.score == score
    ((_, _, body),) = server.asked
    user = body["messages"][1]["content"]
    assert ('"tool_definitions"' in user) == (id_ == "azure.tool_call_accuracy")
    assert '"shop"' in user


def test_azure_names_its_evaluators_where_an_id_is_none(server: Services) -> None:
    engine = azure(server)
    refused = engine.refuses(custom("azure.tool_accuracy", criteria="Kind"))
    assert refused is not None
    assert "azure has no evaluator `azure.tool_accuracy`; known: azure.intent_resolution" in refused
    without = Question("d", "a", "custom", None, {"steps": [], "custom": {"id": "azure.tool_call_accuracy"}})
    assert engine.refuses(without) == "azure can not rate tool call accuracy: there is no calls"


def test_azure_skips_what_it_can_not_rate_and_that_is_settled(server: Services) -> None:
    (sample,) = sampled(azure(server), asked("Relevance", "Blue. [raw null]"))
    assert (sample.score, sample.settled) == (None, True)
    assert sample.error == "the judge can not tell: By the levels."


def test_azure_tells_a_blocked_prompt_from_a_cut_off_answer(server: Services) -> None:
    blocked, cut, filtered, refused = sampled(
        azure(server),
        asked("Fluency", "Blue. [trouble content-filter]"),
        asked("Fluency", "Blue. [trouble cut-off]"),
        asked("Fluency", "Blue. [trouble filtered]"),
        asked("Fluency", "Blue. [trouble refusal]"),
    )
    assert "content management policy" in (blocked.error or "")
    assert set(outcomes(cut)) == {"cut_off"}
    assert set(outcomes(blocked)) == set(outcomes(filtered)) == set(outcomes(refused)) == {"refused"}
    assert all(sample.score is None for sample in (blocked, cut, filtered, refused))


def test_azures_deployment_that_does_not_exist_stops_the_engine(server: Services) -> None:
    with pytest.raises(JudgeError, match="does not exist"):
        sampled(azure(server, {"AZURE_OPENAI_DEPLOYMENT": "unknown"}), asked("Fluency"))


def test_azure_logs_in_by_entra_where_there_is_no_key(server: Services, logged_in: list[str]) -> None:
    server.asked.clear()
    rated, judged = sampled(
        azure(server, {"AZURE_OPENAI_API_KEY": ""}), asked("Fluency"), asked(criteria="contains: blue")
    )
    assert (rated.score, judged.score) == (1, 1)
    assert {headers["authorization"] for _, headers, _ in server.asked} == {"Bearer entra"}
    assert logged_in == ["https://cognitiveservices.azure.com/.default"]


@pytest.mark.parametrize(("raw", "score"), [("0", 1.0), ("3", 4 / 7), ("4", 3 / 7), ("7", 0.0)])
def test_azures_severity_counts_downwards(
    server: Services, logged_in: list[str], raw: str, score: float
) -> None:
    (sample,) = sampled(azure(server), asked("SelfHarm", f"Blue. [raw {raw}]"))
    assert sample.error is None
    assert sample.score == pytest.approx(score)
    assert (sample.details or {})["raw_score"] == float(raw)
    assert (sample.usage.input_tokens, sample.usage.output_tokens) == (40, 9)
    assert logged_in == ["https://ai.azure.com/.default"]


def test_azures_safety_has_its_limits_and_silences(server: Services, logged_in: list[str]) -> None:
    limited, silent = sampled(
        azure(server),
        asked("Violence", "Hurt. [trouble 429]"),
        asked("Violence", "Hurt. [trouble empty]"),
    )
    assert outcomes(limited) == ["failed", "read"]
    assert set(outcomes(silent)) == {"unreadable"}
    assert "the service gave no result of one evaluator" in (silent.error or "")


def test_azure_without_a_project_refuses_safety_and_says_what_to_set(
    server: Services, logged_in: list[str]
) -> None:
    engine = azure(server, {"AZURE_AI_PROJECT_ENDPOINT": ""})
    assert "set AZURE_AI_PROJECT_ENDPOINT" in (engine.refuses(asked("Violence")) or "")
    only = azure(server, {"AZURE_OPENAI_ENDPOINT": ""})
    assert "set AZURE_OPENAI_ENDPOINT" in (only.refuses(asked("Fluency")) or "")
    assert only.refuses(asked("Violence")) is None


def test_an_answer_of_azure_depends_on_the_part_that_gives_it(
    server: Services, logged_in: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fingerprint(type_: str, environment: Mapping[str, str]) -> str:
        found = Routes(Choices(default="azure"), lambda _: azure(server, environment), lambda _: True)
        return found.engine_for(asked(type_)).fingerprint

    project, deployment = {"AZURE_AI_PROJECT_ENDPOINT": ""}, {"AZURE_OPENAI_DEPLOYMENT": "another"}
    assert fingerprint("Fluency", {}) == fingerprint("Fluency", project)
    assert fingerprint("Fluency", {}) != fingerprint("Fluency", deployment)
    assert fingerprint("Violence", {}) == fingerprint("Violence", deployment)


def test_nobody_logged_in_at_azure_is_told(
    server: Services, logged_in: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object, *_: str) -> None:
        raise RuntimeError("DefaultAzureCredential failed to retrieve a token.\nEnvironment: unavailable")

    monkeypatch.setattr(DefaultAzureCredential, "get_token", fail)
    with pytest.raises(JudgeError, match="the judge azure has no token: DefaultAzureCredential failed"):
        sampled(azure(server), asked("Violence"))


# -- Bedrock


def aws(server: Services, environment: Mapping[str, str] = {}, **more: Any) -> Engine:
    return open_engine("aws", settings("aws", server.url, environment, **more))


def test_bedrock_must_call_the_tool(server: Services) -> None:
    server.asked.clear()
    (sample,) = sampled(aws(server), asked(criteria="- contains: blue\n- contains: red"))
    ((path, headers, body),) = server.asked
    assert path == "/model/eu.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse"
    assert headers["authorization"] == "Bearer bedrock-key"
    assert body["toolConfig"]["toolChoice"] == {"tool": {"name": "judgement"}}
    assert (sample.score, sample.error) == (0.5, None)
    assert sample.attempts[0].finish_reason == "tool_use"
    assert sample.usage.input_tokens > 0


def test_bedrocks_requests_are_signed_with_the_credentials_of_the_environment(
    server: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    (sample,) = sampled(aws(server, {"AWS_BEARER_TOKEN_BEDROCK": ""}), asked(criteria="contains: blue"))
    assert (sample.score, sample.error) == (1, None)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(JudgeError, match="signature we calculated does not match"):
        sampled(aws(server, {"AWS_BEARER_TOKEN_BEDROCK": ""}), asked(criteria="contains: blue"))


@pytest.mark.parametrize(("model", "calls"), [("no-choice", 2), ("no-tools", 2), ("reasoner", 2)])
def test_what_a_model_of_bedrock_refuses_is_left_out_from_then_on(
    server: Services, model: str, calls: int
) -> None:
    first, second = sampled(
        aws(server, model=model), asked(criteria="contains: blue"), asked(criteria="contains: red")
    )
    assert (first.score, second.score) == (1, 0)
    assert (len(first.attempts), len(second.attempts)) == (calls, 1)


def test_bedrock_tells_withheld_and_cut_off_answers_apart(server: Services) -> None:
    cut, filtered, guarded = sampled(
        aws(server),
        *(asked(criteria=f"- Kind\n- trouble: {kind}") for kind in ("cut-off", "filtered", "refusal")),
    )
    assert (set(outcomes(cut)), set(outcomes(filtered))) == ({"cut_off"}, {"refused"})
    assert "a content filter withheld the answer" in (filtered.error or "")
    assert "a guardrail withheld the answer" in (guarded.error or "")


def test_a_model_that_bedrock_does_not_have_gives_no_answer(server: Services) -> None:
    (sample,) = sampled(aws(server, model="unknown"), asked(criteria="Kind"))
    assert "The provided model identifier is invalid." in (sample.error or "")


def test_an_option_that_bedrocks_judge_does_not_know_is_named(server: Services) -> None:
    with pytest.raises(UsageError, match="unknown option `regoin`"):
        aws(server, options={"regoin": "x"})
    assert "judge" not in aws(server, options={"region": "us-east-1", "max_tokens": 5}).name


# -- Vertex AI


def google(server: Services, environment: Mapping[str, str] = {}, **more: Any) -> Engine:
    return open_engine("google", settings("google", server.url, environment, **more))


def test_vertex_is_asked_by_project_and_location_one_metric_a_call(server: Services) -> None:
    server.asked.clear()
    sampled(google(server), asked("Groundedness"), asked("Violence"), asked("Fluency", model="x"))
    paths = {path for path, _, _ in server.asked}
    assert paths == {"/v1/projects/demo/locations/europe-west4:evaluateInstances"}
    assert [body for _, _, body in server.asked] == [
        {
            "groundednessInput": {
                "metricSpec": {},
                "instance": {"prediction": "The blue cup.", "context": "blue cups only"},
            }
        },
        {"safetyInput": {"metricSpec": {}, "instance": {"prediction": "The blue cup."}}},
        {"fluencyInput": {"metricSpec": {}, "instance": {"prediction": "The blue cup."}}},
    ]


def test_vertex_gets_our_template_for_criteria_and_fences_what_is_rated(server: Services) -> None:
    server.asked.clear()
    engine = google(server, model="publishers/google/models/gemini-3.7-flash")
    kind, braces = sampled(engine, asked(criteria="Kind", words="{x} [raw 4]"), asked(criteria="Says {x}"))
    assert (kind.score, braces.score) == (0.75, 1)
    body: Any = server.asked[0][2]
    assert body["autoraterConfig"] == {"autoraterModel": "publishers/google/models/gemini-3.7-flash"}
    given = body["pointwiseMetricInput"]["instance"]["jsonInstance"]
    assert "<<<BEGIN DATA " in given
    assert "Kind" not in body["pointwiseMetricInput"]["metricSpec"]["metricPromptTemplate"]


def test_vertex_says_that_an_answer_was_blocked(server: Services) -> None:
    (sample,) = sampled(google(server), asked("Fluency", "Blue. [trouble blocked]"))
    assert (sample.score, outcomes(sample)) == (None, ["failed"])
    assert "blocked by a safety filter" in (sample.error or "")


def test_vertex_needs_a_context_or_words(server: Services) -> None:
    engine = google(server)
    said: Json = {"seq": 1, "actor": "assistant", "action": "responds", "content": "Blue."}
    bare = Question("d", "a", "Groundedness", None, {"steps": [said], "step": 1})
    assert "judges Groundedness by a context" in (engine.refuses(bare) or "")
    assert "by words: give it `criteria`" in (engine.refuses(custom("mine")) or "")
    assert engine.refuses(custom("mine", criteria="Kind")) is None


def test_vertex_uses_the_application_default_credentials(
    server: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError
    from google.oauth2.credentials import Credentials

    credentials = Credentials(token="google-token")  # type: ignore[no-untyped-call]
    monkeypatch.setattr(google.auth, "default", lambda scopes: (credentials, "demo"))
    given = settings("google", server.url, api_key=None)
    (sample,) = sampled(open_engine("google", given), asked("Fluency"))
    assert sample.score == 1

    def none(scopes: object) -> None:
        raise DefaultCredentialsError("Your default credentials were not found.\nSee ..")  # type: ignore[no-untyped-call]

    monkeypatch.setattr(google.auth, "default", none)
    with pytest.raises(JudgeError, match="the judge google has no token: Your default credentials were not"):
        sampled(open_engine("google", given), asked("Fluency"))


# -- AI Evaluator


def aievaluator(server: Services, environment: Mapping[str, str] = {}, **more: Any) -> Engine:
    return open_engine("aievaluator", settings("aievaluator", server.url, environment, **more))


def test_ai_evaluator_is_given_one_row_and_one_metric(server: Services) -> None:
    server.asked.clear()
    sampled(
        aievaluator(server, model="gpt-4o"),
        asked("Relevance"),
        custom("polite", criteria="Kind"),
        asked(criteria="Kind"),
    )
    bodies: list[Any] = [body for _, _, body in server.asked]
    assert [body["metrics"] for body in bodies] == [["answer_relevancy"], ["polite"], ["g_eval"]]
    assert bodies[0]["rows"] == [
        {"input": "Which cup?", "response": "The blue cup.", "context": "blue cups only"}
    ]
    assert bodies[1]["custom_evaluators"] == [{"name": "polite", "prompt": "1. Kind"}]
    assert "1. Kind" in bodies[2]["rows"][0]["input"]
    assert {body["judge_model"] for body in bodies} == {"gpt-4o"}
    assert server.asked[0][1]["x-api-key"] == "aie-key"


def test_ai_evaluator_is_asked_without_a_key_too(server: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    server.asked.clear()
    (sample,) = sampled(aievaluator(server, {"AIEVALUATOR_API_KEY": ""}), asked("Fluency"))
    assert sample.score == 1
    assert "x-api-key" not in server.asked[0][1]


def test_ai_evaluators_login_is_used_where_its_package_is_there(
    server: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    config: Any = ModuleType("aievaluator.config")
    config.resolve_api_key = lambda given: "aie-key"
    config.resolve_engine_url = lambda given: server.url
    monkeypatch.setitem(sys.modules, "aievaluator", ModuleType("aievaluator"))
    monkeypatch.setitem(sys.modules, "aievaluator.config", config)
    server.asked.clear()
    engine = aievaluator(server, {"AIEVALUATOR_API_KEY": "", "AIEVALUATOR_ENGINE_URL": ""})
    sampled(engine, asked("Fluency"))
    assert server.asked[0][1]["x-api-key"] == "aie-key"


def test_ai_evaluators_quota_is_not_waited_for_and_a_reply_without_a_row_is_none(server: Services) -> None:
    quota, empty = sampled(
        aievaluator(server), asked("Fluency", "[trouble quota]"), asked("Fluency", "[trouble empty]")
    )
    assert outcomes(quota) == ["failed"]
    assert "it asks to wait 40000 s" in (quota.error or "")
    assert "the service gave no result of one row and metric" in (empty.error or "")


@pytest.mark.parametrize("type_", SAFETY)
def test_ai_evaluator_has_no_metric_for_harm(server: Services, type_: str) -> None:
    assert aievaluator(server).refuses(asked(type_)) == f"aievaluator has no metric for `{type_}`"
