"""Events of OpenAI's Realtime API, in the order of the connection, and the rounds that they come to.

Items that a client adds are told where the client did, once, whether the server's event that they were
added came or not; those of speech where the server did. An item that the server refused is told of in a
remark alone.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from abs_replay.decoders import responses_tools
from abs_replay.decoders.events import Message, Round, Turn
from abs_replay.decoders.fields import count, items, obj, text
from abs_replay.decoders.places import place
from abs_replay.decoders.realtime_items import Input, messages
from abs_replay.decoders.realtime_responses import OF_A_RESPONSE, Response
from abs_replay.decoders.socket_messages import MESSAGES, Event, around, words_of


@dataclass(slots=True)
class Reading:
    """Reads one connection, event by event."""

    model: str | None
    session: str | None = None
    remarks: list[str] = field(default_factory=list)
    _instructions: Message | None = None
    _told: str | None = None
    _waiting: list[Input] = field(default_factory=list)
    _inputs: dict[str, Input] = field(default_factory=dict)
    _unconfirmed: list[Input] = field(default_factory=list)
    _create: Event | None = None  # a client's, that no response answered yet
    _rounds: list[Response | Round] = field(default_factory=list)
    _responses: dict[str, Response] = field(default_factory=dict)
    _failure: tuple[str, float] | None = None

    @property
    def complete(self) -> bool:
        """Whether every response came to its end."""
        return all(response.done is not None for response in self._responses.values())

    def event(self, event: Event) -> None:
        """Read the next event; what is not known says nothing of the conversation."""
        kind = text(event.fields.get("type")) or ""
        handler = (_OF_CLIENTS if event.from_client else _OF_SERVERS).get(kind)
        if handler:
            handler(self, event)

    def finished(self, closed: str | None, ended_ms: float) -> Iterator[Round]:
        """Give all rounds, and at last what was never answered; `closed` says what was wrong with the end."""
        for one in self._rounds:
            yield one if isinstance(one, Round) else one.round(self.remarks)
        history = messages(self._waiting)
        words, at_ms = self._failure or (closed, ended_ms)
        if history or (words and not self._rounds):
            asked_ms = self._waiting[-1].event.at_ms if self._waiting else at_ms
            yield around(Turn(history, model=self.model, error=words), asked_ms, at_ms)

    # -- what a client adds ---------------------------------------------------

    def session_event(self, event: Event) -> None:
        fields = obj(event.fields.get("session"))
        if not event.from_client:
            self.session = self.session or text(fields.get("id"))
            self.model = text(fields.get("model")) or self.model
        words = text(fields.get("instructions"))
        if words and (self._instructions is None or self._instructions.content != words):
            self._instructions = Message("system", words, at=place(MESSAGES, event.number))

    def item_created(self, event: Event) -> None:
        item = obj(event.fields.get("item"))
        one = Input(item, event)
        self._waiting.append(one)
        self._unconfirmed.append(one)
        if text(item.get("id")):
            self._inputs[item["id"]] = one

    def response_asked(self, event: Event) -> None:
        self._create = event

    def item_added(self, event: Event) -> None:
        """Take in what the server says it added: a client's item, or one that it made of speech."""
        item = obj(event.fields.get("item"))
        name = text(item.get("id")) or ""
        sent = (one for one in self._unconfirmed if _is_same(one.fields, item))
        known = self._inputs.get(name) or next(sent, None)
        if known:
            self._inputs[name] = known
            if known in self._unconfirmed:
                self._unconfirmed.remove(known)
        elif responses_tools.kind(item) == "message" and item.get("role") in ("user", "system"):
            self._heard(name, item, event)

    def committed(self, event: Event) -> None:
        name = text(event.fields.get("item_id")) or ""
        if name not in self._inputs:
            sound = {"type": "message", "role": "user", "content": [{"type": "input_audio"}]}
            self._heard(name, sound, event)

    def _heard(self, name: str, item: Mapping[str, Any], event: Event) -> None:
        one = Input(item, event)
        self._inputs[name] = one
        self._waiting.append(one)

    def transcribed(self, event: Event) -> None:
        one = self._inputs.get(text(event.fields.get("item_id")) or "")
        if one is None:
            return
        if isinstance(event.fields.get("transcript"), str):
            one.heard = event.fields["transcript"]
        else:
            one.heard += text(event.fields.get("delta")) or ""

    def not_transcribed(self, event: Event) -> None:
        why = words_of(event.fields.get("error")) or "no reason is given"
        self.remarks.append(f"speech was not transcribed: {why}")

    def item_deleted(self, event: Event) -> None:
        gone = self._inputs.get(text(event.fields.get("item_id")) or "")
        self._waiting = [one for one in self._waiting if one is not gone]

    # -- responses ------------------------------------------------------------

    def response_created(self, event: Event) -> None:
        name = text(obj(event.fields.get("response")).get("id"))
        self._begin(name or place(MESSAGES, event.number), event)

    def _begin(self, name: str, event: Event) -> Response:
        create = obj(self._create.fields.get("response")) if self._create else {}
        given = [Input(obj(item), self._create or event) for item in items(create.get("input"))]
        history: list[Input | Message] = []
        if self._instructions and self._instructions.content != self._told:
            history.append(self._instructions)
            self._told = str(self._instructions.content)
        if text(create.get("instructions")) and self._create:
            at = place(MESSAGES, self._create.number)
            history.append(Message("system", create["instructions"], at=at))
        if create.get("conversation") != "none":  # else it is asked beside the conversation
            history += self._waiting
            self._waiting = []
        self._create = None
        made = self._responses[name] = Response(event, [*history, *given], self.model, ended_ms=event.at_ms)
        self._rounds.append(made)
        return made

    def answer(self, event: Event) -> None:
        """Take in what came of a response."""
        name = (
            text(event.fields.get("response_id")) or text(obj(event.fields.get("response")).get("id")) or ""
        )
        response = self._responses.get(name) or self._begin(name, event)
        response.event(event)

    def truncated(self, event: Event) -> None:
        """Note how much of a spoken answer its user heard, at most."""
        name = text(event.fields.get("item_id")) or ""
        cut = next((one for one in reversed(self._responses.values()) if name in one.outputs), None)
        if cut:
            cut.cut = (f"{count(event.fields.get('audio_end_ms'))} ms were heard",)

    # -- failures -------------------------------------------------------------

    def failed(self, event: Event) -> None:
        """Find what an error answers: an item, a response that was asked for, one that is under way."""
        error = obj(event.fields.get("error"))
        words = words_of(error) or "an error without words"
        cause = text(error.get("event_id"))
        refused = [one for one in self._waiting if cause and one.event.fields.get("event_id") == cause]
        open_ = next((one for one in self._responses.values() if one.done is None), None)
        if refused:
            self._waiting = [one for one in self._waiting if one not in refused]
            self._unconfirmed = [one for one in self._unconfirmed if one not in refused]
            self.remarks.append(f"an item was not added: {words}")
        elif open_:
            open_.error = words
            self.remarks.append(f"error: {words}")
        elif self._create and cause in (None, self._create.fields.get("event_id")):
            asked_ms = self._waiting[-1].event.at_ms if self._waiting else self._create.at_ms
            turn = Turn(messages(self._waiting), model=self.model, error=words)
            self._rounds.append(around(turn, asked_ms, event.at_ms))
            self._waiting, self._create = [], None
        else:
            self._failure = words, event.at_ms
            self.remarks.append(f"error: {words}")

    def _messages(self, history: list[Input] | list[Input | Message]) -> tuple[Message, ...]:
        found = (one if isinstance(one, Message) else one.message() for one in history)
        return tuple(message for message in found if message is not None)


def _is_same(sent: Mapping[str, Any], added: Mapping[str, Any]) -> bool:
    """Say whether a server's item is one that a client sent without an id."""
    kinds = {responses_tools.kind(sent), responses_tools.kind(added)}
    if len(kinds) > 1 or text(sent.get("id")) not in (None, added.get("id")):
        return False
    key = "role" if kinds == {"message"} else "call_id"
    return bool(sent.get(key) == added.get(key))


type _Handler = Callable[[Reading, Event], None]

_OF_CLIENTS: Final[Mapping[str, _Handler]] = {
    "session.update": Reading.session_event,
    "conversation.item.create": Reading.item_created,
    "response.create": Reading.response_asked,
}
_HEARD: Final = "conversation.item.input_audio_transcription"
_OF_SERVERS: Final[Mapping[str, _Handler]] = {
    "session.created": Reading.session_event,
    "session.updated": Reading.session_event,
    "conversation.item.added": Reading.item_added,
    "conversation.item.created": Reading.item_added,
    "conversation.item.done": Reading.item_added,
    "conversation.item.deleted": Reading.item_deleted,
    "conversation.item.truncated": Reading.truncated,
    "input_audio_buffer.committed": Reading.committed,
    f"{_HEARD}.delta": Reading.transcribed,
    f"{_HEARD}.completed": Reading.transcribed,
    f"{_HEARD}.failed": Reading.not_transcribed,
    "response.created": Reading.response_created,
    **dict.fromkeys(OF_A_RESPONSE, Reading.answer),
    "error": Reading.failed,
}
