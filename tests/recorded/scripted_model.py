"""A provider's answers by a script: at a pace, in pieces as models send them, with a prompt cache that is counted from the requests."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.cli.provider import Provider
from tests.llm.peer import head
from tests.llm.streams import DONE, calls, chunk, event, fragment
from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.errors import JSON
from tui_host.llm.outline import common_prefix

PIECE = 12
"""Characters of an event."""


@dataclass(frozen=True, slots=True)
class Says:
    """An answer.

    Attributes:
        words: Its text.
        asks: Its calls: names as the request has them, and arguments.
        first: Seconds until its first byte.
        seconds: Seconds that its events take.
        refuses: Answer with 429, and this many seconds to wait.
    """

    words: str = ""
    asks: Sequence[tuple[str, str]] = ()
    first: float = 1.0
    seconds: float = 0.8
    refuses: float = 0

    def events(self, request: bytes, usage: JSON) -> Iterator[bytes]:
        offered = [mapping(mapping(tool)["function"]) for tool in json.loads(request).get("tools", ())]
        for piece in pieces(self.words):
            yield chunk({"content": piece})
        for number, (asked, arguments) in enumerate(self.asks):
            own = f"{asked.partition('__')[2]}: "  # stands in the description where a service takes no such name
            names = (
                text_or_empty(tool["name"]) for tool in offered if text_or_empty(tool["description"]).startswith(own)
            )
            name = next(names, asked)
            yield calls(fragment(index=number, wire_id=f"call_{name}_{number}", name=name, arguments=""))
            yield from (calls(fragment(index=number, arguments=piece)) for piece in pieces(arguments))
        yield chunk(finish="tool_calls" if self.asks else "stop")
        yield event({"id": "c1", "choices": [], "usage": usage}) + DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """An answer of this provider, at this pace."""

    says: Says
    provider: Provider
    pace: float

    def __call__(self, link: socket.socket) -> None:
        time.sleep(self.says.first * self.pace)
        if self.says.refuses:
            wait = f"retry-after-ms: {1000 * self.says.refuses * self.pace:.0f}\r\n"
            error: JSON = {
                "error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}
            }
            link.sendall(head("429 Too Many Requests", kind="application/json", more=wait) + json.dumps(error).encode())
            return
        link.sendall(head())
        events = list(self.says.events(self.provider.bodies[-1], self.usage()))
        for each in events:
            link.sendall(each)
            time.sleep(self.says.seconds * self.pace / len(events))

    def usage(self) -> JSON:
        """Count some four bytes for a token, and as cached what the request has in common with an earlier one, in blocks of 128."""
        *earlier, body = self.provider.bodies
        told = len(body) * 10 // 43
        common = max((common_prefix(body, each) for each in earlier), default=0) * 10 // 43 // 128 * 128
        said = len(self.says.words + "".join(arguments for _, arguments in self.says.asks)) // 4 + 1
        return {
            "prompt_tokens": told,
            "completion_tokens": said,
            "total_tokens": told + said,
            "prompt_tokens_details": {"cached_tokens": common if common >= 256 else 0},
        }


def pieces(text: str) -> Iterator[str]:
    return (text[place : place + PIECE] for place in range(0, len(text), PIECE))
