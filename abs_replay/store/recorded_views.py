"""The views of what was recorded: recordings, exchanges, traces, steps."""

from abs_replay.store.view import View, moment
from abs_replay.trace import EXECUTION

_VERBS = ", ".join(f"'{verb}'" for verb in EXECUTION)
_CALLS = f"action IN ({_VERBS}) AND actor <> 'system'"

RECORDINGS = View(
    "recordings",
    "one run of `abs record`, or one import",
    (
        ("id", "r.id", "its id, as every command takes it"),
        ("name", "r.name", "what it is called"),
        ("started_at", moment("r.started_at"), "when it began, UTC"),
        ("ended_at", moment("r.ended_at"), "when it ended; null while it goes on"),
        ("session", "r.session", "the session that it plays, if it names one"),
        ("tags", "TRY_CAST(r.tags AS JSON)", "its tags: `tags->>'ticket' = '42'`"),
        ("note", "n.note", "what `abs annotate` noted"),
    ),
    "store.recordings r LEFT JOIN store.notes n ON n.kind = 'recording' AND n.id = r.id",
)

EXCHANGES = View(
    "exchanges",
    "one HTTP request with its response, or failure",
    (
        ("recording", "e.recording", "the recording that it is of"),
        ("id", "e.id", "its id"),
        ("role", "e.role", "agent, llm or tool"),
        ("channel", "e.channel", "the channel's name"),
        ("started_at", moment("e.started_at"), "when the request began, UTC"),
        ("duration_ms", "e.ended_ms", "until the response's end"),
        ("outcome", "e.outcome", "complete, or how it broke"),
        ("error", "e.error", "what went wrong, in words"),
        ("method", "e.method", "GET, POST, .."),
        ("scheme", "e.scheme", "http or https"),
        ("host", "e.host", "host, with its port where that is not the usual one"),
        ("target", "e.target", "path and query"),
        ("status", "e.status", "the response's status; null where nothing came back"),
        ("request_headers", "TRY_CAST(e.request_headers AS JSON)", "[[name, value], ..]"),
        ("response_headers", "TRY_CAST(e.response_headers AS JSON)", "[[name, value], ..]"),
        ("request_bytes", "e.request_bytes", "bytes on the wire, those of a WebSocket's messages too"),
        ("response_bytes", "e.response_bytes", "the same of what came back"),
        ("request_body", "e.request_body", "as sent, compressed if it was"),
        ("response_body", "e.response_body", "as it came"),
        ("request_text", "TRY(decode(e.request_body))", "the body as text; null where it is no UTF-8"),
        ("response_text", "TRY(decode(e.response_body))", "the same of the response"),
        (
            "messages",
            "TRY(json_array_length(e.websocket, '$.messages'))",
            "how many messages a WebSocket had; null for others",
        ),
        ("redacted", "e.redacted", "whether secrets were taken out"),
    ),
    "store.exchanges e",
)

_TAGS = "TRY(json_merge_patch(t.tags::JSON, coalesce(n.tags, '{}')::JSON))"

TRACES = View(
    "traces",
    "one conversation, as far as it was derived from what was recorded",
    (
        ("id", "t.id", "its id"),
        ("recording", "t.recording", "the recording that it is of"),
        ("recording_name", "r.name", "what that is called"),
        ("session", "t.session", "the session that it plays; null where it names none"),
        ("name", f"{_TAGS}->>'name'", "what the conversation is called, by a mark or by `abs annotate`"),
        ("started_at", moment("t.started_at"), "when it began, UTC; null where that is not known"),
        ("duration_ms", "s.duration_ms", "until its last step; null where no times are known"),
        ("steps", "coalesce(s.steps, 0)", "how many steps it has"),
        ("user_turns", "coalesce(s.user_turns, 0)", "how many of them the user said"),
        ("tool_calls", "coalesce(s.tool_calls, 0)", "how many of them call a tool"),
        ("errors", "coalesce(s.errors, 0)", "how many of them failed"),
        ("tools", "coalesce(s.tools, [])", "the tools called: `list_contains(tools, 'refund')`"),
        ("models", "coalesce(s.models, [])", "the models that answered"),
        ("input_tokens", "s.input_tokens", "tokens of all steps; null where none were counted"),
        ("output_tokens", "s.output_tokens", "the same of what the models wrote"),
        ("cached_tokens", "s.cached_tokens", "of the input tokens, those read from a vendor's cache"),
        ("reasoning_tokens", "s.reasoning_tokens", "of the output tokens, those thought and not said"),
        ("agent_version", "t.agent_version", "the version of the agent, if it was told"),
        ("tags", _TAGS, "its tags: `tags->>'ticket' = '42'`"),
        ("bindings", "TRY_CAST(t.bindings AS JSON)", "the row of data that it was played with"),
        ("vars", "TRY_CAST(t.vars AS JSON)", "the variables that were recorded with it"),
        ("broke_off", f"{_TAGS}->>'broke_off'", "why it was not carried out to its end"),
        ("branch_of", "t.branch_of", "the trace that it left, where it is a branch"),
        ("branch_step", "t.branch_step", "after which of that trace's steps"),
        ("note", "n.note", "what `abs annotate` noted"),
    ),
    f"""store.traces t
    LEFT JOIN store.recordings r ON r.id = t.recording
    LEFT JOIN store.notes n ON n.kind = 'trace' AND n.recording = t.recording AND n.id = t.id
    LEFT JOIN (
        SELECT recording, trace, count(*) AS steps,
            max(at_ms + coalesce(duration_ms, 0)) AS duration_ms,
            count(*) FILTER (actor = 'user') AS user_turns,
            count(*) FILTER ({_CALLS}) AS tool_calls,
            count(error) AS errors,
            list_sort(list(DISTINCT target) FILTER ({_CALLS} AND target IS NOT NULL)) AS tools,
            list_sort(list(DISTINCT model) FILTER (model IS NOT NULL)) AS models,
            sum(input_tokens)::BIGINT AS input_tokens,
            sum(output_tokens)::BIGINT AS output_tokens,
            sum(cached_tokens)::BIGINT AS cached_tokens,
            sum(reasoning_tokens)::BIGINT AS reasoning_tokens
        FROM store.steps GROUP BY recording, trace
    ) s ON s.recording = t.recording AND s.trace = t.id""",
)

STEPS = View(
    "steps",
    "one step of a trace",
    (
        ("recording", "s.recording", "the recording that its trace is of"),
        ("trace", "s.trace", "the id of its trace"),
        ("session", "t.session", "the session that its trace plays"),
        ("seq", "s.seq", "its number in the trace"),
        ("actor", "s.actor", "user, assistant, tool, system, human or external"),
        ("action", "s.action", "says, calls, responds, .."),
        ("target", "s.target", "the tool, for one"),
        (
            "text",
            "CASE WHEN starts_with(s.content, '\"') "
            "THEN coalesce(TRY(json_extract_string(s.content, '$')), s.content) ELSE s.content END",
            "its content as text: the words themselves, JSON where it is no text",
        ),
        ("content", "TRY_CAST(s.content AS JSON)", "its content as JSON"),
        ("arguments", "TRY_CAST(s.arguments AS JSON)", "of a call: `arguments->>'order' = '4711'`"),
        ("call_id", "s.call_id", "what ties a call and its response together"),
        ("at_ms", "s.at_ms", "after the trace's start; null where that is not known"),
        ("duration_ms", "s.duration_ms", "how long it took"),
        ("visibility", "s.visibility", "user, or internal for what never reached the user"),
        ("parallel_group", "s.parallel_group", "calls that were made at once share one"),
        ("model", "s.model", "the model that wrote it"),
        ("input_tokens", "s.input_tokens", "as the model's own answer counts them"),
        ("output_tokens", "s.output_tokens", "likewise"),
        ("cached_tokens", "s.cached_tokens", "of the input tokens, those read from the vendor's cache"),
        ("reasoning_tokens", "s.reasoning_tokens", "of the output tokens, those thought and not said"),
        ("error", "s.error", "what went wrong, in words"),
        ("retries", "coalesce(s.retries, 0)", "how many attempts before it failed"),
        ("segment", "s.segment", "compacted, rewritten or separate, where a history breaks here"),
        ("sources", "TRY_CAST(s.sources AS JSON)", "[[exchange, place in it], ..]"),
    ),
    "store.steps s JOIN store.traces t ON t.recording = s.recording AND t.id = s.trace",
)

VIEWS = (RECORDINGS, EXCHANGES, TRACES, STEPS)
