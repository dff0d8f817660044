"""A long conversation's traffic with a model, in the shapes that clients give their requests."""

from __future__ import annotations

import random
from collections.abc import Iterator
from string import ascii_lowercase
from typing import Literal, TypeAlias, get_args

from tests.kit.bodies import Tool, chunk, dumped
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.record import Draft, Head, Kind, Place
from tui_host.errors import JSON

Shape: TypeAlias = Literal["tools before the messages", "a clock in the system prompt"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
SESSION = "20261121-134501-x7k2q"
JSON_HEAD = (("content-type", "application/json"), ("authorization", "Bearer ⟨secret:KEY⟩"))
SYSTEM = "You are a helpful assistant. Answer shortly, and use the tools where they help. " * 12


class Traffic:
    """One conversation as drafts: each turn a request, which tells the last `told` messages (0 for all), and a streamed answer.

    Its words are random, so that nothing repeats but what requests repeat of each other.
    """

    def __init__(self, shape: Shape, turns: int, *, session: str = SESSION, words: int = 120, told: int = 0) -> None:
        self.shape: Shape = shape
        self.turns = turns
        self._session = session
        self._answer_words = words
        self._told = told
        self._random = random.Random(7)  # noqa: S311 - words, no secrets
        self._words = [
            "".join(self._random.choices(ascii_lowercase, k=self._random.randint(2, 9))) for _ in range(4000)
        ]
        self._messages: list[JSON] = []
        self._exchange = 0

    def drafts(self) -> Iterator[Draft]:
        """Everything on the wire, in order."""
        for turn in range(1, self.turns + 1):
            self._messages.append({"role": "user", "content": self._text(40)})
            yield from self._asked(turn, self._body(turn), self._text(self._answer_words))

    def _text(self, words: int) -> str:
        return " ".join(self._random.choices(self._words, k=words))

    def _body(self, turn: int) -> bytes:
        clock = f" It is 2026-11-21T13:{turn // 60:02}:{turn % 60:02}Z." if "clock" in self.shape else ""
        messages: JSON = [{"role": "system", "content": SYSTEM + clock}, *self._messages[-self._told :]]
        tools: JSON = [self._tool(number) for number in range(12)]
        return dumped({"model": "m", "tools": tools, "messages": messages, "stream": True})

    def _tool(self, number: int) -> JSON:
        described = f"The argument of tool {number}, as a text."
        properties: JSON = {f"argument_{n}": {"type": "string", "description": described} for n in range(5)}
        return {
            "type": "function",
            "function": Tool(f"tool_{number}", SYSTEM[:300], {"properties": properties}).function,
        }

    def _asked(self, turn: int, body: bytes, words: str) -> Iterator[Draft]:
        self._exchange += 1
        url = "http://127.0.0.1:9/v1/chat/completions"
        yield self._draft(turn, "request", body, Head(method="POST", url=url, headers=JSON_HEAD))
        yield self._draft(turn, "response", b"", Head(status=200, headers=(("content-type", "text/event-stream"),)))
        size = 0
        for word in words.split():
            data = chunk({"content": f"{word} "})
            size += len(data)
            yield self._draft(turn, "chunk", data)
        yield self._draft(turn, "end", Ending(reason="complete", size=size, kept=size).to_bytes())
        self._messages.append({"role": "assistant", "content": words})

    def _draft(self, turn: int, kind: Kind, data: bytes, head: Head | None = None) -> Draft:
        return Draft(
            wire="llm",
            kind=kind,
            peer="demo",
            direction="out" if kind == "request" else "in",
            place=Place(session=self._session, turn=turn, step=1),
            exchange=f"x{self._exchange}",
            head=head,
            data=data,
        )
