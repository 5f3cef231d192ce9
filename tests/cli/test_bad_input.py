"""Files that are broken or made to hurt: a clear line, status 2, nothing graded, in bounded time and room."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run

HEAD = """session: S
abs_version: "0.2"
behaviors:
  - { actor: user, action: says, content: hi }
  - actor: assistant
    action: informs
"""
SAID = {"seq": 1, "actor": "user", "action": "says", "content": "hi"}
SECONDS = 5.0  # of processor time

type Abs = Callable[..., tuple[int, str, str]]


@pytest.fixture
def abs_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Abs:
    """Call `abs` in an empty folder, in bounded time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ABS_STORE", raising=False)

    def call(*arguments: str) -> tuple[int, str, str]:
        begun = time.process_time()
        status = run(cli, arguments)
        assert time.process_time() - begun < SECONDS
        return status, *capsys.readouterr()

    return call


def write(name: str, content: str | bytes) -> None:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


def trace(content: object = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", **more: object) -> str:
    answered = {"seq": 2, "actor": "assistant", "action": "responds", "content": content}
    return json.dumps({"trace": "t", "session": "S", "steps": [SAID, answered], **more})


def rule(text: str) -> str:
    return f"{HEAD}    evaluations:\n      - {text}\n"


def chained(step: str, count: int) -> str:
    """Behaviors each of which captures what the one before it captured, `step` times."""
    line = "  - {{ actor: user, action: says, content: hi, capture: {{ v{}: {} }} }}\n"
    return (
        HEAD + line.format(0, "xxxxxxxx") + "".join(line.format(n + 1, step % (n, n)) for n in range(count))
    )


BOMB = "x-0: &a0 [x,x,x,x,x,x,x,x]\n" + "".join(
    f"x-{n + 1}: &a{n + 1} [{','.join([f'*a{n}'] * 8)}]\n" for n in range(9)
)
CYCLE = "fragments: { a: [{ include: b }], b: [{ include: a }] }\n"
FAN = "".join(f"  f{n}: [{', '.join([f'{{ include: f{n + 1} }}'] * 9)}]\n" for n in range(20))
FANNED = "fragments:\n" + FAN + "  f20: [{ actor: user, action: says }]\n"

DOCUMENTS: dict[str, tuple[str | bytes, str]] = {
    "alias bomb": (HEAD + BOMB, r":12: aliases stand for"),
    "10 MB": (HEAD + "description: " + "x" * 10_000_000, r": larger than 2 MiB"),
    "very many values": (HEAD + "    with: { a: [" + "1," * 900_000 + "1] }", r":7: more than 100000 values"),
    "very many keys": (HEAD + "".join(f"key{n}: x\n" for n in range(10_000)), r":7: key0: unknown key"),
    "very many ids": (
        HEAD
        + "".join(f"  - {{ actor: user, action: says, id: i{n}, requires: j{n} }}\n" for n in range(2000)),
        r":7: behaviors\[2\].requires: no behavior has the id",
    ),
    "deep flow": (HEAD + "    with: " + "[" * 500_000, r":7: no valid YAML: .*nesting depth"),
    "deep mapping": (HEAD + "    with: " + "{a: " * 300_000, r":7: nested more than 100 deep"),
    "deep block": (
        HEAD + "x-d:\n" + "".join(" " * n + "a:\n" for n in range(1, 1500)),
        r":107: nested more than",
    ),
    "open quote": (HEAD + 'description: "' + "x\n" * 500_000, r":\d+: no valid YAML: .*quoted scalar"),
    "anchor of itself": (HEAD + "x-a: &a [*a]\n", r":7: the alias \*a stands inside its own anchor"),
    "no anchor": (HEAD + "x-a: *a\n", r":7: the alias \*a has no anchor"),
    "number as key": (HEAD + "1: x\n", r":7: 1: a key must be text"),
    "list as key": (HEAD + "? [a]\n: x\n", r":7: a key must be text"),
    "nan": (HEAD + "    content: .nan\n", r":7: behaviors\[1\].content: .nan is no JSON number"),
    "huge number": (HEAD + f"    content: {'9' * 5000}\n", r":7: behaviors\[1\].content: .* is too large"),
    "huge hex": (HEAD + f"    content: 0x{'f' * 500_000}\n", r":7: behaviors\[1\].content: .* is too large"),
    "no UTF-8": (HEAD.encode() + b"x-a: \xff\n", r":7: is not UTF-8: byte 0xff"),
    "UTF-16": (HEAD.encode("utf-16"), r":1: is UTF-16"),
    "NUL": (HEAD + "x-a: '\0'\n", r":7: holds the control character U\+0000"),
    "tab": (HEAD + "\tdescription: x\n", r":7: no valid YAML: .*tab"),
    "object tag": (
        HEAD + "x-a: !!python/name:os.system x\n",
        r":7: x-a: the tag !!python/name:os.system is refused",
    ),
    "key twice": (
        HEAD + "description: a\ndescription: b\n",
        r":8: description: `description` is there twice",
    ),
    "fragments in a cycle": (
        HEAD.replace("behaviors:", CYCLE + "behaviors:\n  - include: a"),
        r":5: .*a -> b -> a",
    ),
    "fragments that multiply": (
        HEAD.replace("behaviors:", FANNED + "behaviors:\n  - include: f0"),
        r":26: behaviors\[0\].include: expands to more than 10000 behaviors",
    ),
    "captures that double": (
        chained("'{{v%d}}{{v%d}}'", 50),
        r":1: the values of its references come to more",
    ),
    "lists that double": (
        chained("['{{v%d}}', '{{v%d}}']", 50),
        r":1: the values of its references come to more",
    ),
    "remote $ref": (
        rule("{ type: schema, schema: { $ref: 'https://example.com/a' } }"),
        r":8: .*leads out of",
    ),
    "file $ref": (
        rule("{ type: schema, schema: { items: { $ref: 'file:///etc/passwd' } } }"),
        r":8: .*leads out of",
    ),
    "remote $schema": (
        rule("{ type: schema, schema: { $schema: 'https://x/y' } }"),
        r":8: .*unknown JSON Schema draft",
    ),
    "call in when": (
        rule("{ type: contains, value: a, when: \"__import__('os')\" }"),
        r":8: .*no valid condition",
    ),
    "attribute in when": (rule("{ type: contains, value: a, when: '{{a}}.x' }"), r":8: .*no valid condition"),
    "power in when": (rule("{ type: contains, value: a, when: '9**9**9 > 1' }"), r":8: .*no valid condition"),
    "deep when": (
        rule(f"{{ type: contains, value: a, when: '{'(' * 50_000}' }}"),
        r":8: .*nested more than 50",
    ),
    "deep pattern": (
        rule(f"{{ type: regex, pattern: '{'(' * 5000}{')' * 5000}' }}"),
        r":8: .*no valid pattern",
    ),
    "broken pattern": (rule("{ type: regex, pattern: '(a' }"), r":8: .*no valid pattern: missing \)"),
    "broken pattern in a schema": (
        rule("{ type: schema, schema: { pattern: '(a' } }"),
        r":8: .*schema.pattern",
    ),
    "references without a value": (
        HEAD + "    content: '" + "{{a}} " * 100_000 + "'\n",
        r":7: .*{{a}} has no value",
    ),
}


@pytest.mark.parametrize(("text", "said"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_document_is_refused_with_its_line_and_nothing_is_graded(
    abs_: Abs, text: str | bytes, said: str
) -> None:
    write("s.abs.yaml", text)
    write("t.trace.json", trace())
    status, out, err = abs_("grade", "s.abs.yaml", "--traces", "t.trace.json")
    first = err.splitlines()[0]
    assert (status, out) == (2, "")
    assert re.match(f"s.abs.yaml{said}", first), first
    assert len(err.splitlines()) <= 1000


@pytest.mark.parametrize("name", ["alias bomb", "number as key", "key twice", "remote $ref", "deep when"])
def test_validate_says_the_same_as_grade(abs_: Abs, name: str) -> None:
    write("s.abs.yaml", DOCUMENTS[name][0])
    write("t.trace.json", trace())
    validated = abs_("validate", "s.abs.yaml")
    assert validated == abs_("grade", "s.abs.yaml", "--traces", "t.trace.json")
    assert validated[0] == 2


def test_a_byte_order_mark_is_no_fault(abs_: Abs) -> None:
    write("s.abs.yaml", b"\xef\xbb\xbf" + HEAD.encode())
    assert abs_("validate", "s.abs.yaml")[0] == 0


def test_a_large_document_of_plain_text_is_valid_in_bounded_time(abs_: Abs) -> None:
    behavior = "  - { actor: user, action: says, content: some words of the user }\n"
    write("s.abs.yaml", HEAD + behavior * 5_000 + "description: |\n" + "  words\n" * 100_000)
    assert abs_("validate", "s.abs.yaml")[:2] == (0, "1 session in 1 file, 5002 behaviors, 0 warnings\n")


def test_a_directory_is_validated_whole_with_every_problem_of_every_file(abs_: Abs) -> None:
    for folder in ("a/deep", ".hidden"):
        Path(folder).mkdir(parents=True)
    write("a/good.abs.yaml", HEAD)
    write("a/deep/bad.abs.yml", HEAD.replace("informs", "''"))
    write("a/deep/broken.abs.json", '{"session":\n')
    write(".hidden/worse.abs.yaml", "a: [")
    write("a/other.yaml", "a: [")
    status, out, err = abs_("validate", ".")
    assert (status, out) == (2, "")
    assert [line.split(":")[:2] for line in err.splitlines()] == [
        ["a/deep/bad.abs.yml", "6"],
        ["a/deep/broken.abs.json", "2"],
    ]


HURTS = "(a|aa)+$"
BY_PATTERN = {
    "regex": rule(f"{{ type: regex, pattern: '^{HURTS}' }}"),
    "pattern": rule(f"{{ type: schema, schema: {{ items: {{ pattern: '^{HURTS}' }} }} }}"),
    "patternProperties": rule(f"{{ type: schema, schema: {{ patternProperties: {{ '^{HURTS}': {{}} }} }} }}"),
    "matches_when": f"{HEAD}    matches_when: {{ type: regex, pattern: '^{HURTS}' }}\n",
}


@pytest.mark.parametrize("kind", BY_PATTERN)
def test_a_catastrophic_pattern_is_an_error_in_bounded_time(abs_: Abs, kind: str) -> None:
    text = "a" * 60 + "!"
    content: object = {"pattern": [text], "patternProperties": {text: 1}}.get(kind, text)
    write("s.abs.yaml", BY_PATTERN[kind])
    write("t.trace.json", trace(content))
    status, out, err = abs_("grade", "s.abs.yaml", "--traces", "t.trace.json", "--format", "json")
    assert (status, err) == (1, "")
    assert json.loads(out)["result"] == "error"


TRACES = {
    "steps of text": ('{"session":"S","steps":"x"}', ': steps: is "x", not a list'),
    "a step that is a list": ('{"session":"S","steps":[[]]}', ": steps[0]: is [], not an object"),
    "seq of text": (
        json.dumps({"steps": [{**SAID, "seq": "1"}]}),
        ': steps[0].seq: is "1", not a whole number',
    ),
    "huge seq": (json.dumps({"steps": [{**SAID, "seq": 10**400}]}), ": steps[0].seq: is 1000"),
    "huge time": (json.dumps({"steps": [{**SAID, "at_ms": 10**400}]}), ": steps[0].at_ms: is 1000"),
    "endless digits": (
        '{"steps":[%s]}' % ("9" * 5000),
        ": is no JSON that can be read (a number is too large)",
    ),
    "NaN": ('{"steps":[NaN]}', ": is no JSON that can be read (NaN is no JSON number)"),
    "deep": ('{"steps":' + "[" * 200_000 + "]" * 200_000 + "}", ": is nested too deeply"),
    "key twice": ('{"session":"S",\n"session":"T","steps":[]}', ':2: the key "session" is there twice'),
    "key twice inside": ('{"steps":[{"content":{"a":1,\n"a":2}}]}', ':2: the key "a" is there twice'),
    "broken": ('{"steps":\n[,]}', ":2: is no JSON (Expecting value, column 2)"),
    "no UTF-8": (b'{"session":"\xff"}', ": is not UTF-8 text"),
    "empty": ("", ":1: is no JSON"),
}


@pytest.mark.parametrize(("text", "said"), TRACES.values(), ids=TRACES)
def test_a_trace_file_is_refused_with_its_place_and_nothing_is_graded(
    abs_: Abs, text: str | bytes, said: str
) -> None:
    write("s.abs.yaml", rule("{ type: contains, value: a }"))
    write("t.trace.json", text)
    status, out, err = abs_("grade", "s.abs.yaml", "--traces", "t.trace.json")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"abs: t.trace.json{said}")


def test_a_broken_line_among_thousands_is_told_and_nothing_is_graded(abs_: Abs) -> None:
    write("s.abs.yaml", HEAD)
    write("t.trace.jsonl", (trace() + "\n") * 2_000 + "{\n")
    status, out, err = abs_("grade", "s.abs.yaml", "--traces", "t.trace.jsonl")
    assert (status, out) == (2, "")
    assert err.startswith("abs: t.trace.jsonl:2001: is no JSON")


DATASETS = {
    "missing column": (
        "d.jsonl",
        '{"q":"a"}\n{"r":"b"}\n',
        r"s.abs.yaml:5: .*has no value: .*\(in row 1, from 0\)",
    ),
    "broken line": ("d.jsonl", '{"q":1}\n{"q":\n', r"d.jsonl:2: no valid JSON: Expecting value, column 6"),
    "broken list": ("d.json", '[{"q":1},\n{"q":]', r"d.json:2: no valid JSON: Expecting value, column 6"),
    "short row": ("d.csv", "q,b\n1\n", r"d.csv:2: has 1 values, and the header 2 columns"),
    "open quote": ("d.csv", 'q\n"a\n', r"d.csv:2: no valid CSV"),
    "column twice": ("d.csv", "q,q\n1,2\n", r"d.csv:1: two columns have one name"),
    "huge cell": ("d.csv", "q\n" + "x" * 5_000_000, r"d.csv:2: a value has more than 131,072 characters"),
    "key twice": (
        "d.jsonl",
        '{"q":1}\n{"q":1,"q":2}\n',
        r'd.jsonl:2: no valid JSON: the key "q" is there twice',
    ),
    "endless digits": (
        "d.jsonl",
        '{"q":%s}' % ("9" * 5000),
        r"d.jsonl:1: no valid JSON: a number is too large",
    ),
    "deep": ("d.json", "[" * 200_000, r"d.json:1: no valid JSON: nested too deeply"),
    "every line broken": ("d.jsonl", "{\n" * 100_000, r"d.jsonl:1: no valid JSON"),
    "no UTF-8": ("d.csv", b"q\n\xff\n", r"d.csv: is not UTF-8"),
}


@pytest.mark.parametrize(("name", "data", "said"), DATASETS.values(), ids=DATASETS)
def test_a_dataset_is_refused_with_its_line_and_nothing_is_sent(
    abs_: Abs, name: str, data: str | bytes, said: str
) -> None:
    dataset = f"dataset: {{ id: cases, path: {name} }}\nbehaviors:"
    write("s.abs.yaml", HEAD.replace("behaviors:", dataset).replace("hi }", "'{{cases.q}}' }"))
    write(name, data)
    status, out, err = abs_("run", "s.abs.yaml", "--agent", "http://127.0.0.1:9/x", "--no-store")
    assert (status, out) == (2, "")
    assert re.match(said, err), err
    assert "reached" not in err
    assert len(err.splitlines()) <= 1000


ANSWERS = {
    "number": "3",
    "list of lists": "[[]]",
    "unknown key": '[{"scre": 1}]',
    "score of text": '[{"digest": "a", "score": "1"}]',
    "score not a number": '[{"digest": "a", "score": NaN}]',
    "score out of range": '[{"digest": "a", "score": 1e400}]',
    "endless digits": '[{"digest": "a", "score": %s}]' % ("9" * 5000),
    "key twice": '[{"digest": "a", "score": 1, "score": 0}]',
    "question that is none": '{"questions": [3]}',
    "broken": '[{"digest": "a",]',
    "open": '[{"digest": "a", "score": 1}',
    "deep": "[" * 200_000,
    "empty": "",
}


@pytest.mark.parametrize("text", ANSWERS.values(), ids=ANSWERS)
def test_a_file_of_answers_is_refused_in_one_line_and_nothing_is_graded(abs_: Abs, text: str) -> None:
    write("s.abs.yaml", rule("{ type: llm_judge, criteria: c }"))
    write("t.trace.json", trace())
    write("a.json", text)
    status, out, err = abs_("grade", "s.abs.yaml", "--traces", "t.trace.json", "--judge-answers", "a.json")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert re.match(r"abs: a.json(:1)?: ", err), err


# The peak of the child's own memory: `ru_maxrss` would count what its parent had when it was started.
PEAK = """
from abs_replay.cli import main
try:
    main()
finally:
    lines = open("/proc/self/status").read().splitlines()
    print(*(line.split()[1] for line in lines if line.startswith("VmHWM:")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak there")
@pytest.mark.parametrize("name", ["alias bomb", "10 MB", "captures that double"])
def test_the_worst_documents_take_less_than_half_a_gigabyte(tmp_path: Path, name: str) -> None:
    text = DOCUMENTS[name][0]
    (tmp_path / "s.abs.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    command = [sys.executable, "-c", PEAK, "validate", "s.abs.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert int(done.stdout.split()[-1]) < 512 * 1024
