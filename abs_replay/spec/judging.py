"""The keys `judge:` and `adapters:` of a configuration: who answers what only a judge can say (DESIGN §9).

judge:
  adapter: anthropic             the default judge [default: builtin]
  model: claude-haiku-4-5
  base_url: http://localhost:11434/v1
  api_key_env: MY_KEY            the variable that has the key; a key itself never stands in a file
  api_key_header: api-key
  timeout: 60                    seconds, of one call
  price: {input: 0.8, output: 4} US dollars a million tokens
  temperature: 0                 null is the model's own
  max_tokens: 8192               of a reply, thoughts included
  max_attempts: 4                replies that are asked for before a vote is given up
  votes: 3
  concurrency: 8
  max_cost: 5
adapters:
  Groundedness: azure            TYPE: NAME
  llm_judge: strict
  azure: {deployment: judge}     NAME: its settings
  strict: {adapter: openai, model: gpt-5}                     a name of your own, for rules as well
  Fluency: {adapter: openai, model: gpt-5-mini}               both in one
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field

from abs_replay import plugins
from abs_replay.errors import Problem
from abs_replay.exact_json import Json, Number
from abs_replay.spec import rules
from abs_replay.spec.places import Document, meant
from abs_replay.spec.rule_types import by_type
from abs_replay.values import dataclass

ENGINES = ("builtin", "openai", "anthropic", "gemini", "azure", "aws", "google", "aievaluator")
TYPES = tuple(by_type((rules.Judged, rules.Custom)))
TEXTS = ("adapter", "model", "base_url", "api_key_env", "api_key_header")
OF_AN_ENGINE = (*TEXTS, "timeout", "price")
OF_THE_PANEL = ("votes", "concurrency", "max_cost")
PRICE = ("input", "output")
# What an engine takes besides; one of an installed package takes what it likes.
OF_A_MODEL = ("temperature", "max_tokens", "max_attempts")
OWN: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("builtin", "openai", "anthropic", "gemini"), OF_A_MODEL),
    "azure": ("deployment", "api_version", "project", *OF_A_MODEL),
    "aws": ("region", "profile", *OF_A_MODEL),
    "google": ("project", "location"),
    "aievaluator": (),
}
_SECRETS = ("api_key", "key", "token", "secret", "password")

type Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What is said of one engine; None is its own default. `options` are keys that only it knows."""

    adapter: str | None = None
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    api_key_header: str | None = None
    timeout: float | None = None
    price: tuple[float, float] | None = None
    options: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judging:
    """Both keys; `by_type` and `named` are those of `adapters:`."""

    default: Endpoint = field(default_factory=Endpoint)
    votes: int | None = None
    concurrency: int | None = None
    max_cost: float | None = None
    by_type: Mapping[str, str] = field(default_factory=dict)
    named: Mapping[str, Endpoint] = field(default_factory=dict)


def is_known(name: str, own: Collection[str] = ()) -> bool:
    """Whether an adapter is called so: built in, named by a configuration, or of an installed package."""
    return name in ENGINES or name in own or name in plugins.names(plugins.JUDGES, ENGINES)


def unknown(name: str, own: Collection[str] = ()) -> str:
    """Say that no adapter is called so, and which was meant."""
    known = [*ENGINES, *own, *plugins.names(plugins.JUDGES, ENGINES)]
    return f"no adapter is called `{name}`: {meant(name, known)}"


def own_names(adapters: Json) -> tuple[str, ...]:
    """The names that `adapters:` gives settings to."""
    entries = adapters.items() if isinstance(adapters, Mapping) else ()
    return tuple(name for name, value in entries if isinstance(value, Mapping))


# -- what is wrong


def problems(document: Document, judge: Json, adapters: Json) -> Iterator[Problem]:
    """Everything that is wrong with the two keys."""
    own = own_names(adapters)
    if isinstance(judge, Mapping):
        yield from _judge_problems(document, judge, own)
    else:
        known = ", ".join((*OF_AN_ENGINE, *OF_THE_PANEL))
        yield document.problem(("judge",), f"must be a mapping of {known}")
    if not isinstance(adapters, Mapping):
        yield document.problem(("adapters",), "must be a mapping: TYPE: NAME, or NAME: {its settings}")
        return
    for key, value in adapters.items():
        path = ("adapters", key)
        if isinstance(value, Mapping):
            yield from _named_problems(document, path, key, value, own)
        elif key not in TYPES:
            message = f"no type that a judge decides is called `{key}`: {meant(key, TYPES)}"
            yield document.problem(path, message)
        else:
            yield from _name_problems(document, path, value, own)


def _judge_problems(document: Document, judge: Mapping[str, Json], own: Collection[str]) -> Iterator[Problem]:
    of = judge.get("adapter", "builtin")
    of = of if isinstance(of, str) else "builtin"
    # Those beside the name of an adapter that is not built in are its own business.
    known = (*OF_AN_ENGINE, *OF_THE_PANEL, *OWN[of]) if of in OWN else None
    yield from _endpoint_problems(document, ("judge",), judge, known)
    if "adapter" in judge:
        yield from _name_problems(document, ("judge", "adapter"), judge["adapter"], own)
    for key in ("votes", "concurrency"):
        value = judge.get(key, 1)
        if not (type(value) is int and value >= 1):
            yield document.problem(("judge", key), "must be a whole number from 1")
    if "max_cost" in judge and not _positive(judge["max_cost"]):
        yield document.problem(("judge", "max_cost"), "must be a number of US dollars above 0")


def _named_problems(
    document: Document, path: Path, name: str, value: Mapping[str, Json], own: Collection[str]
) -> Iterator[Problem]:
    of = value.get("adapter", name)
    if "adapter" in value and of in own and of not in ENGINES:
        yield document.problem((*path, "adapter"), f"`{of}` is named here itself: name what it is made of")
    elif "adapter" in value:
        yield from _name_problems(document, (*path, "adapter"), of, ())
    elif not is_known(name):
        message = f"{unknown(name)}; a name of your own needs `adapter: NAME` in its settings"
        yield document.problem(path, message)
    free = not (isinstance(of, str) and of in OWN)
    known = None if free else (*OF_AN_ENGINE, *OWN[str(of)])
    yield from _endpoint_problems(document, path, value, known)


def _name_problems(document: Document, path: Path, name: Json, own: Collection[str]) -> Iterator[Problem]:
    if not isinstance(name, str):
        yield document.problem(path, "must be the name of an adapter")
    elif not is_known(name, own):
        yield document.problem(path, unknown(name, own))


def _endpoint_problems(
    document: Document, path: Path, value: Mapping[str, Json], known: tuple[str, ...] | None
) -> Iterator[Problem]:
    for key in value:
        if key in _SECRETS:
            message = "a secret does not stand in a file: name the variable that has it, as `api_key_env`"
            yield document.problem((*path, key), message)
        elif known is not None and key not in known and not key.startswith("x-"):
            yield document.problem((*path, key), f"unknown key `{key}`: {meant(key, known)}")
    for key in TEXTS:
        if key != "adapter" and not _is_text(value.get(key, "text")):
            yield document.problem((*path, key), "must be text")
    if "timeout" in value and not _positive(value["timeout"]):
        yield document.problem((*path, "timeout"), "must be a number of seconds above 0")
    if "price" in value and _price(value["price"]) is None:
        message = f"must be a mapping of {' and '.join(PRICE)}, in US dollars a million tokens"
        yield document.problem((*path, "price"), message)


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _number(value: Json) -> float | None:
    return float(value) if isinstance(value, int | Number) and not isinstance(value, bool) else None


def _positive(value: Json) -> bool:
    number = _number(value)
    return number is not None and number > 0


def _price(value: Json) -> tuple[float, float] | None:
    if not (isinstance(value, Mapping) and set(value) == set(PRICE)):
        return None
    each = [_number(value[key]) for key in PRICE]
    input_, output = each
    return None if input_ is None or output is None or min(input_, output) < 0 else (input_, output)


# -- what is meant


def judging(judge: Json, adapters: Json) -> Judging:
    """The values of the two keys, once they have no problems."""
    assert isinstance(judge, Mapping)
    assert isinstance(adapters, Mapping)
    votes, concurrency = judge.get("votes"), judge.get("concurrency")
    return Judging(
        _endpoint({key: value for key, value in judge.items() if key not in OF_THE_PANEL}),
        votes if isinstance(votes, int) else None,
        concurrency if isinstance(concurrency, int) else None,
        _number(judge.get("max_cost")),
        # Settings under the name of a type are those of the judge of that type.
        {
            type_: name if isinstance(name, str) else type_
            for type_, name in adapters.items()
            if type_ in TYPES
        },
        {name: _endpoint(value) for name, value in adapters.items() if isinstance(value, Mapping)},
    )


def _endpoint(value: Mapping[str, Json]) -> Endpoint:
    texts = {key: str(value[key]) for key in TEXTS if key in value}
    options = {
        key: each for key, each in value.items() if key not in OF_AN_ENGINE and not key.startswith("x-")
    }
    return Endpoint(
        **texts,
        timeout=_number(value.get("timeout")),
        price=_price(value.get("price")),
        options=options,
    )
