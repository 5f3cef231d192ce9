"""Judges on Bedrock: the tool that must be called, signatures, and what a model refuses."""

import pytest

from abs_replay.errors import JudgeError, UsageError
from fixtures.judges.services import Services
from tests.judges.asked_services import asked, opened, outcomes, sampled


def test_bedrock_must_call_the_tool(services: Services) -> None:
    (sample,) = sampled(opened("aws", services.url), asked(criteria="- contains: blue\n- contains: red"))
    ((path, headers, body),) = services.asked
    assert path == "/model/eu.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse"
    assert headers["authorization"] == "Bearer bedrock-key"
    assert body["toolConfig"]["toolChoice"] == {"tool": {"name": "judgement"}}
    assert (sample.score, sample.error) == (0.5, None)
    assert sample.attempts[0].finish_reason == "tool_use"
    assert sample.usage.input_tokens > 0


def test_bedrocks_requests_are_signed_with_the_credentials_of_the_environment(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    (sample,) = sampled(
        opened("aws", services.url, {"AWS_BEARER_TOKEN_BEDROCK": ""}), asked(criteria="contains: blue")
    )
    assert (sample.score, sample.error) == (1, None)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(JudgeError, match="signature we calculated does not match"):
        sampled(
            opened("aws", services.url, {"AWS_BEARER_TOKEN_BEDROCK": ""}), asked(criteria="contains: blue")
        )


@pytest.mark.parametrize(("model", "calls"), [("no-choice", 2), ("no-tools", 2), ("reasoner", 2)])
def test_what_a_model_of_bedrock_refuses_is_left_out_from_then_on(
    services: Services, model: str, calls: int
) -> None:
    first, second = sampled(
        opened("aws", services.url, model=model),
        asked(criteria="contains: blue"),
        asked(criteria="contains: red"),
    )
    assert (first.score, second.score) == (1, 0)
    assert (len(first.attempts), len(second.attempts)) == (calls, 1)


def test_bedrock_tells_withheld_and_cut_off_answers_apart(services: Services) -> None:
    cut, filtered, guarded = sampled(
        opened("aws", services.url),
        *(asked(criteria=f"- Kind\n- trouble: {kind}") for kind in ("cut-off", "filtered", "refusal")),
    )
    assert (set(outcomes(cut)), set(outcomes(filtered))) == ({"cut_off"}, {"refused"})
    assert "a content filter withheld the answer" in (filtered.error or "")
    assert "a guardrail withheld the answer" in (guarded.error or "")


def test_a_model_that_bedrock_does_not_have_gives_no_answer(services: Services) -> None:
    (sample,) = sampled(opened("aws", services.url, model="unknown"), asked(criteria="Kind"))
    assert "The provided model identifier is invalid." in (sample.error or "")


def test_an_option_that_bedrocks_judge_does_not_know_is_named(services: Services) -> None:
    with pytest.raises(UsageError, match="unknown option `regoin`"):
        opened("aws", services.url, options={"regoin": "x"})
    assert "judge" not in opened("aws", services.url, options={"region": "us-east-1", "max_tokens": 5}).name
