"""Judges on Amazon Bedrock: the Converse API with our own prompt, and a tool that the model must call.

The model is `model`, else BEDROCK_EVALUATOR_MODEL_ID; the region `region`, else AWS_REGION or
AWS_DEFAULT_REGION. Requests are signed by botocore with the usual credentials (variables, profile, role), or
bear the key of AWS_BEARER_TOKEN_BEDROCK. Models that can not be made to call a tool refuse `toolChoice`,
others tools at all, or `temperature`: what one refuses is left out from then on.
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
"""

import asyncio
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import quote

from abs_replay.errors import JudgeError
from abs_replay.exact_json import Json, dumps, loads
from abs_replay.judges.calling import Arrived, Said, Turn, written
from abs_replay.judges.model_engine import ModelEngine, Parameters, endpoint, parameters_of
from abs_replay.judges.posting import Poster
from abs_replay.judges.refusals import Origins
from abs_replay.judges.reply_form import NAME, SCHEMA
from abs_replay.judges.settings import EngineSettings, Unconfigured, checked_url, own

_TOOL: Final[Json] = {
    "toolSpec": {"name": NAME, "description": "Report the judgement.", "inputSchema": {"json": SCHEMA}}
}
_FORMS: Final[tuple[dict[str, Json], ...]] = (  # from the strictest down
    {"tools": [_TOOL], "toolChoice": {"tool": {"name": NAME}}},
    {"tools": [_TOOL]},
    {},
)
_WITHHELD: Final = {
    "guardrail_intervened": "a guardrail withheld the answer",
    "content_filtered": "a content filter withheld the answer",
}
_CUT: Final = ("max_tokens", "model_context_window_exceeded")


def open_engine(settings: EngineSettings) -> ModelEngine:
    """Open the engine; raises `Unconfigured` without a model, a region, or botocore to sign with."""
    options = {key: each for key, each in settings.options.items() if key not in ("region", "profile")}
    model = settings.model or own(settings, "", "BEDROCK_EVALUATOR_MODEL_ID")
    if model is None:
        raise Unconfigured("the judge aws needs a model: set BEDROCK_EVALUATOR_MODEL_ID")
    key = settings.api_key or own(settings, "", "AWS_BEARER_TOKEN_BEDROCK")
    if key is None and find_spec("botocore") is None:
        raise Unconfigured("the judge aws needs botocore: pip install 'abs-replay[aws]'")
    region = own(settings, "region", "AWS_REGION", "AWS_DEFAULT_REGION")
    if region is None:
        raise Unconfigured("the judge aws needs a region: set AWS_REGION")
    profile = own(settings, "profile", "AWS_PROFILE")
    parameters = parameters_of("aws", options)
    wire = Converse(model, region, Bearer(key) if key else Signature(region, profile), settings, parameters)
    return ModelEngine("aws", model, wire, settings, parameters)


class Converse:
    """The wire: POST /model/MODEL/converse."""

    origins = Origins("AWS_REGION", "AWS_ACCESS_KEY_ID, or a profile", "BEDROCK_EVALUATOR_MODEL_ID")

    def __init__(
        self,
        model: str,
        region: str,
        sign: "Bearer | Signature",
        settings: EngineSettings,
        parameters: Parameters,
    ) -> None:
        at = settings.base_url or own(settings, "", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
        at = at or f"https://bedrock-runtime.{region}.amazonaws.com"
        self.where = endpoint(checked_url(at, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"))
        self._url = f"{self.where}/model/{quote(model, safe='')}/converse"
        self._poster, self._sign = Poster(self._url, {}, settings.timeout), sign
        self._parameters = parameters
        self._form = 0
        self._warm = parameters.temperature is None

    def body(self, system: str, turns: Sequence[Turn]) -> dict[str, Json]:
        limits: dict[str, Json] = {"maxTokens": self._parameters.max_tokens}
        if not self._warm:
            limits["temperature"] = self._parameters.temperature
        body: dict[str, Json] = {
            "system": [{"text": system}],
            "messages": [{"role": turn.role, "content": [{"text": turn.text}]} for turn in turns],
            "inferenceConfig": limits,
        }
        form = _FORMS[self._form]
        return {**body, "toolConfig": form} if form else body

    async def send(self, body: Mapping[str, Json]) -> Arrived:
        return await self._poster.post(body, await self._sign.headers(self._url, written(body).encode()))

    def said(self, text: str) -> Said:
        value: Any = loads(text)
        try:
            blocks, reason = list(value["output"]["message"]["content"]), value.get("stopReason")
            called = [block["toolUse"]["input"] for block in blocks if "toolUse" in block]
            words = "".join(str(block["text"]) for block in blocks if "text" in block)
            usage = value.get("usage") or {}
            spent, made = (int(usage.get(name) or 0) for name in ("inputTokens", "outputTokens"))
        except (AttributeError, KeyError, TypeError):
            raise ValueError("no conversation") from None
        said = dumps(called[0]) if called else words
        common = (None, reason, spent, made)
        if reason in _WITHHELD:
            return Said(said, "refused", _WITHHELD[reason], *common)
        if reason in _CUT:
            return Said(said, "cut_off", "the output limit came before the answer's end", *common)
        return Said(said, "read", None, *common)

    def yields(self, problem: str, body: Mapping[str, Json]) -> bool:
        words, limits, form = problem.lower(), body["inferenceConfig"], body.get("toolConfig")
        if "temperature" in words and isinstance(limits, Mapping) and "temperature" in limits:
            self._warm = True
            return True
        if not isinstance(form, Mapping):
            return False
        if "toolChoice" in form and "toolchoice" in words:
            self._form = max(self._form, 1)
        elif "toolconfig" in words or "tool use" in words:
            self._form = 2
        else:
            return False
        return True

    async def close(self) -> None:
        await self._poster.close()


class Bearer:
    """A key of Bedrock's own."""

    def __init__(self, key: str) -> None:
        self._headers = {"authorization": f"Bearer {key}"}

    async def headers(self, url: str, content: bytes) -> Mapping[str, str]:
        return self._headers


class Signature:
    """Signature version 4 with whatever credentials botocore finds."""

    def __init__(self, region: str, profile: str | None) -> None:
        self._region, self._profile = region, profile
        self._credentials: Any = None
        self._lock = asyncio.Lock()

    async def headers(self, url: str, content: bytes) -> Mapping[str, str]:
        async with self._lock:  # finding and refreshing credentials may ask the network
            frozen = await asyncio.to_thread(self._frozen)
        return self._signed(frozen, url, content)

    def _frozen(self) -> Any:
        import botocore.session  # type: ignore[import-untyped]
        from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]

        try:
            if self._credentials is None:
                self._credentials = botocore.session.Session(profile=self._profile).get_credentials()
            found = self._credentials and self._credentials.get_frozen_credentials()
        except BotoCoreError as error:
            raise JudgeError(f"the judge aws has no credentials: {' '.join(str(error).split())}") from None
        if not found:
            raise JudgeError(
                "the judge aws has no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a "
                "profile, or AWS_BEARER_TOKEN_BEDROCK"
            )
        return found

    def _signed(self, frozen: Any, url: str, content: bytes) -> Mapping[str, str]:
        from botocore.auth import SigV4Auth  # type: ignore[import-untyped]
        from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]

        request = AWSRequest("POST", url, data=content, headers={"content-type": "application/json"})
        SigV4Auth(frozen, "bedrock", self._region).add_auth(request)
        return dict(request.headers.items())
