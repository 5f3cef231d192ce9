"""Clients that insist on real `https://` hosts, as a program: each says what it got, in a line of JSON.

    python replayed_clients.py

They are led by HTTPS_PROXY and by the variables that name certificates, and by nothing else.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping

import httpx
import openai
from openai.types.chat import ChatCompletionUserMessageParam

HI: ChatCompletionUserMessageParam = {"role": "user", "content": "hi"}


def client() -> openai.OpenAI:
    return openai.OpenAI(max_retries=0)


def whole() -> str:
    with client() as sdk:
        return sdk.chat.completions.create(model="m", messages=[HI]).to_json(indent=None)


def streamed() -> str:
    with client() as sdk, sdk.chat.completions.create(model="m", messages=[HI], stream=True) as stream:
        return "".join(part.choices[0].delta.content or "" for part in stream)


async def ask_async() -> str:
    async with openai.AsyncOpenAI(max_retries=0) as sdk:
        stream = await sdk.chat.completions.create(model="m", messages=[HI], stream=True)
        return "".join([part.choices[0].delta.content or "" async for part in stream])


def http2() -> str:
    with httpx.Client(http2=True) as http:
        answer = http.get("https://shop.example/orders/1")
        return f"{answer.http_version} {answer.text}"


def curl() -> str:
    command = ["curl", "--silent", "--fail", "https://shop.example/orders/2"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def unknown() -> str:
    with httpx.Client() as http:
        return str(http.get("https://elsewhere.example/").status_code)


CLIENTS: Mapping[str, Callable[[], str]] = {
    "whole": whole,
    "streamed": streamed,
    "async": lambda: asyncio.run(ask_async()),
    "http2": http2,
    "curl": curl,
    "unknown": unknown,
}


def main() -> None:
    os.environ.pop("OPENAI_BASE_URL")  # of the listener: these are for clients that take none
    for name in sys.argv[1:] or CLIENTS:
        print(json.dumps([name, CLIENTS[name]()]), flush=True)


main()
