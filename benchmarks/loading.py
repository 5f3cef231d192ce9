"""Loading a cassette of 10,000 exchanges against VCR.py loading the same: at least 10 times faster.

Each program reads its own file, of the same exchanges, in a process of its own, so that the memory is its
own, too: at most 3 times the file, beyond what the process has before it reads. VCR.py reads as it does by
itself, with the C parser of PyYAML where that is there.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from abs_replay.cassette import Cassette, dumps
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Recording, Request, Response, Role
from benchmarks.peers import peer, version

EXCHANGES = 10_000
URI = "https://api.openai.com/v1/chat/completions"
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json",
    "user-agent": "OpenAI/Python 2.8.1",
    "x-stainless-lang": "python",
    "authorization": "<auth:1>",
}

_MEASURED = """
import resource, sys, time
{imports}
had = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
began, used = time.perf_counter(), time.process_time()
loaded = {load}
used = time.process_time() - used
peak = next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith("VmHWM"))
print({count}, used, max(peak - had, 0))
"""
OURS = _MEASURED.format(
    imports="from pathlib import Path\nfrom abs_replay.cassette import loads",
    load="loads(Path(sys.argv[1]).read_text(encoding='utf-8'))",
    count="len(loaded.exchanges)",
)
VCR = _MEASURED.format(
    imports="from vcr.persisters.filesystem import FilesystemPersister as Files\n"
    "from vcr.serializers import yamlserializer",
    load="Files.load_cassette(sys.argv[1], yamlserializer)",
    count="len(loaded[0])",
)


def pairs() -> list[tuple[str, str]]:
    """Requests and answers as chats have them, each another."""
    chance = random.Random(0)
    words = ["".join(chance.choices("abcdefghijklmnop", k=6)) for _ in range(2000)]

    def text(count: int) -> str:
        return " ".join(chance.choices(words, k=count))

    def asked() -> str:
        messages = [{"role": "system", "content": text(60)}, {"role": "user", "content": text(60)}]
        return json.dumps({"model": "m", "messages": messages, "temperature": 0})

    def answered(number: int) -> str:
        message = {"role": "assistant", "content": text(60)}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return json.dumps({"id": f"chatcmpl-{number}", "object": "chat.completion", "choices": choices})

    return [(asked(), answered(number)) for number in range(EXCHANGES)]


def cassette(said: list[tuple[str, str]]) -> str:
    """As `abs export` writes it: each of these is a conversation of its own."""
    headers = tuple(HEADERS.items())
    exchanges = []
    for number, (asked, answered) in enumerate(said):
        request = Request("POST", "/v1/chat/completions", headers, Body(asked.encode()))
        body = Body(answered.encode(), (Chunk(len(answered.encode()), 12.5),))
        response = Response(200, headers[:1], body, "OK")
        channel = Channel(Role.LLM, "openai")
        exchanges.append(Exchange(f"x{number}", channel, float(number), request, response))
    ids = frozenset(exchange.id for exchange in exchanges)
    return dumps(Cassette(Recording("r", "bench", 0.0), tuple(exchanges), ids))


_WRITE = """
import json, sys, yaml
said = json.load(open(sys.argv[1]))
headers = {name: [value] for name, value in said["headers"].items()}
typed = {"content-type": headers["content-type"]}
interactions = [
    {"request": {"method": "POST", "uri": said["uri"], "body": asked, "headers": headers},
     "response": {"status": {"code": 200, "message": "OK"}, "headers": typed, "body": {"string": answered}}}
    for asked, answered in said["pairs"]
]
dumper = getattr(yaml, "CDumper", yaml.Dumper)
with open(sys.argv[2], "w") as file:
    yaml.dump({"interactions": interactions, "version": 1}, file, Dumper=dumper)
"""


def measured(python: Path | str, program: str, *arguments: Path) -> tuple[float, int]:
    """Seconds of processor time to load a file, and bytes of memory."""
    ran = subprocess.run(
        [python, "-c", program, *arguments], capture_output=True, check=True, text=True, timeout=600
    )
    count, seconds, peak = ran.stdout.split()
    if int(count) != EXCHANGES:
        raise SystemExit(f"{count} exchanges were loaded, not {EXCHANGES}")
    return float(seconds), int(peak)


def run(rounds: int = 3) -> None:
    python = peer("vcr")
    with tempfile.TemporaryDirectory() as name:
        ours, theirs, plain = (Path(name, file) for file in ("b.cassette.json", "b.yaml", "said.json"))
        said = pairs()
        ours.write_text(cassette(said), encoding="utf-8")
        plain.write_text(json.dumps({"uri": URI, "headers": HEADERS, "pairs": said}), encoding="utf-8")
        subprocess.run([python, "-c", _WRITE, plain, theirs], check=True, timeout=600)
        mine = min(measured(sys.executable, OURS, ours) for _ in range(rounds))
        other = min(measured(python, VCR, theirs) for _ in range(rounds))
        sizes = ours.stat().st_size, theirs.stat().st_size
    times = other[0] / mine[0]
    print(f"VCR.py {version('vcrpy')} / abs-replay, loading: {times:.1f} times (target at least 10)")
    print(f"  {mine[0]:.2f} and {other[0]:.2f} s for {EXCHANGES} exchanges")
    print(f"memory / file: {mine[1] / sizes[0]:.1f} (target at most 3), VCR.py {other[1] / sizes[1]:.1f}")
    print(f"  of {sizes[0] / 1e6:.1f} and {sizes[1] / 1e6:.1f} MB")
