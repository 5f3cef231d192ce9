"""Hunt for bytes that make a decoder raise, hang, or take more than its share of time; run by hand.

    python tests/fuzz/decoders.py --seconds 60    mutate the golden cases, led by coverage (needs atheris)
    python tests/fuzz/decoders.py --every         each field in turn a wrong value, cut at each byte
    python tests/fuzz/decoders.py --large         one line of 10 MB, 1e5 events, 10,000 levels of nesting

What is found is printed with the exchange that shows it, and the exit code is not 0.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2]))

from abs_replay.decoders import DECODERS, aws_events
from abs_replay.exchange import Exchange
from tests import damage, golden_cases

SLOW = 2.0  # seconds for one exchange of a few kB; for large ones, for each million bytes
EVENTS = 100_000


def cases() -> list[Exchange]:
    return [one for found in golden_cases.exchanges().values() for one in found]


def timed(one: Exchange) -> float:
    """Let all decoders read an exchange; give the seconds of CPU that it took."""
    began = time.process_time()
    try:
        damage.read(one)
    except Exception:
        print("raised at", one, file=sys.stderr)
        raise
    return time.process_time() - began


def check(one: Exchange) -> None:
    took = timed(one)
    if took > SLOW:
        raise TimeoutError(f"took {took:.1f} s: {one}")


def fuzz(seconds: int) -> None:
    """Mutate bodies: the input's first two bytes choose a case and a side, the rest is that body."""
    atheris = import_module("atheris")
    given = cases()
    folder = Path(".fuzz-corpus")
    folder.mkdir(exist_ok=True)
    for index, one in enumerate(given):
        for side, data in enumerate(damage.bodies(one)):
            (folder / f"{index}-{side}").write_bytes(bytes([index % 256, index // 256 * 2 + side]) + data)

    def once(data: bytes) -> None:
        if len(data) < 2:
            return
        one = given[(data[0] + data[1] // 2 * 256) % len(given)]
        request, response = damage.bodies(one)
        sides = (request, data[2:]) if data[1] % 2 else (data[2:], response)
        check(damage.with_bodies(one, *sides))

    atheris.instrument_all()
    options = [
        f"-max_total_time={seconds}",
        "-max_len=8192",
        "-timeout=10",
        "-verbosity=0",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(folder)], once)
    atheris.Fuzz()


def every() -> None:
    """Put each strange value at each field, and cut each body at each byte."""
    for name in DECODERS:
        tried, claimed, random = 0, 0, Random(name)
        for case in damage.cases(name):
            for number in range(len(damage.spots(damage.opened(case)))):
                for _ in range(4):
                    opened = damage.opened(case)
                    damage.hurt(damage.spots(opened)[number], random)
                    tried += 1
                    one = damage.made(opened)
                    check(one)
                    claimed += DECODERS[name].claims(one)
            one = damage.made(damage.opened(case))
            request, response = damage.bodies(one)
            for end in range(len(response)):
                check(damage.with_bodies(one, request, response[:end]))
                check(damage.with_bodies(one, request, damage.flipped(response, end, random.randrange(8))))
            for end in range(len(request)):
                check(damage.with_bodies(one, request[:end], response))
                check(damage.with_bodies(one, damage.flipped(request, end, random.randrange(8)), response))
        print(f"{name}: {tried} wrong values, {claimed} of them claimed; every cut; a flip of every byte")


def large(only: str | None) -> None:
    """Make the case of each decoder large in every way, and print what takes the most time by its size."""
    every = golden_cases.exchanges()
    for name, found in ((only, every[only]),) if only else every.items():
        slowest: tuple[float, str] = (0.0, "")
        for number, one in enumerate(found):
            for what, hurt in grown(one):
                size = sum(map(len, damage.bodies(hurt)))
                pace = timed(hurt) / max(1.0, size / 1e6)
                slowest = max(slowest, (pace, f"{what} of case {number}, {size / 1e6:.1f} MB"))
        print(f"{name}: at most {slowest[0]:.2f} s a MB ({slowest[1]})", flush=True)
        if slowest[0] > SLOW:
            raise TimeoutError(name)


def grown(one: Exchange) -> Iterator[tuple[str, Exchange]]:
    request, response = damage.bodies(one)
    for what, grow in GROWTHS.items():
        if response:
            yield f"{what} in the response", damage.with_bodies(one, request, grow(response))
        if request:
            yield f"{what} in the request", damage.with_bodies(one, grow(request), response)


def long_line(data: bytes) -> bytes:
    """Put 10 MB into the last text."""
    head, quote, rest = data.rpartition(b'"')
    return head + b"x" * 10**7 + quote + rest


def many_events(data: bytes) -> bytes:
    """Repeat each event, line of JSON, frame, or item of a list until there are 1e5 in all."""
    if aws_events.is_stream("", data):
        return b"".join(frame * (EVENTS // 10) for frame in frames(data))
    for end in (b"\r\n\r\n", b"\n\n", b"\n"):
        events = [event for event in data.split(end) if event]
        if len(events) > 1:
            each = EVENTS // len(events)
            return b"".join((event + end) * each for event in events)
    return _repeated(data)


def frames(data: bytes) -> Iterator[bytes]:
    while data:
        size = int.from_bytes(data[:4]) or len(data)
        yield data[:size]
        data = data[size:]


def _repeated(data: bytes) -> bytes:
    try:
        value = json.loads(data)
    except ValueError:
        return data * (EVENTS // 1000)
    for _, items in lists(value):
        items *= EVENTS // 10 // len(items)
    return json.dumps(value).encode()


def lists(value: object) -> list[tuple[int, list[object]]]:
    """Give the outermost lists of a value that are not empty."""
    if isinstance(value, list) and value:
        return [(id(value), value)]
    inner = value.values() if isinstance(value, dict) else ()
    return [found for one in inner for found in lists(one)]


def nested(data: bytes) -> bytes:
    return data.replace(b'"', b'"' + b"[" * 10_000 + b"]" * 10_000 + b'"', 1)


def deep(data: bytes) -> bytes:
    return data + b"{" * 10_000


GROWTHS: dict[str, Callable[[bytes], bytes]] = {
    "a long text": long_line,
    "many events": many_events,
    "nesting": nested,
    "open ends": deep,
    "line ends": lambda data: data + b"\n" * 10**6,
    "blanks": lambda data: b" " * 10**6 + data,
    "quotes": lambda data: data + b'"' * 10**6,
    "commas": lambda data: b"[" + b"," * 10**6 + data,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, help="let atheris mutate so long")
    parser.add_argument("--every", action="store_true", help="damage each field and each byte in turn")
    parser.add_argument("--large", action="store_true", help="make each case large")
    parser.add_argument("--only", choices=DECODERS, help="of --large, this decoder's cases alone")
    chosen = parser.parse_args()
    if chosen.large:
        large(chosen.only)
    if chosen.every:
        every()
    if chosen.seconds:
        fuzz(chosen.seconds)


if __name__ == "__main__":
    main()
