"""What stands in several exchanges, made one sighting: answers that are polled for, and posts to a chat.

A background answer is asked for again and again: its turn is the one request, its reply what the last
poll showed. A chat server keeps the messages, and shows each in the user's POST, in streams and in
lists: each post is told once, when it was seen first, and a user's posts with the answer behind them
are one turn.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from abs_replay.assembly.pool import Line
from abs_replay.assembly.sightings import Seen, by_time
from abs_replay.decoders import Post, Turn
from abs_replay.exchange import Exchange, Role
from abs_replay.trace import Source


def polled(everything: Iterable[Seen]) -> list[Seen]:
    """Put each poll's answer into the turn that it asks for; a poll whose turn was not seen stands itself."""
    found: list[Seen] = []
    places: dict[tuple[Role, str], int] = {}
    for one in sorted(everything, key=by_time):
        turn = one.turn
        place = places.get((one.role, turn.poll_of)) if turn and turn.poll_of else None
        if place is not None:
            found[place] = _filled(found[place], one)
            continue
        if turn and turn.response_id:
            places[one.role, turn.response_id] = len(found)
        found.append(one)
    return found


def _filled(asked: Seen, poll: Seen) -> Seen:
    before, now = asked.turn, poll.turn
    assert before is not None
    assert now is not None
    others = (*asked.others, poll.exchange)
    if now.reply is None and now.error is None:
        return replace(asked, others=others)
    if before.reply is not None and before.error is None:
        elsewhere = {**asked.elsewhere, id(before.reply): (*asked.sources(before.reply), *_reply_at(poll))}
        return replace(asked, others=others, elsewhere=elsewhere)
    turn = replace(
        before,
        reply=now.reply,
        error=now.error,
        model=now.model or before.model,
        usage=now.usage or before.usage,
    )
    elsewhere = {**asked.elsewhere, id(now.reply): _reply_at(poll)}
    decoded = replace(asked.decoded, complete=poll.decoded.complete)
    return replace(
        asked,
        decoded=decoded,
        turn=turn,
        end=max(asked.end, poll.end),
        others=others,
        elsewhere=elsewhere,
    )


def _reply_at(one: Seen) -> tuple[Source, ...]:
    reply = one.turn.reply if one.turn else None
    return one.sources(reply) if reply else (Source(one.exchange.id, "response"),)


@dataclass(slots=True)
class _Kept:
    """A post, with all that shows it; `time` is when it was seen first."""

    post: Post
    seen: Seen
    time: float
    sources: list[Source] = field(default_factory=list)
    others: list[Exchange] = field(default_factory=list)


def posted(everything: Iterable[Seen]) -> list[Seen]:
    """Give all that are no posts, and the turns that the posts of each chat come to."""
    found: list[Seen] = []
    chats: dict[str, dict[str, _Kept]] = {}
    roles: dict[str, dict[str, str]] = {}
    for one in everything:
        if one.decoded.posts:
            name = one.key or one.decoded.session or str(one.exchange.channel)
            chat, known = chats.setdefault(name, {}), roles.setdefault(name, {})
            for post in one.decoded.posts:
                _keep(chat, post, one)
                if post.author and not post.guessed:
                    known[post.author] = post.message.role
            _before_what_follows([chat[post.post_id] for post in one.decoded.posts], one)
        else:
            found.append(one)
    for name, chat in chats.items():
        for kept in chat.values():
            kept.post = _by_its_author(kept.post, roles[name])
        found += _turns(name, sorted(chat.values(), key=lambda kept: kept.time))
    return found


def _by_its_author(post: Post, roles: Mapping[str, str]) -> Post:
    """Better a guess: an author is who it was elsewhere, and nobody whose opposite is known."""
    if not post.guessed:
        return post
    role = roles.get(post.author or "", post.message.role)
    if post.author not in roles and len(set(roles.values())) == 1:
        role = "assistant" if "user" in roles.values() else "user"
    return replace(post, message=replace(post.message, role=role))


def _keep(chat: dict[str, _Kept], post: Post, one: Seen) -> None:
    time = one.end if post.at_ms is None else one.start + post.at_ms
    kept = chat.setdefault(post.post_id, _Kept(post, one, time))
    if time < kept.time:
        kept.post, kept.seen, kept.time = post, one, time
    shown = Source(one.exchange.id, post.message.at)
    kept.sources.insert(0 if kept.post is post else len(kept.sources), shown)
    kept.others.append(one.exchange)


def _before_what_follows(listed: Sequence[_Kept], one: Seen) -> None:
    """What stands before a post in a list was there before it, though nobody had looked yet.

    Some lists begin with the newest: the posts that were known before say in which order this one is.
    """
    known = [kept.time for kept in listed if kept.seen is not one]
    if len(known) < 2:
        return
    if known == sorted(known):
        listed = listed[::-1]
    elif known != sorted(known, reverse=True):
        return
    latest = math.inf
    for kept in listed:  # from the newest on
        kept.time = min(kept.time, math.nextafter(latest, -math.inf))
        latest = kept.time


def _turns(chat: str, posts: Sequence[_Kept]) -> list[Seen]:
    """Make turns: each post of the user, the last of them with the answer, and further answers alone."""
    made: list[Seen] = []
    asked: _Kept | None = None
    for kept in posts:
        if kept.post.message.role == "user":
            made += [_turn(chat, asked, None)] if asked else []
            asked = kept
        else:
            made.append(_turn(chat, asked, kept))
            asked = None
    return [*made, *([_turn(chat, asked, None)] if asked else [])]


def _turn(chat: str, asked: _Kept | None, answer: _Kept | None) -> Seen:
    whole = [kept for kept in (asked, answer) if kept]
    first, last = whole[0], whole[-1]
    return replace(
        first.seen,
        decoded=replace(first.seen.decoded, posts=()),
        turn=Turn((), answer.post.message if answer else None),
        start=first.time,
        end=last.time,
        line=Line.of((asked.post.message,) if asked else ()),
        key=chat,
        onward=True,
        elsewhere={id(kept.post.message): tuple(dict.fromkeys(kept.sources)) for kept in whole},
        others=tuple(exchange for kept in whole for exchange in kept.others),
        part=first.post.post_id,
    )
