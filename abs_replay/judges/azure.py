"""Azure AI Foundry: evaluators on a deployment of Azure OpenAI, and the safety evaluators of a project.

    llm_judge, custom with criteria             our own prompt
    Groundedness, Relevance, Coherence,         Azure's evaluators, 1 to 5 (`azure_ratings`)
    Fluency, azure.intent_resolution,
    azure.tool_call_accuracy
    azure.task_adherence                        the same, 0 or 1
    the safety dimensions                       the project's service, severity 7 to 0 (`azure_safety`)

A rule with `criteria` of its own is asked with our own prompt, whatever its type.

This speaks Azure's HTTP itself: azure-ai-evaluation would bring pandas, nltk and four more packages of Azure
to send the same request, and keeps no attempts. Endpoint, key, deployment and version are those of the
configuration, else AZURE_OPENAI_ENDPOINT, AZURE_OPENAI_API_KEY or AZURE_OPENAI_KEY, AZURE_OPENAI_DEPLOYMENT,
AZURE_OPENAI_API_VERSION; the project AZURE_AI_PROJECT_ENDPOINT. Without a key azure-identity gives a token.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from abs_replay.exact_json import Json
from abs_replay.judgement import Question, Usage
from abs_replay.judges import azure_ratings, azure_safety, azure_token
from abs_replay.judges.calling import Caller, Contact, Turn
from abs_replay.judges.engine import Engine, Sample
from abs_replay.judges.fence import new_name
from abs_replay.judges.inputs import inputs_of, wanted
from abs_replay.judges.model_engine import (
    LETTERS_A_TOKEN,
    ModelEngine,
    Parameters,
    endpoint,
    parameters_of,
)
from abs_replay.judges.openai_compatible import ChatCompletions
from abs_replay.judges.prices import cost_of
from abs_replay.judges.rating import Put, ServiceEngine, rate
from abs_replay.judges.refusals import Origins
from abs_replay.judges.routing import Absent
from abs_replay.judges.settings import EngineSettings, Unconfigured, checked_url, own

if TYPE_CHECKING:
    from openai import AsyncOpenAI

API_VERSION: Final = "2024-10-21"  # the last one that is generally available; 1.0 needs none (/openai/v1)
SCOPE: Final = "https://cognitiveservices.azure.com/.default"
_OPTIONS: Final = ("deployment", "api_version", "project")
_REPLY_TOKENS: Final = 200  # what a rating takes
EXTRA: Final = "azure-identity: pip install 'abs-replay[azure]'"


def open_engine(settings: EngineSettings) -> "Azure":
    """Open the engine; raises `Unconfigured` where there is neither a deployment nor a project."""
    token = azure_token.Token()
    model, safety = _model(settings, token), _safety(settings, token)
    if isinstance(model, str) and isinstance(safety, str):
        raise Unconfigured(model)
    return Azure(model, safety)


@dataclass(slots=True)
class Azure:
    """An `Engine` of two: a deployment, and a project's safety. A text says why one of them is not there."""

    model: "Deployment | str"
    safety: ServiceEngine | str
    name: str = "azure"

    @property
    def shown(self) -> str:
        return "azure" if isinstance(self.model, str) else self.model.shown

    @property
    def fingerprint(self) -> str:
        """Of both; an answer depends on one of them, and is kept under that one's (`part`)."""
        return " ".join(
            each if isinstance(each, str) else each.fingerprint for each in (self.model, self.safety)
        )

    def part(self, question: Question) -> Engine:
        """The one that decides such a question."""
        of_safety = question.type in azure_safety.METRICS and not wanted(question)
        part = self.safety if of_safety else self.model
        return Absent("azure", part) if isinstance(part, str) else part

    def refuses(self, question: Question) -> str | None:
        return self.part(question).refuses(question)

    def estimate(self, question: Question) -> Usage:
        return self.part(question).estimate(question)

    async def sample(self, question: Question, number: int) -> Sample:
        return await self.part(question).sample(question, number)

    async def close(self) -> None:
        for part in (self.model, self.safety):
            if not isinstance(part, str):
                await part.close()


# -- the project


def _safety(settings: EngineSettings, token: azure_token.Token) -> ServiceEngine | str:
    project = own(settings, "project", "AZURE_AI_PROJECT_ENDPOINT")
    if project is None:
        return "the judge azure needs a project for safety: set AZURE_AI_PROJECT_ENDPOINT"
    if not azure_token.installed():
        return f"the judge azure needs a token for safety, and for that {EXTRA}"
    project = checked_url(project, "AZURE_AI_PROJECT_ENDPOINT")
    service = azure_safety.Safety(project, token, settings.timeout)

    def put(question: Question) -> Put | str:
        return azure_safety.put_of(question.type, inputs_of(question))

    parts: dict[str, Json] = {"version": azure_safety.API_VERSION}
    return ServiceEngine("azure", "azure safety", service, settings.timeout, put, parts)


# -- the deployment


def _model(settings: EngineSettings, token: azure_token.Token) -> "Deployment | str":
    options = {key: each for key, each in settings.options.items() if key not in _OPTIONS}
    parameters = parameters_of("azure", options)
    at = settings.base_url or own(settings, "", "AZURE_OPENAI_ENDPOINT")
    model = own(settings, "deployment") or settings.model or own(settings, "", "AZURE_OPENAI_DEPLOYMENT")
    if at is None:
        return "the judge azure needs an endpoint: set AZURE_OPENAI_ENDPOINT"
    if model is None:
        return "the judge azure needs a deployment: set AZURE_OPENAI_DEPLOYMENT"
    key = settings.api_key or own(settings, "", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_KEY")
    if key is None and not azure_token.installed():
        return f"the judge azure needs a key: set AZURE_OPENAI_API_KEY, or log in with {EXTRA}"
    access = Access(checked_url(at, "AZURE_OPENAI_ENDPOINT"), model, _version(settings), key, token)
    return Deployment(
        ModelEngine("azure", model, Chat(access, settings, parameters), settings, parameters),
        Ratings(access, settings, parameters),
        settings,
        parameters,
    )


def _version(settings: EngineSettings) -> str:
    return own(settings, "api_version", "AZURE_OPENAI_API_VERSION") or API_VERSION


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach one deployment."""

    at: str
    model: str
    version: str
    key: str | None
    token: azure_token.Token

    @property
    def where(self) -> str:
        return endpoint(self.at if self.is_v1 else f"{self.at}/openai/deployments/{self.model}")

    @property
    def is_v1(self) -> bool:
        return self.at.endswith("/openai/v1")

    def client(self, timeout: float) -> "AsyncOpenAI":
        import openai

        async def token() -> str:
            return await self.token.get(SCOPE)

        common: dict[str, Any] = {"timeout": timeout, "max_retries": 0}
        if self.is_v1:
            common |= {"base_url": self.at, "api_key": self.key or token}
            if self.key:
                common["default_headers"] = {"api-key": self.key}
            return openai.AsyncOpenAI(**common)
        common |= {"azure_endpoint": self.at, "azure_deployment": self.model, "api_version": self.version}
        common |= {"api_key": self.key} if self.key else {"azure_ad_token_provider": token}
        return openai.AsyncAzureOpenAI(**common)


class Chat(ChatCompletions):
    """The wire of our own prompt."""

    origins = Origins("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_DEPLOYMENT")

    def __init__(self, access: Access, settings: EngineSettings, parameters: Parameters) -> None:
        super().__init__(access.model, replace(settings, api_key=access.key), parameters)
        self.where, self._access, self._seconds = access.where, access, settings.timeout

    def _own_headers(self) -> dict[str, Any]:
        """The package knows Azure's headers, but for those of its newer addresses."""
        import openai

        by_key = self._access.is_v1 and self._access.key is not None
        return {"Authorization": openai.omit} if by_key else {}

    def _opened(self) -> "AsyncOpenAI":
        self._client = self._client or self._access.client(self._seconds)
        return self._client


class Ratings(Chat):
    """The wire of ratings, whose reply has another form."""

    forms = (
        {
            "type": "json_schema",
            "json_schema": {"name": "rating", "strict": True, "schema": azure_ratings.SCHEMA},
        },
        {"type": "json_object"},
        None,
    )


@dataclass(slots=True)
class Deployment:
    """What a deployment is asked: ratings, and whatever else with our own prompt."""

    chat: ModelEngine
    ratings: Ratings
    settings: EngineSettings
    parameters: Parameters
    name: str = "azure"
    _contact: Contact = field(default_factory=Contact)

    @property
    def shown(self) -> str:
        return self.chat.shown

    @property
    def fingerprint(self) -> str:
        return f"{self.chat.fingerprint} {azure_ratings.VERSION}"

    def refuses(self, question: Question) -> str | None:
        evaluator = azure_ratings.evaluator_of(question)
        if evaluator is not None:
            return azure_ratings.lacks(evaluator, inputs_of(question))
        id_ = str(inputs_of(question).custom.get("id", ""))
        if question.type == "custom" and id_.startswith("azure."):
            known = ", ".join(name for name in azure_ratings.EVALUATORS if name.startswith("azure."))
            return f"azure has no evaluator `{id_}`; known: {known}"
        return self.chat.refuses(question)

    def estimate(self, question: Question) -> Usage:
        evaluator = azure_ratings.evaluator_of(question)
        if evaluator is None:
            return self.chat.estimate(question)
        words = azure_ratings.SYSTEM + azure_ratings.prompt(evaluator, inputs_of(question), new_name())
        asked = len(words) // LETTERS_A_TOKEN + 1
        return Usage(1, asked, _REPLY_TOKENS, self._cost(None, asked, _REPLY_TOKENS))

    async def sample(self, question: Question, number: int) -> Sample:
        evaluator = azure_ratings.evaluator_of(question)
        if evaluator is None:
            return await self.chat.sample(question, number)
        caller = Caller(self.ratings, self.settings.timeout, self._cost, self._contact)
        turn = Turn("user", azure_ratings.prompt(evaluator, inputs_of(question), new_name()))
        tries = self.parameters.max_attempts
        return await rate(caller, evaluator.quality, evaluator.scale, azure_ratings.SYSTEM, (turn,), tries)

    async def close(self) -> None:
        await self.chat.close()
        await self.ratings.close()

    def _cost(self, model: str | None, input_tokens: int, output_tokens: int) -> float | None:
        return cost_of(model or self.chat.model, input_tokens, output_tokens, self.settings.price)
