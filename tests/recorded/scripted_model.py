"""A provider's answers by a script: at a pace, in pieces as models send them, with a prompt cache that is counted from the requests."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import anyio

from tests.kit.bodies import DIALECTS, Answer, Call, Usage, dumped
from tests.kit.peer import Exchange, Script, head
from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.llm.outline import common_prefix

PIECE = 12
"""Characters of an event."""


@dataclass(frozen=True, slots=True)
class Says:
    words: str = ""
    asks: Sequence[tuple[str, str]] = ()  # names as the request has them, and arguments
    first: float = 1.0  # seconds until its first byte
    seconds: float = 0.8  # that its events take
    refuses: float = 0  # with 429, and this many seconds to wait

    def answer(self, earlier: Sequence[bytes], request: bytes) -> Answer:
        offered = [mapping(mapping(tool)["function"]) for tool in json.loads(request).get("tools", ())]
        calls: list[Call] = []
        for number, (asked, arguments) in enumerate(self.asks):
            own = f"{asked.partition('__')[2]}: "  # stands in the description where a service takes no such name
            names: Iterator[str] = (
                text_or_empty(tool["name"]) for tool in offered if text_or_empty(tool["description"]).startswith(own)
            )
            name = next(names, asked)
            calls.append(Call(f"call_{name}_{number}", name, {}, written=arguments))
        return Answer(self.words, calls, usage=self._usage(earlier, request))

    def _usage(self, earlier: Sequence[bytes], request: bytes) -> Usage:
        """Count some four bytes for a token, and as cached what the request has in common with an earlier one, in blocks of 128."""
        common = max((common_prefix(request, each) for each in earlier), default=0) * 10 // 43 // 128 * 128
        said = len(self.words + "".join(arguments for _, arguments in self.asks)) // 4 + 1
        return Usage(len(request) * 10 // 43, said, cached=common if common >= 256 else 0)


def scripted(said: Sequence[Says], pace: float) -> Sequence[Script]:
    earlier: list[bytes] = []

    def script(says: Says) -> Script:
        async def answer(exchange: Exchange) -> None:
            await anyio.sleep(says.first * pace)
            if says.refuses:
                wait = f"retry-after-ms: {1000 * says.refuses * pace:.0f}\r\n"
                error = {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}
                await exchange.send(head("429 Too Many Requests", kind="application/json", more=wait))
                await exchange.send(dumped({"error": error}))
            else:
                await exchange.send(head())
                events = DIALECTS["openai"].events(says.answer(earlier, exchange.request.body), PIECE)
                for each in events:
                    await exchange.send(each)
                    await anyio.sleep(says.seconds * pace / len(events))
            earlier.append(exchange.request.body)

        return answer

    return [script(says) for says in said]
