"""Every behavior and evaluation of an expanded session leads back to its line."""

from pathlib import Path

from abs_replay.spec.lines import lines
from abs_replay.spec.loader import load

SESSION = """\
session: Opening hours
abs_version: "0.2"
fragments:
  ask:
    - { actor: user, action: says, content: When? }
    - actor: assistant
      action: informs
      evaluations:
        - { type: contains, value: open }
behaviors:
  - include: ask
  - actor: user
    action: says
    content: And on Sunday?
  - actor: assistant
    action: informs
    evaluations:
      - type: all_of
        evaluations:
          - { type: contains, value: closed }

          - { type: regex, pattern: Sunday }
evaluations: [{ type: never, match: { action: hands_off } },
  { type: eventually, match: { action: informs } }]
"""


def test_places_after_fragments_were_expanded_have_the_lines_that_the_author_sees(tmp_path: Path) -> None:
    file = tmp_path / "hours.abs.yaml"
    file.write_text(SESSION, encoding="utf-8")

    assert lines(load([file]).sessions[0]) == {
        "behaviors[0]": 5,
        "behaviors[1]": 6,
        "behaviors[1].evaluations[0]": 9,
        "behaviors[2]": 12,
        "behaviors[3]": 15,
        "behaviors[3].evaluations[0]": 18,
        "behaviors[3].evaluations[0].evaluations[0]": 20,
        "behaviors[3].evaluations[0].evaluations[1]": 22,
        "evaluations[0]": 23,
        "evaluations[1]": 24,
    }


def test_what_a_custom_evaluation_holds_of_its_own_hinders_nothing(tmp_path: Path) -> None:
    file = tmp_path / "hours.abs.yaml"
    own = "evaluations: [{ type: custom, id: mine, evaluations: [1, text] }]\n"
    file.write_text(SESSION.replace(SESSION[SESSION.rindex("evaluations:") :], own), encoding="utf-8")

    assert lines(load([file]).sessions[0])["evaluations[0]"] == 23
