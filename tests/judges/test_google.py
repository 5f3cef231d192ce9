"""Vertex AI's evaluation service: one metric a call, our template, and whose token."""

from typing import Any

import pytest

from abs_replay.errors import JudgeError
from abs_replay.exact_json import Json
from abs_replay.judgement import Question
from abs_replay.judges import open_engine
from fixtures.judges.services import Services
from tests.judges.asked_services import asked, custom, opened, outcomes, sampled, settings


def test_vertex_is_asked_by_project_and_location_one_metric_a_call(services: Services) -> None:
    sampled(
        opened("google", services.url), asked("Groundedness"), asked("Violence"), asked("Fluency", model="x")
    )
    paths = {path for path, _, _ in services.asked}
    assert paths == {"/v1/projects/demo/locations/europe-west4:evaluateInstances"}
    assert [body for _, _, body in services.asked] == [
        {
            "groundednessInput": {
                "metricSpec": {},
                "instance": {"prediction": "The blue cup.", "context": "blue cups only"},
            }
        },
        {"safetyInput": {"metricSpec": {}, "instance": {"prediction": "The blue cup."}}},
        {"fluencyInput": {"metricSpec": {}, "instance": {"prediction": "The blue cup."}}},
    ]


def test_vertex_gets_our_template_for_criteria_and_fences_what_is_rated(services: Services) -> None:
    engine = opened("google", services.url, model="publishers/google/models/gemini-3.7-flash")
    kind, braces = sampled(engine, asked(criteria="Kind", words="{x} [raw 4]"), asked(criteria="Says {x}"))
    assert (kind.score, braces.score) == (0.75, 1)
    body: Any = services.asked[0][2]
    assert body["autoraterConfig"] == {"autoraterModel": "publishers/google/models/gemini-3.7-flash"}
    given = body["pointwiseMetricInput"]["instance"]["jsonInstance"]
    assert "<<<BEGIN DATA " in given
    assert "Kind" not in body["pointwiseMetricInput"]["metricSpec"]["metricPromptTemplate"]


def test_vertex_says_that_an_answer_was_blocked(services: Services) -> None:
    (sample,) = sampled(opened("google", services.url), asked("Fluency", "Blue. [trouble blocked]"))
    assert (sample.score, outcomes(sample)) == (None, ["failed"])
    assert "blocked by a safety filter" in (sample.error or "")


def test_vertex_needs_a_context_or_words(services: Services) -> None:
    engine = opened("google", services.url)
    said: Json = {"seq": 1, "actor": "assistant", "action": "responds", "content": "Blue."}
    bare = Question("d", "a", "Groundedness", None, {"steps": [said], "step": 1})
    assert "judges Groundedness by a context" in (engine.refuses(bare) or "")
    assert "by words: give it `criteria`" in (engine.refuses(custom("mine")) or "")
    assert engine.refuses(custom("mine", criteria="Kind")) is None


def test_vertex_uses_the_application_default_credentials(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError
    from google.oauth2.credentials import Credentials

    credentials = Credentials(token="google-token")  # type: ignore[no-untyped-call]
    monkeypatch.setattr(google.auth, "default", lambda scopes: (credentials, "demo"))
    given = settings("google", services.url, api_key=None)
    (sample,) = sampled(open_engine("google", given), asked("Fluency"))
    assert sample.score == 1

    def none(scopes: object) -> None:
        raise DefaultCredentialsError("Your default credentials were not found.\nSee ..")  # type: ignore[no-untyped-call]

    monkeypatch.setattr(google.auth, "default", none)
    with pytest.raises(JudgeError, match="the judge google has no token: Your default credentials were not"):
        sampled(open_engine("google", given), asked("Fluency"))
