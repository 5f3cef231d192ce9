"""The views of what was judged: gradings, verdicts and what became of them, and what people said."""

from abs_replay.store.view import View, moment

GRADINGS = View(
    "gradings",
    "one pass over traces",
    (
        ("id", "g.id", "its id, as every command takes it"),
        ("made_at", moment("g.made_at"), "when, UTC"),
        ("result", "g.result", "passed, failed or error: the worst of its runs"),
        ("runs", "coalesce(r.runs, 0)", "how many traces were judged by a session"),
        ("passed", "coalesce(r.passed, 0)", "how many of them passed"),
        ("failed", "coalesce(r.failed, 0)", "how many failed"),
        ("errors", "coalesce(r.errors, 0)", "how many could not be decided"),
        ("who", "g.who", "who graded"),
        ("command", "g.command", "the command that did"),
        ("version", "g.version", "by which abs-replay"),
        ("git_commit", "g.git_commit", "the commit of the session files"),
        ("git_dirty", "g.git_dirty", "whether they differed from it"),
        ("files", "TRY_CAST(g.files AS JSON)", "each session file with the sha256 of its bytes"),
        ("judges", "TRY_CAST(g.judges AS JSON)", "the judges that were asked"),
        ("votes", "g.votes", "how often each question was asked"),
        ("refused", "TRY_CAST(g.refused AS JSON)", "the gates that did not hold; null where none refused it"),
    ),
    """store.gradings g LEFT JOIN (
        SELECT grading, count(*) AS runs, count(*) FILTER (result = 'passed') AS passed,
            count(*) FILTER (result = 'failed') AS failed, count(*) FILTER (result = 'error') AS errors
        FROM store.runs GROUP BY grading
    ) r ON r.grading = g.id""",
)

_VERDICT = (
    ("grading", "v.grading", "the grading that it is of"),
    ("made_at", moment("g.made_at"), "when that was made, UTC"),
    ("session", "v.session", "the session that judged"),
    ("trace", "v.trace", "the id of the trace that was judged"),
    ("at", 'v."at"', "the evaluation's place: behaviors[2].evaluations[0]"),
    ("type", "v.type", "its type: contains, llm_judge, .."),
    ("label", "v.label", "the rule in words"),
    ("status", "v.status", "passed, failed, inconclusive, error, not_evaluable or skipped"),
    ("score", "v.score", "0 to 1; null where there is none"),
    ("threshold", "v.threshold", "what the score had to reach"),
    ("blocking", "v.blocking", "whether what depends on it became inconclusive"),
    ("reason", "v.reason", "why, in words"),
    ("evidence", "v.evidence", "the numbers of the steps that it looked at"),
    ("judge", "v.judge", "who answered; null where no judge was needed"),
    (
        "judge_fingerprint",
        "v.judge_fingerprint",
        "what tells it from other judges: engine, address, model, parameters, prompt",
    ),
    ("question", "v.question", "the digest of what was asked: rule and evidence"),
    ("fingerprint", "v.fingerprint", "the rule as a hash: QUESTION.DECISION.VERSION"),
    ("scores", "v.scores", "one a vote, where several were asked for"),
    ("unstable", "coalesce(v.unstable, false)", "whether the votes were split"),
    ("cached", "coalesce(v.cached, false)", "whether the answer was there already"),
    ("carried", "v.carried", "whether it equals that of the grading before"),
    ("duration_ms", "v.duration_ms", "how long it took"),
    ("input_tokens", "v.input_tokens", "what this grading spent on it"),
    ("output_tokens", "v.output_tokens", "likewise"),
    ("cost", "v.cost", "likewise, in US dollars; null where the price is not known"),
)
_OF_GRADING = "store.verdicts v JOIN store.gradings g ON g.id = v.grading"

VERDICTS = View(
    "verdicts",
    "one evaluation of one trace in one grading; compositions are whole",
    _VERDICT,
    f"{_OF_GRADING} WHERE v.parent IS NULL",
)

VERDICT_PARTS = View(
    "verdict_parts",
    "one part of a composition (all_of, any_of, none_of), with the columns of verdicts",
    (*_VERDICT, ("part_of", 'whole."at"', "the place of the composition that it is part of")),
    f"""{_OF_GRADING} JOIN store.verdicts whole
    ON whole.grading = v.grading AND whole.run = v.run AND whole.verdict = v.parent""",
)

_LATEST = """(
        SELECT session, trace, arg_max(grading, (made_at, grading)) AS grading FROM (
            SELECT r.session, r.trace, r.grading, g.made_at
            FROM store.runs r JOIN store.gradings g ON g.id = r.grading
        ) GROUP BY session, trace
    )"""

CURRENT_VERDICTS = View(
    "current_verdicts",
    "each evaluation as it stands: the verdicts of the last grading in which that session judged that trace",
    tuple((name, f'v."{name}"', meaning) for name, _, meaning in _VERDICT),
    f"verdicts v SEMI JOIN {_LATEST} last USING (session, trace, grading)",
)

_BETTER = "v.status = 'passed' AND b.status <> 'skipped'"
_WORSE = "b.status = 'passed' AND v.status <> 'skipped'"

FLIPS = View(
    "flips",
    "one evaluation that came out otherwise than in the grading before of the same session and trace. "
    "Evaluations are paired by place and type; `abs diff` also follows those that moved",
    (
        ("session", "v.session", "the session that judged"),
        ("trace", "v.trace", "the id of the trace"),
        ("at", 'v."at"', "the evaluation's place"),
        ("type", "v.type", "its type"),
        ("label", "v.label", "the rule in words, as it is now"),
        (
            "direction",
            f"CASE WHEN {_WORSE} THEN 'regression' WHEN {_BETTER} THEN 'improvement' ELSE 'change' END",
            "regression, improvement, or change where it was neither",
        ),
        ("before", "b.grading", "the grading before"),
        ("after", "v.grading", "the grading in which it flipped"),
        ("flipped_at", "v.made_at", "when that was made, UTC"),
        ("status_before", "b.status", "what it came to before"),
        ("status_after", "v.status", "and what then"),
        ("score_before", "b.score", "the score before"),
        ("score_after", "v.score", "and then"),
        ("reason_before", "b.reason", "why, before"),
        ("reason_after", "v.reason", "and then"),
        (
            "question_changed",
            "split_part(v.fingerprint, '.', 1) <> split_part(b.fingerprint, '.', 1)",
            "whether what the rule asks was edited",
        ),
        (
            "decision_changed",
            "split_part(v.fingerprint, '.', 2) <> split_part(b.fingerprint, '.', 2)",
            "whether its threshold or condition was",
        ),
        (
            "judge_changed",
            "v.judge_fingerprint IS DISTINCT FROM b.judge_fingerprint OR v.judge IS DISTINCT FROM b.judge",
            "whether another judge answered",
        ),
        ("unstable", "v.unstable OR b.unstable", "whether a judge's votes were split, before or then"),
    ),
    """verdicts v
    JOIN (
        SELECT r.session, r.trace, r.grading, lag(r.grading) OVER (
            PARTITION BY r.session, r.trace ORDER BY g.made_at, r.grading, r.run
        ) AS before
        FROM store.runs r JOIN store.gradings g ON g.id = r.grading
    ) pair ON pair.session = v.session AND pair.trace = v.trace AND pair.grading = v.grading
    JOIN verdicts b ON b.grading = pair.before AND b.session = v.session AND b.trace = v.trace
        AND b."at" = v."at" AND b.type = v.type
    WHERE b.status <> v.status""",
)

JUDGE_COST = View(
    "judge_cost",
    "what one model of one judge took in one grading; answers that were there already took nothing",
    (
        ("grading", "a.grading", "the grading that asked"),
        (
            "made_at",
            f"any_value({moment('g.made_at')})",
            "when that was made, UTC; null where it was stopped",
        ),
        ("judge", "any_value(n.shown)", "the judge's name"),
        ("judge_fingerprint", "a.judge", "what tells it from other judges"),
        ("model", "a.model", "the model that answered, as it calls itself"),
        ("questions", "count(DISTINCT a.question)", "how many questions were asked"),
        ("attempts", "count(*)", "how many times, votes and repeats included"),
        ("calls", "sum(a.calls)::BIGINT", "how many requests that took"),
        ("input_tokens", "sum(a.input_tokens)::BIGINT", "tokens sent"),
        ("output_tokens", "sum(a.output_tokens)::BIGINT", "tokens written"),
        (
            "cost",
            "CASE WHEN count(*) = count(a.cost) THEN sum(a.cost) END",
            "in US dollars; null where the price of something is not known",
        ),
        ("duration_ms", "sum(a.duration_ms)", "how long all of it took, one after the other"),
    ),
    """store.attempts a
    LEFT JOIN store.gradings g ON g.id = a.grading
    LEFT JOIN (SELECT judge, any_value(shown) AS shown FROM store.answers GROUP BY judge) n
        ON n.judge = a.judge
    GROUP BY a.grading, a.judge, a.model""",
)

LABELS = View(
    "labels",
    "one verdict of a person",
    (
        ("id", "l.id", "its id"),
        ("made_at", moment("l.made_at"), "when it was given, UTC"),
        ("who", "l.who", "who gave it"),
        ("session", "l.session", "the session that judges"),
        ("trace", "l.trace", "the id of the trace"),
        ("at", 'l."at"', "the evaluation's place"),
        ("verdict", "l.verdict", "pass, fail or unsure"),
        ("note", "l.note", "why"),
        ("question", "l.question", "the digest of the question that was labelled"),
        ("fingerprint", "l.fingerprint", "the rule as it was then"),
        ("grading", "l.grading", "the grading whose verdict was looked at"),
        (
            "current",
            """row_number() OVER (
            PARTITION BY l.session, l.trace, l."at", l.who ORDER BY l.made_at DESC, l.rowid DESC
        ) = 1""",
            "whether it is the last word of that person on it",
        ),
    ),
    "store.labels l",
)

# Of one judge only its last verdict on each question counts: it was asked again since.
JUDGE_AGREEMENT = View(
    "judge_agreement",
    "one person's last label beside one judge's last verdict on the same evaluation of the same trace",
    (
        ("session", "l.session", "the session that judges"),
        ("trace", "l.trace", "the id of the trace"),
        ("at", 'l."at"', "the evaluation's place"),
        ("type", "v.type", "its type"),
        ("label", "v.label", "the rule in words"),
        ("judge", "v.judge", "the judge's name; null where the rule needs none"),
        ("judge_fingerprint", "v.judge_fingerprint", "what tells it from other judges"),
        ("who", "l.who", "the person"),
        ("human", "l.verdict", "pass, fail or unsure"),
        ("status", "v.status", "what the judge's answer came to"),
        ("score", "v.score", "the judge's score"),
        (
            "stale",
            """CASE
            WHEN l.question IS NOT NULL AND v.question IS NOT NULL THEN l.question <> v.question
            ELSE split_part(l.fingerprint, '.', 1) <> split_part(v.fingerprint, '.', 1)
        END""",
            "whether the rule, or what it looks at, was changed since the label was given",
        ),
        (
            "agrees",
            """CASE WHEN l.verdict IN ('pass', 'fail') AND v.status IN ('passed', 'failed')
            THEN (l.verdict = 'pass') = (v.status = 'passed') END""",
            "whether both say the same; null where one of them does not decide",
        ),
        ("note", "l.note", "the person's reason"),
        ("reason", "v.reason", "the judge's reason"),
        ("grading", "v.grading", "the grading of the judge's verdict"),
        ("current", "v.current", "whether that verdict is the one that stands now"),
    ),
    f"""labels l JOIN (
        SELECT every.*, last.grading IS NOT NULL AS current, row_number() OVER (
            PARTITION BY every.session, every.trace, every."at", every.judge, every.judge_fingerprint
            ORDER BY every.made_at DESC, every.grading DESC
        ) AS back
        FROM (FROM verdicts UNION ALL BY NAME SELECT * EXCLUDE (part_of) FROM verdict_parts) every
        LEFT JOIN {_LATEST} last USING (session, trace, grading)
    ) v ON v.session = l.session AND v.trace = l.trace AND v."at" = l."at" AND v.back = 1
    WHERE l.current""",
)

VIEWS = (
    GRADINGS,
    VERDICTS,
    VERDICT_PARTS,
    CURRENT_VERDICTS,
    FLIPS,
    LABELS,
    JUDGE_AGREEMENT,
    JUDGE_COST,
)
