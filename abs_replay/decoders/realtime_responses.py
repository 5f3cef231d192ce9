"""A response of OpenAI's Realtime API as it comes: its items, its words and arguments, and how it ended."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from abs_replay.decoders import responses_items
from abs_replay.decoders.events import Message, Round, Turn
from abs_replay.decoders.failures import UNFINISHED
from abs_replay.decoders.fields import count, items, obj, text
from abs_replay.decoders.places import place
from abs_replay.decoders.realtime_items import Input, Output, messages
from abs_replay.decoders.socket_messages import MESSAGES, Event, around, words_of
from abs_replay.decoders.usage import usage


@dataclass(slots=True, eq=False)
class Response:
    """A response, and what it answers. `cut` says how much of it its user heard, if not all."""

    began: Event
    history: list[Input | Message]
    model: str | None
    outputs: dict[str, Output] = field(default_factory=dict)
    done: Mapping[str, Any] | None = None
    ended_ms: float = 0.0
    error: str | None = None
    cut: tuple[str, ...] = ()

    def event(self, event: Event) -> None:
        """Read an event of this response."""
        if self.done is None:
            self.ended_ms = event.at_ms
        OF_A_RESPONSE[event.fields["type"]](self, event)

    def _output(self, event: Event, item: Mapping[str, Any]) -> Output:
        name = text(item.get("id")) or text(event.fields.get("item_id")) or ""
        output = self.outputs.setdefault(name, Output(first=event.number))
        output.last = event.number
        return output

    def item(self, event: Event) -> None:
        item = obj(event.fields.get("item"))
        self._output(event, item).add(item)

    def words(self, event: Event) -> None:
        index, texts = count(event.fields.get("content_index")), self._output(event, {}).texts
        texts[index] = texts.get(index, "") + (text(event.fields.get("delta")) or "")

    def words_done(self, event: Event) -> None:
        said = text(event.fields.get("text")) or text(event.fields.get("transcript"))
        if said:
            self._output(event, {}).texts[count(event.fields.get("content_index"))] = said

    def arguments(self, event: Event) -> None:
        """Take in arguments of a call; who says them whole says its name, too."""
        output, fields = self._output(event, {}), event.fields
        output.add({key: fields.get(key) for key in ("name", "call_id")})
        output.given = text(fields.get("arguments")) or output.given + (text(fields.get("delta")) or "")

    def ended(self, event: Event) -> None:
        fields = obj(event.fields.get("response"))
        for item in map(obj, items(fields.get("output"))):
            known = self.outputs.setdefault(text(item.get("id")) or "", Output(first=event.number))
            known.last = known.last or event.number
            known.add(item)
        # xAI counts beside the response.
        self.done = fields if obj(fields.get("usage")) else {**fields, "usage": event.fields.get("usage")}

    def round(self, remarks: list[str]) -> Round:
        """The round that it comes to; `remarks` get what it does not show."""
        done = self.done or {}
        turn = Turn(
            messages(self.history),
            self._reply(remarks),
            text(done.get("model")) or self.model,
            usage(obj(done.get("usage")), ("input_tokens",), ("output_tokens",)),
            self._ending(remarks),
            text(done.get("id")),
        )
        inputs = [one for one in self.history if isinstance(one, Input)]
        asked_ms = inputs[-1].event.at_ms if inputs else self.began.at_ms
        return around(turn, asked_ms, self.ended_ms)

    def _reply(self, remarks: list[str]) -> Message | None:
        outputs = list(self.outputs.values())
        if not outputs:
            return None
        places = [place(MESSAGES, one.first, one.last) for one in outputs]
        whole = place(MESSAGES, outputs[0].first, max(one.last for one in outputs))
        reply, told = responses_items.reply([one.whole() for one in outputs], places, whole)
        remarks += told
        return reply if reply.content is not None or reply.calls or reply.parts else None

    def _ending(self, remarks: list[str]) -> str | None:
        """Why it broke off, if it did: https://platform.openai.com/docs/api-reference/realtime-server-events/response/done."""
        if self.done is None:
            return self.error or UNFINISHED
        status, details = self.done.get("status"), obj(self.done.get("status_details"))
        reason = text(details.get("reason"))
        if status == "cancelled":
            return "; ".join([f"interrupted: {reason}" if reason else "interrupted", *self.cut])
        if status == "failed":
            return words_of(details.get("error")) or self.error or "the response failed"
        if status == "incomplete":
            remarks.append(f"finish_reason {reason or 'incomplete'}")
        return "; ".join(["interrupted", *self.cut]) if self.cut else None


OF_A_RESPONSE: Final[Mapping[str, Callable[[Response, Event], None]]] = {
    "response.output_item.added": Response.item,
    "response.output_item.done": Response.item,
    "response.output_text.delta": Response.words,
    "response.output_text.done": Response.words_done,
    "response.text.delta": Response.words,
    "response.text.done": Response.words_done,
    "response.output_audio_transcript.delta": Response.words,
    "response.output_audio_transcript.done": Response.words_done,
    "response.audio_transcript.delta": Response.words,
    "response.audio_transcript.done": Response.words_done,
    "response.function_call_arguments.delta": Response.arguments,
    "response.function_call_arguments.done": Response.arguments,
    "response.mcp_call_arguments.delta": Response.arguments,
    "response.mcp_call_arguments.done": Response.arguments,
    "response.done": Response.ended,
}
