"""Reading a judge's reply: whole and without contradiction, or not at all.

What is wrong with a reply is told to the judge, outside of any fence: no problem quotes the reply, which may
have been made to quote what is judged.

Nothing is clamped, defaulted or guessed. A reply is `Unreadable` that is no JSON of the schema; that lacks
a criterion or has one twice; whose reasoning does not end with its verdict, or ends with another; whose
score is out of range or does not agree with the verdicts.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from abs_replay.exact_json import DuplicateKey, Json, loads
from abs_replay.judges.fence import sendable
from abs_replay.judges.reply_form import SCHEMA

if TYPE_CHECKING:
    from jsonschema import ValidationError

_THOUGHTS: Final = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)  # local reasoning models begin so
_FENCE: Final = re.compile(r"^```(?:json)?[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_MARKER: Final = re.compile(
    r"VERDICT\s*:\s*[*_`\"']*\s*(NOT[ _]MET|MET|CANNOT[ _]JUDGE)[\s.!*_`\"')\]]*$", re.I
)
_LONGEST: Final = 200  # characters of a problem's words


class Unreadable(Exception):
    """A reply that can not be used; the message says what is wrong with it, for the judge and for people."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a judge says to one criterion; `reasoning` without its marker."""

    criterion: int
    evidence: str
    reasoning: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A reply that was read. Without a score, `cannot_judge` says why."""

    findings: tuple[Finding, ...]
    score: float | None
    cannot_judge: str | None

    @property
    def reason(self) -> str:
        """The reasoning that decided: that of criteria which are not met, where there are any."""
        if self.cannot_judge:
            return self.cannot_judge
        unmet = [finding for finding in self.findings if finding.verdict != "met"]
        told = unmet or self.findings
        if len(self.findings) == 1:
            return told[0].reasoning
        return " ".join(f"({finding.criterion}) {finding.reasoning}" for finding in told)

    @property
    def details(self) -> Mapping[str, Json]:
        """What was said, for whoever wants to look closer."""
        return {
            "criteria": [
                {
                    "criterion": each.criterion,
                    "evidence": each.evidence,
                    "reasoning": each.reasoning,
                    "verdict": each.verdict,
                }
                for each in self.findings
            ],
            "score": self.score,
        }


def read(text: str, count: int) -> Reading:
    """Read a reply about criteria 1 to `count`; raises `Unreadable`, and nothing else, whatever the text."""
    value = _parsed(text)
    findings = tuple(_finding(entry) for entry in value["criteria"])
    _each_once([finding.criterion for finding in findings], count)
    score, cannot = value["score"], value["cannot_judge"]
    verdicts = [finding.verdict for finding in findings]
    if cannot is not None or "cannot_judge" in verdicts:
        _undecided(verdicts, score, cannot)
        return Reading(findings, None, sendable(str(cannot)).strip())
    if score is None:
        raise Unreadable("`score` is null although every criterion has a verdict")
    if not 0 <= score <= 1:
        raise Unreadable(f"`score` is {_shortened(str(score))}, which is not from 0 to 1")
    _agrees(float(score), verdicts)
    return Reading(findings, float(score), None)


def _parsed(text: str) -> dict[str, Any]:
    text = _THOUGHTS.sub("", text).strip()
    if not text:
        raise Unreadable("the reply is empty")
    fences = _FENCE.findall(text)
    try:
        value = loads(fences[0] if len(fences) == 1 else text, strict=True)
    except DuplicateKey:
        raise Unreadable("an object has a key twice") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"the reply is no JSON ({error.msg}, line {error.lineno})") from None
    except ValueError:
        raise Unreadable("the reply is no JSON (a number that JSON does not have)") from None
    except RecursionError:
        raise Unreadable("the reply is nested too deeply") from None
    wrong = next(_validator().iter_errors(value), None)
    if wrong is not None:
        at = wrong.json_path.removeprefix("$").removeprefix(".") or "the reply"
        raise Unreadable(f"it is not of the schema: {at} {_lack(wrong)}")
    found: dict[str, Any] = value
    return found


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator  # slow to load, and only judges need it

    return Draft202012Validator(SCHEMA)


def _lack(wrong: "ValidationError") -> str:
    """Say what is wrong without a word of the reply, which may hold words of what is judged."""
    found: Any = wrong.instance
    wanted: Any = wrong.validator_value
    if wrong.validator == "required":
        return f"lacks `{next(name for name in wanted if name not in found)}`"
    if wrong.validator == "additionalProperties":
        return "has a key that the schema does not have"
    return f"must be {wanted if isinstance(wanted, str) else ' or '.join(wanted)}"


def _finding(entry: Mapping[str, Any]) -> Finding:
    number, reasoning, verdict = entry["criterion"], entry["reasoning"].rstrip(), entry["verdict"]
    marker = _MARKER.search(reasoning)
    if marker is None:
        raise Unreadable(f"the reasoning of criterion {number} does not end with its verdict")
    said = re.sub(r"[ _]", "_", marker[1]).lower()
    if said != verdict:
        raise Unreadable(
            f"criterion {number} ends its reasoning with {marker[1]} but has the verdict {verdict}"
        )
    reasons = reasoning[: marker.start()].strip(" \n*_`")
    return Finding(int(number), sendable(entry["evidence"]), sendable(reasons), verdict)


def _each_once(numbers: Sequence[int], count: int) -> None:
    wanted = range(1, count + 1)
    missing = [number for number in wanted if number not in numbers]
    if missing:
        raise Unreadable(f"criterion {missing[0]} is missing" + _more(len(missing) - 1))
    unknown = [number for number in numbers if number not in wanted]
    if unknown:
        raise Unreadable(f"there is no criterion {_shortened(str(unknown[0]))}, only 1 to {count}")
    if len(numbers) > count:
        twice = next(number for number in numbers if numbers.count(number) > 1)
        raise Unreadable(f"criterion {twice} is there more than once")


def _undecided(verdicts: Sequence[str], score: Any, cannot: str | None) -> None:
    if cannot is None or not cannot.strip():
        raise Unreadable("a criterion has the verdict cannot_judge, and `cannot_judge` does not say why")
    if "cannot_judge" not in verdicts:
        raise Unreadable("`cannot_judge` is filled in although every criterion has a verdict")
    if score is not None:
        raise Unreadable("there is a `score` although `cannot_judge` is filled in")


def _agrees(score: float, verdicts: Sequence[str]) -> None:
    """Hold the score against the verdicts. 0.5 passes where the author says nothing else (SEMANTICS R6)."""
    met = verdicts.count("met")
    if met == len(verdicts) and score < 0.5:
        raise Unreadable(f"every criterion is met, and the score is {score:g}")
    if met == 0 and score >= 0.5:
        raise Unreadable(f"no criterion is met, and the score is {score:g}")
    if 0 < met < len(verdicts) and score in (0, 1):
        raise Unreadable(f"some criteria are met and some are not, and the score is {score:g}")


def _more(others: int) -> str:
    return f", and {others} more" if others else ""


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
