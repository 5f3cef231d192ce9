"""Judges that are models, on each vendor's wire: answers, troubles, and what is left of them."""

import asyncio
import json
import socket
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from abs_replay.errors import JudgeError, UsageError
from abs_replay.exact_json import Json
from abs_replay.judgement import Usage
from abs_replay.judges import calling, open_engine
from abs_replay.judges.engine import Stopped
from abs_replay.judges.refusals import error_of
from abs_replay.judges.settings import EngineSettings, Unconfigured
from fixtures.judges.deciding import decide
from fixtures.judges.hearing import Heard
from fixtures.judges.running import running
from fixtures.judges.server import State
from fixtures.judges.wires import Anthropic, Asked, Gemini, OpenAI, Wire
from tests.judges.asked import Canned, opened, outcomes, question, sampled

type Serve = Callable[..., Canned]

VENDORS = ("openai", "anthropic", "gemini")
WIRES: dict[str, Wire] = {"openai": OpenAI(), "anthropic": Anthropic(), "gemini": Gemini()}
REPLIES = json.loads((Path(__file__).parents[2] / "fixtures" / "judges" / "replies.json").read_text("utf-8"))
CANNED = [(vendor, name) for vendor in VENDORS for name in REPLIES[vendor]]


def good(vendor: str, model: str = "judge") -> dict[str, Any]:
    """An answer to one criterion, as the vendor writes it."""
    text = json.dumps(decide(Heard({1: "contains: blue"}, ({"response": "blue"},), None, None)))
    return {"json": WIRES[vendor].answer(Asked(model, ("q" * 40,), 2), text, "").body}


class TestAnswers:
    @pytest.mark.parametrize("vendor", VENDORS)
    def test_criteria_come_back_one_by_one_with_a_score(self, vendor: str, scripted: str) -> None:
        sample, none = sampled(
            opened(vendor, scripted, price=(1.0, 10.0)),
            question("- contains: blue\n- lacks: red\n- contains: green"),
            question("contains: green"),
        )
        assert (sample.score, sample.error, sample.settled) == (0.6667, None, True)
        assert sample.reason == "(3) By the rule `contains: green`."
        details: Any = sample.details
        assert [each["verdict"] for each in details["criteria"]] == ["met", "met", "not_met"]
        assert (none.score, none.reason) == (0.0, "By the rule `contains: green`.")

    @pytest.mark.parametrize("vendor", VENDORS)
    def test_an_attempt_keeps_what_was_sent_and_said_and_what_it_took(
        self, vendor: str, scripted: str
    ) -> None:
        (sample,) = sampled(opened(vendor, scripted, price=(1.0, 10.0)), question("contains: blue"))
        (attempt,) = sample.attempts
        assert (attempt.outcome, attempt.problem, attempt.model) == ("read", None, "judge-2026")
        assert (attempt.finish_reason or "").lower() in ("stop", "end_turn", "tool_use")
        assert "1. contains: blue" in attempt.sent
        assert "VERDICT: MET" in attempt.reply
        assert '"k"' not in attempt.sent
        usage = sample.usage
        assert usage.calls == 1
        assert usage.input_tokens > 500
        assert usage.output_tokens > 20
        assert usage.cost == pytest.approx((usage.input_tokens + 10 * usage.output_tokens) / 1e6)
        assert attempt.at > 1.7e9
        assert 0 < attempt.duration_ms < 10_000

    def test_what_an_answer_cost_is_not_known_where_no_tokens_are_counted(self, canned: Serve) -> None:
        uncounted = good("openai")
        del uncounted["json"]["usage"]
        server = canned(uncounted)
        (sample,) = sampled(opened("openai", server.url, price=(1.0, 10.0)), question("contains: blue"))
        assert sample.score is not None
        assert sample.usage == Usage(1, 0, 0, None)

    @pytest.mark.parametrize("vendor", VENDORS)
    def test_what_can_not_be_judged_is_settled_and_no_score(self, vendor: str, scripted: str) -> None:
        (sample,) = sampled(opened(vendor, scripted), question("- contains: blue\n- cannot judge"))
        assert (sample.score, sample.settled, outcomes(sample)) == (None, True, ["read"])
        assert sample.error == "the judge can not tell: A criterion says that it can not be told."

    def test_a_model_without_a_known_price_costs_none(self, scripted: str) -> None:
        (sample,) = sampled(opened("openai", scripted), question("contains: blue"))
        assert sample.usage.cost is None


class TestUnreadableReplies:
    TEXTS = (
        *("prose", "empty", "not-json", "missing-criterion", "twice", "extra-key", "no-score", "no-marker"),
        *("out-of-range", "text-score", "contradiction", "score-contradiction", "undecided-score"),
    )

    @pytest.mark.parametrize("trouble", TEXTS)
    def test_what_can_not_be_read_is_asked_again_up_to_a_bound_and_then_an_error(
        self, trouble: str, scripted: str
    ) -> None:
        (sample,) = sampled(opened("openai", scripted), question(f"- contains: blue\n- trouble: {trouble}"))
        assert (sample.score, sample.settled) == (None, False)
        assert outcomes(sample) == ["unreadable"] * 4
        assert (sample.error or "").startswith("no answer could be read in 4 replies; the last: ")
        assert all(attempt.problem for attempt in sample.attempts)

    @pytest.mark.parametrize("vendor", VENDORS)
    def test_one_turn_mends_a_reply_with_what_was_wrong(self, vendor: str, scripted: str) -> None:
        (sample,) = sampled(opened(vendor, scripted), question("- contains: blue\n- trouble: no-marker 1"))
        assert (outcomes(sample), sample.error) == (["unreadable", "read"], None)
        first, second = (json.loads(attempt.sent) for attempt in sample.attempts)
        turns = second.get("messages", second.get("contents"))
        assert len(turns) == len(first.get("messages", first.get("contents"))) + 2
        assert "does not end with its verdict" in json.dumps(turns[-1])
        assert turns[-2]["role"] in ("assistant", "model")

    def test_after_the_mending_it_is_asked_afresh_in_another_fence(self, scripted: str) -> None:
        (sample,) = sampled(opened("openai", scripted), question("- contains: blue\n- trouble: twice 3"))
        assert outcomes(sample) == ["unreadable"] * 3 + ["read"]
        sent = [json.loads(attempt.sent)["messages"] for attempt in sample.attempts]
        assert [len(messages) for messages in sent] == [2, 4, 2, 2]
        fences = [messages[1]["content"].split("BEGIN DATA ")[1][:16] for messages in sent]
        assert fences[0] == fences[1]
        assert len(set(fences)) == 3

    @pytest.mark.parametrize("vendor", VENDORS)
    @pytest.mark.parametrize(
        ("trouble", "outcome"), [("cut-off", "cut_off"), ("refusal", "refused"), ("filtered", "refused")]
    )
    def test_what_was_cut_off_or_refused_is_asked_afresh_and_never_mended(
        self, vendor: str, trouble: str, outcome: str, scripted: str
    ) -> None:
        (sample,) = sampled(opened(vendor, scripted), question(f"- contains: blue\n- trouble: {trouble} 2"))
        assert (outcomes(sample), sample.score) == ([outcome, outcome, "read"], 1.0)
        lengths = {len(json.loads(one.sent).get("messages") or "x") for one in sample.attempts}
        assert len(lengths) == 1

    def test_how_many_replies_are_asked_for_can_be_said(self, scripted: str) -> None:
        engine = opened("openai", scripted, options={"max_attempts": 1})
        (sample,) = sampled(engine, question("trouble: prose"))
        assert outcomes(sample) == ["unreadable"]


class TestTroublesOfTheService:
    @pytest.mark.parametrize(("vendor", "name"), CANNED)
    def test_each_vendors_replies_are_told_apart(self, vendor: str, name: str, canned: Serve) -> None:
        reply = REPLIES[vendor][name]
        server = canned(reply, good(vendor))
        engine = opened(vendor, server.url)
        if "raises" in reply:
            with pytest.raises(JudgeError, match=reply["raises"]) as raised:
                sampled(engine, question("contains: blue"))
            assert "\n" not in str(raised.value)
            assert str(raised.value).startswith(f"the judge at {server.url}")
            return
        (sample,) = sampled(engine, question("contains: blue"))
        if reply["outcome"] == "failed" and not reply.get("again"):
            assert (outcomes(sample), sample.settled) == (["failed"], False)
            assert (sample.error or "").startswith("the judge gave no answer: status ")
        else:
            assert (outcomes(sample), sample.score) == ([reply["outcome"], "read"], 1.0)

    @pytest.mark.parametrize(
        ("vendor", "trouble"),
        [("openai", "429-ms 1"), ("openai", "503 1"), ("anthropic", "429 2"), ("gemini", "429-date 1")],
    )
    def test_limits_and_failures_that_pass_are_waited_for(
        self, vendor: str, trouble: str, scripted: str
    ) -> None:
        (sample,) = sampled(opened(vendor, scripted), question(f"- contains: blue\n- trouble: {trouble}"))
        count = int(trouble[-1])
        assert (outcomes(sample), sample.score) == (["failed"] * count + ["read"], 1.0)
        assert sample.usage.calls == count + 1

    def test_who_asks_to_wait_for_a_day_is_not_waited_for(self, scripted: str) -> None:
        (sample,) = sampled(opened("anthropic", scripted), question("trouble: 429-long"))
        assert outcomes(sample) == ["failed"]
        assert (sample.error or "").endswith("it asks to wait 86400 s")

    @pytest.mark.parametrize("vendor", VENDORS)
    def test_what_breaks_off_is_asked_again(
        self, vendor: str, scripted: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(calling, "_BACKOFF", lambda _: 0.01)
        (sample,) = sampled(opened(vendor, scripted), question("- contains: blue\n- trouble: disconnect 1"))
        assert outcomes(sample) == ["failed", "read"]

    @pytest.mark.parametrize("vendor", VENDORS)
    def test_a_limit_that_never_ends_is_an_error_of_this_question(
        self, vendor: str, canned: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(calling, "BUDGET", {"told to wait": 2, "limited": 1, "away": 1, "timed out": 1})
        limit = {**REPLIES[vendor]["rate limit"], "headers": {"retry-after": "0"}}
        (sample,) = sampled(opened(vendor, canned(limit).url), question("contains: blue"))
        assert (outcomes(sample), sample.score, sample.settled) == (["failed"] * 3, None, False)
        assert "status 429" in (sample.error or "")

    @pytest.mark.parametrize("vendor", VENDORS)
    def test_time_outs_have_a_budget_of_their_own(self, vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(calling, "_BACKOFF", lambda _: 0.0)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            (sample,) = sampled(opened(vendor, url, timeout=0.15), question("contains: blue"))
        assert outcomes(sample) == ["failed", "failed"]
        assert sample.error == "the judge gave no answer: no reply within 0.15 s"

    @pytest.mark.parametrize("vendor", VENDORS)
    def test_a_judge_that_was_never_reached_is_no_matter_of_one_question(
        self, vendor: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(calling, "_BACKOFF", lambda _: 0.0)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Stopped, match=r"can not be reached: .*is it running") as stopped:
            sampled(opened(vendor, url), question("contains: blue"))
        assert [one.outcome for one in stopped.value.attempts] == ["failed"] * 3  # about two seconds

    @pytest.mark.parametrize("vendor", VENDORS)
    def test_a_judge_that_dies_is_no_matter_of_one_question_either(
        self, vendor: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(calling, "_BACKOFF", lambda _: 0.0)
        server = Canned().giving(good(vendor))
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = server.url
        (sample,) = sampled(opened(vendor, url), question("contains: blue"))
        server.shutdown()
        server.server_close()
        assert sample.score is not None
        with pytest.raises(Stopped, match=r"does not answer any more: .*what it said before counts") as gone:
            sampled(opened(vendor, url), question("contains: blue"))
        assert len(gone.value.attempts) == 6

    def test_a_service_that_fails_is_a_matter_of_each_question(
        self, canned: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(calling, "_BACKOFF", lambda _: 0.0)
        server = canned({"status": 503, "text": "down"})
        (sample,) = sampled(opened("openai", server.url), question("contains: blue"))
        assert (outcomes(sample), sample.settled) == (["failed"] * 6, False)

    def test_answers_that_are_none_of_the_api_are_an_error_in_the_end(
        self, canned: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(calling, "_BACKOFF", lambda _: 0.0)
        for vendor in VENDORS:
            for text in (
                "<html>",
                "[]",
                "{}",
                '{"choices":[{"message":null}],"content":[1],"candidates":[1]}',
            ):
                server = canned({"text": text})
                (sample,) = sampled(opened(vendor, server.url), question("contains: blue"))
                assert set(outcomes(sample)) == {"failed"}
                assert "none of its API" in (sample.error or "")

    def test_to_be_cancelled_leaves_nothing_open(self, scripted: str) -> None:
        engine = opened("openai", scripted, timeout=60)

        async def run() -> None:
            task = asyncio.create_task(engine.sample(question("trouble: 500"), 0))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        opened.runner.run(run())


class TestWhatAnEndpointRefuses:
    @pytest.mark.parametrize(
        ("vendor", "model", "calls", "left"),
        [
            ("openai", "no-schema", 2, "json_object"),
            ("openai", "no-json", 3, None),
            ("openai", "reasoner", 2, "no temperature"),
            ("openai", "elder", 2, "max_tokens"),
            ("anthropic", "no-formats", 2, "tool_choice"),
            ("anthropic", "no-structure", 3, None),
            ("anthropic", "reasoner", 2, "no temperature"),
            ("gemini", "no-schema", 2, None),
            ("gemini", "reasoner", 2, "no temperature"),
        ],
    )
    def test_is_left_out_and_remembered(
        self, vendor: str, model: str, calls: int, left: str | None, scripted: str
    ) -> None:
        engine = opened(vendor, scripted, model=model)
        before = engine.fingerprint
        first, second = sampled(engine, question("contains: blue"), question("contains: cup"))
        assert (len(first.attempts), len(second.attempts)) == (calls, 1)
        assert (first.score, second.score) == (1.0, 1.0)
        assert engine.fingerprint == before
        sent = second.attempts[0].sent
        if left == "no temperature":
            assert '"temperature"' not in sent
        elif left is not None:
            assert f'"{left}"' in sent
        else:
            body = json.loads(sent)
            assert not {"response_format", "output_config", "tools"} & body.keys()
            assert "responseJsonSchema" not in body.get("generationConfig", {})

    def test_a_form_that_is_taken_is_the_strictest(self, scripted: str) -> None:
        sent = {}
        for vendor in VENDORS:
            (sample,) = sampled(opened(vendor, scripted), question("contains: blue"))
            sent[vendor] = json.loads(sample.attempts[0].sent)
        form = sent["openai"]["response_format"]
        assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
        assert sent["anthropic"]["output_config"]["format"]["type"] == "json_schema"
        assert sent["gemini"]["generationConfig"]["responseJsonSchema"]["type"] == "object"
        assert [sent[name].get("temperature") for name in ("openai", "anthropic")] == [0, 0]
        assert {each["threshold"] for each in sent["gemini"]["safetySettings"]} == {"BLOCK_NONE"}

    def test_other_400s_are_no_reason_to_ask_for_less(self, canned: Serve) -> None:
        server = canned(REPLIES["openai"]["too long"])
        (sample,) = sampled(opened("openai", server.url), question("contains: blue"))
        assert (len(server.asked), outcomes(sample)) == (1, ["failed"])


class TestKeys:
    @pytest.mark.parametrize(
        ("vendor", "header", "value"),
        [
            ("openai", "authorization", "Bearer secret"),
            ("anthropic", "x-api-key", "secret"),
            ("gemini", "x-goog-api-key", "secret"),
        ],
    )
    def test_a_key_goes_in_its_vendors_header_or_in_the_one_that_is_named(
        self, vendor: str, header: str, value: str, canned: Serve
    ) -> None:
        server = canned(good(vendor))
        for more in ({"api_key_header": header}, {"api_key_header": "api-key"}):
            sampled(opened(vendor, server.url, api_key="secret", **more), question("contains: blue"))
        (usual, _), (named, _) = server.asked
        assert (usual[header], usual.get("api-key")) == (value, None)
        assert (named["api-key"], named.get(header)) == ("secret", None)

    @pytest.mark.parametrize("vendor", VENDORS)
    def test_a_wrong_key_stops_everything_and_says_what_to_do(self, vendor: str, scripted: str) -> None:
        with pytest.raises(JudgeError, match="--judge-api-key"):
            sampled(opened(vendor, scripted, api_key="wrong"), question("contains: blue"))

    @pytest.mark.parametrize("vendor", VENDORS)
    @pytest.mark.parametrize(
        ("settings", "wrong"),
        [
            ({"api_key": "sk-“quoted”"}, "holds characters that can not be sent"),
            ({"api_key": "sk-1\nsk-2"}, "holds characters that can not be sent"),
            ({"api_key_header": "api key"}, "`api key` can not be the name of a header"),
        ],
    )
    def test_what_no_header_can_hold_is_told_when_it_is_opened(
        self, vendor: str, settings: dict[str, Any], wrong: str
    ) -> None:
        with pytest.raises(Unconfigured, match=wrong):
            open_engine(vendor, EngineSettings(**{"api_key": "k", **settings}))

    @pytest.mark.parametrize("vendor", VENDORS)
    def test_without_key_and_address_it_says_what_is_lacking(self, vendor: str) -> None:
        with pytest.raises(Unconfigured, match=f"{vendor.upper()}_API_KEY"):
            open_engine(vendor, EngineSettings())

    def test_an_endpoint_of_ones_own_needs_no_key_but_a_model(self, canned: Serve) -> None:
        with pytest.raises(Unconfigured, match="--judge-model"):
            open_engine("openai", EngineSettings(base_url="http://127.0.0.1:1/v1"))
        server = canned(good("openai"))
        (sample,) = sampled(opened("openai", server.url, api_key=None), question("contains: blue"))
        assert sample.score == 1.0
        assert "authorization" not in server.asked[0][0]

    def test_variables_of_the_vendors_package_change_nothing(
        self, canned: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/recorder")
        monkeypatch.setenv("OPENAI_API_KEY", "of-the-agent")
        server = canned(good("openai"))
        sampled(opened("openai", server.url, api_key="of-the-judge\n"), question("contains: blue"))
        assert server.asked[0][0]["authorization"] == "Bearer of-the-judge"

    def test_an_address_that_leads_elsewhere_says_what_to_look_at(self, canned: Serve) -> None:
        moved = {"status": 301, "headers": {"location": "https://127.0.0.1:9/"}, "text": "moved"}
        with pytest.raises(JudgeError, match="--judge-base-url"):
            sampled(opened("anthropic", canned(moved).url), question("contains: blue"))


class TestWhatAnEngineSays:
    def test_a_fingerprint_names_all_that_an_answer_depends_on_and_no_secret(self) -> None:
        def fingerprint(vendor: str = "openai", **more: Any) -> str:
            settings: dict[str, Any] = {"base_url": "http://h:8/v1", "api_key": "k", "model": "m", **more}
            return open_engine(vendor, EngineSettings(**settings)).fingerprint

        usual = fingerprint()
        assert usual.startswith("openai m at http://h:8/v1 #")
        others = [
            fingerprint("anthropic"),
            fingerprint(model="n"),
            fingerprint(base_url="http://h:9/v1"),
            fingerprint(options={"temperature": 1}),
            fingerprint(options={"temperature": None}),
            fingerprint(options={"max_tokens": 100}),
        ]
        assert len({usual, *others}) == 7
        same = [
            fingerprint(api_key="other"),
            fingerprint(base_url="http://ann:secret@h:8/v1/?key=secret"),
            fingerprint(timeout=1.0, price=(1.0, 1.0)),
            fingerprint(options={"max_attempts": 9, "temperature": "0"}),
        ]
        assert set(same) == {usual}

    def test_defaults_are_the_vendors_own(self) -> None:
        shown = [open_engine(vendor, EngineSettings(api_key="k")).shown for vendor in VENDORS]
        assert shown == ["openai gpt-6-luna", "anthropic claude-haiku-5-5", "gemini gemini-3.5-flash-lite"]
        engine = open_engine("openai", EngineSettings(api_key="k"))
        assert "https://api.openai.com/v1 #" in engine.fingerprint

    def test_an_estimate_counts_what_would_be_sent_and_sends_nothing(self) -> None:
        engine = open_engine("openai", EngineSettings(api_key="k"))
        short, long = (engine.estimate(question("Kind", "x" * count)) for count in (4, 4004))
        assert long.input_tokens - short.input_tokens == 1000
        assert (short.calls, short.output_tokens) == (1, 180)
        assert short.cost == pytest.approx(short.input_tokens * 0.1e-6 + 180 * 0.5e-6)
        assert (
            open_engine("openai", EngineSettings(api_key="k", model="?")).estimate(question("K")).cost is None
        )

    def test_a_custom_rule_without_words_is_refused_and_one_with_them_is_not(self) -> None:
        engine = open_engine("gemini", EngineSettings(api_key="k"))
        custom = question(None, type="custom", evidence={"steps": [], "step": None, "custom": {"id": "x"}})
        assert "`custom` evaluation without words" in (engine.refuses(custom) or "")
        with_criteria: Json = {
            "steps": [],
            "step": None,
            "custom": {"id": "x", "criteria": ["Kind", "Short"]},
        }
        assert engine.refuses(question(None, type="custom", evidence=with_criteria)) is None
        assert engine.refuses(question(None, type="custom", prompt="Be strict")) is None
        assert engine.refuses(question("Kind")) is None

    @pytest.mark.parametrize(
        ("options", "wrong"),
        [
            ({"max_token": 5}, "unknown option `max_token`; known: max_attempts, max_tokens, temperature"),
            ({"max_tokens": 0}, "`max_tokens` must be a whole number from 1, not 0"),
            ({"max_attempts": "many"}, '`max_attempts` must be a whole number from 1, not "many"'),
            ({"max_attempts": True}, "`max_attempts` must be a whole number from 1, not true"),
            ({"temperature": 3}, "`temperature` must be a number from 0 to 2, or null, not 3"),
            ({"temperature": "warm"}, "`temperature` must be a number"),
            ({"temperature": True}, "`temperature` must be a number"),
        ],
    )
    def test_options_are_checked_when_it_is_opened(self, options: Any, wrong: str) -> None:
        with pytest.raises(UsageError) as raised:
            open_engine("openai", EngineSettings(api_key="k", options=options))
        assert wrong in str(raised.value)


class TestWhatIsSaid:
    def test_content_may_come_in_parts(self, canned: Serve) -> None:
        reply = good("openai")
        message = reply["json"]["choices"][0]["message"]
        text = message["content"]
        message["content"] = [{"type": "text", "text": text[:9]}, {"type": "text", "text": text[9:]}]
        (sample,) = sampled(opened("openai", canned(reply).url), question("contains: blue"))
        assert sample.score == 1.0

    def test_thoughts_are_no_part_of_an_answer(self, canned: Serve) -> None:
        gemini, anthropic = good("gemini"), good("anthropic")
        gemini["json"]["candidates"][0]["content"]["parts"].insert(0, {"text": "Hm.", "thought": True})
        anthropic["json"]["content"].insert(0, {"type": "thinking", "thinking": "Hm.", "signature": "s"})
        for vendor, reply in (("gemini", gemini), ("anthropic", anthropic)):
            (sample,) = sampled(opened(vendor, canned(reply).url), question("contains: blue"))
            assert sample.score == 1.0

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ('[{"error": {"message": "No."}}]', "No."),
            ('{"error": {"message": "No."}}', "No."),
            ('{"error": "No."}', "No."),
            ('{"message": "No."}', "No."),
            ('{"detail": "No."}', '{"detail": "No."}'),
            ("[]", "[]"),
            ("7", "7"),
            ("No.", "No."),
            ("[" * 99_999, "[" * 99_999),
        ],
    )
    def test_an_errors_words_are_found_in_whatever_shape(self, text: str, words: str) -> None:
        assert error_of(text) == words


def test_a_limit_of_requests_holds_for_a_second() -> None:
    state = State(rate_limit=2)

    assert [state.limited() for _ in range(4)] == [False, False, True, True]
    state.recent = deque(moment - 1 for moment in state.recent)
    assert state.limited() is False


def test_the_scripted_judge_counts_requests_and_fails_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "_BACKOFF", lambda _: 0.01)
    with running("--delay", "0.01", "--fail-every", "5") as url:
        engine = opened("openai", url)

        async def run() -> list[Any]:
            return await asyncio.gather(*(engine.sample(question(f"contains: {n}"), 0) for n in range(12)))

        samples = opened.runner.run(run())
        assert [sample.score for sample in samples] == [0.0] * 12
        count = httpx.get(f"{url}/count").json()
        calls = sum(len(sample.attempts) for sample in samples)
        assert (count["requests"], count["answered"], count["failed"]) == (calls, 12, calls - 12)
        assert count["failed"] > 0
        assert len(httpx.get(f"{url}/requests").json()) == calls
