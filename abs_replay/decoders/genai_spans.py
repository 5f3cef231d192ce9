"""From a span's attributes to the turn or the tool use that it reports, by the conventions in use.

OpenTelemetry: opentelemetry.io/docs/specs/semconv/gen-ai (spans, agent spans, execute_tool); OpenLLMetry:
github.com/traceloop/openllmetry (`traceloop.*`); OpenInference: github.com/Arize-ai/openinference, spec/.
Whatever brought the span (OTLP, a file) makes a `Record` of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from abs_replay.decoders import chat_messages, genai_messages
from abs_replay.decoders.events import Message, Span, ToolUse, Turn
from abs_replay.decoders.fields import count, obj, structure, text
from abs_replay.decoders.genai_messages import parsed
from abs_replay.exact_json import Json
from abs_replay.trace import Usage

_MODEL: Final = ("chat", "text_completion", "completion", "generate_content", "responses", "message")
_WRAPS: Final = ("invoke_agent", "invoke_workflow", "create_agent")
_NONE: Final = ("embeddings", "retrieval", "create_agent")
_SESSIONS: Final = (
    "gen_ai.conversation.id",
    "session.id",
    "traceloop.association.properties.session_id",
)
_DETAILS: Final = "gen_ai.client.inference.operation.details"


@dataclass(frozen=True, slots=True)
class Record:
    """A finished span. Times are Unix seconds; `failed` says why, where its status is an error."""

    name: str
    span_id: str
    started_at: float
    ended_at: float
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[tuple[str, Mapping[str, Any]]] = ()
    trace_id: str | None = None
    parent_id: str | None = None
    failed: str | None = None
    at: str = ""

    def first(self, *names: str) -> Any:
        """Give the first attribute of those names that is there."""
        return next((self.attributes[name] for name in names if name in self.attributes), None)


def spans(records: Iterable[Record]) -> tuple[Span, ...]:
    """Give the spans that report a turn or a use; an agent's own counts where none within it does.

    A conversation that one span of a trace names is that of the whole trace.
    """
    known = list(records)
    sessions = _sessions(known)
    inner = {one.trace_id for one in known if _calls_model(one)}
    found: list[Span] = []
    for one in known:
        wraps = _wraps(one)
        if wraps and one.trace_id in inner:
            continue
        span = _span(one, wraps, sessions)
        if span:
            found.append(span)
    return tuple(found)


def _span(one: Record, wraps: bool, sessions: Mapping[str | None, str]) -> Span | None:
    use = None if wraps else _use(one)
    turn = None if use else _turn(one) if wraps or _calls_model(one) else None
    if use is None and turn is None:
        return None
    session = _session(one) or sessions.get(one.trace_id)
    return Span(
        one.span_id, one.started_at, one.ended_at, turn, use, one.trace_id, one.parent_id, session or None
    )


def _session(one: Record) -> str | None:
    return next((named for name in _SESSIONS if (named := text(one.attributes.get(name)))), None)


def _sessions(records: Iterable[Record]) -> dict[str | None, str]:
    """Give the one conversation of each trace; none where its spans name several."""
    found: dict[str | None, str] = {}
    for one in records:
        named = _session(one)
        if named and one.trace_id:
            found[one.trace_id] = named if found.get(one.trace_id, named) == named else ""
    return found


def _operation(one: Record) -> str | None:
    return text(one.first("gen_ai.operation.name", "llm.request.type"))


def _wraps(one: Record) -> bool:
    return _operation(one) in _WRAPS or one.attributes.get("openinference.span.kind") == "AGENT"


def _calls_model(one: Record) -> bool:
    if _wraps(one) or _operation(one) in _NONE or _is_tool(one):
        return False
    kind = one.attributes.get("openinference.span.kind")
    if _operation(one) in _MODEL or kind == "LLM":
        return True
    return _operation(one) is None and any(
        name.startswith(("gen_ai.prompt", "gen_ai.completion")) or name == "gen_ai.output.messages"
        for name in one.attributes
    )


# -- turns --------------------------------------------------------------------


def _turn(one: Record) -> Turn | None:
    history, said = _messages(one)
    reply = next((m for m in (reversed(said) if _wraps(one) else said) if m.role == "assistant"), None)
    if _wraps(one):  # an agent's output may be all that happened
        history += [message for message in said if message is not reply]
    answer = text(one.attributes.get("gen_ai.response.id"))
    if not history and reply is None and answer is None:
        return None
    model = one.first("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
    return Turn(tuple(history), reply, text(model), _usage(one), one.failed, response_id=answer)


def _messages(one: Record) -> tuple[list[Message], list[Message]]:
    """Give what was sent and what was said, from the first convention that tells it."""
    for read in (_with_parts, _flat, _open_inference, _events):
        history, said = read(one)
        if history or said:
            return history, said
    return [], []


def _with_parts(one: Record) -> tuple[list[Message], list[Message]]:
    found = dict(one.attributes)
    for name, attributes in one.events:
        if name == _DETAILS:
            found = {**attributes, **found}
    history = genai_messages.instructions(found.get("gen_ai.system_instructions"), one.at)
    history += genai_messages.listed(found.get("gen_ai.input.messages"), one.at)
    return history, genai_messages.listed(found.get("gen_ai.output.messages"), one.at)


def _flat(one: Record) -> tuple[list[Message], list[Message]]:
    history = genai_messages.flat(one.attributes, "gen_ai.prompt", one.at)
    said = genai_messages.flat(one.attributes, "gen_ai.completion", one.at)
    history = history or genai_messages.written(one.attributes.get("gen_ai.prompt"), "user", one.at)
    said = said or genai_messages.written(one.attributes.get("gen_ai.completion"), "assistant", one.at)
    return history, [_assistant(message) for message in said]


def _assistant(message: Message) -> Message:
    return message if message.role == "assistant" else replace(message, role="assistant")


def _open_inference(one: Record) -> tuple[list[Message], list[Message]]:
    return (
        genai_messages.open_inference(one.attributes, "llm.input_messages", one.at),
        genai_messages.open_inference(one.attributes, "llm.output_messages", one.at),
    )


def _events(one: Record) -> tuple[list[Message], list[Message]]:
    found = list(genai_messages.told(one.events, one.at))
    return [m for by_model, m in found if not by_model], [m for by_model, m in found if by_model]


def _usage(one: Record) -> Usage | None:
    given = one.first("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
    made = one.first(
        "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"
    )
    if given is None and made is None:
        return None
    cached = one.first(
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
    )
    thought = one.first("gen_ai.usage.reasoning_tokens", "llm.token_count.completion_details.reasoning")
    return Usage(count(given), count(made), count(cached), count(thought))


# -- uses ---------------------------------------------------------------------


def _is_tool(one: Record) -> bool:
    return (
        _operation(one) == "execute_tool"
        or one.attributes.get("openinference.span.kind") == "TOOL"
        or one.attributes.get("traceloop.span.kind") == "tool"
        or (one.attributes.get("mcp.method.name") == "tools/call" and "gen_ai.tool.name" in one.attributes)
    )


def _use(one: Record) -> ToolUse | None:
    if not _is_tool(one):
        return None
    named = one.first("gen_ai.tool.name", "tool.name", "traceloop.entity.name")
    name = text(named) or one.name.removeprefix("execute_tool ")
    result = one.first("gen_ai.tool.call.result", "tool_response", "output.value")
    content = structure(result) if isinstance(result, str) else result
    if result is None:  # OpenLLMetry writes texts as JSON, too
        written = one.attributes.get("traceloop.entity.output")
        content = written if (read := parsed(written)) is None else read
    return ToolUse(name, _arguments(one), content, one.failed, one.at, one.at)


def _arguments(one: Record) -> Json:
    given = one.first("gen_ai.tool.call.arguments", "tool_arguments", "input.value", "tool.parameters")
    if given is not None:
        found = chat_messages.arguments(given)
        return found if isinstance(found, dict) else {"input": found}
    asked = parsed(one.attributes.get("traceloop.entity.input"))
    # OpenLLMetry writes what a function, or LangChain's tool, was called with.
    inner = obj(obj(asked).get("kwargs")) or obj(obj(asked).get("inputs"))
    return inner or (asked if isinstance(asked, dict) else {} if asked is None else {"input": asked})
