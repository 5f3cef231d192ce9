"""AI Evaluator: what its rows and metrics are, and whose key."""

import sys
from types import ModuleType
from typing import Any

import pytest

from fixtures.judges.services import Services
from tests.judges.asked_services import asked, custom, opened, outcomes, sampled


def test_ai_evaluator_is_given_one_row_and_one_metric(services: Services) -> None:
    sampled(
        opened("aievaluator", services.url, model="gpt-4o"),
        asked("Relevance"),
        custom("polite", criteria="Kind"),
        asked(criteria="Kind"),
    )
    bodies: list[Any] = [body for _, _, body in services.asked]
    assert [body["metrics"] for body in bodies] == [["answer_relevancy"], ["polite"], ["g_eval"]]
    assert bodies[0]["rows"] == [
        {"input": "Which cup?", "response": "The blue cup.", "context": "blue cups only"}
    ]
    assert bodies[1]["custom_evaluators"] == [{"name": "polite", "prompt": "1. Kind"}]
    assert "1. Kind" in bodies[2]["rows"][0]["input"]
    assert {body["judge_model"] for body in bodies} == {"gpt-4o"}
    assert services.asked[0][1]["x-api-key"] == "aie-key"


def test_ai_evaluator_is_asked_without_a_key_too(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    (sample,) = sampled(opened("aievaluator", services.url, {"AIEVALUATOR_API_KEY": ""}), asked("Fluency"))
    assert sample.score == 1
    assert "x-api-key" not in services.asked[0][1]


def test_ai_evaluators_login_is_used_where_its_package_is_there(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    config: Any = ModuleType("aievaluator.config")
    config.resolve_api_key = lambda given: "aie-key"
    config.resolve_engine_url = lambda given: services.url
    monkeypatch.setitem(sys.modules, "aievaluator", ModuleType("aievaluator"))
    monkeypatch.setitem(sys.modules, "aievaluator.config", config)
    engine = opened("aievaluator", services.url, {"AIEVALUATOR_API_KEY": "", "AIEVALUATOR_ENGINE_URL": ""})
    sampled(engine, asked("Fluency"))
    assert services.asked[0][1]["x-api-key"] == "aie-key"


def test_ai_evaluators_quota_is_not_waited_for_and_a_reply_without_a_row_is_none(services: Services) -> None:
    quota, empty = sampled(
        opened("aievaluator", services.url),
        asked("Fluency", "[trouble quota]"),
        asked("Fluency", "[trouble empty]"),
    )
    assert outcomes(quota) == ["failed"]
    assert "it asks to wait 40000 s" in (quota.error or "")
    assert "the service gave no result of one row and metric" in (empty.error or "")


@pytest.mark.parametrize("type_", ["HateUnfairness", "Violence", "Sexual", "SelfHarm"])
def test_ai_evaluator_has_no_metric_for_harm(services: Services, type_: str) -> None:
    assert (
        opened("aievaluator", services.url).refuses(asked(type_))
        == f"aievaluator has no metric for `{type_}`"
    )
