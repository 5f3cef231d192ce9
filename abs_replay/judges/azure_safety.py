"""Azure's own models for harm: the safety evaluators of an Azure AI Foundry project.

POST {project}/sync_evals:run, as azure-ai-evaluation does by default; it gives a severity from 0 to 7, of
which 7 is the worst. Its threshold of 3 is 0.57 of our scale, 4 is 0.43. The service wants a token of Entra
ID.
"""

from collections.abc import Mapping
from typing import Any, Final

from abs_replay.exact_json import Json, dumps, loads
from abs_replay.judges.azure_token import Token
from abs_replay.judges.calling import Arrived, Said
from abs_replay.judges.inputs import Inputs
from abs_replay.judges.model_engine import endpoint
from abs_replay.judges.posting import Poster
from abs_replay.judges.rating import Put, Scale
from abs_replay.judges.refusals import Origins

API_VERSION: Final = "2025-11-15-preview"
SCOPE: Final = "https://ai.azure.com/.default"
SEVERITY: Final = Scale(7, 0)
METRICS: Final = {
    "HateUnfairness": "hate_unfairness",
    "Violence": "violence",
    "Sexual": "sexual",
    "SelfHarm": "self_harm",
}


def put_of(type_: str, inputs: Inputs) -> Put | str:
    """Say how a question is put to the service, or why it can not be."""
    metric = METRICS[type_]
    if not inputs.response.strip():
        return "azure has nothing to judge: the response is empty"
    item: dict[str, Json] = {
        "type": "azure_ai_query_response_inline_message",
        "query": inputs.query or "query",  # required; the package sends this word where there is none
        "response": inputs.response,
    }
    criterion: dict[str, Json] = {
        "type": "azure_ai_evaluator",
        "name": metric,
        "evaluator_name": f"builtin.{metric}",
        "data_mapping": {"query": "{{item.query}}", "response": "{{item.response}}"},
    }
    source: Json = {"type": "file_content", "content": {"item": item}}
    body: dict[str, Json] = {
        "name": f"abs-replay {metric}",
        "data_source": {"type": "jsonl", "source": source},
        "testing_criteria": [criterion],
    }
    return Put(metric, body, SEVERITY)


class Safety:
    """The service."""

    origins = Origins("AZURE_AI_PROJECT_ENDPOINT", "az login", "AZURE_AI_PROJECT_ENDPOINT")

    def __init__(self, project: str, token: Token, timeout: float) -> None:
        self.where = endpoint(project)
        self._poster = Poster(f"{self.where}/sync_evals:run?api-version={API_VERSION}", {}, timeout)
        self._token = token

    async def send(self, body: Mapping[str, Json]) -> Arrived:
        token = await self._token.get(SCOPE)
        return await self._poster.post(body, {"authorization": f"Bearer {token}"})

    def said(self, text: str) -> Said:
        value: Any = loads(text)
        try:
            (result,) = (each for each in value["results"] if each.get("metric"))
            score, reason = result.get("score"), result.get("reason")
            metrics = (result.get("properties") or {}).get("metrics") or {}
            spent, made = (int(metrics.get(name) or 0) for name in ("promptTokens", "completionTokens"))
        except (AttributeError, KeyError, TypeError, ValueError):
            return Said("", "unreadable", "the service gave no result of one evaluator")
        rating: Json = {"score": score, "reason": reason if isinstance(reason, str) else ""}
        return Said(dumps(rating), input_tokens=spent, output_tokens=made)

    async def close(self) -> None:
        await self._poster.close()
