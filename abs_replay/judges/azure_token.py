"""Tokens of Entra ID, by azure-identity, for what takes no key."""

import asyncio
import time
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from abs_replay.errors import JudgeError

EARLY_S: Final = 300  # before a token ends, another is got


def installed() -> bool:
    """Whether azure-identity is there."""
    return find_spec("azure") is not None and find_spec("azure.identity") is not None


class Token:
    """Tokens by scope, each kept until it nearly ends."""

    def __init__(self) -> None:
        self._credential: Any = None
        self._kept: dict[str, Any] = {}
        self._lock = asyncio.Lock()

    async def get(self, scope: str) -> str:
        """Give a token; raises `JudgeError` where nobody is logged in."""
        async with self._lock:
            found = self._kept.get(scope)
            if found is None or found.expires_on - EARLY_S < time.time():
                found = self._kept[scope] = await asyncio.to_thread(self._fresh, scope)
            return str(found.token)

    def _fresh(self, scope: str) -> Any:
        identity: Any = import_module("azure.identity")
        try:
            self._credential = self._credential or identity.DefaultAzureCredential()
            return self._credential.get_token(scope)
        except Exception as error:  # of azure-core, which is not always there to be named
            why = " ".join(str(error).split())[:300]
            raise JudgeError(f"the judge azure has no token: {why}; run `az login`") from None
