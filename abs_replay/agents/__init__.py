"""How to talk to an agent under test: one module a format, made with its URL and a time limit in seconds."""

from collections.abc import Callable, Mapping

from abs_replay.agents.agent import Agent
from abs_replay.agents.chat_contract import ChatContract

AGENTS: Mapping[str, Callable[[str, float], Agent]] = {
    "chat": ChatContract,
}
