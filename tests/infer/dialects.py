"""How hosts speak to models: the dialects of `tests/kit`, streamed as each host has it. What hosts say in plain text stands in `worded`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tests.kit import bodies
from tests.kit.bodies import SYSTEM, Answer, Call, Entry, Results, Tool, User, dumped

__all__ = ["DIALECTS", "SYSTEM", "Answer", "Call", "Entry", "Form", "Results", "Spoken", "User", "dumped", "offering"]


class Form(Protocol):
    """A way to speak; `several` is whether an answer may hold several calls."""

    url: str
    several: bool

    def request(self, entries: Sequence[Entry], system: str = SYSTEM) -> bytes:
        """The body of a request."""
        ...

    def response(self, answer: Answer) -> Sequence[bytes]:
        """The chunks of its response."""
        ...


@dataclass
class Spoken:
    """A dialect over HTTP; Chat Completions if nothing is said."""

    name: str = "openai"
    url: str = "https://api.example/v1/chat/completions"
    is_streamed: bool = True
    model: str = "gpt-x"
    tools: Sequence[Tool] = ()
    several: bool = True

    def request(self, entries: Sequence[Entry], system: str = SYSTEM) -> bytes:
        return bodies.DIALECTS[self.name].request(entries, system=system, tools=self.tools, model=self.model)

    def response(self, answer: Answer) -> Sequence[bytes]:
        dialect = bodies.DIALECTS[self.name]
        return dialect.events(answer) if self.is_streamed else [dialect.whole(answer)]


def offering(offered: Mapping[str, str]) -> Form:
    """Chat Completions with tools, by their names and descriptions."""
    return Spoken(tools=[Tool(name, description) for name, description in offered.items()])


DIALECTS: Mapping[str, Form] = {
    "openai": Spoken(),
    "openai-responses": Spoken("openai-responses", "https://api.example/v1/responses", is_streamed=False),
    "anthropic": Spoken("anthropic", "https://api.example/v1/messages", model="claude-x"),
    "gemini": Spoken("gemini", "https://api.example/v1beta/models/gemini-x:generateContent", is_streamed=False),
    "gemini-cli": Spoken("gemini-cli", "https://api.example/v1beta/models/gemini-x:generateContent", is_streamed=False),
    "ollama": Spoken("ollama", "http://127.0.0.1:11434/api/chat", model="qwen-x"),
}
