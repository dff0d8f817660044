"""A long conversation's traffic with a model, in the shapes that clients give their requests."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Literal, TypeAlias

from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.record import Direction, Draft, Head, Kind, Place
from tui_host.errors import JSON

Shape: TypeAlias = Literal[
    "tools before the messages", "tools after them", "a clock in the system prompt", "other calls between"
]
SHAPES: tuple[Shape, ...] = (
    "tools before the messages",
    "tools after them",
    "a clock in the system prompt",
    "other calls between",
)
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
            "".join(self._random.choices("abcdefghijklmnopqrstuvwxyz", k=self._random.randint(2, 9)))
            for _ in range(4000)
        ]
        self._messages: list[JSON] = []
        self._exchange = 0

    def drafts(self) -> Iterator[Draft]:
        """Everything on the wire, in order."""
        for turn in range(1, self.turns + 1):
            if self.shape == "other calls between":
                yield from self._other_call(turn)
            self._messages.append({"role": "user", "content": self._text(40)})
            yield from self._asked(turn, self._body(turn), self._text(self._answer_words))

    def _text(self, words: int) -> str:
        return " ".join(self._random.choices(self._words, k=words))

    def _body(self, turn: int) -> bytes:
        clock = (
            f" It is 2026-11-21T13:{turn // 60:02}:{turn % 60:02}Z."
            if self.shape == "a clock in the system prompt"
            else ""
        )
        messages: JSON = [{"role": "system", "content": SYSTEM + clock}, *self._messages[-self._told :]]
        tools: JSON = [self._tool(number) for number in range(12)]
        if self.shape == "tools after them":
            return _to_bytes({"model": "m", "messages": messages, "tools": tools, "stream": True})
        return _to_bytes({"model": "m", "tools": tools, "messages": messages, "stream": True})

    def _tool(self, number: int) -> JSON:
        properties: JSON = {
            f"argument_{place}": {
                "type": "string",
                "description": f"The {place}th argument of tool {number}, as a text.",
            }
            for place in range(5)
        }
        parameters: JSON = {"type": "object", "properties": properties}
        return {
            "type": "function",
            "function": {"name": f"tool_{number}", "description": SYSTEM[:300], "parameters": parameters},
        }

    def _other_call(self, turn: int) -> Iterator[Draft]:
        """What some clients ask besides: a title, with another prompt each time."""
        messages: JSON = [{"role": "user", "content": f"A title for: {self._text(200)}"}]
        yield from self._asked(turn, _to_bytes({"model": "small", "messages": messages}), self._text(8), is_told=False)

    def _asked(self, turn: int, body: bytes, text: str, *, is_told: bool = True) -> Iterator[Draft]:
        self._exchange += 1
        url = "http://127.0.0.1:9/v1/chat/completions"
        yield self._draft(turn, "request", "out", body, Head(method="POST", url=url, headers=JSON_HEAD))
        yield self._draft(
            turn, "response", "in", b"", Head(status=200, headers=(("content-type", "text/event-stream"),))
        )
        size = 0
        for word in text.split():
            event: JSON = {
                "id": f"chatcmpl-{turn:06}",
                "object": "chat.completion.chunk",
                "created": 1_795_268_701,
                "model": "m",
                "choices": [{"index": 0, "delta": {"content": f"{word} "}, "finish_reason": None}],
            }
            data = b"data: " + _to_bytes(event) + b"\n\n"
            size += len(data)
            yield self._draft(turn, "chunk", "in", data)
        yield self._draft(turn, "end", "in", Ending(reason="complete", size=size, kept=size).to_bytes())
        if is_told:
            self._messages.append({"role": "assistant", "content": text})

    def _draft(self, turn: int, kind: Kind, direction: Direction, data: bytes, head: Head | None = None) -> Draft:
        place = Place(session=self._session, turn=turn, step=1)
        return Draft(
            wire="llm",
            kind=kind,
            peer="demo",
            direction=direction,
            place=place,
            exchange=f"x{self._exchange}",
            head=head,
            data=data,
        )


def _to_bytes(value: JSON) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
