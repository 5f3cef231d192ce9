"""`abs label` and `abs calibrate`: people's verdicts beside a judge's, from a label to a corrected rate."""

import csv
import io
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.exchange import Recording
from abs_replay.labels import Label
from abs_replay.store import Store
from abs_replay.testing import step, trace
from abs_replay.verdicts import Grading, Judged, Report, Result, Run, Status, Verdict

AT = "evaluations[0]"

type Calls = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with three verdicts of a judge, which each test gets a copy of."""
    path = tmp_path_factory.mktemp("made") / "store.duckdb"
    with_traces(keep(Store(path), [0.9, 0.2, 0.7]), 3)
    return path


@pytest.fixture
def abs_(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Calls:
    """Call `abs` beside that store, with lines typed; gives exit status, standard output and error."""
    monkeypatch.chdir(tmp_path)
    Path(".abs").mkdir()
    shutil.copy(made, ".abs/store.duckdb")
    monkeypatch.delenv("ABS_STORE", raising=False)
    monkeypatch.setenv("LOGNAME", "eve")

    def call(*arguments: str, typed: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
        status = run(cli, arguments)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def judged(trace_id: str, score: float, question: str = "q", judge: str = "ann") -> Run:
    status = Status.PASSED if score >= 0.5 else Status.FAILED
    verdicts = (
        Verdict(
            *(AT, "llm_judge", status, f"scored {score:g}", score, 0.5),
            evidence=(1, 2),
            judge=judge,
            fingerprint=f"{question}.d.1",
            label='llm_judge "is friendly"',
            judged=Judged(f"{question}-{trace_id}", f"f-{judge}", (score,)),
        ),
        Verdict(
            "evaluations[1]", "contains", Status.PASSED, "", 1.0, fingerprint="c.d.1", label='contains "x"'
        ),
    )
    return Run("Orders", None, trace_id, Result.PASSED, (), verdicts)


def keep(store: Store, scores: Sequence[float], grading: str = "g-1", at: float = 100, **more: str) -> Store:
    runs = tuple(judged(f"t-{nth}", score, **more) for nth, score in enumerate(scores))
    store.save_grading(Grading(grading, at, Report(runs, grading)))
    return store


def opened() -> Store:
    return Store(Path(".abs/store.duckdb"))


def with_traces(store: Store, count: int) -> None:
    store.begin(Recording("r-1", "demo", 1.0))
    told = [
        trace(
            step("user", "says", f"Question {nth}?"),
            step(content=f"Answer {nth}."),
            id=f"t-{nth}",
            session="Orders",
        )
        for nth in range(count)
    ]
    store.save_traces("r-1", [replace(each, recording="r-1") for each in told], "d", "1")


def test_each_evaluation_is_shown_with_its_conversation_and_labelled_by_a_key_and_a_note(abs_: Calls) -> None:
    store = opened()

    status, out, err = abs_("label", typed="p\nnonsense\nf too curt\nq\n")

    assert status == 0
    assert [
        part in out for part in ("1 of 3", "Question 0?", "Answer 1.", 'llm_judge "is friendly"', "steps 1-2")
    ]
    assert "scored" not in out  # which would sway who labels
    assert "'nonsense' is none of them" in err
    assert err.endswith("2 labels kept, 1 left: call it again to go on\n")
    assert [(label.trace, label.verdict, label.note, label.question) for label in store.labels()] == [
        ("t-0", "pass", None, "q-t-0"),
        ("t-1", "fail", "too curt", "q-t-1"),
    ]


def test_it_goes_on_where_it_was_left_and_a_second_thought_takes_no_word_away(abs_: Calls) -> None:
    store = opened()

    assert abs_("label", "--who", "max", typed="p\ns\np\n")[2].endswith(
        "2 labels kept, 1 left: call it again to go on\n"
    )
    assert "1 of 1" in abs_("label", "--who", "max", typed="f\nb\n")[1]
    assert abs_("label", "--who", "max")[2] == "nothing to label: max has labelled all 3 evaluations\n"

    keep(store, [0.9, 0.2], "g-2", 200, question="edited")
    assert "1 of 2" in abs_("label", "--who", "max", typed="u\nb\np\n")[1]
    assert [label.verdict for label in store.labels()] == ["pass", "pass", "fail", "unsure", "pass"]


def test_what_nobody_can_look_at_any_more_is_left_out(abs_: Calls) -> None:
    opened().remove(["r-1"])

    told = "3 evaluations left out, whose traces are no longer in the store\n"
    assert abs_("label", typed="p\n") == (0, "", told)


def test_where_label_and_judge_differ_a_second_look_is_had(abs_: Calls) -> None:
    store = opened()
    abs_("label", typed="p\np\nu\n")

    status, out, _ = abs_("label", "--only-disagreeing", "--show-verdict", typed="f seen again\n")

    assert (status, "1 of 1" in out, "ann says failed (0.2): scored 0.2" in out) == (0, True, True)
    assert store.labels()[-1].note == "seen again"
    assert abs_("label", "--only-disagreeing")[2] == "nothing to label: nobody disagrees\n"


def test_a_spreadsheet_is_filled_in_and_taken_over_once(abs_: Calls) -> None:
    store = opened()
    abs_("label", typed="p\n")

    assert abs_("label", "--export", "labels.csv")[0] == 0
    rows = list(csv.DictReader(Path("labels.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["trace"], row["verdict"], row["status"]) for row in rows] == [
        ("t-0", "pass", ""),
        ("t-1", "", ""),
        ("t-2", "", ""),
    ]
    rows[1] |= {
        "verdict": "Failed",
        "note": 'too "curt",\nfar',
        "who": "max",
        "made_at": "2026-05-31T12:00:00+00:00",
    }
    with Path("labels.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)

    told = "1 label taken over, 1 known already, 1 row without a verdict left out\n"
    assert abs_("label", "--import", "labels.csv") == (0, "", told)
    new = store.labels()[0]
    assert (new.who, new.verdict, new.note, new.question) == ("max", "fail", 'too "curt",\nfar', "q-t-1")
    assert new.made_at == 1_780_228_800
    assert abs_("label", "--export", "labels.csv")[0] == 2
    exported = abs_("label", "--export", "-")[1]
    assert [row["verdict"] for row in csv.DictReader(io.StringIO(exported))] == ["pass", "fail", ""]


def test_every_problem_of_a_file_is_said_by_line_and_nothing_of_it_is_taken_over(abs_: Calls) -> None:
    store = opened()
    Path("labels.csv").write_text(
        "session,trace,at,verdict,made_at\n"
        "Orders,t-0,evaluations[0],pass,\n"
        "Orders,t-1,evaluations[0],good,\n"
        "Orders,t-7,evaluations[0],fail,\n"
        "Order,t-1,evaluations[0],fail,\n"
        "Orders,t-1,evaluations[0],fail,yesterday\n"
    )
    status, _, err = abs_("label", "--import", "labels.csv")
    assert status == 2
    assert err.splitlines() == [
        "labels.csv:3: verdict 'good': say pass, fail or unsure, or nothing",
        "labels.csv:4: no verdict stands for trace 't-7': did you mean 't-2'?",
        "labels.csv:5: no verdict stands for session 'Order': did you mean 'Orders'?",
        "labels.csv:6: made_at 'yesterday': say a time as 2026-05-31T12:00:00+00:00, or nothing",
    ]
    assert store.labels() == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "labels.csv:1: there is no column 'session'"),
        (b"session,trace,at,verdit\n", "labels.csv:1: unknown column 'verdit': did you mean verdict"),
        (b"session,trace,at,verdict,at\n", "labels.csv:1: column 'at' is there twice"),
        (b'session,trace,at,verdict\na,"b\n', "labels.csv:2: is no CSV: unexpected end of data"),
        (b"session,trace,at,verdict\na,b,c,pass,e\n", "labels.csv:2: it has more cells than the first line"),
        (b"session,trace,at,verdict\n\xff", "labels.csv: is no UTF-8 text (byte 25)"),
    ],
)
def test_a_file_that_is_none_is_refused_in_a_line(abs_: Calls, text: bytes, said: str) -> None:
    Path("labels.csv").write_bytes(text)
    status, _, err = abs_("label", "--import", "labels.csv")

    assert (status, said in err) == (2, True), err


def test_a_judge_is_calibrated_and_its_pass_rate_corrected(abs_: Calls) -> None:
    # Of 20 traces ann passes 12; people pass 10 of those and 4 of the 8 that ann fails.
    store = keep(opened(), [0.9] * 12 + [0.3] * 8, "g-1b", 150)
    words = ["pass"] * 10 + ["fail"] * 2 + ["pass"] * 4 + ["fail"] * 4
    labels = [
        Label(f"l-{nth}", 1.0, "eve", "Orders", f"t-{nth}", AT, word, "rude", f"q-t-{nth}", "q.d.1")
        for nth, word in enumerate(words)
    ]
    assert store.add_labels(labels) == 20

    status, out, _ = abs_("calibrate", "--worst", "1")
    assert status == 0
    assert "20 labels: agreement 70.0 % [48.1 to 85.5], kappa 0.348 [" in out
    assert "people pass             10             4" in out
    assert "people fail              2             4" in out
    assert "pass rate 60.0 % of 20 as judged, 70.0 % corrected for the judge's errors" in out
    assert "worst disagreements\n    t-10\n      eve fail: rude\n      ann passed (0.9): scored 0.9\n" in out

    (found,) = json.loads(abs_("calibrate", "--format", "json")[1])["calibrations"]
    assert found["confusion"] == {
        "both_pass": 10,
        "judge_alone_passes": 2,
        "people_alone_pass": 4,
        "both_fail": 4,
    }
    assert found["tpr"]["value"] == pytest.approx(10 / 14)
    assert (found["corrected"]["rate"], found["corrected"]["clipped"]) == (pytest.approx(0.7), False)
    assert len(found["disagreements"]) == 6

    keep(store, [0.9] * 12 + [0.3] * 8, "g-2", 200, question="edited")
    told = abs_("calibrate")[1]
    assert "left out: 20 stale, the rule or what it looks at having changed" in told
    assert "60.0 % of 20 as judged; not corrected: all labels are stale" in told

    keep(store, [0.9] * 10 + [0.3] * 10, "g-3", 300, judge="bob")
    told = abs_("calibrate")[1]
    assert "bob (f-bob)\n  20 labels: agreement 80.0 %" in told
    assert "ann (f-ann), whose answers stand no more" in told
    assert store.labelled().populations[0].judge == "bob"


def test_without_labels_it_is_said_how_to_give_some(abs_: Calls) -> None:

    assert abs_("calibrate")[::2] == (
        2,
        "abs: no labels in .abs/store.duckdb: give some with abs label, or abs label --import CSV\n",
    )
