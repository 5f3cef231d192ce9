"""Messages in the shape of OpenAI's chat API, which the agent contract shares.

https://platform.openai.com/docs/api-reference/chat/create (messages): content is text or a list of
parts, a call's arguments are JSON inside a text, a tool's message names its call. Beside the words
servers show what the model thought (`reasoning_content`, `reasoning`, `reasoning_details`, parts of
type `thinking`), and Groq the tools that it ran itself (`executed_tools`).
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from abs_replay.decoders.events import Call, Message, Part, Said, Served, Thought, composed
from abs_replay.decoders.fields import items, obj, parse_or_none, structure, text
from abs_replay.decoders.histories import Histories, Replies
from abs_replay.decoders.shelving import kept
from abs_replay.exact_json import Json

_ROLES: Final = {"developer": "system", "function": "tool", "human": "user", "ai": "assistant"}
_TEXT_PARTS: Final = ("text", "input_text", "output_text")
HISTORIES: Final = Histories()
REPLIES: Final = Replies()
_PLAIN: Final = {role: role for role in ("user", "assistant", "system")}  # one text each
_THOUGHTS: Final = ("thinking", "reasoning")  # parts that the model thinks and does not say
_REFERENCES: Final = ("reference", "tool_reference")  # Mistral's citations, between pieces of one text


def messages(values: Any, at: str) -> tuple[Message, ...]:
    """Read a list of messages; what is no message is left out."""
    listed = items(values)
    begun = HISTORIES.begun(listed, at)
    found = begun + tuple(
        _repeated(value, _numbered(at, index))
        for index, value in enumerate(listed[len(begun) :], len(begun))
        if isinstance(value, dict) and text(value.get("role"))
    )
    HISTORIES.learn(listed, at, len(begun), found)
    return found


@lru_cache(1024)  # one text for all the messages that stand at one place
def _numbered(at: str, index: int) -> str:
    return f"{at}[{index}]"


def _repeated(value: Mapping[str, Any], at: str) -> Message:
    """Read a message of a history; most are a role and words."""
    said = value.get("content")
    if len(value) == 2 and type(said) is str and said and (role := _PLAIN.get(value["role"])):
        return kept(Message(role, REPLIES.shared(said), at=at))
    return kept(message(value, at))


def message(value: Mapping[str, Any], at: str) -> Message:
    """Read one message, whatever is missing from it."""
    role = text(value.get("role")) or "assistant"
    role = _ROLES.get(role, role)
    if role == "assistant":
        return composed(role, parts(value, at), at)
    said = content(value.get("content"))
    if role == "tool":
        said = structure(said) if isinstance(said, str) else said
        return Message(role, said, (), text(value.get("tool_call_id")), text(value.get("name")), at)
    return Message(role, said, calls(value, at), at=at)


def parts(value: Mapping[str, Any], at: str) -> tuple[Part, ...]:
    """Give what an assistant's message holds: thoughts, tools that its server ran, words, calls."""
    found: list[Part] = list(reasoning(value, at))
    ran = [
        served(one, f"{at}.executed_tools[{i}]") for i, one in enumerate(items(value.get("executed_tools")))
    ]
    found += [one for one in ran if one is not None]
    found += words(value.get("content"), f"{at}.content")
    found += [Said(image, f"{at}.images[{i}]") for i, image in enumerate(items(value.get("images")))]
    refusal = text(value.get("refusal"))
    if refusal:
        # It comes in the words' place (guides/structured-outputs, refusals).
        found.append(Said(refusal, f"{at}.refusal"))
    heard = transcript(value.get("audio"))
    if heard and not any(isinstance(part, Said) and part.content for part in found):
        found.append(Said(heard, f"{at}.audio"))
    found += calls(value, at)
    return without_void(found)


def without_void(found: Iterable[Part]) -> tuple[Part, ...]:
    """Leave out empty words, which servers send beside calls, unless there is nothing else."""
    whole = tuple(found)
    return tuple(part for part in whole if not (isinstance(part, Said) and part.content == "")) or whole[:1]


def reasoning(value: Mapping[str, Any], at: str) -> tuple[Thought, ...]:
    """Read what a message, or a piece of one, thinks: servers give it under several names at once."""
    for key in ("reasoning_content", "reasoning"):
        if thought := text(value.get(key)):
            return (Thought(thought, f"{at}.{key}"),)
    details = [obj(item) for item in items(value.get("reasoning_details"))]
    shown = [text(item.get("text")) or text(item.get("summary")) or "" for item in details]
    return (Thought("".join(shown), f"{at}.reasoning_details"),) if any(shown) else ()


def served(value: Any, at: str) -> Served | None:
    """Read a tool that Groq ran itself (console.groq.com/docs/tool-use/built-in-tools)."""
    tool = obj(value)
    name = text(tool.get("name")) or text(tool.get("type"))
    if not name:
        return None
    result = obj(tool.get("search_results")).get("results") or tool.get("output")
    result = structure(result) if isinstance(result, str) else result
    call = Call(name, arguments(tool.get("arguments")), text(tool.get("id")), at)
    return Served(call, result, answered=result is not None, at=at)


def transcript(audio: Any) -> str | None:
    """Give the words of a spoken answer."""
    return text(obj(audio).get("transcript"))


def words(value: Any, at: str, numbered: bool = True) -> tuple[Said | Thought, ...]:
    """Read an assistant's content. Neighbouring pieces are one, also where citations lie between.

    `numbered` says whether to name parts of a list by their place in it, or all of them `at`.
    """
    if not isinstance(value, list):
        return () if value is None else (Said(value, at),)
    found: list[tuple[str, list[Any], str]] = []
    for index, part in enumerate(value):
        kind, piece = sorted_out(part)
        if kind == "reference" or (kind == "thought" and not piece):
            continue
        if found and found[-1][0] == kind != "structure":
            found[-1][1].append(piece)
        else:
            found.append((kind, [piece], f"{at}[{index}]" if numbered else at))
    return tuple(_run(*each) for each in found)


def _run(kind: str, pieces: Sequence[Any], at: str) -> Said | Thought:
    content = pieces[0] if kind == "structure" else "".join(pieces)
    return Thought(content, at) if kind == "thought" else Said(content, at)


def annotated(notes: Sequence[Any]) -> list[str]:
    """Say that an answer's annotations (its citations, mostly) are not told."""
    kinds = sorted({text(obj(note).get("type")) or "unknown" for note in notes})
    return [f"annotations are not traced: {len(notes)} ({', '.join(kinds)})"] if notes else []


def sorted_out(part: Any) -> tuple[str, Any]:
    """Say of a part of an assistant's content what it is: text, thought, reference or structure."""
    kind = obj(part).get("type")
    if kind in _THOUGHTS:
        return "thought", _thought(obj(part))
    if kind in _REFERENCES:
        return "reference", part
    piece = transcript(part) if kind == "output_audio" else _part_text(part)
    return ("structure", part) if piece is None else ("text", piece)


def _thought(part: Mapping[str, Any]) -> str:
    """Read a part that is a thought: Mistral puts parts into it."""
    inner = part.get("thinking") or part.get("reasoning") or part.get("text")
    return inner if isinstance(inner, str) else "".join(_part_text(piece) or "" for piece in items(inner))


def content(value: Any) -> Json:
    """Give the words: text, text parts joined by newlines, else the parts as they are."""
    if not isinstance(value, list):
        return value  # type: ignore[no-any-return]
    said = [part for part in value if obj(part).get("type") not in _THOUGHTS]
    texts = [_part_text(part) for part in said]
    words = [words for words in texts if words is not None]
    return "\n".join(words) if len(words) == len(said) else said


def _part_text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    fields = obj(part)
    kind = fields.get("type", "text")
    words = fields.get("refusal" if kind == "refusal" else "text")
    return words if kind in (*_TEXT_PARTS, "refusal") and isinstance(words, str) else None


def calls(value: Mapping[str, Any], at: str) -> tuple[Call, ...]:
    """Read a message's calls, the old single `function_call` among them."""
    found = [call(item, f"{at}.tool_calls[{i}]") for i, item in enumerate(items(value.get("tool_calls")))]
    single = obj(value.get("function_call"))
    if single and not found:
        found = [called(single.get("name"), single.get("arguments"), None, f"{at}.function_call")]
    return tuple(item for item in found if item is not None)


def call(value: Any, at: str) -> Call | None:
    """Read one call."""
    return called(*asked(obj(value)), text(obj(value).get("id")), at)


def asked(value: Mapping[str, Any]) -> tuple[Any, Any]:
    """Give the name and the arguments of a call, or what a piece of one has of them.

    A custom tool's input is free text (guides/function-calling, custom tools). Servers that write out
    every field leave one of the two kinds empty.
    """
    function, custom = obj(value.get("function")), obj(value.get("custom"))
    if custom and not any(function.values()):
        return custom.get("name"), custom.get("input")
    return function.get("name"), function.get("arguments")


def called(name: Any, given: Any, call_id: str | None, at: str) -> Call | None:
    """Make a call of what was read; without a name it is none."""
    named = text(name)
    return Call(named, arguments(given), call_id, at) if named else None


def arguments(value: Any) -> Json:
    """Read arguments: nothing is `{}`, JSON text is what it says, and other text stays text."""
    if value is None:
        return {}
    if not isinstance(value, str):
        return value  # type: ignore[no-any-return]
    if not value.strip():
        return {}
    parsed = parse_or_none(value)
    return parsed if isinstance(parsed, dict) else {} if value.strip() == "null" else value
