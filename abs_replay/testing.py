"""Builders and a fake judge, for tests of sessions, evaluators and reports: ours and yours.

from abs_replay.asking import judged
from abs_replay.testing import FakeJudge, step, trace

observed = trace(step("user", "says", "Where is my order?"), step(content="It is on its way."))
(run,) = judged([(observed, session)], judge=FakeJudge(0.9))
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from abs_replay.exact_json import Json, dumps
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Headers, Request, Response, Role
from abs_replay.judgement import Answer, Question
from abs_replay.trace import Step, Trace, Visibility

type Content = Json | bytes  # bytes stand for themselves, text too, anything else as compact JSON


def step(
    actor: str = "assistant",
    action: str = "responds",
    content: Json = None,
    *,
    target: str | None = None,
    arguments: Json = None,
    call_id: str | None = None,
    internal: bool = False,
    seq: int = 0,
) -> Step:
    """One observed entry; without a `seq` of its own, `trace` numbers it."""
    visibility = Visibility.INTERNAL if internal else Visibility.USER
    return Step(seq, actor, action, target, content, arguments, call_id, visibility=visibility)


def trace(
    *steps: Step,
    id: str = "t-1",  # noqa: A002 (the field of a trace is called so)
    session: str | None = None,
    bindings: Mapping[str, Json] | None = None,
    tags: Mapping[str, str] | None = None,
) -> Trace:
    """A conversation of these steps, numbered from 1, or from the last `seq` that was given."""
    numbered: list[Step] = []
    for one in steps:
        before = numbered[-1].seq if numbered else 0
        numbered.append(one if one.seq else replace(one, seq=before + 1))
    return Trace(id, tuple(numbered), session, bindings=bindings or {}, tags=tags or {})


def exchange(
    request: Content = None,
    response: Content = None,
    *,
    role: Role = Role.AGENT,
    name: str | None = None,
    method: str = "POST",
    target: str = "/chat",
    status: int = 200,
    headers: Headers = (),
    id: str = "x-1",  # noqa: A002 (the field of an exchange is called so)
    started_at: float = 0.0,
) -> Exchange:
    """One request and its response on a channel; `headers` are the response's, beside its content type."""
    sent, came = _body(request), _body(response)
    return Exchange(
        id,
        Channel(role, name or role),
        started_at,
        Request(method, target, _content_type(request), sent, host="agent.test"),
        Response(status, (*_content_type(response), *headers), came),
        ended_ms=1.0,
    )


def _body(content: Content) -> Body:
    if content is None:
        return Body()
    written = content if isinstance(content, str | bytes) else dumps(content)
    data = written.encode() if isinstance(written, str) else written
    return Body(data, (Chunk(len(data), 1.0),))


def _content_type(content: Content) -> Headers:
    if content is None or isinstance(content, bytes):
        return ()
    kind = "text/plain; charset=utf-8" if isinstance(content, str) else "application/json"
    return (("content-type", kind),)


@dataclass(slots=True)
class FakeJudge:
    """Answers every question with one score, or with what a function makes of it (None: no answer).

    `asked` are the questions in the order in which they came, one tuple a round.
    """

    score: float | Callable[[Question], float | Answer | None]
    reason: str = "because the test says so"
    asked: list[tuple[Question, ...]] = field(default_factory=list)

    def ask(self, questions: Sequence[Question]) -> Mapping[str, Answer]:
        self.asked.append(tuple(questions))
        answers = {question.digest: self._answer(question) for question in questions}
        return {digest: answer for digest, answer in answers.items() if answer is not None}

    def _answer(self, question: Question) -> Answer | None:
        given = self.score(question) if callable(self.score) else self.score
        return Answer(given, self.reason, "fake") if isinstance(given, int | float) else given
