"""An exchange as assembly sees it: what it says, when, and which ids it bears. Its bytes are let go."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from abs_replay.assembly.keys import ConversationKey, trace_id
from abs_replay.assembly.pairing import Use
from abs_replay.assembly.pool import Aside, Line, Pool
from abs_replay.decoders import Decoded, Message, Turn
from abs_replay.exchange import Exchange, Response, Role, header
from abs_replay.trace import Source

_NOWHERE: Mapping[int, tuple[Source, ...]] = {}
_ANSWERED: dict[int, Response] = {}  # one for each status
_NO_LINE = Line()


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """An exchange with what it says. Times are ms since the epoch; `end` is when its answer was there.

    `key` is the id that names its conversation outright; `retried` whether its client says that it
    tried before; `onward` whether it brings new messages alone, since the other side keeps the old.
    What is told in other exchanges too (a poll's answer, a post that was listed) has its sources
    `elsewhere`, by the message's place in memory, and those exchanges are `others`. `part` names
    what of the exchange this is, where it holds several things.

    `decoded` is without the turn, and the turn without its history: `messages` are what histories are
    compared by. `asides` is what stands between them: system messages, and messages that only think or show
    what the model's own side did, which clients drop and repeat as they like; each with how many of
    `messages` stand before it.
    """

    exchange: Exchange
    decoded: Decoded
    turn: Turn | None
    start: float
    end: float
    line: Line
    uses: tuple[Use, ...]
    key: str | None
    trace_id: str | None
    retried: bool
    asides: tuple[Aside, ...] = ()
    onward: bool = False
    elsewhere: Mapping[int, tuple[Source, ...]] = field(default_factory=dict)
    others: tuple[Exchange, ...] = ()
    part: str = ""

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.line.messages

    @property
    def begun(self) -> str | None:
        """The words that the request gave its reply to begin with."""
        return self.turn.begun if self.turn else None

    @property
    def role(self) -> Role:
        return self.exchange.channel.role

    @property
    def may_pass(self) -> bool:
        """Whether a failure of this may pass, so that the same again is another try (429, 5xx, no answer)."""
        response = self.exchange.response
        if response is None or self.decoded.complete is False:
            return True
        return response.status in (408, 425, 429) or response.status >= 500

    @property
    def answered_by(self) -> str:
        """The exchange that holds the reply: another one where that was polled for."""
        reply = self.turn.reply if self.turn else None
        return self.elsewhere[id(reply)][0].exchange if id(reply) in self.elsewhere else self.exchange.id

    def sources(self, message: Message) -> tuple[Source, ...]:
        """Give what shows a message."""
        return self.elsewhere.get(id(message)) or (Source(self.exchange.id, message.at),)


def seen(exchange: Exchange, decoded: Decoded, pool: Pool, by: ConversationKey | None = None) -> Seen:
    """Read and date an exchange: its answer ends with its last chunk, whenever the connection does."""
    start = exchange.started_at * 1000
    chunks = exchange.response.body.chunks if exchange.response else ()
    took = chunks[-1].at_ms if chunks else exchange.ended_ms or 0.0
    turn = decoded.turn
    line, asides = pool.heard(turn.history) if turn else (_NO_LINE, ())
    plain = decoded.protocol == "rest"
    headers = exchange.request.headers
    configured = by.of(exchange) if by else None
    return Seen(
        _outlined(exchange, pool),
        _without_turn(decoded, pool),
        pool.told(turn) if turn else None,
        start,
        start + max(took, 0.0) if took else start,
        line,
        uses=tuple(Use(use, exchange.channel.name, plain) for use in decoded.uses),
        key=header(headers, "x-abs-session") or configured or (decoded.session if turn else None),
        trace_id=trace_id(headers),
        # OpenAI's and Anthropic's SDKs count their attempts in this header.
        retried=(header(headers, "x-stainless-retry-count") or "0") not in ("0", ""),
        asides=asides,
        onward=bool(turn and turn.parent_id),
        elsewhere=_NOWHERE,
    )


def _outlined(exchange: Exchange, pool: Pool) -> Exchange:
    """Give an exchange without bodies and headers, which are what it weighs."""
    request, response = exchange.request, exchange.response
    return Exchange(
        exchange.id,
        pool.channel(exchange.channel),
        exchange.started_at,
        pool.request(request.method, request.target),
        _ANSWERED.setdefault(response.status, Response(response.status)) if response else None,
    )


def _without_turn(decoded: Decoded, pool: Pool) -> Decoded:
    """Give what an exchange says beside its turn; most say nothing, and share one."""
    if decoded.turn is None:
        return decoded
    rest = replace(decoded, turn=None)
    return rest if rest.uses or rest.posts or rest.spans or rest.answers else pool.silent(rest)


def by_time(seen: Seen) -> tuple[float, str]:
    """Order exchanges by when they began."""
    return seen.start, seen.exchange.id
