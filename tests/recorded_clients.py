"""The clients that people have, each saying what it got as a JSON line: a program for `abs record -- ..`.

    python recorded_clients.py MODELS_URL OTHERS_URL

First their environment alone leads them, through a proxy; then they are given the listeners that it names.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

# Untyped on purpose: to check some of them takes mypy minutes.
aiohttp: Any = import_module("aiohttp")
anthropic: Any = import_module("anthropic")
genai: Any = import_module("google.genai")
httpx: Any = import_module("httpx")
mcp: Any = import_module("mcp")
openai: Any = import_module("openai")
requests: Any = import_module("requests")


def ask_openai(base: str) -> str:
    with openai.OpenAI(base_url=f"{base}/v1", api_key="k", max_retries=0) as client:
        stream = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        return "".join(part.choices[0].delta.content or "" for part in stream)


def ask_anthropic(base: str) -> str:
    with (
        anthropic.Anthropic(base_url=base, api_key="k", max_retries=0) as client,
        client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        ) as stream,
    ):
        return "".join(stream.text_stream)


def ask_gemini(base: str) -> str:
    with genai.Client(api_key="k", http_options={"base_url": base}) as client:
        return "".join(
            part.text or "" for part in client.models.generate_content_stream(model="m", contents="hi")
        )


def ask_gemini_async(base: str) -> str:
    async def ask() -> str:
        async with genai.Client(api_key="k", http_options={"base_url": base}).aio as client:
            return str((await client.models.generate_content(model="m", contents="hi")).text)

    return asyncio.run(ask())


def ask_httpx(base: str) -> str:
    return str(httpx.get(f"{base}/plain/httpx").text)


def ask_httpx2(base: str) -> str:
    with httpx.Client(http2=True) as client:
        return str(client.post(f"{base}/plain/httpx2", content=b"x" * 2_000_000).text)


def ask_requests(base: str) -> str:
    return str(requests.get(f"{base}/plain/requests", timeout=20).text)


def ask_aiohttp(base: str) -> str:
    async def ask() -> str:
        async with (
            aiohttp.ClientSession(trust_env=True) as session,
            session.get(f"{base}/plain/aiohttp") as answer,
        ):
            return str(await answer.text())

    return asyncio.run(ask())


def ask_curl(base: str) -> str:
    return _run("curl", "-sS", "--max-time", "20", f"{base}/plain/curl")


def ask_node(base: str) -> str:
    return _run("node", "-e", f"fetch('{base}/plain/node').then(a => a.text()).then(t => console.log(t))")


def ask_mcp(base: str) -> str:
    async def ask() -> str:
        async with mcp.Client(f"{base}/mcp") as client:
            return json.dumps((await client.call_tool("add", {"a": 1, "b": 2})).structured_content)

    return asyncio.run(ask())


def _run(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return "absent"
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return (ended.stdout or ended.stderr).strip()


type Clients = dict[str, Callable[[str], str]]

MODELS: Clients = {
    "openai": ask_openai,
    "anthropic": ask_anthropic,
    "gemini": ask_gemini,
    "gemini_async": ask_gemini_async,
}
OTHERS: Clients = {
    "httpx": ask_httpx,
    "httpx2": ask_httpx2,
    "requests": ask_requests,
    "aiohttp": ask_aiohttp,
    "curl": ask_curl,
    "mcp": ask_mcp,
}
UNPROXIED: Clients = {"node": ask_node}  # its fetch obeys HTTPS_PROXY from version 22.21 and 24 on only


def main() -> None:
    models, others = sys.argv[1:]
    run("forward", MODELS, models)
    run("forward", OTHERS, others)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
    run("reverse", MODELS, os.environ["ABS_LLM_URL"])
    run("reverse", OTHERS | UNPROXIED, os.environ["ABS_TOOL_URL"])


def run(way: str, clients: Clients, base: str) -> None:
    for name, ask in clients.items():
        try:
            got = ask(base)
        except Exception as error:
            got = repr(error)
        print(json.dumps([way, name, got]), flush=True)


if __name__ == "__main__":
    main()
